"""The base class of sources. A source is the first stage of a pipeline."""

from abc import abstractmethod
from collections.abc import Callable, Iterator, Mapping, Sequence
from enum import Enum, auto
from typing import Any, ClassVar, Final, Protocol

import numpy.typing as npt

from headrace.core import engine
from headrace.pipeline.functions.python_functions import PythonWorker
from headrace.pipeline.stages.stage import OrderStage, Stage, Stages
from headrace.pipeline.values.types import Specs

__all__ = ["Origin", "Source", "SourcePlanning"]


class SourcePlanning(Protocol):
    """The part of a plan under construction that the source uses."""

    @property
    def specs(self) -> Specs:
        """The components of an example."""

    @property
    def is_learning(self) -> bool:
        """Whether this plan only learns components. Nothing is then written."""

    @property
    def ordered_by(self) -> OrderStage | None:
        """The stage that needs random access to the source, if any."""

    @property
    def resumed_mixture(self) -> list[Any] | None:
        """The saved position of a mixture that has changed since then, otherwise None."""

    def add_files(self, paths: Sequence[bytes]) -> None:
        """Records the files that the source reads, in order."""

    def add_seen_components(self, seen_components: engine.SeenComponents) -> None:
        """Adds a record of which optional components occur."""

    def measure(self, **facts: Any) -> None:
        """Updates the source's entry in the statistics; see `MeteredStage`."""

    def later(self, work: engine.Stage, part: str = "") -> None:
        """Defers work on single rows and measures it as a part of the source."""

    def with_cache(self, plan: engine.Plan) -> engine.Plan:
        """Returns the source's plan, with a cache for its remote files if one is configured."""

    def python_worker(self, worker: PythonWorker) -> int:
        """Adds a Python function's worker and returns its number."""

    def part_plans(self) -> list[engine.Plan]:
        """Returns the plans of the pipelines that the source combines."""


_FILE: Final = "file"


class Origin(Enum):
    """The origins of a source's examples."""

    #: Files.
    FILES = auto()
    # Arrays in memory.
    ARRAYS = auto()
    # An iterator from the user's program.
    ITERATOR = auto()
    # An object from the user's program. The next step reads its rows by number.
    ROWS = auto()
    #: Other processes. They may still be writing.
    JOURNAL = auto()
    #: Other pipelines.
    PARTS = auto()


# The attributes that a source with a given origin must define. Other sources don't have them.
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
    """The first stage of a pipeline.

    Attributes:
        origin: Where the examples come from.
        is_scanned: Whether a full shuffle scans the files for record positions.
        is_kept_for_shuffle: Whether a full shuffle holds all examples in memory because single
            examples cannot be read.
        numbers_lines: Whether records are numbered by line, so the numbers can have gaps.
        classes: The class names, in label order, or None if there are none.
        piece: The term for a unit that one thread reads from start to end, such as "file".
        may_have_index: Whether index files can store the positions of the records.
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
        """Whether the source's examples come from files."""
        return self.origin is Origin.FILES

    @property
    def reads_objects(self) -> bool:
        """Whether the examples come from an object that exists only in this process."""
        return self.origin in (Origin.ITERATOR, Origin.ROWS)

    @property
    def may_wait(self) -> bool:
        """Whether an iteration may have to wait for the first example, which may not exist yet."""
        return self.origin in (Origin.ITERATOR, Origin.JOURNAL)

    @property
    def reads_on_request(self) -> bool:
        """Whether examples are read only when the loop requests them, and never ahead."""
        return False

    @property
    def is_scanned(self) -> bool:
        """Whether a full shuffle scans the files for record positions."""
        return False

    @property
    def is_kept_for_shuffle(self) -> bool:
        """Whether a full shuffle holds all examples in memory."""
        return False

    @property
    def numbers_lines(self) -> bool:
        """Whether records are numbered by line, so the numbers can have gaps."""
        return False

    @property
    @abstractmethod
    def spec(self) -> Specs | None:
        """The components of an example, or None if they are unknown until something is read."""

    @property
    def names(self) -> tuple[str, ...] | None:
        """The component names, or None if they are unknown until something is read."""
        return None if self.spec is None else tuple(self.spec)

    @property
    def classes(self) -> tuple[str, ...] | None:
        """The class names, in label order, or None if there are none."""
        return None

    @property
    def stored_stats(self) -> dict[str, dict[str, npt.NDArray[Any]]] | None:
        """The statistics that the data set stores for each component, or None if there are none."""
        return None

    @property
    def piece(self) -> str:
        """The term for a unit that one thread reads from start to end, such as "file"."""
        return _FILE

    @property
    def may_have_index(self) -> bool:
        """Whether index files can store the positions of the records."""
        return False

    @property
    @abstractmethod
    def obstacle(self) -> str | None:
        """The reason why examples cannot be accessed at random, or None if they can."""

    @property
    @abstractmethod
    def is_reordered(self) -> bool:
        """Whether a following shuffle changes the order of examples from files."""

    @abstractmethod
    def window_pieces(self, block_bytes: int | None) -> list[str]:
        """Names the pieces that a following window may reorder. Empty if there are none.

        Args:
            block_bytes: The block size in bytes, or None for whole files.
        """

    @abstractmethod
    def counts(self) -> Sequence[int] | None:
        """Returns the number of examples in each file, if it is known without reading them.

        Files whose count is not needed may be counted as one. Returns None if the numbers are
        unknown.
        """

    def column(self, name: str) -> npt.NDArray[Any] | None:
        """Returns a component of all examples, or None if examples must be read to determine it."""
        return None

    def with_columns(self, names: Sequence[str]) -> "Source | None":
        """Returns the source with only these components, or None if that would not read less."""
        return None

    def combined_length(
        self, lengths: Callable[[Sequence[Stages]], Iterator[float]]
    ) -> float | None:
        """Returns the total number of examples of the combined pipelines, or None if it is unknown.

        Args:
            lengths: A function that yields the number of examples of each pipeline it is passed.
        """
        return None

    def num_pieces(self) -> Sequence[int] | None:
        """Returns the number of pieces in each file, from its footer, or None for whole files."""
        return None

    def records(self) -> engine.Plan | None:
        """Returns a plan of the raw records, to look up index files, or None if there are none."""
        return None

    @abstractmethod
    def source_plan(self, planning: SourcePlanning) -> engine.Plan:
        """Returns the plan that produces the examples."""
