"""Loops with Accelerate and torchdata that are resumed from each of their states.

Run as a program: `resumed_accelerate.py LOOP`. LOOP is "torchdata" for a `StatefulDataLoader`,
"prepared" for a loader that Accelerate wraps in one, "registered" for one that it only saves,
"wrapped" for one that it only saves, wrapped in its own loader for one process.
Prints, as JSON, for pipelines of known and of unknown length, for the state after each batch and
after each epoch, how many batches were before it and which followed, by their numbers in a loop
without an interruption.
"""

import copy
import json
import sys
import tempfile
import warnings

import numpy as np
import torch
from accelerate import Accelerator
from accelerate.data_loader import prepare_data_loader
from accelerate.utils import DataLoaderConfiguration
from torchdata.stateful_dataloader import StatefulDataLoader

import headrace as hr

EPOCHS, BATCHES = 4, 3


def noisy(example, rng):
    return {**example, "noise": np.float32(rng.normal())}


def pipelines():
    numbers = hr.arrays({"n": np.arange(60)})
    kept = numbers.filter(lambda example: True).shuffle(window=30, seed=3)
    yield "known", numbers.shuffle(seed=3).map(noisy, seed=5).batch(20)
    yield "unknown", kept.map(noisy, seed=5).batch(20)


def alone(loader):
    return prepare_data_loader(
        loader, num_processes=1, process_index=0, use_stateful_dataloader=True
    )


class WithTorchdata:
    def __init__(self, pipe):
        self.loader = StatefulDataLoader(pipe.to_torch(), batch_size=None)

    def save(self):
        return copy.deepcopy(self.loader.state_dict())

    def restore(self, state):
        self.loader.load_state_dict(state)


class WithAccelerate:
    def __init__(self, pipe, way):
        stateful = DataLoaderConfiguration(use_stateful_dataloader=way == "prepared")
        self.accelerator = Accelerator(cpu=True, dataloader_config=stateful)
        self.loader = pipe.to_torch(self.accelerator.device)
        if way != "registered":
            wrapped = torch.utils.data.DataLoader(self.loader, batch_size=None)
            self.loader = self.accelerator.prepare(wrapped) if way == "prepared" else alone(wrapped)
        if way != "prepared":
            self.accelerator.register_for_checkpointing(self.loader)

    def save(self):
        directory = tempfile.mkdtemp()
        self.accelerator.save_state(directory)
        return directory

    def restore(self, directory):
        self.accelerator.load_state(directory)


LOOPS = {
    "torchdata": WithTorchdata,
    "prepared": lambda pipe: WithAccelerate(pipe, "prepared"),
    "registered": lambda pipe: WithAccelerate(pipe, "registered"),
    "wrapped": lambda pipe: WithAccelerate(pipe, "wrapped"),
}


def shown(batch):
    return [batch["n"].tolist(), batch["noise"].tolist()]


def main(loop):
    warnings.simplefilter("ignore")
    results = []
    for name, pipe in pipelines():
        uninterrupted = [shown(batch) for epoch in range(EPOCHS) for batch in pipe.epoch(epoch)]
        running, states = LOOPS[loop](pipe), []
        for epoch in range(EPOCHS - 1):
            for index, _ in enumerate(running.loader, 1):
                states.append((epoch * BATCHES + index, running.save()))
            states.append(((epoch + 1) * BATCHES, running.save()))
        for before, state in states:
            resumed = LOOPS[loop](pipe)
            resumed.restore(state)
            epochs = range(before // BATCHES, EPOCHS)
            seen = [uninterrupted.index(shown(batch)) for _ in epochs for batch in resumed.loader]
            results.append([name, before, seen])
    print(json.dumps(results))


if __name__ == "__main__":
    main(sys.argv[1])
