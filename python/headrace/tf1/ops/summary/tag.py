"""Summary tags, and code that all kinds of summaries share."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import Any, Final

from headrace.core import dtypes
from headrace.core.shapes import TensorShape
from headrace.graph import GraphKeys, Tensor, TensorLike, add_to_collections, name_scope
from headrace.ops.framework.arguments import Input, apply_op
from headrace.ops.framework.elementwise import FLOATS, INTEGERS

__all__ = ["SUMMARIZABLE", "infer_string", "summarize"]


SUMMARIZABLE: Final = (*FLOATS, *INTEGERS)


_NOT_IN_TAGS: Final = re.compile(r"[^-/\w.]", re.ASCII)


def summarize(
    op_type: str,
    tag_parameter: str,
    name: str,
    values: Input,
    collections: Sequence[str] | None,
    family: str | None,
    attrs: dict[str, Any] | None = None,
) -> Tensor:
    """Adds a summary and appends it to its collections."""
    with _tag_scope(name, family, values.value) as (tag, scope):
        inputs = [Input(tag_parameter, tag, dtypes.string), values]
        op = apply_op(op_type, inputs, infer_string, name=scope, attrs=attrs)
    summary = op.outputs[0]
    add_to_collections([GraphKeys.SUMMARIES] if collections is None else collections, summary)
    return summary


@contextmanager
def _tag_scope(name: str, family: str | None, values: TensorLike) -> Iterator[tuple[str, str]]:
    """Yields the tag and the name scope of a summary."""
    name = _clean(name)
    if family is None:
        with name_scope(name, values=[values]) as scope:
            yield scope.rstrip("/"), scope
        return
    family = _clean(family)
    # The tag contains the family twice, because TensorBoard groups by the part before the first
    # slash.
    with name_scope(f"{family}/{name}", values=[values]) as scope:
        yield f"{family}/{scope.rstrip('/')}", scope


def _clean(tag: str) -> str:
    return _NOT_IN_TAGS.sub("_", tag).lstrip("/")


def infer_string(*_: Tensor) -> list[tuple[dtypes.DType, TensorShape]]:
    """Returns the type and shape of the output of an operation that returns one string."""
    return [(dtypes.string, TensorShape([]))]
