"""The base class of sources that read files of one format."""

import os
from abc import abstractmethod
from collections.abc import Callable, Sequence
from typing import ClassVar, NamedTuple, TypeVar

from headrace.core import engine
from headrace.core.errors import InvalidArgumentError
from headrace.pipeline.functions.python_functions import PythonWorker
from headrace.pipeline.paths.paths import find_files
from headrace.pipeline.stages.source import Origin, Source, SourcePlanning
from headrace.pipeline.values.types import Spec, Specs

__all__ = ["FileSource", "InferredSource", "SourcePlan", "check_paths", "first_found"]

_Found = TypeVar("_Found")


class SourcePlan(NamedTuple):
    """A source's work, in the engine's form.

    Attributes:
        plan: The plan that reads records.
        files: The files that it reads, in order.
        stages: The stages that convert records to examples. They may run later, after a shuffle.
        num_parallel: The maximum number of parallel reads, or None for the number of threads.
        is_python: Whether a Python function does the reading.
        left_out: The number of remaining tokens that don't fill a window.
        seen_components: Tracks which optional components occur.
        part: The name under which the work of `stages` is measured.
    """

    plan: engine.Plan
    files: Sequence[bytes]
    stages: Sequence[engine.Stage] = ()
    num_parallel: int | None = None
    is_python: bool = False
    left_out: int = 0
    seen_components: engine.SeenComponents | None = None
    part: str = "fields"


class FileSource(Source, is_base=True):
    """A source of files whose components are defined by the format."""

    origin: ClassVar = Origin.FILES

    @property
    def may_have_index(self) -> bool:
        """Whether index files can store the positions of the records."""
        return self._compression in (None, "auto") and not self.is_kept_for_shuffle

    @property
    def obstacle(self) -> str | None:
        """The reason why examples cannot be accessed at random, or None if they can."""
        # With "auto", the scan detects whether the files are compressed.
        if self._compression in (None, "auto"):
            return None
        return f"the files of {self.name} are compressed with {self._compression}"

    @property
    def is_reordered(self) -> bool:
        """True, because a following shuffle may reorder files."""
        return True

    def window_pieces(self, block_bytes: int | None) -> list[str]:
        """Names the pieces that a following window may reorder. Empty if there are none."""
        if self.piece != "file":
            return [f"the {self.piece}s of {self.name}"]
        blocks = "" if block_bytes is None else f"pieces of {block_bytes:,} bytes of "
        return [f"{blocks}the files of {self.name}"]

    def file_names(self) -> list[str]:
        """Returns the files that match the user's paths, in order.

        Raises:
            OpError: If the files cannot be listed.
        """
        return list(map(os.fsdecode, find_files(self.name, getattr(self, "paths", ()))))

    def counts(self) -> Sequence[int] | None:
        """Returns the number of examples in each file, if it is known without reading them.

        Files whose count is not needed may be counted as one. Returns None if the numbers are
        unknown.
        """
        return None

    @abstractmethod
    def planned(self, specs: Specs, add_python_worker: Callable[[PythonWorker], int]) -> SourcePlan:
        """Returns the plan.

        Args:
            specs: The components of an example.
            add_python_worker: Adds the `PythonWorker` of a Python function, and returns its number.
        """

    def source_plan(self, planning: SourcePlanning) -> engine.Plan:
        """Returns the plan that produces the examples."""
        planned = self.planned(planning.specs, planning.python_worker)
        planning.add_files(planned.files)
        planning.measure(
            num_parallel=planned.num_parallel,
            is_python=planned.is_python,
            reads_files=not planned.is_python,
            left_out=planned.left_out,
        )
        if planned.seen_components is not None:
            planning.add_seen_components(planned.seen_components)
        # Reading waits for storage and parsing doesn't, so parsing is measured separately.
        for stage in planned.stages:
            planning.later(stage, planned.part)
        plan = planning.with_cache(planned.plan)
        kept_for = planning.ordered_by if self.is_kept_for_shuffle else None
        return plan if kept_for is None else plan.kept_for(kept_for)

    @property
    def _compression(self) -> str | None:
        return getattr(self, "compression", None)


class InferredSource(FileSource, is_base=True):
    """Files whose components may have to be inferred."""

    @abstractmethod
    def inferred(self) -> dict[str, Spec]:
        """Infers the components from the start of the first file.

        Raises:
            OpError: If the file cannot be read.
        """

    @abstractmethod
    def described(self) -> str:
        """Describes how the components are inferred."""


def first_found(
    where: str,
    paths: Sequence[str],
    words: str,
    infer: Callable[[bytes], _Found | None],
    remedy: str = "List the columns with columns={...}.",
) -> _Found:
    """Returns the result of `infer` for the first file that has one.

    Args:
        where: The source's name.
        paths: The user's paths and patterns.
        words: The required content of the files, for messages.
        infer: Examines the start of a file. Returns None if the file is empty.
        remedy: What to do if no file has any content, for messages.

    Raises:
        OpError: If a file cannot be read, or no file has any content.
    """
    files = find_files(where, paths)
    for path in files:
        with engine.op_errors():
            inferred = infer(path)
        if inferred is not None:
            return inferred
    first = os.fsdecode(files[0])
    which = first if len(files) == 1 else f"{first} and {len(files) - 1} more files"
    have = "has" if len(files) == 1 else "have"
    raise InvalidArgumentError(
        None,
        None,
        f"{where}: {which} {have} no {words} to infer the columns from. {remedy}",
    )


def check_paths(columns: Sequence[tuple[int, str]]) -> engine.Stage:
    """Returns a stage that rejects file names that are not valid text.

    Args:
        columns: The index and name of each column of file names, which may contain any bytes.
    """
    return engine.Stage.check_text(columns, "Rename the file.")
