"""From the description of a pipeline to the plan that the engine runs.

Stages that make one example of each (`parse`, `select`, `rename`) run after `take`, `skip`,
`shard`, `shuffle` and `batch`, wherever they are written, because those only move row numbers. So
the rows that wait in a window are small, and whole batches are decoded at once.
"""

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from typing import Any, Final, Literal, NamedTuple, TypeAlias, cast

import numpy as np

from headrace.core import engine
from headrace.pipeline.describe import stages
from headrace.pipeline.describe.native_function import NativeFunction
from headrace.pipeline.describe.padding import fillers
from headrace.pipeline.describe.piece_shards import shard_of_pieces
from headrace.pipeline.describe.random_access import is_read_late, is_shuffled_whole
from headrace.pipeline.describe.source import Source, check_paths
from headrace.pipeline.describe.specs import Known, Specs, batch_depth, num_cached
from headrace.pipeline.describe.stages import Stage
from headrace.pipeline.describe.types import Feature, Ragged, carried, element_type, engine_code
from headrace.pipeline.plan.first_results import FirstResults
from headrace.pipeline.plan.function_state import keeps_state
from headrace.pipeline.plan.global_order import ordered_stages
from headrace.pipeline.plan.paths import find_files
from headrace.pipeline.plan.python_functions import (
    FilterFunction,
    First,
    FlatMapFunction,
    Lane,
    LearnFunction,
    MapFunction,
    name_of,
)
from headrace.pipeline.plan.python_iterables import IterableFunction, LookedAt
from headrace.pipeline.plan.splits import check_depth, shuffled_before

__all__ = ["Planned", "plan"]

# Stages that count examples, so that it matters which ones were skipped before.
_COUNTING: Final = (
    stages.Take,
    stages.Skip,
    stages.Shard,
    stages.Batch,
    stages.PaddedBatch,
)


@dataclass(frozen=True)
class Counted:
    """A stage whose work is counted.

    Attributes:
        stage: The stage.
        num_parallel: The largest number of its tasks that run in parallel; None for the number of
            threads.
        is_python: Whether it is a Python function.
        reads_files: Whether its tasks wait for storage.
        part: The part of the stage that it is, if it is counted in parts.
        lane: The number of what its threads do, if it is a Python function.
    """

    stage: Stage
    num_parallel: int | None = None
    is_python: bool = False
    reads_files: bool = False
    part: str = ""
    lane: int | None = None


# A directory, and the limit on the bytes cached in it.
Kept: TypeAlias = tuple[str, int]


@dataclass
class Planned:
    """A plan, and what runs beside the engine for it.

    Attributes:
        plan: For the engine.
        lanes: The work of the threads for Python functions.
        stages: The measured stages, in the order of their numbers.
        files: The files of each source, in the order of the sources.
        num_ready: The largest number of results that wait for the consumer.
        sightings: For each `parse`, the lists that have occurred.
    """

    plan: engine.Plan
    lanes: list[Lane] = field(default_factory=list)
    stages: list[Counted] = field(default_factory=list)
    files: list[Sequence[bytes]] = field(default_factory=list)
    num_ready: int = 2
    sightings: list[engine.Sightings] = field(default_factory=list)


def plan(
    chain: Sequence[Stage],
    known: Known,
    kept: Kept | None = None,
    is_learning: bool = False,
    is_resumed: bool = False,
    indexes: engine.IndexFiles | None = None,
    digest: engine.OrderDigest | None = None,
) -> Planned:
    """Plans a pipeline.

    Args:
        chain: Its stages.
        known: The components after each of them.
        kept: The cache directory of remote files and its limit in bytes.
        is_learning: Whether iterators are only peeked at.
        is_resumed: Whether the iteration continues with a state.
        indexes: The index files that are read and written; None for none.
        digest: The digest of the global order, if there is one.

    Raises:
        NotFoundError: If a path does not exist, or nothing matches a pattern.
    """
    indexes = indexes or engine.IndexFiles("memory", [])
    shared = _Shared([], [], [], kept, is_learning, is_resumed, [], indexes)
    planning = _Planning(chain, known, shared, digest=digest)
    whole, num_ready = planning.whole(), planning.num_ready
    return Planned(whole, shared.lanes, shared.counted, shared.files, num_ready, shared.sightings)


class _Shared(NamedTuple):
    """State that the parts of a combined pipeline share; see `Planned`."""

    lanes: list[Lane]
    counted: list[Counted]
    files: list[Sequence[bytes]]
    kept: Kept | None
    is_learning: bool
    is_resumed: bool
    sightings: list[engine.Sightings]
    indexes: engine.IndexFiles

    def keeping(self, source: engine.Plan) -> engine.Plan:
        """Returns the plan of a source, whose remote files are kept if they are to be."""
        return source if self.kept is None else source.cached(*self.kept)


class _Planning:
    """An unfinished plan: `_plan`, followed by the stages `_waiting` for each row."""

    def __init__(
        self,
        chain: Sequence[Stage],
        known: Known,
        shared: _Shared,
        is_covered: bool = False,
        is_cached: bool = False,
        depth: int = 0,
        is_shuffled: bool = False,
        digest: engine.OrderDigest | None = None,
    ) -> None:
        """Plans the stages of one pipeline.

        Args:
            chain: Its stages.
            known: The components after each of them.
            shared: What it has in common with others.
            is_covered: True if failing examples are skipped by a stage after all of these.
            is_cached: True if the results are kept by a stage after all of these.
            depth: The number of combinations around them, up to the next cache.
            is_shuffled: True if a shuffle of all examples follows after all of these.
            digest: The digest of the global order, if these stages make it.
        """
        if known.empty_at is not None:
            # After that stage nothing follows, except reports of skipped examples.
            behind = chain[known.empty_at + 1 :]
            left_out = [stage for stage in behind if isinstance(stage, stages.SkipErrors)]
            chain = [*chain[: known.empty_at + 1], *left_out]
        self._shared = shared
        self.num_ready = 2
        chain, known = shuffled_before(chain, known)
        self._chain = chain
        self._known = known
        self._specs = known.specs
        self._waiting: list[engine.Stage] = []
        self._number = self._source_number = self._count(chain[0])
        self._is_fused = False
        # Stages for processes that one call does, by their places in the chain and their numbers.
        self._apart: list[tuple[int, int]] = []
        # The batches, among those of all shares, that the rows belong to.
        self._turn = (0, 1)
        skippers = [n for n, stage in enumerate(chain) if isinstance(stage, stages.SkipErrors)]
        # Failures of the stages before this one are skipped.
        self._covered = len(chain) if is_covered else max(skippers, default=0)
        self._num_cached = len(chain) if is_cached else num_cached(chain)
        self._depth = depth
        self._is_shuffled = is_shuffled_whole(chain, is_shuffled)
        self._digest = digest
        ordered = ordered_stages(chain)
        # The last stage that makes the global order.
        self._last_ordered = ordered - 1 if isinstance(ordered, int) else None
        self._plan = self._source().metered(self._number, counts_rows=True)
        self._plan = self._digested(self._plan, 0)
        for index in range(1, len(chain)):
            self._add(index)

    def whole(self) -> engine.Plan:
        """Returns the plan of all stages; its rows leave as blocks."""
        return self._plan.map(self._waiting)

    def _source(self) -> engine.Plan:
        match self._chain[0]:
            case stages.Files() as files:
                paths = find_files(files.kind, files.paths)
                self._shared.files.append(paths)
                self._shared.counted[self._number] = Counted(files, len(paths), reads_files=True)
                compression = files.compression or ""
                if files.kind == "files":
                    self._shared.counted.append(Counted(files, part="names"))
                    number = len(self._shared.counted) - 1
                    self._waiting.append(check_paths([(0, "path")]).metered(number))
                return self._shared.keeping(
                    engine.Plan.files(files.kind, paths, compression, files.lengths)
                )
            case Source() as source:
                planned = source.planned(self._specs[0], self._lane)
                self._shared.files.append(planned.files)
                self._shared.counted[self._number] = Counted(
                    source, planned.num_parallel, planned.is_python, not planned.is_python
                )
                if planned.stages:
                    # Reading waits for storage, and this does not, so it has a separate number.
                    self._shared.counted.append(Counted(source, part="fields"))
                    number = len(self._shared.counted) - 1
                    self._waiting.extend(stage.metered(number) for stage in planned.stages)
                plan = self._shared.keeping(planned.plan)
                is_kept = self._is_shuffled and source.is_kept_for_shuffle
                return plan.kept_for_shuffle() if is_kept else plan
            case stages.Arrays() as arrays:
                return _rows(arrays)
            case stages.Iterable_(factory=factory, openings=openings):
                of = LookedAt if self._shared.is_learning else IterableFunction
                return engine.Plan.python_source(self._lane(of(factory, openings, self._specs[0])))
        return self._combined(self._chain[0])

    def _combined(self, source: Stage) -> engine.Plan:
        pairs = zip(stages.parts_of(source), self._known.parts, strict=True)
        behind = self._covered > 0, self._num_cached > 0, self._depth_of(0) + 1, self._is_shuffled
        parts = [_Planning(part, known, self._shared, *behind).whole() for part, known in pairs]
        match source:
            case stages.Concat():
                return engine.Plan.concat(parts)
            case stages.Mix(weights=weights, stop=stop, seed=seed):
                return engine.Plan.mix(parts, weights, stop == "all", seed)
            case stages.Zip(strict=strict):
                return engine.Plan.zip(parts, strict)
        raise AssertionError(f"{source!r} is no source")

    def _count(self, stage: Stage) -> int:
        """Returns the number under which the work of a stage is counted."""
        self._shared.counted.append(_counted(stage))
        return len(self._shared.counted) - 1

    def _add(self, index: int) -> None:
        self._number = self._count(self._chain[index])
        self._is_fused = False
        plan = self._plan
        self._extend(index)
        if self._plan is not plan:
            # Work fused into a task of the engine is measured there.
            self._plan = self._plan.metered(self._number, counts_rows=not self._is_fused)
        if not isinstance(self._chain[index], (stages.BucketByLength, stages.Pack)):
            self._plan = self._digested(self._plan, index)

    def _digested(self, plan: engine.Plan, index: int) -> engine.Plan:
        """Returns a plan of which the digest sees the rows, if the stage gives the global order."""
        if self._digest is None or index != self._last_ordered:
            return plan
        return plan.digested(self._digest)

    def _seen(self, parse: stages.Parse) -> engine.Sightings:
        """Returns what is told which lists records have, if there are lists."""
        sightings = engine.Sightings()
        if any(isinstance(feature, Ragged) for _, feature in parse.features):
            self._shared.sightings.append(sightings)
        return sightings

    def _later(self, stage: engine.Stage) -> None:
        """Lets a stage wait for its rows."""
        self._waiting.append(stage.metered(self._number))
        self._is_fused = True

    def _extend(self, index: int) -> None:
        before, after = self._specs[index - 1], self._specs[index]
        if index < self._covered and isinstance(self._chain[index], _COUNTING):
            # It counts examples that were not skipped, so failures must be known by then.
            self._finish_waiting()
        match self._chain[index]:
            case stages.Parse() as parse:
                self._later(_parse(parse, before, self._seen(parse)))
            case stages.Select(names=names):
                self._later(engine.Stage.select([list(before).index(n) for n in names]))
            case stages.WithOrigin():
                self._later(engine.Stage.with_origin(len(before)))
            case stages.Rename():
                pass
            case stages.BucketByLength() as bucket:
                self._bucket(bucket, index, before)
            case stages.Pack() as pack:
                self._pack(pack, index, before)
            case stages.Unbatch():
                self._later(engine.Stage.unbatch())
                self._finish_rows()
            case stages.Batch() | stages.PaddedBatch() as batch:
                self._batch(batch, index, before)
            case stages.Prefetch(count=count):
                self.num_ready = count
            case stages.Map() | stages.Filter() | stages.FlatMap() | stages.Learn() as function:
                self._function(function, index, before, after)
            case stage:
                self._plan = self._moved(stage, index)

    def _moved(self, stage: Stage, index: int) -> engine.Plan:  # noqa: PLR0911 (one for each stage)
        """Returns the plan after a stage that does not change rows."""
        match stage:
            case stages.Take(count=count):
                return self._plan.take(count)
            case stages.Skip(count=count):
                return self._plan.skip(count)
            case stages.Shard(by="piece"):
                # The window before it reads the files of this rank alone.
                return self._plan
            case stages.Shard(index=number, count=count, even=even):
                return self._plan.shard(number, count, even)
            case stages.Share(run=run, index=number, count=count):
                self._turn = (number, count)
                return self._plan.share(number, count, run)
            case stages.Split(seed=seed, keys=keys):
                depth = self._depth_of(index)
                check_depth(self._chain, depth)
                self._later(engine.Stage.split(seed, *keys, depth))
                self._finish_rows()
                return self._plan
            case stages.Epochs(count=count):
                return self._plan.epochs(count)
            case stages.SkipErrors():
                self._finish_waiting()
                return self._plan.skip_errors(self._number)
            case stages.Shuffle() as shuffle:
                return self._shuffled(shuffle, index)
            case stages.Cache(kept=kept):
                # Whole blocks are cached, after the waiting stages, which may remove rows.
                self._finish_waiting()
                self._finish_rows()
                return self._plan.cache(kept)
        raise AssertionError(f"{stage!r} cannot be planned")

    def _depth_of(self, index: int) -> int:
        """Returns within how many parts of combinations a stage stands, up to the next cache.

        What is before a cache is the same wherever that stands.
        """
        behind = self._chain[index + 1 :]
        return 0 if any(isinstance(stage, stages.Cache) for stage in behind) else self._depth

    def _shuffled(self, shuffle: stages.Shuffle, index: int) -> engine.Plan:
        if shuffle.window is not None:
            seed = shuffle.seed if shuffle.files == "shuffled" else None
            plan = self._plan
            shard = shard_of_pieces(self._chain, index)
            if (shuffle.num_open, seed, shard) != (1, None, (0, 1)):
                plan = plan.in_pieces(
                    shuffle.num_open, seed, shard, shuffle.block_bytes, shuffle.index
                )
            return plan.window(shuffle.window, shuffle.seed)
        # Its records are read one by one, by all threads.
        counted = self._shared.counted
        counted[self._source_number] = replace(counted[self._source_number], num_parallel=None)
        if self._covered > index or not is_read_late(self._chain, index):
            return self._plan.shuffle_all(shuffle.index, self._shared.indexes, shuffle.seed)
        plan, fetch = self._plan.shuffle_numbers(shuffle.index, self._shared.indexes, shuffle.seed)
        self._waiting.insert(0, fetch.metered(self._source_number))
        return plan

    def _batch(self, batch: stages.Batch | stages.PaddedBatch, index: int, before: Specs) -> None:
        rows = self._plan.batch(batch.size, batch.remainder == "drop", self._turn)
        self._plan = rows.metered(self._number, counts_rows=True)
        pad_to = batch.size if batch.remainder == "pad" else None
        is_of_batches = batch_depth(self._chain[:index]) > 0
        padding = _padding(batch, before) if isinstance(batch, stages.PaddedBatch) else None
        self._later(engine.Stage.collate(list(before), is_of_batches, pad_to, padding))
        self._finish_rows()

    def _bucket(self, bucket: stages.BucketByLength, index: int, before: Specs) -> None:
        names = list(before)
        number = names.index(bucket.component)
        # The lengths are needed, so the rows must be computed.
        self._finish_rows()
        rows = self._plan.bucket(
            number,
            bucket.boundaries,
            (bucket.size, bucket.max_elements),
            bucket.pad_to_boundary,
            bucket.remainder == "drop",
        )
        self._plan = self._digested(rows.metered(self._number, counts_rows=True), index)
        pad_to = bucket.size if bucket.remainder == "pad" else None
        padding = _padding(bucket, before)
        self._later(engine.Stage.collate(names, False, pad_to, padding))
        self._finish_rows()

    def _pack(self, pack: stages.Pack, index: int, before: Specs) -> None:
        names = list(pack.names)
        self._later(engine.Stage.select([list(before).index(name) for name in names]))
        if pack.split:
            self._later(engine.Stage.cut_lists(names, pack.length))
        # The lengths are needed, so the rows must be computed.
        self._finish_rows()
        rows = self._plan.pack(names, pack.length, pack.max_open)
        self._plan = self._digested(rows.metered(self._number, counts_rows=False), index)
        self._later(engine.Stage.pack_rows(names, pack.length, pack.split))
        self._finish_rows()

    def _function(self, stage: Stage, index: int, before: Specs, after: Specs) -> None:
        is_batched = batch_depth(self._chain[:index]) > 0
        lane: Lane
        match stage:
            case (
                stages.Map(function=NativeFunction())
                | stages.Filter(function=NativeFunction())
                | stages.FlatMap(function=NativeFunction())
            ):
                return self._native(stage, before, is_batched)
            case stages.Map() | stages.Filter() | stages.FlatMap() if stage.num_processes:
                self._apart.append((index, self._number))
                if self._goes_on(index):
                    return None
                lane = self._process_functions(is_batched)
            case stages.Learn(stage=learned) if learned.num_processes:
                lane = self._learn_in_process(stage, before)
            case stages.Map(function=function, seed=seed):
                lane = MapFunction(
                    function,
                    self._first(stage, index),
                    seed,
                    before,
                    after,
                    is_batched,
                    stage.num_threads,
                )
            case stages.Filter(function=predicate):
                lane = FilterFunction(
                    predicate, self._first(stage, index), before, stage.num_threads
                )
            case stages.FlatMap(function=makes, seed=seed):
                lane = FlatMapFunction(
                    makes, self._first(stage, index), seed, before, after, stage.num_threads
                )
            case stages.Learn(stage=learned, made=made) as stage:
                lane = LearnFunction(
                    learned.name,
                    learned.function,
                    self._first(stage, index),
                    learned.seed,
                    before,
                    made,
                )
            case _:
                raise AssertionError(f"{stage!r} cannot be planned")
        self._finish_waiting()
        are_maps = all(isinstance(self._chain[n], stages.Map) for n, _ in self._apart)
        num_functions = max(len(self._apart), 1)
        self._apart = []
        # A function that keeps a state must see the same examples as before.
        keeps_count = isinstance(stage, stages.Map) and are_maps and not keeps_state(stage.function)
        self._plan = self._plan.map_python(
            self._lane(lane), keeps_count, lane.num_callers, num_functions
        )
        return None

    def _goes_on(self, index: int) -> bool:
        """Returns whether the next stage is done by the same call of a worker process."""
        stage, behind = self._chain[index], self._chain[index + 1 : index + 2]
        # Where failures are skipped, a state may be between two of the stages.
        is_between = self._shared.is_resumed and index < self._covered
        return (
            isinstance(stage, stages.Map)
            and not is_between
            and any(
                isinstance(after, (stages.Map, stages.Filter, stages.FlatMap))
                and after.num_processes == stage.num_processes
                for after in behind
            )
        )

    def _process_functions(self, is_batched: bool) -> Lane:
        """Returns what processes do for the neighbouring stages that were found."""
        # Nobody loads it who needs no process.
        from headrace.pipeline.workers import process_functions as apart  # noqa: PLC0415

        found, holders = [], []
        for index, number in self._apart:
            stage = cast("stages.Map | stages.Filter | stages.FlatMap", self._chain[index])
            seed = None if isinstance(stage, stages.Filter) else stage.seed
            kind = cast("Literal['map', 'filter', 'flat_map']", stage.name)
            specs = (self._specs[index - 1], self._specs[index])
            first = self._first_results(stage, index)
            found.append(apart.ProcessStage(kind, stage.function, seed, *specs, number, first))
            holders.append(stage.holder)
            if index != self._apart[-1][0]:
                # A state counts functions, whoever calls them.
                self._shared.lanes.append(apart.DoneByNext(stage.function))
        num_processes = 1 if self._shared.is_learning else stage.num_processes
        return apart.ProcessFunctions(found, num_processes, is_batched, holders)

    def _learn_in_process(self, learn: stages.Learn, before: Specs) -> Lane:
        from headrace.pipeline.workers import process_functions as apart  # noqa: PLC0415

        stage = learn.stage
        kind = cast("Literal['map', 'flat_map']", stage.name)
        found = apart.ProcessStage(kind, stage.function, stage.seed, before, None, self._number)
        return apart.LearnInProcess(found, stage.holder, learn.made, self._known.first_of(stage))

    def _first(self, stage: Stage, index: int) -> First:
        """Returns what a function made of the first examples; an iteration takes it."""
        of = stage.stage if isinstance(stage, stages.Learn) else stage
        is_drawn = isinstance(of, (stages.Map, stages.FlatMap)) and of.seed is not None
        return First(self._first_results(of, index), is_drawn, self._shared.is_learning)

    def _first_results(self, stage: Stage, index: int) -> FirstResults:
        first = self._known.first_of(stage)
        return first if self._shared.is_learning else first.take(index < self._num_cached)

    def _native(
        self, stage: stages.Map | stages.Filter | stages.FlatMap, before: Specs, is_batched: bool
    ) -> None:
        function = cast("NativeFunction", stage.function)
        seed = None if isinstance(stage, stages.Filter) else stage.seed
        self._later(function.traced(stage.use, before, seed).stage(is_batched))
        if not isinstance(stage, stages.Map):
            self._finish_rows()

    def _finish_rows(self) -> None:
        """Lets the stages that wait run here."""
        self._plan = self._plan.map(self._waiting)
        self._waiting = []

    def _finish_waiting(self) -> None:
        """The same, if there are any; else rows need not become blocks of their own."""
        if self._waiting:
            self._finish_rows()

    def _lane(self, lane: Lane) -> int:
        if lane.initial is not None:
            for other in self._shared.lanes:
                if other.function is lane.function:
                    raise ValueError(
                        f"{name_of(lane.function)}: it stands at two places of "
                        "the pipeline and keeps a state, expected an object for each place: each "
                        "has a state of its own. Make another one, or a copy."
                    )
        self._shared.lanes.append(lane)
        number = len(self._shared.lanes) - 1
        counted = self._shared.counted
        counted[self._number] = replace(counted[self._number], lane=number)
        return number


def _counted(stage: Stage) -> Counted:
    match stage:
        case (
            stages.Map(function=NativeFunction())
            | stages.Filter(function=NativeFunction())
            | stages.FlatMap(function=NativeFunction())
        ):
            return Counted(stage)
        case stages.Iterable_():
            return Counted(stage, num_parallel=1, is_python=True)
        case stages.Map() | stages.Filter() | stages.FlatMap():
            parallel = stage.num_processes or stage.num_threads
            return Counted(stage, num_parallel=parallel, is_python=True)
    return Counted(stage)


def _rows(arrays: stages.Arrays) -> engine.Plan:
    specs = arrays.spec
    coded = [
        (carried(array), engine_code(specs[name].dtype)) for name, array in arrays.arrays.items()
    ]
    return engine.Plan.arrays(coded)


def _parse(parse: stages.Parse, before: Specs, sightings: engine.Sightings) -> engine.Stage:
    lists = [(name, f) for name, f in parse.features if isinstance(f, Ragged)]
    dense = [(name, f) for name, f in parse.features if isinstance(f, Feature)]
    attrs = {
        "sparse_keys": [name for name, _ in lists],
        "sparse_types": [_type_attr(feature) for _, feature in lists],
        "dense_keys": [name for name, _ in dense],
        "dense_types": [_type_attr(feature) for _, feature in dense],
        "dense_shapes": [("shape", list(feature.shape)) for _, feature in dense],
    }
    names = list(before)
    kept = [index for index, name in enumerate(names) if name != "record"]
    defaults = [_default(name, feature) for name, feature in dense]
    texts = [name for name, f in parse.features if element_type("parse", f.dtype) is str]
    return engine.Stage.parse(attrs, defaults, names.index("record"), kept, texts, sightings)


def _type_attr(feature: Feature | Ragged) -> tuple[str, int]:
    return "dtype", engine_code(element_type("parse", feature.dtype))


def _default(name: str, feature: Feature) -> tuple[Any, int]:
    dtype = element_type("parse", feature.dtype)
    kind: Any = object if isinstance(dtype, type) else dtype
    if feature.default is None:
        return np.zeros(0, kind), engine_code(dtype)
    value = feature.default.encode() if isinstance(feature.default, str) else feature.default
    try:
        filled = np.broadcast_to(np.asarray(value, kind), feature.shape)
    except (TypeError, ValueError) as error:
        raise ValueError(
            f"parse: the default of {name!r} is {feature.default!r}, expected {dtype} of shape "
            f"{feature.shape} or a scalar."
        ) from error
    return np.array(filled, order="C"), engine_code(dtype)


def _padding(
    batch: stages.PaddedBatch | stages.BucketByLength, before: Specs
) -> tuple[list[tuple[Any, int]], list[bool], int, tuple[int, ...]]:
    values = fillers(batch, before)
    are_lists = [spec.is_list for spec in before.values()]
    if isinstance(batch, stages.PaddedBatch):
        return values, are_lists, batch.multiple_of, ()
    if not batch.pad_to_boundary:
        return values, are_lists, 1, ()
    # The component is padded to its boundary even if it has one length.
    are_lists[list(before).index(batch.component)] = True
    return values, are_lists, 1, batch.boundaries
