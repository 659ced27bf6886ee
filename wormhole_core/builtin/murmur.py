"""The hash of the ECMP choice: MurmurHash3, x86 variant, 32 bits (Austin Appleby, public domain)."""

from __future__ import annotations

from collections.abc import Iterable

_MASK = 0xFFFFFFFF


def murmur3_32(words: Iterable[int], seed: int = 0) -> int:
    """Hash of 32-bit words, as of their little-endian bytes; only the low 32 bits of each count."""
    h, length = seed & _MASK, 0
    for word in words:
        k = (word & _MASK) * 0xCC9E2D51 & _MASK
        k = ((k << 15 | k >> 17) & _MASK) * 0x1B873593 & _MASK
        h ^= k
        h = ((h << 13 | h >> 19) * 5 + 0xE6546B64) & _MASK
        length += 4
    h ^= length
    h = (h ^ h >> 16) * 0x85EBCA6B & _MASK
    h = (h ^ h >> 13) * 0xC2B2AE35 & _MASK
    return h ^ h >> 16
