"""The arguments and the result of a part of the stress tests."""

from collections.abc import Callable
from dataclasses import dataclass, field


@dataclass(frozen=True)
class Options:
    """The options of a part.

    Attributes:
        scale: The share of the work. 1 reproduces the figures of docs/reliability.md, and tests use
            a small value.
        seed: The seed of all random choices. The same seed causes the same faults.
    """

    scale: float = 1.0
    seed: int = 0

    def times(self, full: int) -> int:
        """Returns `full` times the scale, at least one."""
        return max(1, round(full * self.scale))


@dataclass
class Result:
    """The result of a part.

    Attributes:
        figures: Counts and measurements, by label.
        failures: Descriptions of failures, with how to reproduce them.
    """

    figures: dict[str, int | float | str] = field(default_factory=dict)
    failures: list[str] = field(default_factory=list)


Part = Callable[[Options], Result]
