"""Finds the stages that determine the global order, for `Batches.digest`."""

from collections.abc import Sequence

from headrace.pipeline.stages.components import all_steps, steps
from headrace.pipeline.stages.stage import Effect, Stage, Step

__all__ = ["ordered_stages"]


def ordered_stages(chain: Sequence[Stage]) -> int | str:
    """Returns the number of stages that determine the global order, or why there is no order.

    Each later stage turns one example into one, makes batches of a fixed size, or is a `shard`. The
    number of results therefore determines the position in the order on every rank.
    """
    if any(_is_shard(step) for part in chain[0].parts for step in all_steps(part)):
        return (
            "one of the combined pipelines has a shard, so each rank has its own order. Write "
            "shard(...) after the combination"
        )
    shards = [number for number, step in enumerate(steps(chain), 1) if _is_shard(step)]
    if any(step.piece_shard is not None for step in steps(chain)):
        return "shard(..., by='piece') results in a separate order for each rank"
    if len(shards) > 1:
        return "the pipeline has several shards. Use only one"
    shard = shards[0] if shards else 0
    count = len(chain)
    has_groups = has_epochs = False
    while count > 1:
        step = steps(chain)[count - 2]
        is_behind_shard = 0 < shard < count - 1
        passing = (Effect.EACH, Effect.OMITS) if is_behind_shard else (Effect.EACH,)
        if _is_shard(step) or step.groups_evenly:
            has_groups = True
        elif step.effect is Effect.REPEATS and is_behind_shard and (has_groups or has_epochs):
            return (
                "epochs comes between shard and batch, so ranks may be at different positions. "
                "Write epochs(...) before shard(...), or batch(...) before epochs(...)"
            )
        elif step.effect is Effect.REPEATS and not has_groups and not has_epochs:
            has_epochs = True
        elif step.effect not in passing:
            break
        count -= 1
    if count > shard > 0:
        return (
            f"{chain[count - 1].name} follows shard, so the positions of the other ranks are "
            "unknown. Write shard(...) after it"
        )
    return count


def _is_shard(step: Step) -> bool:
    return step.effect is Effect.DIVIDES
