"""Conditions on table columns. Only rows that meet all of them are read."""

import operator
from collections.abc import Callable, Mapping, Sequence
from decimal import Decimal
from typing import Any, Final, TypeAlias

import numpy as np

from headrace.core import engine
from headrace.pipeline.sources.column_options import Component, native
from headrace.pipeline.values.types import Json, Spec, exactly

__all__ = ["Condition", "Where", "as_where", "is_met", "native_condition"]

# A column, a comparison and a value (or several values, for "in" and "not in").
Condition: TypeAlias = tuple[str, str, Any]
# Conditions as users pass them.
Where: TypeAlias = Sequence[Condition]

_SEVERAL: Final = ("in", "not in")
_OPS: Final[Mapping[str, Callable[[Any, Any], bool]]] = {
    "==": operator.eq,
    "!=": operator.ne,
    "<": operator.lt,
    "<=": operator.le,
    ">": operator.gt,
    ">=": operator.ge,
    "in": lambda value, values: value in values,
    "not in": lambda value, values: value not in values,
}


def as_where(where: str, condition: object) -> tuple[Condition, ...]:
    """Returns the conditions as plain data.

    Raises:
        TypeError: If a condition is not a tuple of a name, a comparison and a value.
        ValueError: If a comparison is unknown, or a value is null or NaN.
    """
    if condition is None:
        return ()
    form = (
        f'{where}: where is {condition!r}, expected a list of conditions, such as [("year", ">=", '
        "2020)]."
    )
    if isinstance(condition, (str, Mapping)) or not isinstance(condition, Sequence):
        raise TypeError(form)
    return tuple(_condition(where, form, item) for item in condition)


def _condition(where: str, form: str, item: object) -> Condition:
    if not isinstance(item, (tuple, list)) or len(item) != 3 or not isinstance(item[0], str):
        raise TypeError(form)
    name, op, value = item
    if op not in _OPS:
        raise ValueError(
            f"{where}: the condition on {name!r} uses {op!r}, expected one of {', '.join(_OPS)}."
        )
    if op not in _SEVERAL:
        return name, op, _plain(where, name, value)
    if isinstance(value, (str, bytes)) or not hasattr(value, "__iter__"):
        raise TypeError(
            f"{where}: the condition on {name!r} is {op} {value!r}, expected a list of values."
        )
    return name, op, tuple(_plain(where, name, one) for one in value)


def _plain(where: str, name: str, value: Any) -> Any:
    if value is None or type(value).__name__ == "NAType":  # NAType is the null of pandas.
        raise ValueError(
            f"{where}: the condition on {name!r} compares with {value!r}, but nulls never match a "
            "condition. Read the column as hr.Nullable, and use filter."
        )
    if _is_nothing(value):
        raise ValueError(
            f"{where}: the condition on {name!r} compares with {value!r}, which never matches. "
            "Use filter with np.isnan or np.isnat."
        )
    is_time = isinstance(value, (np.datetime64, np.timedelta64))
    return value.item() if isinstance(value, np.generic) and not is_time else value


def _is_nothing(value: Any) -> bool:
    """Returns whether a value is NaN or NaT, the only values that are not equal to themselves."""
    return not isinstance(value, np.ndarray) and bool(value != value)  # noqa: PLR0124


def is_met(value: int | str | None, condition: Condition) -> bool:
    """Returns whether a value taken from a directory name meets a condition.

    Raises:
        TypeError: If the condition compares it with a value of a different type.
    """
    name, op, operand = condition
    if value is None:
        return False
    for one in operand if op in _SEVERAL else (operand,):
        if isinstance(value, str) != isinstance(one, str):
            raise TypeError(
                f"where: the column {name!r} is {value!r} in the name of a directory, so it "
                f"cannot be compared with {one!r}. Use a value of the same type."
            )
    return _OPS[op](value, operand)


def native_condition(where: str, spec: Spec | None, condition: Condition) -> engine.Condition:
    """Converts a condition to the engine's form; `spec` is None for decimal columns.

    Raises:
        TypeError: If the column does not hold single values, or is compared with a different type.
        ValueError: If the type of the column cannot represent the value exactly.
    """
    name, op, value = condition
    values = value if op in _SEVERAL else (value,)
    if spec is None:
        column = Component(name, Spec(str, ()), has_mask=True)
        texts = [_decimal_text(where, name, one) for one in values]
        return engine.Condition(native(column), op, texts)
    if spec.shape != () or spec.dtype is Json:
        raise TypeError(
            f"{where}: the condition on {name!r} does not work, because the column is {spec}. "
            "Conditions need columns of single values. Use filter."
        )
    column = Component(name, spec, None, is_inferred=True, has_mask=True)
    return engine.Condition(native(column), op, [_value(where, name, spec, one) for one in values])


def _decimal_text(where: str, name: str, value: Any) -> str:
    is_number = isinstance(value, (int, float, Decimal)) and not isinstance(value, bool)
    number = Decimal(repr(value) if isinstance(value, float) else value) if is_number else None
    if number is None or not number.is_finite():
        raise TypeError(
            f"{where}: the condition on the decimal column {name!r} compares with {value!r}, "
            "expected a number or a decimal.Decimal."
        )
    return format(number, "f")


def _value(where: str, name: str, spec: Spec, value: Any) -> Any:
    wrong = f"{where}: the condition on {name!r}, which is {spec}, compares with {value!r}"
    if isinstance(spec.dtype, type):
        if not isinstance(value, (str, bytes)):
            raise TypeError(f"{wrong}, expected a string.")
        return value.encode() if isinstance(value, str) else value
    if spec.dtype.kind in "mM":
        exact = exactly(value, spec.dtype) if not isinstance(value, (int, float)) else None
        if exact is None:
            raise ValueError(
                f"{wrong}, expected a time that {spec.dtype.name} can represent exactly."
            )
        return int(exact.astype(np.int64))
    if not isinstance(value, (bool, int, float)) or isinstance(value, bool) != (
        spec.dtype.kind == "b"
    ):
        raise TypeError(f"{wrong}, expected a value of the same type.")
    if isinstance(value, int) and not -(2**63) <= value < 2**64:
        return float(value)
    return value
