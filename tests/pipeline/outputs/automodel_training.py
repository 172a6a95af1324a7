"""Trains with the loader and the step scheduler of NeMo Automodel; `test_automodel.py` kills it.

It prints the number and the loss of each step, and saves a checkpoint every few steps.
"""

import signal
import sys
from pathlib import Path
from typing import Any

import numpy as np
import torch
from nemo_automodel.components.datasets.loader import DataloaderConfig, make_dataset_config
from nemo_automodel.components.training.step_scheduler import StepScheduler
from torch.utils.data import IterableDataset

import headrace as hr

NUM, GLOBAL_BATCH, CHECKPOINT_STEPS = 42, 8, 3


class Examples(IterableDataset):  # type: ignore[type-arg]
    """The dataset of the configuration. Automodel calls `shard` with the number of ranks first."""

    def __init__(self, batch_size: int) -> None:
        inputs = np.random.default_rng(0).normal(size=(NUM, 5)).astype(np.float32)
        self.rows = hr.arrays({"labels": np.arange(NUM), "inputs": inputs}).shuffle(seed=3)
        self.batch_size = batch_size

    def __iter__(self) -> Any:
        return iter(self.shard(1, 0))

    def shard(self, count: int, index: int) -> Any:
        share = self.rows.shard(index, count, even="drop")
        return share.batch(self.batch_size, remainder="drop").to_torch()


def loader(rank: int, world: int) -> Any:
    """Returns the loader of one rank, as the recipe builds it from the configuration."""
    target = f"{Examples.__module__}.{Examples.__qualname__}"
    dataset = make_dataset_config(target, {"batch_size": GLOBAL_BATCH // world})
    return DataloaderConfig(dataset, batch_size=None).build(dp_rank=rank, dp_world_size=world)


def main(checkpoint: Path, num_steps: int) -> None:
    torch.manual_seed(0)
    model = torch.nn.Linear(5, 1)
    optimizer = torch.optim.AdamW(model.parameters(), lr=0.01)
    train = loader(0, 1)
    scheduler = StepScheduler(
        global_batch_size=GLOBAL_BATCH,
        local_batch_size=GLOBAL_BATCH,
        dp_size=1,
        dataloader=train,
        ckpt_every_steps=CHECKPOINT_STEPS,
        save_checkpoint_every_epoch=False,
        max_steps=num_steps,
        num_epochs=num_steps,
        preemption_signal=signal.SIGTERM,
    )
    parts = {"model": model, "optimizer": optimizer, "train": train, "scheduler": scheduler}
    if checkpoint.exists():
        for name, state in torch.load(checkpoint).items():
            parts[name].load_state_dict(state)
    for epoch in scheduler.epochs:
        scheduler.set_epoch(epoch)
        for (batch,) in scheduler:
            optimizer.zero_grad()
            loss = (model(batch["inputs"])[:, 0] - batch["labels"]).square().mean()
            loss.backward()
            optimizer.step()
            print(scheduler.step, loss.item().hex(), flush=True)
            if scheduler.is_ckpt_step:
                new = checkpoint.with_suffix(".new")
                torch.save({name: part.state_dict() for name, part in parts.items()}, new)
                new.rename(checkpoint)


if __name__ == "__main__":
    # Automodel imports the dataset by its name.
    from tests.pipeline.outputs import automodel_training

    automodel_training.main(Path(sys.argv[1]), int(sys.argv[2]))
