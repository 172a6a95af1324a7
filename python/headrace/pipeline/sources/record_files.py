"""The common base of files whose records are strings."""

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
    """Records of files.

    Attributes:
        kind: The name of the function that makes it, which is the engine's name of the format.
        paths: Paths and patterns, as given.
        compression: None, "auto", "gzip", "zlib", "zstd", "bzip2", "xz" or "lz4".
        lengths: The bytes of the header, of a record and of the footer, where they are fixed.
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
        """Its name in messages: that of the function that makes it."""
        return self.kind

    @property
    def spec(self) -> dict[str, Spec]:
        """The components of an example."""
        return {"record": Spec(bytes, ())}

    def records(self) -> engine.Plan:
        """Returns a plan of the records of its files."""
        return self._plan(find_files(self.kind, self.paths))

    def planned(self, specs: Specs, add_python_worker: Callable[[PythonWorker], int]) -> SourcePlan:
        """Returns the plan, which reads one file after the other."""
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
    """Returns a source of record files, with checked arguments."""
    check_compression(source.kind, compression)
    return source(as_paths(source.kind, paths), compression, lengths)
