"""Stages that follow a source, each a method of `Pipeline`."""

from collections import deque
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any, ClassVar, Literal, TypeAlias

from headrace.core import engine
from headrace.pipeline.describe.native_function import Use
from headrace.pipeline.describe.stages.sources import parts_of
from headrace.pipeline.describe.stages.stage import Stage, named
from headrace.pipeline.describe.types import Feature, Ragged
from headrace.pipeline.workers.worker_holder import WorkerHolder

__all__ = [
    "Batch",
    "BucketByLength",
    "Cache",
    "Epochs",
    "Even",
    "Filter",
    "FlatMap",
    "Learn",
    "Map",
    "Pack",
    "PaddedBatch",
    "Parse",
    "Prefetch",
    "ReadRows",
    "Remainder",
    "Rename",
    "Select",
    "Shard",
    "Share",
    "Shuffle",
    "Skip",
    "SkipErrors",
    "Split",
    "Take",
    "Unbatch",
    "WithOrigin",
    "has_epochs",
]

# The treatment of an incomplete last batch.
Remainder: TypeAlias = Literal["keep", "drop", "pad"]
# The treatment of the last examples if they are fewer than ranks.
Even: TypeAlias = Literal["drop", "pad"] | None


@dataclass(frozen=True)
class Learn(Stage):
    """A stand-in for a Python function while its components are learned; examples stay as they are.

    Attributes:
        stage: The function.
        made: Its results for the examples so far.
        is_start: Whether an iteration follows, for which all worker processes start.
    """

    stage: "Map | FlatMap"
    made: deque[Mapping[str, Any]] = field(default_factory=deque, compare=False, repr=False)
    is_start: bool = False

    @property
    def name(self) -> str:
        """Its name in messages: that of the function."""
        return self.stage.name


def has_epochs(chain: tuple[Stage, ...]) -> bool:
    """Returns whether a pipeline gives examples of several epochs."""
    return any(isinstance(stage, Epochs) for stage in chain) or any(
        has_epochs(part) for part in parts_of(chain[0])
    )


@dataclass(frozen=True)
class WithOrigin(Stage):
    """The file and the number of each record as components."""


@dataclass(frozen=True)
class Parse(Stage):
    """Serialized `Example`s to components."""

    features: tuple[tuple[str, Feature | Ragged], ...]


@dataclass(frozen=True)
class Map(Stage):
    """A function of each example, or of each batch.

    Attributes:
        function: Also gets a generator if there is a seed.
        seed: The seed of the generators; None for a function that draws nothing.
        num_threads: The number of threads that call it.
        num_processes: The number of processes that call it; 0 if this one does.
        holder: Their workers between two iterations.
    """

    use: ClassVar[Use] = "map"

    function: Callable[..., Mapping[str, Any]]
    seed: int | None = None
    num_threads: int = named(1)
    num_processes: int = named(0)
    holder: WorkerHolder = field(default_factory=WorkerHolder, compare=False, repr=False)


@dataclass(frozen=True)
class ReadRows(Map):
    """The rows of an indexed source in place of their numbers."""

    @property
    def name(self) -> str:
        """Its name in messages: that of the function that makes the source."""
        return "indexed"


@dataclass(frozen=True)
class Filter(Stage):
    """Examples for which a function is true.

    Attributes:
        function: Gets an example.
        num_threads: The number of threads that call it.
        num_processes: The number of processes that call it; 0 if this one does.
        holder: Their workers between two iterations.
    """

    use: ClassVar[Use] = "filter"

    function: Callable[[dict[str, Any]], object]
    num_threads: int = named(1)
    num_processes: int = named(0)
    holder: WorkerHolder = field(default_factory=WorkerHolder, compare=False, repr=False)


@dataclass(frozen=True)
class FlatMap(Stage):
    """A function that replaces each example by any number of examples.

    Attributes:
        function: Also gets a generator if there is a seed.
        seed: The seed of the generators; None for a function that draws nothing.
        num_threads: The number of threads that call it.
        num_processes: The number of processes that call it; 0 if this one does.
        holder: Their workers between two iterations.
    """

    use: ClassVar[Use] = "flat_map"

    function: Callable[..., Any]
    seed: int | None = None
    num_threads: int = named(1)
    num_processes: int = named(0)
    holder: WorkerHolder = field(default_factory=WorkerHolder, compare=False, repr=False)


@dataclass(frozen=True)
class Select(Stage):
    """Some of the components."""

    names: tuple[str, ...]


@dataclass(frozen=True)
class Rename(Stage):
    """Components under other names: pairs of the old name and the new one."""

    names: tuple[tuple[str, str], ...]


@dataclass(frozen=True)
class Take(Stage):
    """The first examples."""

    count: int


@dataclass(frozen=True)
class Skip(Stage):
    """The examples after the first ones."""

    count: int


@dataclass(frozen=True)
class Split(Stage):
    """One of several parts of the examples, in all epochs the same.

    Attributes:
        index: Its number.
        shares: The size of each part, as a fraction of 1.
        seed: The seed of the division.
        keys: The first and the last record key of this part.
    """

    index: int
    shares: tuple[float, ...]
    seed: int
    keys: tuple[int, int] = field(compare=False, repr=False)


@dataclass(frozen=True)
class Shard(Stage):
    """Every `count`-th example, from number `index` on.

    Attributes:
        index: The rank.
        count: The number of ranks.
        even: The treatment of the last examples if they are fewer than ranks.
        by: "example" for every `count`-th example of one order, "piece" for whole files.
        taken_from: The source of index and count; empty where the program gave them.
    """

    index: int
    count: int
    even: Even = field(default=None, metadata={"is_named": True})
    by: Literal["example", "piece"] = field(default="example", metadata={"is_named": True})
    taken_from: str = field(default="", compare=False, repr=False)


@dataclass(frozen=True)
class Share(Stage):
    """Every `count`-th run of examples, from run `index` on.

    See `headrace.pipeline.describe.sharding.reader_shards`.

    Attributes:
        run: The number of examples in a run: as many as form a batch.
        index: The number of its run among `count`, counted from the beginning or the resume.
        count: The number of shares. A state of one share serves all shares, also another number
            of them.
    """

    run: int
    index: int = field(compare=False, repr=False)
    count: int = field(compare=False, repr=False)


@dataclass(frozen=True)
class Shuffle(Stage):
    """A different order in each epoch: of all examples, or over a window.

    Attributes:
        window: The number of waiting examples; None for all.
        seed: The seed of the orders.
        is_seed_given: Whether the program gave the seed.
        index: The record offsets of files, or the borders of their pieces, once known. Kept
            between iterations.
        num_open: For a window, the largest number of files that are read in turn.
        files: For a window, the order of files: "shuffled" for another one in each epoch, or "in
            order".
        block_bytes: For a window, the size of the pieces of files; None for whole files.
    """

    window: int | None
    seed: int
    is_seed_given: bool = field(compare=False, repr=False)
    index: engine.Index = field(default_factory=engine.Index, compare=False, repr=False)
    # These defaults differ from those of `Pipeline.shuffle`, so that states always name both.
    num_open: int = 1
    files: Literal["shuffled", "in order"] = "in order"
    block_bytes: int | None = None


@dataclass(frozen=True)
class Epochs(Stage):
    """Several epochs; without end if `count` is None."""

    count: int | None


@dataclass(frozen=True)
class Batch(Stage):
    """Groups of examples as arrays with a leading axis.

    Attributes:
        size: The number of examples in a batch.
        remainder: The treatment of an incomplete last batch.
        ragged: "offsets" to join lists end to end; None to reject them.
        lists: The components of which a batch has a list of arrays.
    """

    size: int
    remainder: Remainder
    ragged: Literal["offsets"] | None = named(None)
    lists: tuple[str, ...] = named(())


@dataclass(frozen=True)
class PaddedBatch(Stage):
    """Batches whose examples are padded to the largest one.

    Attributes:
        size: The number of examples in a batch.
        values: The padding values.
        multiple_of: The multiple of the first axis, or, by component, of each axis.
        remainder: The treatment of an incomplete last batch.
    """

    size: int
    values: tuple[tuple[str, Any], ...] | int | float | complex | bytes | str
    multiple_of: int | tuple[tuple[str, tuple[int, ...]], ...]
    remainder: Remainder


@dataclass(frozen=True)
class BucketByLength(Stage):
    """Batches of examples of similar lengths, padded.

    Attributes:
        component: The component whose length decides.
        boundaries: The longest length of each bucket but the last.
        size: Number of examples in a batch, if that is limited.
        max_elements: Number of elements of the component in a batch, if that is limited.
        pad_to_boundary: Whether lists are padded to the boundary rather than to the longest.
        remainder: The treatment of an incomplete last batch.
        values: The padding values.
    """

    component: str
    boundaries: tuple[int, ...]
    size: int | None
    max_elements: int | None
    pad_to_boundary: bool
    remainder: Remainder
    values: tuple[tuple[str, Any], ...] | int | float | complex | bytes | str


@dataclass(frozen=True)
class Pack(Stage):
    """Lists one after the other in rows of one length.

    Attributes:
        length: The length of a row.
        names: The components whose lists are packed, in equal parts.
        split: Whether longer lists are cut; else they are an error.
        max_open: The largest number of rows open at the same time.
        along: The components with one value for each packed list, which become lists.
        cu_seqlens: Whether each row has the ends of its lists.
        balance: The number of ranks that get rows of equal cost; None for any order.
        values: The padding values.
    """

    length: int
    names: tuple[str, ...]
    split: bool
    max_open: int
    along: tuple[str, ...] = named(())
    cu_seqlens: bool = named(False)
    balance: int | None = named(None)
    values: tuple[tuple[str, Any], ...] | int | float | complex | bytes | str = named(0)


@dataclass(frozen=True)
class Cache(Stage):
    """Examples that are kept in memory or on disk.

    Attributes:
        directory: The directory of files with the examples; None for memory.
        bytes: The most bytes of all caches in the directory; None for any number.
        key: A text that stands for the code of the functions before; None to compare the code.
        kept: The examples of earlier passes in memory. All pipelines made from this stage share
            them.
    """

    directory: str | None = named(None)
    bytes: int | None = named(None)
    key: str | None = named(None)
    kept: engine.Cache = field(default_factory=engine.Cache, compare=False, repr=False)


@dataclass(frozen=True)
class Unbatch(Stage):
    """Batches split into examples, one for each row of the leading axis."""


@dataclass(frozen=True)
class SkipErrors(Stage):
    """Skips examples at which an earlier stage fails.

    Attributes:
        budget: The number, or the share, of examples that may be skipped.
        raises_at_end: Whether the end of the data is an error if any was skipped.
    """

    budget: int | float
    raises_at_end: bool = False


@dataclass(frozen=True)
class Prefetch(Stage):
    """The number of batches that may be ready before they are asked for."""

    count: int
