"""In-band telemetry: the record a switch port stamps on a data frame that begins to leave it.

(HPCC, SIGCOMM 2019, section 3.1.) Counters are rounded down to the units the wire format has room
for; with units of 1 the record is exact. Wrap-around of short counters is not modelled.
"""

from __future__ import annotations


def hop_record(
    clock_ps: int, tx_bytes: int, queue_bytes: int, rate_bps: int, tx_unit: int, queue_unit: int
) -> tuple[int, int, int, int]:
    """(ts_ps, tx_bytes, queue_bytes, rate_bps) as `contracts.cca.HopRecord` describes.

    tx_bytes: sent by the port before this frame; queue_bytes: left behind it."""
    return clock_ps, tx_bytes - tx_bytes % tx_unit, queue_bytes - queue_bytes % queue_unit, rate_bps
