"""Reads data on other machines with Ray, in the same order as on one machine.

`serve(pipe, num_readers=…)` starts readers and returns a `Feed`. In any process of the cluster,
`feed.batches(rank, world)` returns the same bytes as `pipe.shard(rank, world)` on one machine.
`from_dataset` makes a pipeline from a Ray Data dataset. Requires the extra `headrace[ray]`.
"""

from headrace.core.optional_dependencies import missing_ray

if missing := missing_ray():
    raise ModuleNotFoundError(f"headrace.ray: {missing}", name="ray")

from headrace.ray.batches import FeedBatches, FeedStatistics
from headrace.ray.datasets import from_dataset
from headrace.ray.feed import Feed, serve

__all__ = ["Feed", "FeedBatches", "FeedStatistics", "from_dataset", "serve"]
