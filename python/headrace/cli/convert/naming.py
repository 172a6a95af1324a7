"""Output file names."""

from __future__ import annotations

import os
import re

from headrace.io import storage

__all__ = ["Names"]

_NUMBER = r"\d{5,}"


class Names:
    """The names of the output files: `train.tfrecord` becomes `train-00000-of-00004.tfrecord`.

    Args:
        output: The output name that the user gave.
        num_shards: The number of shards. None if it is unknown.
        is_divided: Whether the output is divided into shards.
    """

    def __init__(self, output: str, num_shards: int | None, is_divided: bool) -> None:
        self._output = output
        self._num_shards = num_shards
        self._is_divided = is_divided
        self.directory, self._base = os.path.split(output)
        self._stem, self._extension = _divided(self._base)

    def shard(self, number: int) -> str:
        """Returns the path of shard `number`."""
        if not self._is_divided:
            return self._output
        of = "" if self._num_shards is None else f"-of-{self._num_shards:05d}"
        return os.path.join(self.directory, f"{self._stem}-{number:05d}{of}{self._extension}")

    def existing(self) -> list[str]:
        """Returns the existing files with names of this form, for any number of shards."""
        pattern = rf"{re.escape(self._stem)}-{_NUMBER}(-of-{_NUMBER})?{re.escape(self._extension)}"
        return self._matching(pattern if self._is_divided else re.escape(self._base))

    def leftovers(self) -> list[str]:
        """Returns temporary files left by killed runs. Remote storage never has any."""
        if storage.is_remote(self._output):
            return []
        pattern = (
            rf"\.{re.escape(self._stem)}(-{_NUMBER}(-of-{_NUMBER})?)?{re.escape(self._extension)}"
            r"\.tmp[0-9a-f]{16}"
        )
        return self._matching(pattern)

    def _matching(self, pattern: str) -> list[str]:
        expected = re.compile(pattern)
        if storage.is_remote(self._output):
            names = [os.path.basename(entry.path) for entry in storage.entries(self.directory)]
        else:
            names = os.listdir(self.directory or ".")
        matching = sorted(name for name in names if expected.fullmatch(name))
        return [os.path.join(self.directory, name) for name in matching]


def _divided(base: str) -> tuple[str, str]:
    """Splits a name into stem and extension. `.tar.gz` counts as one extension."""
    stem, extension = os.path.splitext(base)
    if extension in (".gz", ".zst", ".bz2"):
        stem, inner = os.path.splitext(stem)
        extension = inner + extension
    return stem, extension
