"""The result of verifying a file."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import Any

from headrace.cli.content.kind import Content
from headrace.cli.inspect.report import damage_of
from headrace.core.repr_prefix import without_passwords
from headrace.pipeline import Skipped

__all__ = ["Result"]


@dataclass
class Result:
    """The result for one file.

    Attributes:
        content: The file.
        num_records: The number of whole records.
        damage: The damage, in the form for the document of `--json`.
    """

    content: Content
    num_records: int = 0
    damage: list[dict[str, Any]] = field(default_factory=list)

    def add(self, skipped: Iterable[Skipped]) -> None:
        """Adds unreadable records."""
        self.damage += damage_of(list(skipped))

    def fail(self, stage: str, reason: str) -> None:
        """Records that no part of the file can be read."""
        self.damage.append({"record": None, "offset_bytes": None, "stage": stage, "reason": reason})

    def as_json(self) -> dict[str, Any]:
        """Returns this in the form for the document of `--json`."""
        return {
            "file": without_passwords(self.content.path),
            "kind": self.content.kind,
            "compression": self.content.compression,
            "size_bytes": self.content.size_bytes,
            "records": self.num_records,
            "damage": self.damage,
        }
