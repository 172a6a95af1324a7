"""`files`: whole files."""

import os
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import ClassVar

from headrace.core import engine
from headrace.pipeline.functions.python_functions import PythonWorker
from headrace.pipeline.paths.paths import Paths
from headrace.pipeline.paths.zip_archives import find_files_and_members
from headrace.pipeline.sources.file_source import SourcePlan, check_paths
from headrace.pipeline.sources.record_files import RecordFiles, record_files
from headrace.pipeline.values.types import Spec, Specs

__all__ = ["WholeFiles", "files"]


@dataclass(frozen=True)
class WholeFiles(RecordFiles):
    """Whole files with their paths."""

    kind: ClassVar = "files"

    @property
    def spec(self) -> dict[str, Spec]:
        """The components of an example."""
        return {"path": Spec(str, ()), "data": Spec(bytes, ())}

    @property
    def may_have_index(self) -> bool:
        """False, because each file is one record."""
        return False

    def file_names(self) -> list[str]:
        """Returns the files that match the user's paths, in order."""
        return list(map(os.fsdecode, find_files_and_members(self.kind, self.paths).paths))

    def counts(self) -> Sequence[int]:
        """Returns 1 for each file, because each file is one example."""
        return [1] * len(find_files_and_members(self.kind, self.paths).paths)

    def records(self) -> None:  # type: ignore[override]
        """Returns None, because each file is one record."""

    def planned(self, specs: Specs, add_python_worker: Callable[[PythonWorker], int]) -> SourcePlan:
        """Returns a plan that reads the files one after the other."""
        found = find_files_and_members(self.kind, self.paths)
        plan = engine.whole_files(found.paths, found.archives)
        stages = [check_paths([(0, "path")])]
        return SourcePlan(plan, found.on_storage, stages, len(found.paths), part="names")


def files(paths: Paths) -> WholeFiles:
    """Reads whole files. Each example is `{"path": str, "data": bytes}`.

    The files in a zip archive are read in place if you continue its path, as in `a.zip/**/*.jpg`.
    Their checksums are verified.

    Args:
        paths: The files to read; see `tfrecords`. Paths in zip archives also work.

    Raises:
        TypeError: If a path is invalid.
        ValueError: If there are no paths.

    Examples:
        >>> from pathlib import Path
        >>> length = Path("greeting.txt").write_bytes(b"hello")
        >>> next(iter(hr.files("*.txt")))
        {'path': 'greeting.txt', 'data': b'hello'}
    """
    return record_files(WholeFiles, paths, None)
