"""The common base of stages: plain data, compared and printed field by field."""

import re
from dataclasses import field, fields
from typing import Any, Final, cast

from headrace.core.repr_prefix import without_passwords
from headrace.pipeline.describe.types import Feature

__all__ = ["Stage", "named", "text"]

_WORD_BORDER: Final = re.compile(r"(?<=[a-z])(?=[A-Z])")


def text(value: object) -> str:
    """Returns a value of a stage as a program writes it."""
    if isinstance(value, Feature) and value == Feature(value.dtype) and value.default is None:
        value = value.dtype
    if isinstance(value, type) or hasattr(value, "__qualname__"):
        return str(value.__qualname__)
    if isinstance(value, tuple):
        return f"({', '.join(text(item) for item in value)})"
    return repr(value)


def named(default: Any) -> Any:
    """Returns a field that is written as a keyword argument."""
    return field(default=default, metadata={"is_named": True})


class Stage:
    """One step of a pipeline."""

    @property
    def name(self) -> str:
        """Its name in messages: that of the method that adds it."""
        return _WORD_BORDER.sub("_", type(self).__name__).lower()

    def __str__(self) -> str:
        """Returns the stage as a program writes it, without default values."""
        shown = [
            f"{item.name}={text(value)}" if item.metadata.get("is_named") else text(value)
            for item in fields(cast("Any", self))
            if item.repr and (value := getattr(self, item.name)) != item.default
        ]
        return without_passwords(f"{self.name}({', '.join(shown)})")
