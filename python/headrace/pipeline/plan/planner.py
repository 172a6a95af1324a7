"""The planner: turns the description of a pipeline into the plan that the engine runs.

Stages that give one example for each (`parse`, `select`, `rename`) run after `take`, `skip`,
`shard`, `shuffle` and `batch`, wherever they are written, because those only move row numbers. So
the rows that wait in a window are small, and whole batches are decoded at once.
"""

from collections.abc import Sequence
from dataclasses import replace
from typing import Any, Final

from headrace.core import engine
from headrace.pipeline.describe import stages
from headrace.pipeline.describe.padding import fillers
from headrace.pipeline.describe.random_access import is_read_late, is_shuffled_whole
from headrace.pipeline.describe.sharding.piece_shards import shard_of_pieces
from headrace.pipeline.describe.source import Source, check_paths
from headrace.pipeline.describe.specs import Known, Specs, batch_depth, num_cached
from headrace.pipeline.describe.stages import Stage
from headrace.pipeline.describe.types import Ragged
from headrace.pipeline.plan.caching.keys import cache_key, is_on_disk, with_companions
from headrace.pipeline.plan.functions.late_reads import read_late
from headrace.pipeline.plan.global_order import ordered_stages
from headrace.pipeline.plan.mixture import mixture
from headrace.pipeline.plan.paths import find_files
from headrace.pipeline.plan.planned import Counted, Kept, Planned, Shared, measured
from headrace.pipeline.plan.planned_functions import FunctionPlanning
from headrace.pipeline.plan.python_iterables import IterableFunction, LookedAt
from headrace.pipeline.plan.splits import check_depth, shuffled_before
from headrace.pipeline.plan.stage_arguments import (
    layouts_of,
    origin_stage,
    padding_of,
    parse_stage,
    rows_of,
)

__all__ = ["Planned", "plan"]

# Stages that count examples, and so depend on which ones were skipped before.
_COUNTING: Final = (
    stages.Take,
    stages.Skip,
    stages.Shard,
    stages.Batch,
    stages.PaddedBatch,
)


def plan(
    chain: Sequence[Stage],
    known: Known,
    kept: Kept | None = None,
    is_learning: bool = False,
    is_resumed: bool = False,
    indexes: engine.IndexFiles | None = None,
    digest: engine.OrderDigest | None = None,
    mix_checkpoint: list[Any] | None = None,
) -> Planned:
    """Plans a pipeline.

    Args:
        chain: Its stages.
        known: The components after each of them.
        kept: The cache directory of remote files and its limit in bytes.
        is_learning: Whether components are learned, so that examples of iterators are kept.
        is_resumed: Whether the iteration continues with a state.
        indexes: The index files that are read and written; None for none.
        digest: The digest of the global order, if there is one.
        mix_checkpoint: The checkpoint of a mixture that has changed since the state; None if it
            is unchanged.

    Raises:
        NotFoundError: If a path does not exist, or nothing matches a pattern.
    """
    indexes = indexes or engine.IndexFiles("memory", [])
    shared = Shared([], [], [], kept, is_learning, is_resumed, [], [], indexes, [], mix_checkpoint)
    planning = _Planning(chain, known, shared, digest=digest, is_whole=True)
    whole, num_ready = planning.whole(), planning.num_ready
    return Planned(
        whole,
        shared.python_workers,
        shared.counted,
        shared.files,
        num_ready,
        shared.sightings,
        shared.contents,
        shared.disk_caches,
    )


class _Planning(FunctionPlanning):
    """The plan of one pipeline, stage after stage."""

    def __init__(
        self,
        chain: Sequence[Stage],
        known: Known,
        shared: Shared,
        is_covered: bool = False,
        is_cached: bool = False,
        depth: int = 0,
        is_shuffled: bool = False,
        digest: engine.OrderDigest | None = None,
        is_whole: bool = False,
    ) -> None:
        """Plans the stages of one pipeline.

        Args:
            chain: Its stages.
            known: The components after each of them.
            shared: The data shared by the parts of a combined pipeline.
            is_covered: True if failing examples are skipped by a stage after all of these.
            is_cached: True if the results are kept by a stage after all of these.
            depth: The number of combinations around them, up to the next cache.
            is_shuffled: True if a shuffle of all examples follows after all of these.
            digest: The digest of the global order, if these stages make it.
            is_whole: True unless they are a part of a combination.
        """
        if known.empty_at is not None:
            # Only reports of skipped examples follow that stage, in each epoch.
            reporting = (stages.SkipErrors, stages.Epochs)
            behind = [s for s in chain[known.empty_at + 1 :] if isinstance(s, reporting)]
            chain = [*chain[: known.empty_at + 1], *behind]
        self._shared = shared
        self.num_ready = 2
        chain, known = read_late(*shuffled_before(chain, known), is_covered)
        self._chain = chain
        # The numbers of the first files and of the first contents of these stages.
        self._first_found = len(shared.files), len(shared.contents)
        self._known = known
        self._specs = known.specs
        self._waiting: list[engine.Stage] = []
        self._number = self._source_number = self._count(chain[0])
        self._is_fused = False
        # Stages that run in one call of a worker process, by their places in the chain and their
        # numbers.
        self._in_process: list[tuple[int, int]] = []
        # The batches of this share, among those of all shares.
        self._turn = (0, 1)
        skippers = [n for n, stage in enumerate(chain) if isinstance(stage, stages.SkipErrors)]
        # Failures of the stages before this one are skipped.
        self._covered = len(chain) if is_covered else max(skippers, default=0)
        self._num_cached = len(chain) if is_cached else num_cached(chain)
        self._depth = depth
        self._is_shuffled = is_shuffled_whole(chain, is_shuffled)
        self._digest = digest
        self._is_whole = is_whole
        ordered = ordered_stages(chain)
        # The last stage that makes the global order.
        self._last_ordered = ordered - 1 if isinstance(ordered, int) else None
        self._plan = self._source().metered(self._number, counts_rows=True)
        self._plan = self._digested(self._plan, 0)
        for index in range(1, len(chain)):
            self._add(index)

    def whole(self) -> engine.Plan:
        """Returns the plan of all stages, which gives blocks of rows."""
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
                return self._shared.with_cache(
                    engine.Plan.files(files.kind, paths, compression, files.lengths)
                )
            case Source() as source:
                planned = source.planned(self._specs[0], self._python_worker)
                self._shared.files.append(planned.files)
                self._shared.counted[self._number] = Counted(
                    source,
                    planned.num_parallel,
                    planned.is_python,
                    not planned.is_python,
                    left_out=planned.left_out,
                )
                if planned.sightings is not None:
                    self._shared.sightings.append(planned.sightings)
                if planned.stages:
                    # Reading waits for storage, and parsing does not, so parsing has a separate
                    # number.
                    self._shared.counted.append(Counted(source, part="fields"))
                    number = len(self._shared.counted) - 1
                    self._waiting.extend(stage.metered(number) for stage in planned.stages)
                plan = self._shared.with_cache(planned.plan)
                is_kept = self._is_shuffled and source.is_kept_for_shuffle
                return plan.kept_for_shuffle() if is_kept else plan
            case stages.Arrays() as arrays:
                return rows_of(arrays)
            case stages.Indexed(rows=rows):
                rows.check_length()
                return engine.Plan.row_numbers(rows.length)
            case stages.Iterable_(factory=factory, openings=openings):
                of = LookedAt if self._shared.is_learning else IterableFunction
                return engine.Plan.python_source(
                    self._python_worker(of(factory, openings, self._specs[0]))
                )
        return self._combined(self._chain[0])

    def _combined(self, source: Stage) -> engine.Plan:
        pairs = zip(stages.parts_of(source), self._known.parts, strict=True)
        behind = self._covered > 0, self._num_cached > 0, self._depth_of(0) + 1, self._is_shuffled
        parts = [_Planning(part, known, self._shared, *behind).whole() for part, known in pairs]
        match source:
            case stages.Concat():
                return engine.Plan.concat(parts)
            case stages.Mix() as mix:
                resumed = self._shared.mix_checkpoint if self._is_whole else None
                return mixture(mix, parts, self._specs[0], resumed)
            case stages.Zip(strict=strict):
                return engine.Plan.zip(parts, strict)
        raise AssertionError(f"{source!r} is not a source")

    def _count(self, stage: Stage) -> int:
        """Returns the number under which the work of a stage is counted."""
        self._shared.counted.append(measured(stage))
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
        """Returns a plan that feeds the digest with rows, if the stage gives the global order."""
        if self._digest is None or index != self._last_ordered:
            return plan
        return plan.digested(self._digest)

    def _seen(self, parse: stages.Parse) -> engine.Sightings:
        """Returns the object that records which lists occur, if there are lists."""
        sightings = engine.Sightings("parse")
        if any(isinstance(feature, Ragged) for _, feature in parse.features):
            self._shared.sightings.append(sightings)
        return sightings

    def _extend(self, index: int) -> None:
        before, after = self._specs[index - 1], self._specs[index]
        if index < self._covered and isinstance(self._chain[index], _COUNTING):
            # The stage counts examples that were not skipped, so failures must be known before it.
            self._finish_waiting()
        match self._chain[index]:
            case stages.Parse() as parse:
                self._later(parse_stage(parse, before, self._seen(parse)))
            case stages.Select(names=names):
                self._later(engine.Stage.select([list(before).index(n) for n in names]))
            case stages.WithOrigin() | stages.OriginFiles() as origin:
                self._later(origin_stage(origin, len(before)))
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
            case stages.Cache(kept=kept) as cache:
                # Whole blocks are cached, after the waiting stages, which may remove rows.
                self._finish_waiting()
                self._finish_rows()
                if cache.directory is not None:
                    return self._plan.cache_on_disk(self._disk_cache(cache, cache.directory, index))
                return self._plan.cache(kept)
        raise AssertionError(f"{stage!r} cannot be planned")

    def _disk_cache(self, cache: stages.Cache, directory: str, index: int) -> engine.DiskCache:
        """Returns the files of a cache of the stages before stage number `index`."""
        is_off = self._shared.is_learning
        contents = self._shared.contents[self._first_found[1] :]
        key = "" if is_off else cache_key(self._chain[:index], contents, self._number, cache.key)
        paths = [path for found in self._shared.files[self._first_found[0] :] for path in found]
        found = engine.DiskCache(directory, cache.bytes, key, with_companions(paths), is_off)
        self._shared.disk_caches.append(found)
        return found

    def _depth_of(self, index: int) -> int:
        """Returns the number of nested combinations around a stage, up to the next cache.

        The stages before a cache do not depend on the place of the cache.
        """
        behind = self._chain[index + 1 :]
        return 0 if any(isinstance(stage, stages.Cache) for stage in behind) else self._depth

    def _shuffled(self, shuffle: stages.Shuffle, index: int) -> engine.Plan:
        if shuffle.window is not None:
            seed = shuffle.seed if shuffle.files == "shuffled" else None
            plan = self._plan
            shard = shard_of_pieces(self._chain, index)
            if (shuffle.num_open, seed, shard) != (1, None, (0, 1)):
                size = shuffle.block_bytes
                blocks = None if size is None else (size, shuffle.index, self._shared.indexes)
                plan = plan.in_pieces(shuffle.num_open, seed, shard, blocks)
            return plan.window(shuffle.window, shuffle.seed)
        if self._shared.is_learning and is_on_disk(self._chain[:index]):
            # Nothing is written while components are learned, so the examples come as they are.
            return self._plan
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
        padding = padding_of(batch, before) if isinstance(batch, stages.PaddedBatch) else None
        layouts = layouts_of(batch, before)
        self._later(engine.Stage.collate(list(before), is_of_batches, pad_to, padding, layouts))
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
        padding = padding_of(bucket, before)
        self._later(engine.Stage.collate(names, False, pad_to, padding, []))
        self._finish_rows()

    def _pack(self, pack: stages.Pack, index: int, before: Specs) -> None:
        names, num_along = list(pack.names), len(pack.along)
        there = list(before)
        self._later(engine.Stage.select([there.index(name) for name in (*names, *pack.along)]))
        if pack.split:
            self._later(engine.Stage.cut_lists(names, num_along, pack.length))
        # The lengths are needed, so the rows must be computed.
        self._finish_rows()
        rows = self._plan.pack(names, pack.length, pack.max_open, pack.balance or 1)
        self._plan = self._digested(rows.metered(self._number, counts_rows=False), index)
        self._later(
            engine.Stage.pack_rows(
                names,
                pack.length,
                pack.split,
                num_along,
                pack.cu_seqlens,
                fillers(pack, {name: before[name] for name in names}),
            )
        )
        self._finish_rows()
