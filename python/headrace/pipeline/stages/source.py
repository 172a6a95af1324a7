"""The common base of sources: what a pipeline can begin with."""

from abc import abstractmethod
from collections.abc import Callable, Iterator, Mapping, Sequence
from enum import Enum, auto
from typing import Any, ClassVar, Final, Protocol

from headrace.core import engine
from headrace.pipeline.functions.python_functions import PythonWorker
from headrace.pipeline.stages.stage import Stage, Stages
from headrace.pipeline.values.types import Specs

__all__ = ["Origin", "Source", "SourcePlanning"]


class SourcePlanning(Protocol):
    """An unfinished plan, as its source sees it."""

    @property
    def specs(self) -> Specs:
        """The components of an example."""

    @property
    def is_learning(self) -> bool:
        """Whether components are learned, so that nothing is written."""

    @property
    def is_shuffled(self) -> bool:
        """Whether a shuffle of all examples needs random access to the source."""

    @property
    def resumed_mixture(self) -> list[Any] | None:
        """The position of a mixture that has changed since the state; None otherwise."""

    def add_files(self, paths: Sequence[bytes]) -> None:
        """Notes the files that the source reads, in order."""

    def add_sightings(self, sightings: engine.Sightings) -> None:
        """Notes a record of which components occur."""

    def measure(self, **facts: Any) -> None:
        """Changes what is noted of the source for its statistics; see `MeteredStage`."""

    def later(self, work: engine.Stage, part: str = "") -> None:
        """Defers work on single rows, measured as a part of the source."""

    def with_cache(self, plan: engine.Plan) -> engine.Plan:
        """Returns the plan of a source, with a cache of its remote files if one is wanted."""

    def python_worker(self, worker: PythonWorker) -> int:
        """Adds the work of a Python function, and returns its number."""

    def part_plans(self) -> list[engine.Plan]:
        """Returns the plans of the parts that the source combines."""


_FILE: Final = "file"


class Origin(Enum):
    """Where the examples of a source come from."""

    #: Files.
    FILES = auto()
    #: Arrays in memory.
    ARRAYS = auto()
    #: An iterator of the program.
    ITERATOR = auto()
    #: An object of the program, whose rows the next step reads by their numbers.
    ROWS = auto()
    #: Other pipelines.
    PARTS = auto()


# The facts that sources with an origin have to state; of other sources they are not true.
_FACTS_OF: Final[Mapping[Origin, tuple[str, ...]]] = {
    Origin.FILES: (
        *("is_scanned", "is_kept_for_shuffle", "numbers_lines"),
        *("classes", "piece", "may_have_index", "records"),
    ),
    Origin.ITERATOR: ("called_function", "num_parallel", "described_in_state"),
    Origin.ROWS: ("measured_part",),
    Origin.PARTS: ("parts", "combined_length"),
}


class Source(Stage, is_base=True):
    """A stage that a pipeline begins with.

    Attributes:
        origin: Where its examples come from.
        is_scanned: Whether a full shuffle scans its files for the places of records.
        is_kept_for_shuffle: Whether a full shuffle keeps all examples in memory, since a single
            example cannot be read.
        numbers_lines: Whether records are numbered by lines, so that their numbers have gaps.
        classes: The names of the classes, in the order of their labels; None if there are none.
        piece: The word for a unit that one thread reads from beginning to end.
        may_have_index: Whether index files can have the places of its records.
    """

    facts: ClassVar[tuple[str, ...]] = ("origin",)

    origin: ClassVar[Origin]
    added_axes: ClassVar = 0

    @classmethod
    def _required_facts(cls) -> Iterator[str]:
        yield from super()._required_facts()
        yield from _FACTS_OF.get(getattr(cls, "origin", Origin.ARRAYS), ())
        if getattr(cls, "piece", _FILE) not in (_FILE, Source.piece):
            yield "num_pieces"

    @property
    def reads_files(self) -> bool:
        """Whether its examples come from files."""
        return self.origin is Origin.FILES

    @property
    def reads_objects(self) -> bool:
        """Whether its examples come from an object that only this program has."""
        return self.origin in (Origin.ITERATOR, Origin.ROWS)

    @property
    def is_scanned(self) -> bool:
        """Whether a full shuffle scans its files for the places of records."""
        return False

    @property
    def is_kept_for_shuffle(self) -> bool:
        """Whether a full shuffle keeps all examples in memory."""
        return False

    @property
    def numbers_lines(self) -> bool:
        """Whether records are numbered by lines, so that their numbers have gaps."""
        return False

    @property
    @abstractmethod
    def spec(self) -> Specs | None:
        """The components of an example; None if they are not known before something is read."""

    @property
    def names(self) -> tuple[str, ...] | None:
        """The names of the components, if they are known before something is read."""
        return None if self.spec is None else tuple(self.spec)

    @property
    def classes(self) -> tuple[str, ...] | None:
        """The names of the classes, in the order of their labels; None if there are none."""
        return None

    @property
    def piece(self) -> str:
        """The word for a unit that one thread reads from beginning to end."""
        return _FILE

    @property
    def may_have_index(self) -> bool:
        """Whether index files can have the places of its records."""
        return False

    @property
    @abstractmethod
    def obstacle(self) -> str | None:
        """Why there is no random access to its examples; None if there is."""

    @property
    @abstractmethod
    def is_reordered(self) -> bool:
        """Whether a shuffle after it permutes examples of files."""

    @abstractmethod
    def window_pieces(self, block_bytes: int | None) -> list[str]:
        """Returns what a window after it may read in another order, as text; empty for nothing.

        Args:
            block_bytes: The size of the pieces of files; None for whole files.
        """

    @abstractmethod
    def counts(self) -> Sequence[int] | None:
        """Returns the number of examples in each file, if it is known without reading them.

        Files whose number is not needed may count as one. None if it is unknown.
        """

    def combined_length(
        self, lengths: Callable[[Sequence[Stages]], Iterator[float]]
    ) -> float | None:
        """Returns the number of examples of the parts together; None if it is unknown.

        Args:
            lengths: Yields the number of examples of each of these parts.
        """
        return None

    def num_pieces(self) -> Sequence[int] | None:
        """Returns the number of pieces of each file, from its footer; None if each is one piece."""
        return None

    def records(self) -> engine.Plan | None:
        """Returns a plan that reads its records, to find their indexes; None if there are none."""
        return None

    @abstractmethod
    def source_plan(self, planning: SourcePlanning) -> engine.Plan:
        """Returns the plan that gives its examples."""
