"""How far to trust a run in wormhole mode, from what acceleration counted.

Both parts go under `cost` in result.json: they depend on what was remembered before the run, and a
run from a warm memo must leave the same files as a cold one otherwise.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

COUNTS = (
    "episodes", "looks", "hits", "hits_of_skipped", "hits_of_random", "followers", "misses", "skips", "skipped_ps",
    "tails", "refused", "resimulated", "events_resimulated", "events_avoided", "flows_replayed", "damaged",
    "memo_bytes",
)  # fmt: skip


def accelerated_cost(statistics: Mapping[str, Any]) -> dict[str, Any]:
    """`cost.acceleration`: what was done; `cost.trust`: what that rests on."""
    return {
        "acceleration": {name: statistics[name] for name in COUNTS},
        "trust": {
            "policies": statistics["policies"],
            "not_skipped": statistics["not_skipped"],
            "exact_matches": statistics["hits"] + statistics["followers"] - statistics["hits_approximate"],
            "approximate_matches": statistics["hits_approximate"],
            "matches_of_approximated": statistics["hits_of_skipped"],
            "byte_shares": {name: round(share, 6) for name, share in statistics["byte_shares"].items()},
            "estimated_error": round(statistics["estimated_error"], 9),
            "packet_exact": packet_exact(statistics),
            "audit": statistics.get("audit"),
        },
    }


def packet_exact(statistics: Mapping[str, Any]) -> bool:
    """Whether the answer is packet mode's to the bit: nothing was skipped or finished early, neither
    now nor in what was replayed, and nothing that drew random numbers was (packet mode draws others)."""
    estimated = ("skips", "tails", "hits_of_skipped", "hits_approximate", "hits_of_random")
    return not any(statistics[name] for name in estimated)


def sentence(summary: Mapping[str, Any], measured: bool = False) -> str:
    """How far to trust a result, in a few plain words. measured: the error stands beside it anyway."""
    trust = summary["cost"]["trust"]
    if trust["packet_exact"] and not (trust["audit"] and trust["audit"]["makespan_error"] != 0):
        return "Every completion time is what simulating each packet gives: nothing was skipped or estimated."
    shares = trust["byte_shares"]
    told = [f"{_percent(shares[name])} {name}" for name in ("simulated", "skipped", "replayed") if shares[name]]
    text = f"Bytes: {', '.join(told) or 'none finished'}."
    if shares["replayed_of_skipped"]:
        text += f" {_percent(shares['replayed_of_skipped'])} come from recordings with skips or shortened ends."
    if trust["approximate_matches"]:
        count = trust["approximate_matches"]
        text += f" {count:,} of the replays are approximate matches, as acceleration.quantum_ps allows."
    estimate = trust["estimated_error"]
    text += f" By the policies' own estimate times are off by about {estimate:.2%} on average"
    text += " (no bound: single flows may be off by more)."
    if trust["audit"]:
        return f"{text} {trust['audit']['text']}"
    return text if measured else f"{text} Not measured in this run: wormhole-sim compare does that."


def _percent(share: float) -> str:
    return "under 0.1%" if 0 < share < 0.0005 else f"{share:.1%}"
