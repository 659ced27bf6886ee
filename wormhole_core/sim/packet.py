"""Frames. One object carries a data frame to the receiver and its ACK back."""

from __future__ import annotations

from typing import Any

DATA, ACK, NACK = 0, 1, 2


class Packet:
    """A frame in the network.

    size: bytes on the wire. seq: first payload byte (data) or next byte expected (ACK, NACK).
    payload: payload bytes; an ACK keeps those of the frame it answers. first_seq: on an ACK, seq of
    the data frame it answers. path: egress ports, hop: index of the one it is in. marked: CE bit in
    this direction, echo: the CE bit the ACK reports. hops: INT records or None, there: the ports that
    made them where packets of a flow take several paths. sent_ps: flow clock
    when the data frame left. enter_ps, start_ps, arrive_ps: entered the present queue, begins to
    leave it, reaches the far end. ingress: port it came in by (buffer accounting), in_headroom:
    bytes of it held in that port's headroom. key: set under network.order = "scheduled" only.
    """

    __slots__ = (
        "arrive_ps",
        "echo",
        "enter_ps",
        "first_seq",
        "flow",
        "hop",
        "hops",
        "ingress",
        "key",
        "kind",
        "marked",
        "path",
        "payload",
        "sent_ps",
        "seq",
        "size",
        "start_ps",
        "there",
    )

    def __init__(self, flow: Any, seq: int, payload: int, size: int, path: Any, hops: Any, sent_ps: int) -> None:
        self.flow = flow
        self.kind = DATA
        self.seq = self.first_seq = seq
        self.payload = payload
        self.size = size
        self.path = path
        self.hop = 0
        self.hops = hops
        self.there: Any = ()
        self.sent_ps = sent_ps
        self.marked = False
        self.echo = False
        self.ingress = None
