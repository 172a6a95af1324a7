"""Values that a function returns as it got them: they keep their component."""

from collections.abc import Mapping
from typing import Any, NamedTuple

from headrace.pipeline.describe.types import Json, Spec

__all__ = ["Passed", "with_passed", "without_passed"]


class Passed(NamedTuple):
    """The place of a value that a function returned as it got it, while components are learned.

    Attributes:
        name: The component that it was.
        spec: That component.
    """

    name: str
    spec: Spec


def with_passed(made: Any, example: Mapping[str, Any], specs: Mapping[str, Spec]) -> Any:
    """Returns what a function made, with `Passed` for objects of JSON that it only handed on.

    Args:
        made: What it returned for an example.
        example: The example, as it was given.
        specs: The components of the example.
    """
    objects = {name: example[name] for name, spec in specs.items() if spec.dtype is Json}
    if not objects or not isinstance(made, Mapping):
        return made
    return {name: _passed(name, value, objects, specs) for name, value in made.items()}


def without_passed(made: Any, example: Mapping[str, Any]) -> Any:
    """Returns what a function made, with the values in place of `Passed`."""
    if not isinstance(made, Mapping):
        return made
    return {
        name: example[value.name] if isinstance(value, Passed) else value
        for name, value in made.items()
    }


def _passed(name: str, value: Any, objects: Mapping[str, Any], specs: Mapping[str, Spec]) -> Any:
    if name in objects and value is objects[name]:
        return Passed(name, specs[name])
    if isinstance(value, (dict, list)):
        for other, given in objects.items():
            if value is given:
                return Passed(other, specs[other])
    return value
