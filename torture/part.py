"""The arguments and the result of a part of the torture."""

from collections.abc import Callable
from dataclasses import dataclass, field


@dataclass(frozen=True)
class Options:
    """The options of a part.

    Attributes:
        scale: How much of the whole is done: 1 is what docs/reliability.md tells of, tests do a
            small part of it.
        seed: What everything that is random is made from. The same seed makes the same faults.
    """

    scale: float = 1.0
    seed: int = 0

    def times(self, whole: int) -> int:
        """Returns how often to do what is done `whole` times at a scale of 1: at least once."""
        return max(1, round(whole * self.scale))


@dataclass
class Result:
    """The result of a part.

    Attributes:
        figures: What was counted or measured, by the words under which it is shown.
        failures: What went wrong. Each says what repeats it.
    """

    figures: dict[str, int | float | str] = field(default_factory=dict)
    failures: list[str] = field(default_factory=list)


Part = Callable[[Options], Result]
