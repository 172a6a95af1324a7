"""The base class of sources whose records are strings."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import ClassVar, TypeVar

from headrace.core import engine
from headrace.pipeline.functions.python_functions import PythonWorker
from headrace.pipeline.paths.paths import Paths, as_paths, check_compression, find_files
from headrace.pipeline.sources.file_source import FileSource, SourcePlan
from headrace.pipeline.values.types import Spec, Specs

__all__ = ["RecordFiles", "record_files"]

_Files = TypeVar("_Files", bound="RecordFiles")


@dataclass(frozen=True)
class RecordFiles(FileSource, is_base=True):
    """The records of files.

    Attributes:
        kind: The name of the function that creates the source, and the engine's name for the
            format.
        paths: The user's paths and patterns.
        compression: None, "auto", "gzip", "zlib", "zstd", "bzip2", "xz" or "lz4".
        lengths: The length of the header, a record and the footer in bytes, if they are fixed.
    """

    facts: ClassVar[tuple[str, ...]] = (*FileSource.facts, "kind")

    is_scanned: ClassVar = True
    is_kept_for_shuffle: ClassVar = False
    numbers_lines: ClassVar = False
    classes: ClassVar = None
    piece: ClassVar = "file"
    kind: ClassVar[str]

    paths: tuple[str, ...]
    compression: str | None = None
    lengths: tuple[int, int, int] = (0, 1, 0)

    @property
    def name(self) -> str:
        """The source's name in messages."""
        return self.kind

    @property
    def spec(self) -> dict[str, Spec]:
        """The components of an example."""
        return {"record": Spec(bytes, ())}

    def records(self) -> engine.Plan:
        """Returns a plan that reads the raw records."""
        return self._plan(find_files(self.kind, self.paths))

    def planned(self, specs: Specs, add_python_worker: Callable[[PythonWorker], int]) -> SourcePlan:
        """Returns a plan that reads the files one after the other."""
        paths = find_files(self.kind, self.paths)
        return SourcePlan(self._plan(paths), paths, num_parallel=len(paths))

    def _plan(self, paths: Sequence[bytes]) -> engine.Plan:
        header_bytes, record_bytes, footer_bytes = self.lengths
        return engine.Plan.files(
            self.kind,
            paths,
            self.compression or "",
            header_bytes=header_bytes,
            record_bytes=record_bytes,
            footer_bytes=footer_bytes,
        )


def record_files(
    source: type[_Files],
    paths: Paths,
    compression: str | None,
    lengths: tuple[int, int, int] = (0, 1, 0),
) -> _Files:
    """Checks the arguments of a source of record files, and returns the source."""
    check_compression(source.kind, compression)
    return source(as_paths(source.kind, paths), compression, lengths)
