"""Number types that an `Example` cannot hold, and casts requested by the user.

An `Example` can hold int64, float32 and bytes. Numbers of other types are converted to one of these
if no value changes.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Final

import numpy as np
import numpy.typing as npt

from headrace.cli.convert.request import Format, Request
from headrace.cli.convert.source import Source
from headrace.cli.failures import Failure
from headrace.pipeline.writing.values import Values

__all__ = ["Rule", "changed", "check_casts", "converted", "first_changed", "rules_of"]

_MOST_INT64: Final = np.uint64((1 << 63) - 1)
# The first power of two that no integer type can hold.
_BEYOND_INTEGERS: Final = 2.0**64


class Rule:
    """The rules for converting the numbers in a feature.

    Attributes:
        VALUE: The value must not change.
        TEXT: The shortest decimal form of the number must not change: 0.1 may become the float32
            0.1.
        FLOAT32: Numbers are rounded to float32, but not to infinity or zero.
        STR: Numbers become text.
    """

    VALUE: Final = "value"
    TEXT: Final = "text"
    FLOAT32: Final = "float32"
    STR: Final = "str"


def check_casts(source: Source, request: Request) -> None:
    """Raises Failure if a feature to cast is missing or does not contain numbers."""
    if request.cast and source.format == Format.TFRECORD:
        raise Failure(
            "--cast does not work with TFRecords as the source, because their records are not "
            "changed."
        )
    for name, kind in request.cast:
        option, specs = f"--cast {name}={kind}", source.plain.spec
        if name not in specs:
            raise Failure(f"{option}: no such feature, expected one of {', '.join(specs)}.")
        dtype = specs[name].dtype
        if isinstance(dtype, type) or dtype.kind not in "iuf":
            raise Failure(f"{option}: the feature is {specs[name]}, but only numbers can be cast.")


def rules_of(source: Source, request: Request) -> dict[str, str]:
    """Returns the rule for each feature that is cast or may not fit into an `Example`."""
    if source.format == Format.TFRECORD or request.to != Format.TFRECORD:
        return {}
    is_text = source.format in (Format.CSV, Format.JSON_LINES)
    rules = {
        name: Rule.TEXT if is_text else Rule.VALUE
        for name, spec in source.plain.spec.items()
        if str(spec.dtype) in ("float64", "uint64")
    } | dict(request.cast)
    return {n: rule for n, rule in rules.items() if not request.select or n in request.select}


def converted(name: str, values: Values, rule: str, number: int) -> Values:
    """Converts the values of a feature of example `number` to a type that an `Example` can hold.

    Raises:
        Failure: If a value breaks the rule.
    """
    if rule == Rule.STR:
        return Values("str", [_text(values.kind, item) for item in values.items], values.shape)
    changed_value = first_changed(np.array(values.items, values.kind), rule)
    if changed_value is not None:
        raise Failure(changed(name, changed_value[1], rule, number, [name]))
    if rule == Rule.FLOAT32 or values.kind == "float64":
        return Values("float32", list(map(float, values.items)), values.shape)
    return values


def _text(kind: str | None, item: Any) -> str:
    """Returns the shortest text that parses as the same number."""
    return str(np.dtype(kind).type(item) if kind in ("float16", "float32") else item)


def first_changed(numbers: npt.NDArray[Any], rule: str) -> tuple[int, Any] | None:
    """Returns the row and value of the first number that breaks a rule, or None."""
    indices = np.argwhere(~_are_kept(numbers, rule))
    return (int(indices[0][0]), numbers[tuple(indices[0])]) if len(indices) else None


def _are_kept(numbers: npt.NDArray[Any], rule: str) -> npt.NDArray[np.bool_]:
    if numbers.dtype == np.uint64 and rule != Rule.FLOAT32:
        return np.asarray(numbers <= _MOST_INT64)
    narrow = _narrowed(numbers)
    if rule == Rule.FLOAT32:
        is_rounded = np.isfinite(narrow) & ((narrow != 0) | (numbers == 0))
        return np.asarray(is_rounded | ~np.isfinite(numbers))
    kept = np.asarray((narrow == numbers) | np.isnan(numbers))
    if rule == Rule.TEXT and not kept.all():
        # As in `csv`'s type inference, integers must be exact if an integer type can hold them.
        is_int = (numbers == np.floor(numbers)) & (np.abs(numbers) < _BEYOND_INTEGERS)
        given_back = narrow.astype(str).astype(np.float64) == numbers
        kept |= ~is_int & np.isfinite(narrow) & given_back
    return kept


def _narrowed(numbers: Any) -> Any:
    with np.errstate(over="ignore", under="ignore"):
        return numbers.astype(np.float32)


def changed(name: str, value: Any, rule: str, number: int, names: Sequence[str]) -> str:
    """Returns the message for a number that breaks its rule.

    Args:
        name: The name of the feature.
        value: The number.
        rule: The rule for the feature.
        number: The number of the example.
        names: All features with numbers that break their rules.
    """
    where = f"feature '{name}': example {number} has the value {value}"
    others = [f"'{other}'" for other in names if other != name]
    alike = f" Values of {', '.join(others)} would change, too." if others else ""
    as_text = f"--cast {name}=str to store it as text, or drop it with --select.{alike}"
    if value.dtype == np.uint64 and rule != Rule.FLOAT32:
        return (
            f"{where}, but an Example stores int64, so it can be at most {_MOST_INT64}. Use "
            f"{as_text}"
        )
    narrow = float(_narrowed(value))
    effect = f"{where}, but an Example stores float32, which would change it to {narrow}"
    if rule == Rule.FLOAT32:
        return f"{effect}. Use {as_text}"
    return f"{effect}. Use --cast {name}=float32 to round it, or {as_text}"
