"""Programs that are not drawn, since what they would find is known and not fixed yet."""

from collections.abc import Callable
from typing import Final

from tests.pipeline.generated.program import Program

from headrace.core import errors

# Why, and which programs.
EXCLUDED: Final[dict[str, Callable[[Program], bool]]] = {
    "functions with a state before stages that ask for more than they give": (
        lambda program: (
            "map with a state" in program.kinds
            and bool(program.kinds & {"shuffle", "zip"} or _waits_and_ends(program.kinds))
        )
    ),
}


def _waits_and_ends(kinds: set[str]) -> bool:
    waits = bool(kinds & {"window", "bucket_by_length", "pack"})
    return waits and bool(kinds & {"take", "mix"})


def reason_against(program: Program) -> str | None:
    """Returns why a program is excluded; None if it is not."""
    return next((reason for reason, matches in EXCLUDED.items() if matches(program)), None)


def is_excluded_at_run(error: Exception) -> bool:
    """Returns whether an error is a known one: no example, from which components are learned."""
    return isinstance(error, errors.OutOfRangeError) and "there is no example, from" in str(error)
