"""Errors about examples that a format cannot hold, worded for the caller (Python or a command)."""

from __future__ import annotations

from typing import Final, NamedTuple

__all__ = ["PIPELINE", "UnwritableError", "Wording"]


class UnwritableError(ValueError):
    """An example or a component that a format cannot hold."""


class Wording(NamedTuple):
    """The terms and suggested fixes in messages.

    Attributes:
        component: The term for a component.
        drop: The suggested fix for leaving a component out.
        as_text: The suggested fix for bytes that are not text. `{name}` is the component.
        as_list: The suggested fix for lists.
        as_numbers: The suggested fix for numbers that JSON does not support.
        new_key: The suggested fix for samples without keys.
        other_key: The suggested fix for keys that cannot be used.
        rename: The suggested fix for a component name. `{name}` is the component.
    """

    component: str
    drop: str
    as_text: str
    as_list: str
    as_numbers: str
    new_key: str
    other_key: str
    rename: str

    @property
    def dropped(self) -> str:
        """How to write only the other components, as a sentence."""
        return f"{self.drop[0].upper()}{self.drop[1:]}."


# The wording for Python programs.
PIPELINE: Final = Wording(
    component="component",
    drop="drop it with select(...)",
    as_text="Decode it in a map, write Parquet or tar instead",
    as_list="Write JSON lines or Parquet instead",
    as_numbers="Write Parquet.",
    new_key="Give each example its own __key__",
    other_key="Set another __key__ in a map.",
    rename="Rename it: rename(**{{{name!r}: 'jpg'}})",
)
