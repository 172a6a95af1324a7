"""Training progress: a bar on a terminal, otherwise a line after each epoch."""

from __future__ import annotations

import sys
import time
from types import TracebackType
from typing import Any, Self

import click

from headrace.core.progress import terminal_bar


class Progress:
    """Shows epoch, loss, examples per second and how full the queue of finished batches is.

    Args:
        num_examples: The number of examples in an epoch.
        num_epochs: The number of epochs.
    """

    def __init__(self, num_examples: int, num_epochs: int) -> None:
        self._num_examples = num_examples
        self._num_epochs = num_epochs
        self._num_seen = 0
        self._start = time.monotonic()
        self._bar: Any = None
        if sys.stderr.isatty():
            shown = "  {percentage:3.0f}% |{bar:10}| {desc}"
            self._bar = terminal_bar(total=num_examples * num_epochs, bar_format=shown)

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        if self._bar is not None:
            self._bar.close()

    def advance(self, num_examples: int, loss: float, fill: float) -> None:
        """Shows that a batch was used. Does not block.

        Args:
            num_examples: The number of examples in the batch.
            loss: The loss of the batch.
            fill: The average fill level of the queue of finished batches, 0 to 1.
        """
        epoch = self._num_seen // self._num_examples + 1
        self._num_seen += num_examples
        rate = self._num_seen / (time.monotonic() - self._start)
        status = (
            f"epoch {epoch}/{self._num_epochs}  loss {loss:.3f}  "
            f"queue {fill:4.0%} full  {rate:,.0f} examples/s"
        )
        if self._bar is not None:
            self._bar.set_description_str(status, refresh=False)
            self._bar.update(num_examples)
        elif self._num_seen >= epoch * self._num_examples:
            click.echo(f"  {status}")
