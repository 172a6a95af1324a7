"""Compares ledgers."""

from __future__ import annotations

import math
from collections.abc import Iterator

from headrace.cli.failures import Failure
from headrace.ledger import LedgerEntry, read_ledger

__all__ = ["compare", "entries_in", "summary"]


def entries_in(path: str, begin: int, end: int | None) -> Iterator[LedgerEntry]:
    """Yields the entries for steps `begin` to `end` - 1, or to the last step if `end` is None.

    Raises:
        Failure: If the file is not a ledger or is damaged.
    """
    try:
        for entry in read_ledger(path):
            if entry.step >= begin and (end is None or entry.step < end):
                yield entry
    except ValueError as error:
        raise Failure(str(error)) from error


def summary(path: str, begin: int, end: int | None) -> str:
    """Describes the steps of a ledger in one line.

    Raises:
        Failure: If the ledger has none of these steps.
    """
    first = last = None
    num_steps = 0
    for entry in entries_in(path, begin, end):
        first, last = first or entry, entry
        num_steps += 1
    if first is None or last is None:
        raise Failure(f"{path}: the ledger has no {_steps(begin, end)}.")
    shares = ", ".join(f"{name} {count}" for name, count in last.parts.items())
    parts = f" ({shares})" if shares else ""
    return (
        f"{path}: {num_steps} steps, from {first.step} to {last.step}; epoch {last.epoch}, "
        f"{last.examples} examples{parts}, digest {last.digest}"
    )


def compare(path: str, other: str, begin: int, end: int | None) -> str:
    """Returns a line that confirms that two ledgers recorded the same data.

    Raises:
        Failure: If the ledgers differ (the message names the first different step), or if they have
            no step in common.
    """
    num_equal, numbers = 0, None
    for one, two in _common(entries_in(path, begin, end), entries_in(other, begin, end)):
        if one[1:4] != two[1:4] or one.parts != two.parts:
            raise Failure(
                f"{path} and {other} first differ at step {one.step}: {_data(one)} in {path}, "
                f"{_data(two)} in {other}. "
                f"{num_equal or 'No'} earlier steps are equal."
            )
        num_equal += 1
        numbers = numbers or _first_number(one, two)
    if num_equal == 0:
        raise Failure(f"{path} and {other} have no step in common among {_steps(begin, end)}.")
    return f"{path} and {other}: the data of all {num_equal} steps in both are equal" + (
        f"; {numbers}" if numbers else ""
    )


def _common(
    ones: Iterator[LedgerEntry], twos: Iterator[LedgerEntry]
) -> Iterator[tuple[LedgerEntry, LedgerEntry]]:
    """Yields the entries of the steps that both ledgers have."""
    one, two = next(ones, None), next(twos, None)
    while one is not None and two is not None:
        if one.step == two.step:
            yield one, two
        step = max(one.step, two.step) if one.step != two.step else one.step + 1
        while one is not None and one.step < step:
            one = next(ones, None)
        while two is not None and two.step < step:
            two = next(twos, None)


def _data(entry: LedgerEntry) -> str:
    return f"epoch {entry.epoch}, {entry.examples} examples, digest {entry.digest}"


def _first_number(one: LedgerEntry, two: LedgerEntry) -> str | None:
    """Returns the first user-defined number that differs in a step, or None if all are equal."""
    for name in one.numbers.keys() & two.numbers.keys():
        values = one.numbers[name], two.numbers[name]
        if values[0] != values[1] and not all(map(math.isnan, values)):
            return f"{name} first differs at step {one.step}: {values[0]} and {values[1]}"
    return None


def _steps(begin: int, end: int | None) -> str:
    return f"steps from {begin}" if end is None else f"steps from {begin} to {end - 1}"
