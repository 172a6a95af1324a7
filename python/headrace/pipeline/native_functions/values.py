"""Traced values: tensors that raise an error if Python needs their value."""

from __future__ import annotations

import sys
from typing import Any, NoReturn, cast

from headrace.graph import Tensor, TensorLike, find_location
from headrace.ops.math.compare import equal, not_equal

__all__ = ["TracedTensor"]

_OWN = __name__.split(".", 1)[0] + "."


class TracedTensor(Tensor):
    """A tensor of a native function that is being traced.

    It supports the operators of tensors. In the user's code, `==` and `!=` also compare elements.
    Elsewhere they compare objects, as in `Tensor`.
    """

    __slots__ = ()

    __hash__ = Tensor.__hash__

    def __eq__(self, other: object) -> Any:
        return equal(self, cast("TensorLike", other)) if _is_for_user() else self is other

    def __ne__(self, other: object) -> Any:
        return not_equal(self, cast("TensorLike", other)) if _is_for_user() else self is not other

    def __bool__(self) -> NoReturn:  # noqa: PLE0304 (it raises)
        _refuse(
            "`if`, `while`, `and`, `or` and `not` do not work with it. Use "
            "headrace.ops.where(condition, a, b) to choose between values, & | ~ to combine "
            "conditions, and filter(...) to drop examples"
        )

    def __int__(self) -> NoReturn:
        _refuse("int() does not work with it. Use headrace.ops.cast(value, int)")

    def __float__(self) -> NoReturn:
        _refuse("float() does not work with it. Use headrace.ops.cast(value, float)")

    def __iter__(self) -> NoReturn:
        _refuse("you cannot iterate over it. Use operations on the whole tensor, or value[i]")

    def __array__(self, *_args: object, **_kwargs: object) -> NoReturn:
        _refuse("NumPy does not work with it. Use the operations of headrace.ops")

    def __str__(self) -> str:
        if _is_for_user():
            _refuse(
                "it cannot be printed. Print its dtype or shape, or print examples in a Python "
                "function"
            )
        return super().__str__()

    def __format__(self, spec: str) -> str:
        return (
            self.__str__()
            if not _is_for_user()
            else _refuse(
                "it cannot be printed. Print its dtype or shape, or print examples in a Python "
                "function"
            )
        )


def _is_for_user() -> bool:
    """Returns whether the calling method was called by the user's code."""
    return not sys._getframe(2).f_globals.get("__name__", "").startswith(_OWN)


def _refuse(what: str) -> NoReturn:
    location = find_location()
    raise TypeError(
        f"{location + ': ' if location else ''}this tensor has no value while a native function "
        f"is being traced, so {what}, or remove @headrace.native."
    )
