"""Errors about examples that a format cannot hold, in the words of the calling interface."""

from __future__ import annotations

from typing import Final, NamedTuple

__all__ = ["PIPELINE", "UnwritableError", "Wording"]


class UnwritableError(ValueError):
    """An example, or a component of all of them, that a format cannot hold."""


class Wording(NamedTuple):
    """The words for components, and the remedies.

    Attributes:
        component: The word for one component.
        drop: The way to write only the other components.
        as_text: The way to write bytes as text; `{name}` is the component.
        as_list: The way to write lists.
        as_numbers: The way to write numbers that JSON does not have.
        new_key: The way to give samples keys.
        other_key: The way to give samples other keys.
        rename: The way to give a component another name; `{name}` is the component.
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
        """The way to write only the other components, as a sentence."""
        return f"{self.drop[0].upper()}{self.drop[1:]}."


# The words for programs.
PIPELINE: Final = Wording(
    component="component",
    drop="drop it with select(...)",
    as_text="Decode it in a map, write Parquet or tar",
    as_list="Write JSON lines or Parquet",
    as_numbers="Write Parquet.",
    new_key="Give each example another __key__",
    other_key="Give it another __key__ in a map.",
    rename="Rename it: rename(**{{{name!r}: 'jpg'}})",
)
