"""Two trainers and two readers on Ray: the trainers learn from the readers' batches.

Each trainer takes every other batch, and both step with the mean of their gradients, as data-
parallel training does. Needs Ray; `digits.py` writes the files.
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
    """Takes its batches, and learns from its own and the other's."""

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
        """Steps with the mean of all gradients."""
        mean = {name: np.mean([one[name] for one in gradients], axis=0) for name in gradients[0]}
        self._optimizer.step(mean)

    def accuracy(self) -> float:
        """Returns the share of digits for tests that are recognised, 0 to 1."""
        _, (images, labels) = load(0)
        return float((logits(self._parameters, images).argmax(axis=1) == labels).mean())


def main(directory: Path, num_epochs: int, batch_size: int) -> None:
    """Trains on the digits in a directory, which all nodes have to see."""
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
        num_cpus=NUM_TRAINERS + NUM_READERS,  # Here, on one machine, as if it had them.
        include_dashboard=False,
        object_store_memory=arguments.store_bytes,
        # Readers and trainers import what this program imports.
        runtime_env={"env_vars": {"PYTHONPATH": f"{here}:{os.environ.get('PYTHONPATH', '')}"}},
    )
    main(arguments.directory, arguments.epochs, arguments.batch_size)
    ray.shutdown()
