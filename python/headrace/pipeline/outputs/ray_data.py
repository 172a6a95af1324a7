"""Datasets of Ray Data."""

from collections.abc import Iterator
from importlib import import_module
from typing import Any

from headrace.core.optional_dependencies import missing_ray
from headrace.pipeline.run.reader_shards import (
    Description,
    ShareBatches,
    check_shares,
)

__all__ = ["ray_dataset"]


def ray_dataset(pipe: Description, num_blocks: int) -> Any:
    """Returns a dataset of the examples in a pipeline's batches; see `Pipeline.to_ray_dataset`.

    Raises:
        ModuleNotFoundError: If Ray is not installed.
        ValueError: If the pipeline yields examples instead of batches, or has no fixed order.
    """
    check_shares("to_ray_dataset", pipe)
    if missing := missing_ray():
        raise ModuleNotFoundError(f"to_ray_dataset: {missing}", name="ray")
    data, pickle = import_module("ray.data"), import_module("ray.cloudpickle")
    pickled = pickle.dumps(pipe)

    def batches(block: dict[str, Any]) -> Iterator[dict[str, Any]]:
        for index in block["id"]:
            share = ShareBatches(pickle.loads(pickled), int(index), num_blocks)
            try:
                while (batch := next(share, None)) is not None:
                    yield batch
            finally:
                share.close()

    numbers = data.range(num_blocks, override_num_blocks=num_blocks)
    return numbers.map_batches(batches, batch_size=1, batch_format="numpy")
