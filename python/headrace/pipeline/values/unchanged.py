"""Markers for values that a function returns unchanged. Their components are kept as they are."""

from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np

from headrace.pipeline.values.nested import NestedList
from headrace.pipeline.values.types import Json, Spec

__all__ = ["Unchanged", "with_unchanged", "without_unchanged"]


class Unchanged(NamedTuple):
    """Marks a value that a function returned unchanged, while components are being learned.

    Attributes:
        name: The name of the component in the function's input.
        spec: The spec of that component.
    """

    name: str
    spec: Spec


def with_unchanged(result: Any, example: Mapping[str, Any], specs: Mapping[str, Spec]) -> Any:
    """Replaces JSON values that a function returned unchanged with `Unchanged`.

    If a component was a list of arrays and the function returned a list, it becomes a `NestedList`.
    Empty arrays of `str` that the function returned unchanged get a type that makes this clear.

    Args:
        result: The function's result for an example.
        example: The example that was passed to the function.
        specs: The components of the example.
    """
    if not isinstance(result, Mapping):
        return result
    listed = {name: spec for name, spec in specs.items() if spec.is_listed}
    result = {
        name: NestedList(value, listed[name])
        if name in listed and isinstance(value, (list, tuple))
        else value
        for name, value in result.items()
    }
    texts = [example[name] for name, spec in specs.items() if spec.dtype is str]
    if texts:
        result = {name: _typed_text(value, texts) for name, value in result.items()}
    objects = {name: example[name] for name, spec in specs.items() if spec.dtype is Json}
    if not objects:
        return result
    return {name: _passed(name, value, objects, specs) for name, value in result.items()}


def without_unchanged(result: Any, example: Mapping[str, Any]) -> Any:
    """Replaces `Unchanged` in a function's result with the values of the example."""
    if not isinstance(result, Mapping):
        return result
    return {
        name: example[value.name] if isinstance(value, Unchanged) else value
        for name, value in result.items()
    }


def _typed_text(value: Any, texts: Sequence[Any]) -> Any:
    """Returns an array of strings if the value is an empty one of these texts."""
    is_empty = isinstance(value, np.ndarray) and value.dtype == object and not value.size
    if is_empty and any(value is text for text in texts):
        return value.astype(np.str_)
    return value


def _passed(name: str, value: Any, objects: Mapping[str, Any], specs: Mapping[str, Spec]) -> Any:
    if name in objects and value is objects[name]:
        return Unchanged(name, specs[name])
    if isinstance(value, (dict, list)):
        for other, component in objects.items():
            if value is component:
                return Unchanged(other, specs[other])
    return value
