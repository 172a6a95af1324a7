"""An iteration with a progress bar."""

import math
import time
from types import TracebackType
from typing import Any, Final, Protocol, Self

from headrace.core import engine
from headrace.core.errors import OpError
from headrace.core.progress import loop_bar
from headrace.pipeline.plan.lengths import length_of
from headrace.pipeline.run.state import ResumePoint
from headrace.pipeline.stages.components import batch_depth, steps
from headrace.pipeline.stages.stage import Effect, Stages
from headrace.pipeline.stages.without_steps import with_all_steps

__all__ = ["Progress", "num_before", "num_steps"]

# How often the share of the time that the loop waits is updated, in seconds.
_NOTE_INTERVAL_S: Final = 1.0


def num_steps(chain: Stages, files: engine.IndexFiles) -> int | None:
    """Returns the number of batches or examples of an iteration, including omitted steps.

    Returns None if it is unknown, or if the pipeline is endless.
    """
    try:
        return length_of(with_all_steps(chain), files)
    except (TypeError, OpError):  # The iteration itself will raise the error.
        return None


def num_before(chain: Stages, resumed: ResumePoint | None) -> int | None:
    """Returns how many batches or examples were received before a state was saved.

    If the number of ranks or the batch size has changed, this is about the number of steps that the
    same examples would have taken. Returns None if it is unknown.
    """
    if resumed is None:
        return 0
    num_shares = math.prod(step.num_shares for step in steps(chain))
    sizes = [getattr(step, "size", None) for step in steps(chain) if step.added_axes > 0]
    known = [size for size in sizes if isinstance(size, int)]
    first = next(
        (n for n, step in enumerate(steps(chain), 1) if step.effect is Effect.DIVIDES), None
    )
    if first is None or resumed.digest is None or resumed.step is None or len(known) < len(sizes):
        return resumed.step
    _, num_passes, *_, position = resumed.digest
    num_each = num_shares * math.prod(known)
    # The last step of each pass may be smaller. If `batch` comes before `shard`, the position may
    # count batches.
    units = (num_each, num_shares) if batch_depth(chain[:first]) else (num_each,)
    if any(abs(resumed.step * unit - position) <= unit * (num_passes + 1) for unit in units):
        return resumed.step
    return position // num_each


class Iteration(Protocol):
    """The methods of `Batches` that a progress bar needs."""

    @property
    def num_left_out(self) -> int:
        """How many batches `without_steps` has left out."""

    def __next__(self) -> dict[str, Any]: ...

    def state(self) -> dict[str, Any]:
        """Returns the position."""

    def close(self) -> None:
        """Ends the iteration."""


class Progress:
    """An iteration that shows a progress bar. It yields the same batches.

    The bar shows how many batches your loop has received, the rate, the time left if the number of
    batches is known, and the share of the time that your loop waited for batches. All methods of
    `Batches` work, for example `state()`. The bar ends with the iteration.

    Attributes:
        batches: The iteration.
    """

    def __init__(
        self, batches: Iteration, what: str, total: int | None, initial: int, unit: str
    ) -> None:
        self.batches: Final = batches
        self._total = total
        self._bar = loop_bar(what, total, initial, unit)
        self._number = initial
        # Steps that `without_steps` leaves out are part of the total.
        self._left_out = batches.num_left_out
        self._noted = self._begin = time.monotonic()
        self._waited = 0.0

    def __iter__(self) -> Self:
        return self

    def __next__(self) -> dict[str, Any]:
        begin = time.monotonic()
        try:
            batch = next(self.batches)
        except BaseException:
            self._bar.close()
            raise
        now = time.monotonic()
        self._waited += now - begin
        left_out, self._left_out = self._left_out, self.batches.num_left_out
        self._number += 1 + self._left_out - left_out
        note = None
        if now - self._noted >= _NOTE_INTERVAL_S:
            self._noted = now
            note = f"waited {self._waited / (now - self._begin):.0%}"
        self._bar.move_to(self._number, note)
        return batch

    def __len__(self) -> int:
        """Returns the number of batches in the whole iteration, including those before a resume."""
        if self._total is None:
            raise TypeError(
                "len: the number of batches is unknown until they are read. Use pipe.count(), "
                "which reads and counts them all."
            )
        return self._total

    def __bool__(self) -> bool:
        """Returns True, because the length may not be known."""
        return True

    def state(self) -> dict[str, Any]:
        """Returns the position after the last batch that your loop received.

        See `Batches.state`.
        """
        return self.batches.state()

    def close(self) -> None:
        """Ends the bar and the iteration."""
        self._bar.close()
        self.batches.close()

    def __getattr__(self, name: str) -> Any:
        return getattr(self.batches, name)

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        exc_type: type[BaseException] | None,
        exc_value: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        self.close()
