"""`files`: whole files."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import ClassVar

from headrace.pipeline.functions.python_functions import PythonWorker
from headrace.pipeline.paths.paths import Paths, find_files
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

    def counts(self) -> Sequence[int]:
        """Returns 1 for each file, because each file is one example."""
        return [1] * len(find_files(self.kind, self.paths))

    def planned(self, specs: Specs, add_python_worker: Callable[[PythonWorker], int]) -> SourcePlan:
        """Returns a plan that reads the files one after the other."""
        planned = super().planned(specs, add_python_worker)
        return planned._replace(stages=[check_paths([(0, "path")])], part="names")


def files(paths: Paths) -> WholeFiles:
    """Reads whole files. Each example is `{"path": str, "data": bytes}`.

    Args:
        paths: The files to read; see `tfrecords`.

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
