"""The order of things within one instant; both motion models obey it.

A SimPy heap entry is `(time, priority, sequence, event)`. The priority is `phase << 32 | index`, and
an index is unique within its phase, so the sequence never decides and equal runs pop equal orders.

1. LINK: links fail, routes change.
2. PFC: pause frames take effect, by port index.
3. ARRIVE: the last bit of a frame arrives, by index of the sending port. A host answers at once: it
   queues the ACK, or lets its congestion control react and its NIC try to send.
4. DEPART: idle ports begin to send, by port index. A switch frees the buffer and marks here.
5. TIMER: retransmission and congestion-control timers, by flow index.
6. SEND: NICs whose pacing deadline has come, by port index.
7. LATE: one batch: completions by flow index, the workload's answer, starts by flow index.
"""

from __future__ import annotations

LINK = 1 << 32
PFC = 2 << 32
ARRIVE = 3 << 32
DEPART = 4 << 32
TIMER = 5 << 32
SEND = 6 << 32
LATE = 7 << 32
BETWEEN = 8 << 32
"""After everything else of an instant: where acceleration looks and acts."""
