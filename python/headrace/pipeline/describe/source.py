"""The common base of sources that know the format of their files."""

import os
from abc import ABC, abstractmethod
from collections.abc import Callable, Sequence
from typing import Any, ClassVar, NamedTuple, TypeVar

from headrace.core import engine
from headrace.core.errors import InvalidArgumentError
from headrace.pipeline.describe.stages import Stage
from headrace.pipeline.describe.types import Spec
from headrace.pipeline.plan.paths import find_files

__all__ = ["InferredSource", "Source", "SourcePlan", "check_paths", "first_found"]

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
    """

    plan: engine.Plan
    files: Sequence[bytes]
    stages: Sequence[engine.Stage] = ()
    num_parallel: int | None = None
    is_python: bool = False
    left_out: int = 0
    sightings: engine.Sightings | None = None


class Source(Stage, ABC):
    """A source of files whose format defines the components.

    Attributes:
        is_reachable: Whether there is random access to its examples, for a full shuffle, if the
            files are not compressed.
        is_scanned: Whether a full shuffle scans its files for the places of records.
        is_kept_for_shuffle: Whether a full shuffle keeps all examples in memory, since a single
            example cannot be read.
        numbers_lines: Whether records are numbered by lines, so that their numbers have gaps.
        has_pieces: Whether a shuffle over a window may read its files in another order.
    """

    is_reachable: ClassVar[bool] = False
    is_scanned: ClassVar[bool] = True
    is_kept_for_shuffle: ClassVar[bool] = False
    numbers_lines: ClassVar[bool] = False
    has_pieces: ClassVar[bool] = True

    @property
    @abstractmethod
    def spec(self) -> dict[str, Spec] | None:
        """The components of an example; None if they are inferred from the first file."""

    @property
    def names(self) -> tuple[str, ...] | None:
        """The names of the components, if they are known before a file is opened."""
        return None if self.spec is None else tuple(self.spec)

    @property
    def classes(self) -> tuple[str, ...] | None:
        """The names of the classes, in the order of their labels; None if there are none."""
        return None

    @property
    def piece(self) -> str:
        """The word for a unit that one thread reads from beginning to end."""
        return "file"

    def counts(self) -> Sequence[int] | None:
        """Returns the number of examples in each file, if it is known without reading them.

        Files whose number is not needed may count as one. None if it is unknown.
        """
        return None

    def num_pieces(self) -> Sequence[int] | None:
        """Returns the number of pieces of each file, from its footer; None if each is one piece."""
        return None

    def records(self) -> engine.Plan | None:
        """Returns a plan that reads its records, to find their indexes; None if there are none."""
        return None

    @abstractmethod
    def planned(
        self, specs: dict[str, Spec], add_python_worker: Callable[[Any], int]
    ) -> SourcePlan:
        """Returns the plan.

        Args:
            specs: The components of an example.
            add_python_worker: Takes a `PythonWorker` for a Python function, and returns its number.
        """


class InferredSource(Source):
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
            found = infer(path)
        if found is not None:
            return found
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
