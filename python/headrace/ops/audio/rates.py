"""Checks sample rates."""

from typing import Final

__all__ = ["check_rate"]

_MAX_RATE: Final = 1_000_000


def check_rate(where: str, rate: object) -> int:
    """Returns a sample rate, in samples per second, as an int.

    Raises:
        TypeError: If the rate is not an integer.
        ValueError: If the rate is below 1 or above 1,000,000.
    """
    try:
        number = rate.__index__()  # type: ignore[attr-defined]
    except AttributeError:
        number = None
    if not isinstance(number, int) or isinstance(rate, bool):
        raise TypeError(f"{where} is {rate!r}, expected an integer number of samples per second.")
    if not 1 <= number <= _MAX_RATE:
        raise ValueError(f"{where} is {number}, expected 1 to {_MAX_RATE:,} samples per second.")
    return number
