"""Advice on the number of readers, as a sentence and a number."""

import math
from dataclasses import dataclass
from typing import Final

__all__ = ["Advice", "Loads", "advice"]

# If trainers wait less than this share of the time, they get data fast enough.
_LEAST_WAITING: Final = 0.05
# If readers work less than this share of the time, they are not the bottleneck.
_LEAST_WORKING: Final = 0.6
# The intended share of time in which readers work.
_PLANNED_WORK: Final = 0.8
# No advice is given before this number of seconds.
_LEAST_SECONDS: Final = 1.0


@dataclass(frozen=True)
class Loads:
    """Measurements over a period.

    Attributes:
        seconds: The duration in seconds.
        num_readers: The number of readers.
        waiting: The mean share of time that trainers spent waiting for batches, 0 to 1.
        working: The mean share of time that readers spent producing batches, 0 to 1.
    """

    seconds: float
    num_readers: int
    waiting: float
    working: float


@dataclass(frozen=True)
class Advice:
    """A recommended change.

    Attributes:
        text: One sentence for the user.
        num_readers: The recommended number of readers.
    """

    text: str
    num_readers: int


def advice(loads: Loads) -> Advice:
    """Returns the recommended number of readers and the reason.

    If trainers wait for a share `w` of the time, they could take `1 / (1 - w)` times as many
    batches.
    """
    count = loads.num_readers
    if loads.seconds < _LEAST_SECONDS:
        return Advice("not enough measurements yet; call it again after more batches", count)
    times = (
        f"trainers wait {loads.waiting:.0%} of the time and readers work {loads.working:.0%} of it"
    )
    if loads.waiting >= _LEAST_WAITING and loads.working < _LEAST_WORKING:
        return Advice(
            f"{times}: more readers would not help, because the transfer to the trainers is the "
            "bottleneck; raise credit_bytes, or check the network",
            count,
        )
    if loads.waiting >= _LEAST_WAITING:
        # One measurement justifies at most a doubling.
        target = min(math.ceil(count / (1 - min(loads.waiting, 0.99))), 2 * count)
        more = max(target - count, 1)
        return Advice(f"{times}: add {more} {_readers(more)}", count + more)
    target = max(math.ceil(count * loads.working / _PLANNED_WORK), 1)
    if target < count:
        fewer = count - target
        return Advice(f"{times}: you can remove {fewer} {_readers(fewer)}", target)
    return Advice(f"{times}: the number of readers is right", count)


def _readers(count: int) -> str:
    return "reader" if count == 1 else "readers"
