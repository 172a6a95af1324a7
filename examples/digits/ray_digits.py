"""Trains on Ray, with two readers that prepare batches for two trainers.

Each trainer gets every other batch, and both apply the mean of their gradients, as in data-parallel
training. Needs Ray, and the files that `digits.py` writes.
"""

import argparse
import os
from pathlib import Path

import numpy as np
import ray
from digits import load, records

import headrace.ray as hray
from headrace.demo.model import Adam, Parameters, initial_parameters, logits, loss_and_gradients

NUM_TRAINERS = 2
NUM_READERS = 2


@ray.remote(num_cpus=1)
class Trainer:
    """Trains on its own batches, with the mean of both trainers' gradients."""

    def __init__(self, feed: hray.Feed, rank: int) -> None:
        self._batches = feed.batches(rank, NUM_TRAINERS)
        self._parameters = initial_parameters(seed=1)
        self._optimizer = Adam(self._parameters)

    def gradients(self) -> Parameters | None:
        """Returns the gradients of the next batch; None at the end."""
        if (batch := next(self._batches, None)) is None:
            return None
        return loss_and_gradients(self._parameters, batch["image"], batch["label"])[1]

    def step(self, *gradients: Parameters) -> None:
        """Updates the parameters with the mean of all gradients."""
        mean = {name: np.mean([one[name] for one in gradients], axis=0) for name in gradients[0]}
        self._optimizer.step(mean)

    def accuracy(self) -> float:
        """Returns the accuracy on the test digits, from 0 to 1."""
        _, (images, labels) = load(0)
        return float((logits(self._parameters, images).argmax(axis=1) == labels).mean())


def main(directory: Path, num_epochs: int, batch_size: int) -> None:
    """Trains on the digits in a directory that all nodes can read."""
    train = records(directory).shuffle(seed=1).epochs(num_epochs).batch(batch_size, "drop")
    num_steps = 0
    with hray.serve(train, num_readers=NUM_READERS) as feed:
        trainers = [Trainer.remote(feed, rank) for rank in range(NUM_TRAINERS)]
        while True:
            gradients = [trainer.gradients.remote() for trainer in trainers]
            if any(one is None for one in ray.get(gradients)):
                break
            ray.get([trainer.step.remote(*gradients) for trainer in trainers])
            num_steps += 1
        accuracy = ray.get(trainers[0].accuracy.remote())
    print(f"{num_steps} steps, accuracy {accuracy:.3f}")


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("directory", type=Path)
    parser.add_argument("--epochs", type=int, default=8)
    parser.add_argument("--batch-size", type=int, default=50)
    parser.add_argument("--store-bytes", type=int, default=None, help="Of the object store.")
    arguments = parser.parse_args()
    here = str(Path(__file__).parent)
    ray.init(
        num_cpus=NUM_TRAINERS + NUM_READERS,  # This lets one machine pretend to have these CPUs.
        include_dashboard=False,
        object_store_memory=arguments.store_bytes,
        # Readers and trainers import the same modules as this program.
        runtime_env={"env_vars": {"PYTHONPATH": f"{here}:{os.environ.get('PYTHONPATH', '')}"}},
    )
    main(arguments.directory, arguments.epochs, arguments.batch_size)
    ray.shutdown()
