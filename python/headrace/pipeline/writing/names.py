"""Shard names, from a path with a field for the shard number."""

from __future__ import annotations

import os
import re
from string import Formatter

from headrace.core.repr_prefix import without_passwords
from headrace.io import storage

__all__ = ["ShardNames"]

_FIELDS = ("shard", "num_shards")


class ShardNames:
    """The paths of shards: `train-{shard:05}.tfrecord` becomes `train-00000.tfrecord` and so on.

    Args:
        path: The path. The file name contains `{shard}`, and may contain `{num_shards}`.
        num_shards: The number of shards.

    Attributes:
        paths: Each shard's path.

    Raises:
        ValueError: If the path lacks the field for the shard number, or has other fields.
    """

    def __init__(self, path: str, num_shards: int) -> None:
        directory, base = os.path.split(path)
        shown = without_passwords(path)
        try:
            fields = {name for _, name, _, _ in Formatter().parse(base) if name is not None}
            numbers = range(num_shards)
            names = [base.format(shard=number, num_shards=num_shards) for number in numbers]
        except (ValueError, LookupError, AttributeError) as error:
            raise ValueError(
                f"write: the path is {shown!r} ({error}), expected only the placeholders "
                "{shard} and {num_shards}, as in 'train-{shard:05}.tfrecord'. Write {{ "
                "and }} for literal braces."
            ) from error
        if not fields <= set(_FIELDS) or len(set(names)) < num_shards:
            raise ValueError(
                f"write: the path is {shown!r}, but {num_shards} shards need different names. Use "
                "{shard} in the path, as in 'train-{shard:05}.tfrecord'."
            )
        self._directory = directory
        self.paths = [os.path.join(directory, name) for name in names]

    def existing(self) -> list[str]:
        """Returns the paths of the shards that exist."""
        if storage.is_remote(self._directory):
            statuses = zip(self.paths, storage.statuses(self.paths), strict=True)
            return [path for path, status in statuses if status is not None]
        return [path for path in self.paths if os.path.lexists(path)]

    def remove_leftovers(self) -> None:
        """Removes temporary files of killed writers of these shards."""
        if storage.is_remote(self._directory):
            return  # Remote storage contains only complete files.
        mine = {os.path.basename(path) for path in self.paths}
        for name in os.listdir(self._directory or "."):
            match = re.fullmatch(r"\.(.+)\.tmp[0-9a-f]{16}", name, re.DOTALL)
            if match is not None and match[1] in mine:
                os.unlink(os.path.join(self._directory, name))
