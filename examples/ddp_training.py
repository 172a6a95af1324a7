"""Trains a model with data parallelism: `torchrun --nproc-per-node 2 ddp_training.py`.

`shard()` finds out the rank and the number of ranks. All ranks read their parts of the same order,
and get the same number of batches. Without torchrun, this trains on a single rank. Needs PyTorch.
"""

import os

import numpy as np
import torch
from torch import distributed
from torch.nn.parallel import DistributedDataParallel

import headrace as hr


def numbers() -> hr.Pipeline:
    """Returns an example with x and y = 3 x: float32, (1,)."""
    x = np.random.default_rng(1).uniform(-1, 1, (1_003, 1)).astype(np.float32)
    return hr.arrays({"x": x, "y": 3 * x})


def main(num_epochs: int) -> None:
    """Trains with the other ranks."""
    model = DistributedDataParallel(torch.nn.Linear(1, 1))
    optimizer = torch.optim.SGD(model.parameters(), lr=0.2)
    train = numbers().shuffle(seed=1).shard(even="drop").batch(50)
    loader = train.to_torch()
    for epoch in range(num_epochs):
        loader.set_epoch(epoch)
        for batch in loader:
            loss = torch.nn.functional.mse_loss(model(batch["x"]), batch["y"])
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
    weight = model.module.weight.item()
    print(f"rank {distributed.get_rank()}: {len(loader)} batches an epoch, weight {weight:.3f}")


if __name__ == "__main__":
    for name, value in (("RANK", 0), ("WORLD_SIZE", 1), ("MASTER_PORT", 29_500)):
        os.environ.setdefault(name, str(value))
    os.environ.setdefault("MASTER_ADDR", "127.0.0.1")
    distributed.init_process_group("gloo")  # Use "nccl" on GPUs.
    main(num_epochs=10)
    distributed.destroy_process_group()
