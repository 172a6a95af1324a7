"""The planner converts a pipeline's description to the plan that the engine runs.

Stages that turn one example into one (`parse`, `select`, `rename`) run after `take`, `skip`,
`shard`, `shuffle` and `batch`, even if they are written before them, because those stages only move
row numbers. This keeps the rows in a shuffle window small and decodes whole batches at once. Each
stage defines its part of the plan in its own file; see `Step.plan_into` and `Source.source_plan`.
"""

from collections.abc import Sequence
from typing import Any

from headrace.core import engine
from headrace.pipeline.plan.deferred_reads import defer_reads
from headrace.pipeline.plan.global_order import ordered_stages
from headrace.pipeline.plan.pipeline_plan import CacheDirectory, PipelinePlan, SharedState, measured
from headrace.pipeline.plan.requests import Requests
from headrace.pipeline.stages.components import (
    ChainSpecs,
    num_cached,
    source_of,
    steps,
)
from headrace.pipeline.stages.random_access import order_stage
from headrace.pipeline.stages.sample import check_nothing_is_drawn
from headrace.pipeline.stages.split import shuffled_before
from headrace.pipeline.stages.stage import Effect, OrderStage, Stage, Step

__all__ = ["PipelinePlan", "plan"]


def plan(
    chain: Sequence[Stage],
    chain_specs: ChainSpecs,
    cache: CacheDirectory | None = None,
    is_learning: bool = False,
    is_resumed: bool = False,
    indexes: engine.IndexFiles | None = None,
    digest: engine.OrderDigest | None = None,
    mix_checkpoint: list[Any] | None = None,
    lanes: engine.Lanes | None = None,
) -> PipelinePlan:
    """Plans a pipeline.

    Args:
        chain: The pipeline's stages.
        chain_specs: The components after each stage.
        cache: The cache directory for remote files, and its size limit in bytes.
        is_learning: Whether components are being learned. The examples of iterators are then kept.
        is_resumed: Whether the iteration resumes from a state.
        indexes: The index files to read and write, or None.
        digest: The digest of the global order, if there is one.
        mix_checkpoint: The checkpoint of a mix that has changed since the state was saved, or None
            if it is unchanged.
        lanes: The lanes of the execution, if it produces the batches of several ranks.

    Raises:
        NotFoundError: If a path does not exist, or no file matches a pattern.
    """
    indexes = indexes or engine.IndexFiles("memory", [])
    shared = SharedState(
        [], [], [], cache, is_learning, is_resumed, [], [], indexes, [], mix_checkpoint, chain
    )
    planning = _Planning(chain, chain_specs, shared, digest=digest, is_whole=True, lanes=lanes)
    engine_plan, num_ready = planning.finished_plan(), planning.num_ready
    if chain[0].is_growing:
        # A pass ends at the row at which all writers had closed the journal.
        engine_plan = engine_plan.epochs(None)
    return PipelinePlan(
        engine_plan,
        shared.python_workers,
        shared.counted,
        shared.files,
        num_ready,
        shared.seen_components,
        shared.contents,
        shared.disk_caches,
    )


class _Planning(Requests):
    """Plans one pipeline, stage by stage; see `Planning` and `SourcePlanning`."""

    def __init__(
        self,
        chain: Sequence[Stage],
        chain_specs: ChainSpecs,
        shared: SharedState,
        has_error_skipper: bool = False,
        is_cached: bool = False,
        depth: int = 0,
        ordered_by: OrderStage | None = None,
        digest: engine.OrderDigest | None = None,
        is_whole: bool = False,
        lanes: engine.Lanes | None = None,
    ) -> None:
        """Plans the stages of one pipeline.

        Args:
            chain: The pipeline's stages.
            chain_specs: The components after each stage.
            shared: The state shared by the parts of a combined pipeline.
            has_error_skipper: Whether a stage after all of these skips failing examples.
            is_cached: Whether a stage after all of these keeps the results.
            depth: How many levels of combined pipelines enclose these stages, up to the next cache.
            ordered_by: The stage after these that needs random access to their examples, if any.
            digest: The digest of the global order, if these stages determine it.
            is_whole: Whether they are a whole pipeline, not a part of a combined pipeline.
            lanes: The lanes of the execution, if there are several.
        """
        if chain_specs.first_empty_stage is not None:
            # No examples reach the later stages. Keep only stages that report skipped examples in
            # each epoch.
            behind = steps(chain)[chain_specs.first_empty_stage :]
            check_nothing_is_drawn(behind)
            reporting = [s for s in behind if s.judges_errors or s.effect is Effect.REPEATS]
            chain = [*chain[: chain_specs.first_empty_stage + 1], *reporting]
        self._shared = shared
        self.num_ready = 2
        chain, chain_specs = defer_reads(*shuffled_before(chain, chain_specs), has_error_skipper)
        self.chain = chain
        # Where the files and contents of these stages start in the shared lists.
        self._first_files = len(shared.files), len(shared.contents)
        self._chain_specs = chain_specs
        self._specs = chain_specs.specs
        self._waiting = []
        self.index = 0
        self.number = self._source_number = self._count(chain[0])
        self._is_fused = False
        self._in_process = []
        self.turn = (0, 1)
        self.lanes = lanes
        skippers = [n for n, step in enumerate(steps(chain), 1) if step.judges_errors]
        # Errors in stages before this index are skipped.
        self._skipper_index = len(chain) if has_error_skipper else max(skippers, default=0)
        self._num_cached = len(chain) if is_cached else num_cached(chain)
        self._depth = depth
        self.ordered_by = order_stage(chain, ordered_by)
        self._digest = digest
        self._is_whole = is_whole
        ordered = ordered_stages(chain)
        # The last stage that determines the global order.
        self._last_ordered = ordered - 1 if isinstance(ordered, int) else None
        source = source_of(chain)
        self.plan = source.source_plan(self).metered(self.number, counts_rows=True)
        self._digest_rows()
        for self.index, step in enumerate(steps(chain), 1):
            self._add(step)

    def finished_plan(self) -> engine.Plan:
        """Returns the plan of all stages. It produces blocks of rows."""
        return self.plan.map(self._waiting)

    def _count(self, stage: Stage) -> int:
        """Returns the number under which a stage's work is measured."""
        self._shared.counted.append(measured(stage))
        return len(self._shared.counted) - 1

    def _add(self, step: Step) -> None:
        self.number = self._count(step)
        self._is_fused = self._is_grouped = False
        if self.has_error_skipper and (step.counts_examples or step.groups_evenly):
            # The step counts examples that were not skipped, so errors must be known before it.
            self.finish_waiting()
        plan = self.plan
        step.plan_into(self)
        if self.plan is not plan:
            # Work that is fused into an engine task is measured as part of that task.
            self.plan = self.plan.metered(self.number, counts_rows=not self._is_fused)
        if not self._is_grouped:
            self._digest_rows()

    def part_plans(self) -> list[engine.Plan]:
        """Returns the plans of the parts that the source combines."""
        behind = self._skipper_index > 0, self._num_cached > 0, self.depth() + 1, self.ordered_by
        return [
            _Planning(part, chain_specs, self._shared, *behind).finished_plan()
            for part, chain_specs in zip(self.chain[0].parts, self._chain_specs.parts, strict=True)
        ]

    def group(self, rows: engine.Plan, counts_rows: bool = True) -> None:
        """Sets a plan that groups rows, and measures it."""
        self.plan = rows.metered(self.number, counts_rows=counts_rows)

    def group_in_order(self, rows: engine.Plan, counts_rows: bool = True) -> None:
        """Sets a plan that groups rows by length, in a new order, and measures it."""
        self.group(rows, counts_rows)
        self._digest_rows()
        self._is_grouped = True

    def _digest_rows(self) -> None:
        """Adds the rows to the digest if no later stage changes the global order."""
        if self._digest is not None and self.index == self._last_ordered:
            self.plan = self.plan.digested(self._digest)
