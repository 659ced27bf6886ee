"""A switch's shared buffer: admission, pause and resume per ingress port.

Each ingress port has a reserve and a headroom; the rest of the buffer is shared, and a port may use
of it what the dynamic threshold allows: a share of what is free. With PFC a port that reaches the
threshold pauses its sender, and what is still on the wire goes to the headroom. Without PFC there is
no headroom, and a frame that does not fit is dropped.
(Choudhury and Hahne, "Dynamic queue length thresholds", 1998; IEEE 802.1Qbb. The rules and their
order follow ../shared/reference/PARAMS.md, "Switch" and "Checked with a second code base".)
"""

from __future__ import annotations


class Ingress:
    """Accounting of one ingress port."""

    __slots__ = ("bytes", "divisor_shift", "headroom_bytes", "headroom_limit", "held_headroom", "paused", "port")

    def __init__(self, port: object, headroom_limit: int, divisor_shift: int) -> None:
        self.port = port
        self.bytes = 0
        self.held_headroom = 0
        self.headroom_limit = headroom_limit
        self.divisor_shift = divisor_shift
        self.paused = False


class SharedBuffer:
    """State of one switch's buffer, in bytes."""

    __slots__ = ("capacity", "ingresses", "pfc", "reserve", "resume_offset", "shared_limit", "shared_used")

    def __init__(self, capacity: int, reserve: int, resume_offset: int, pfc: bool) -> None:
        self.capacity = capacity
        self.reserve = reserve
        self.resume_offset = resume_offset
        self.pfc = pfc
        self.shared_limit = capacity
        self.shared_used = 0
        self.ingresses: list[Ingress] = []

    def add_ingress(self, port: object, headroom_limit: int, divisor_shift: int) -> Ingress:
        """Register an ingress port; its reserve and headroom are taken from the shared part."""
        ingress = Ingress(port, headroom_limit if self.pfc else 0, divisor_shift)
        self.ingresses.append(ingress)
        self.shared_limit -= self.reserve + ingress.headroom_limit
        return ingress

    def threshold(self, ingress: Ingress) -> int:
        """Bytes beyond its reserve the port may hold now; negative when the pool is overdrawn."""
        free, shift = self.shared_limit - self.shared_used, ingress.divisor_shift
        return free >> shift if shift >= 0 else free << -shift

    def admit(self, ingress: Ingress, size: int) -> bool:
        """Take a frame in; False: it is dropped and nothing changes."""
        threshold = self.threshold(ingress)
        if not self.pfc:
            return self._admit_lossy(ingress, size, threshold)
        if size + ingress.held_headroom > ingress.headroom_limit and size + self._shared_of(ingress) > threshold:
            return False
        new = ingress.bytes + size
        if new - self.reserve > threshold and new > self.reserve:
            ingress.held_headroom += size
            return True
        ingress.bytes = new
        if new > self.reserve:
            self.shared_used += min(size, new - self.reserve)
        return True

    def _admit_lossy(self, ingress: Ingress, size: int, threshold: int) -> bool:
        new = ingress.bytes + size
        beyond = new - self.reserve
        if beyond > threshold and beyond > 0:
            return False
        ingress.bytes = new
        if beyond > 0:
            self.shared_used += min(size, beyond)
        return True

    def _shared_of(self, ingress: Ingress) -> int:
        return max(0, ingress.bytes - self.reserve)

    def must_pause(self, ingress: Ingress) -> bool:
        """Whether the port's sender is to be paused now (asked after `admit`)."""
        if not self.pfc or ingress.paused:
            return False
        return ingress.held_headroom > 0 or ingress.bytes - self.reserve >= self.threshold(ingress)

    def release(self, ingress: Ingress, size: int) -> None:
        """A frame that came in by this port begins to leave: headroom first, then the rest."""
        from_headroom = min(size, ingress.held_headroom)
        ingress.held_headroom -= from_headroom
        rest = size - from_headroom
        if rest:
            self.shared_used -= min(rest, self._shared_of(ingress))
            ingress.bytes -= rest

    def may_resume(self, ingress: Ingress) -> bool:
        """Whether a paused sender may go on (asked after `release`)."""
        if not ingress.paused or ingress.held_headroom:
            return False
        shared = self._shared_of(ingress)
        return shared == 0 or shared + self.resume_offset <= self.threshold(ingress)

    def calm_bytes(self) -> int:
        """A level of total occupation below which no port can reach its threshold, so that neither
        a pause nor a drop nor the use of headroom is possible: x <= (limit - x) / 2**shift."""
        calm = self.shared_limit
        for ingress in self.ingresses:
            shift = ingress.divisor_shift
            share = (
                self.shared_limit // ((1 << shift) + 1)
                if shift >= 0
                else (self.shared_limit << -shift) // ((1 << -shift) + 1)
            )
            calm = min(calm, share)
        return max(0, calm - 1)

    def snapshot(self) -> tuple:
        """State as nested tuples."""
        return self.shared_used, tuple((i.bytes, i.held_headroom, i.paused) for i in self.ingresses)
