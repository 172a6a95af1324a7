"""The common base of sources that know the format of their files."""

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
    """The engine's work for a source.

    Attributes:
        plan: The plan that reads records.
        files: The files that it reads, in order.
        stages: The stages that turn records into examples; they may run later, after a shuffle.
        num_parallel: The largest number of parallel reads; None for the number of threads.
        is_python: Whether a Python function reads.
        left_out: The number of tokens that do not fill a window.
        sightings: Whether the components occur that a record may lack.
        part: The name under which the work of `stages` is measured.
    """

    plan: engine.Plan
    files: Sequence[bytes]
    stages: Sequence[engine.Stage] = ()
    num_parallel: int | None = None
    is_python: bool = False
    left_out: int = 0
    sightings: engine.Sightings | None = None
    part: str = "fields"


class FileSource(Source, is_base=True):
    """A source of files whose format defines the components."""

    origin: ClassVar = Origin.FILES

    @property
    def may_have_index(self) -> bool:
        """Whether index files can have the places of its records."""
        return self._compression in (None, "auto") and not self.is_kept_for_shuffle

    @property
    def obstacle(self) -> str | None:
        """Why there is no random access to its examples; None if there is."""
        if self._compression in (None, "auto"):  # The scan finds out.
            return None
        return f"the files of {self.name} are compressed with {self._compression}"

    @property
    def is_reordered(self) -> bool:
        """True: a shuffle after it permutes examples of files."""
        return True

    def window_pieces(self, block_bytes: int | None) -> list[str]:
        """Returns what a window after it may read in another order, as text."""
        if self.piece != "file":
            return [f"the {self.piece}s of {self.name}"]
        blocks = "" if block_bytes is None else f"pieces of {block_bytes:,} bytes of "
        return [f"{blocks}the files of {self.name}"]

    def counts(self) -> Sequence[int] | None:
        """Returns the number of examples in each file, if it is known without reading them.

        Files whose number is not needed may count as one. None if it is unknown.
        """
        return None

    @abstractmethod
    def planned(self, specs: Specs, add_python_worker: Callable[[PythonWorker], int]) -> SourcePlan:
        """Returns the plan.

        Args:
            specs: The components of an example.
            add_python_worker: Takes a `PythonWorker` for a Python function, and returns its number.
        """

    def source_plan(self, planning: SourcePlanning) -> engine.Plan:
        """Returns the plan that gives its examples."""
        planned = self.planned(planning.specs, planning.python_worker)
        planning.add_files(planned.files)
        planning.measure(
            num_parallel=planned.num_parallel,
            is_python=planned.is_python,
            reads_files=not planned.is_python,
            left_out=planned.left_out,
        )
        if planned.sightings is not None:
            planning.add_sightings(planned.sightings)
        # Reading waits for storage, and parsing does not, so parsing has a number of its own.
        for stage in planned.stages:
            planning.later(stage, planned.part)
        plan = planning.with_cache(planned.plan)
        is_kept = planning.is_shuffled and self.is_kept_for_shuffle
        return plan.kept_for_shuffle() if is_kept else plan

    @property
    def _compression(self) -> str | None:
        return getattr(self, "compression", None)


class InferredSource(FileSource, is_base=True):
    """Files whose components may have to be inferred."""

    @abstractmethod
    def inferred(self) -> dict[str, Spec]:
        """Returns the components, read from the beginning of the first file.

        Raises:
            OpError: If it cannot be read.
        """

    @abstractmethod
    def described(self) -> str:
        """Returns a text that says how the components are inferred."""


def first_found(
    where: str,
    paths: Sequence[str],
    words: str,
    infer: Callable[[bytes], _Found | None],
    remedy: str = "Give them, with columns={...}.",
) -> _Found:
    """Returns the result of `infer` for the first file that has one.

    Args:
        where: The name of the source.
        paths: Paths and patterns, as given.
        words: The required content of the files, for messages.
        infer: Examines the beginning of a file; returns None if there is nothing.
        remedy: The action if there is nothing in any file, for messages.

    Raises:
        OpError: If a file cannot be read, or none has any content.
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
    """Returns a stage that refuses examples with names of files that are not text.

    Args:
        columns: The number and the name of each column with names of files, which may have any
            bytes.
    """
    return engine.Stage.check_text(columns, "Rename the file.")
