"""The place in a pipeline that has the global order, for `Batches.digest`."""

from collections.abc import Sequence
from typing import Final

from headrace.pipeline.describe import stages
from headrace.pipeline.describe.stages import Stage

__all__ = ["ordered_stages"]

_ONE_TO_ONE: Final = (
    stages.Parse,
    stages.Select,
    stages.Rename,
    stages.Map,
    stages.Prefetch,
)


def ordered_stages(chain: Sequence[Stage]) -> int | str:
    """Returns the number of stages that make the global order, or the reason why there is none.

    The stages after these give one example for each, or batches of one size, or are a `shard`. So
    the number of their results tells the place in the order, on each rank.
    """
    if any(map(_has_shard, stages.parts_of(chain[0]))):
        return (
            "a shard stands in a part of a combination, so each rank has an order of its own. "
            "Write shard(...) after the combination"
        )
    shards = [number for number, stage in enumerate(chain) if isinstance(stage, stages.Shard)]
    if any(isinstance(stage, stages.Shard) and stage.by == "piece" for stage in chain):
        return "shard(..., by='piece') gives each rank an order of its own"
    if len(shards) > 1:
        return "there are several shards, expected one"
    shard = shards[0] if shards else 0
    count = len(chain)
    has_groups = has_epochs = False
    while count > 1:
        stage = chain[count - 1]
        match stage:
            case stages.Shard() | stages.Batch() | stages.PaddedBatch():
                has_groups = True
            case stages.Epochs() if 0 < shard < count - 1 and (has_groups or has_epochs):
                return (
                    "epochs stands between shard and batch, so ranks may be at different places. "
                    "Write epochs(...) before shard(...), or batch(...) before epochs(...)"
                )
            case stages.Epochs() if not has_groups and not has_epochs:
                has_epochs = True
            case stages.Skip() if 0 < shard < count - 1:
                pass
            case _ if not isinstance(stage, _ONE_TO_ONE):
                break
        count -= 1
    if count > shard > 0:
        return (
            f"{chain[count - 1].name} follows shard, so the place of the other ranks in the global "
            "order is not known. Write shard(...) after it"
        )
    return count


def _has_shard(chain: Sequence[Stage]) -> bool:
    return any(isinstance(stage, stages.Shard) for stage in chain) or any(
        map(_has_shard, stages.parts_of(chain[0]))
    )
