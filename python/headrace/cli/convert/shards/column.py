"""Columns: what all examples of an output have in common, once all were looked at."""

from __future__ import annotations

import base64
from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np

from headrace.cli.convert.request import Request
from headrace.cli.examples.schema import FeatureSummary, Schema
from headrace.cli.examples.values import Values
from headrace.cli.failures import Failure

__all__ = ["Column", "columns_of", "shortest"]


class Column(NamedTuple):
    """A feature of all examples.

    Attributes:
        name: Its name.
        kind: "text", "bytes", "base64", "float" or "int64".
        is_list: Whether it is a list; else it is one value.
    """

    name: str
    kind: str
    is_list: bool

    def value(self, values: Values, is_short: bool = True) -> Any:
        """Returns the value of an example, as Python has it.

        Args:
            values: The values of the example.
            is_short: Whether numbers are written with as few digits as they need.
        """
        items = self._items(values, is_short)
        return items if self.is_list else items[0]

    def _items(self, values: Values, is_short: bool) -> list[Any]:
        match self.kind:
            case "text":
                return [item.decode() for item in values.items]
            case "base64":
                return [base64.b64encode(item).decode() for item in values.items]
            case "float" if is_short:
                return shortest(values.items)
        return list(values.items)


def shortest(items: Sequence[float]) -> list[float]:
    """Returns float32 numbers as those with the fewest digits that mean the same."""
    return [float(str(np.float32(item))) for item in items]


def columns_of(schema: Schema, request: Request) -> list[Column]:
    """Returns the columns that features become.

    Raises:
        Failure: If examples have different kinds of values in one feature.
    """
    for name in request.base64:
        if name not in schema.features:
            raise Failure(f"--base64 {name}: there is no such feature.")
    return [
        Column(name, _kind(name, feature, request), not feature.is_scalar)
        for name, feature in schema.features.items()
    ]


def _kind(name: str, feature: FeatureSummary, request: Request) -> str:
    kinds = [kind for kind in feature.kinds if kind is not None]
    if len(kinds) > 1:
        raise Failure(
            f"feature '{name}' is {feature.kind}, expected one kind in all examples. Leave it out "
            "with --select."
        )
    if kinds != ["bytes"]:
        return kinds[0] if kinds else "int64"
    if name in request.base64:
        return "base64"
    return "text" if feature.is_text else "bytes"
