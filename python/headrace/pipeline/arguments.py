"""Arguments of pipelines, refused where they are written."""

import operator
import os
from typing import Final, SupportsIndex

from headrace import storage

__all__ = ["check_budget", "check_function", "check_remainder", "checked_int"]

_REMAINDERS: Final = ("keep", "drop", "pad")
_MAX_COUNT: Final = 2**63 - 1


def check_budget(budget: object) -> None:
    """Raises an error if this is neither a count nor a share of examples to be left out."""
    if isinstance(budget, bool) or not isinstance(budget, (int, float)):
        raise TypeError(
            f"skip_errors: budget is {budget!r}, expected how many examples may be left out, or "
            "which share of them, such as 0.001."
        )
    if not (0 <= budget <= _MAX_COUNT if isinstance(budget, int) else 0.0 < budget < 1.0):
        raise ValueError(
            f"skip_errors: budget is {budget!r}, expected an int from 0 up, or a float between 0.0 "
            "and 1.0."
        )


def check_function(where: str, function: object) -> None:
    """Raises TypeError if something cannot be called."""
    if not callable(function):
        raise TypeError(f"{where}: got {function!r}, expected a function of a dict.")


def checked_int(where: str, name: str, value: object, least: int) -> int:
    """Returns an integer from `least` up, of any type; raises ValueError if it is none."""
    if isinstance(value, SupportsIndex) and not isinstance(value, bool):
        number = operator.index(value)
        if least <= number <= _MAX_COUNT:
            return number
    raise ValueError(f"{where}: {name} is {value!r}, expected an int from {least} up.")


def checked_directory(path: object) -> str:
    """Returns the path of a directory of this machine; raises an error if it is none."""
    if not isinstance(path, (str, os.PathLike)) or isinstance(os.fspath(path), bytes):
        raise TypeError(f"options: cache_directory is {path!r}, expected a str or a pathlib.Path.")
    text = storage.local_path(os.fspath(path))
    if not text or storage.is_remote(text):
        raise ValueError(
            f"options: cache_directory is {text!r}, expected a directory of this machine."
        )
    return text


def check_remainder(where: str, remainder: object) -> None:
    """Raises ValueError if there is no such way to treat the last examples."""
    if remainder not in _REMAINDERS:
        raise ValueError(f"{where}: remainder is {remainder!r}, expected 'keep', 'drop' or 'pad'.")
