"""The order of things within one instant; both motion models obey it.

A SimPy heap entry is `(time, priority, sequence, event)`. Outside ARRIVE the priority is
`phase | index`, unique, so that nothing else decides and equal runs pop equal orders.

1. LINK: links fail, routes change.
2. PFC: pause frames take effect, by index of the sending port.
3. ARRIVE: the last bit of a frame arrives; first what began to be sent first, then by index of the
   sending port (the sequence is the time the frame began to leave). A host answers at once: it queues
   the ACK, or lets its congestion control react and its NIC try to send. A frame that finds its
   switch port idle (no longer busy before this instant, not paused) begins to leave in the same
   event: its queue is empty, and the buffer is freed at once.
4. DEPART: ports that become free in this instant, or were paused, begin to send, by port index. A
   switch frees the buffer and marks here.
5. TIMER: retransmission and congestion-control timers, by flow index; the NIC then tries to send.
6. SEND: NICs whose pacing deadline has come, by port index.
7. LATE: one batch: completions by flow index, the workload's answer, starts by flow index.

With `network.order = "scheduled"` (fast model only, `event/scheduled.py`) timers come in phase 2, and PFC
frames and SEND in phase 3, where what was scheduled first goes first, all the way back: the reference
simulator's order, which makes completion times equal to its own to the nanosecond.
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
