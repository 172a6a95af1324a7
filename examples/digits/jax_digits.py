"""Trains a network with JAX on batches of a pipeline.

While the device computes, the next two batches are copied to it. Needs JAX, and the files that
`digits.py` writes.
"""

import argparse
from pathlib import Path
from typing import Any

import jax
import jax.numpy as jnp
from digits import load, records

LEARNING_RATE = 0.2


def initial_parameters(key: Any) -> list[tuple[Any, Any]]:
    """Returns the weights and biases of two layers."""
    sizes = [784, 128, 10]
    keys = jax.random.split(key, len(sizes) - 1)
    return [
        (jax.random.normal(key, (fan_in, fan_out)) / jnp.sqrt(fan_in), jnp.zeros(fan_out))
        for key, fan_in, fan_out in zip(keys, sizes, sizes[1:], strict=False)
    ]


def logits(parameters: list[tuple[Any, Any]], images: Any) -> Any:
    """Returns a score for each digit, float32, (batch, 10)."""
    (weights, biases), (output_weights, output_biases) = parameters
    return jax.nn.relu(images @ weights + biases) @ output_weights + output_biases


def loss(parameters: list[tuple[Any, Any]], images: Any, labels: Any) -> Any:
    """Returns the mean cross-entropy."""
    scores = jax.nn.log_softmax(logits(parameters, images))
    return -scores[jnp.arange(len(labels)), labels].mean()


@jax.jit
def step(
    parameters: list[tuple[Any, Any]], images: Any, labels: Any
) -> tuple[list[tuple[Any, Any]], Any]:
    """Returns the parameters after one step, and the loss before it."""
    value, gradients = jax.value_and_grad(loss)(parameters, images, labels)
    moved = jax.tree.map(lambda p, g: p - LEARNING_RATE * g, parameters, gradients)
    return moved, value


def main(directory: Path, num_epochs: int, batch_size: int) -> None:
    """Trains on the digits in a directory."""
    train = records(directory).shuffle(seed=1).epochs(num_epochs).batch(batch_size, "drop")
    parameters = initial_parameters(jax.random.key(1))
    num_steps = 0
    for batch in train.to_jax():
        parameters, _ = step(parameters, batch["image"], batch["label"])
        num_steps += 1
    _, (images, labels) = load(0)
    accuracy = (logits(parameters, images).argmax(axis=1) == labels).mean()
    print(f"{num_steps} steps, accuracy {accuracy:.3f}")


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("directory", type=Path)
    parser.add_argument("--epochs", type=int, default=8)
    parser.add_argument("--batch-size", type=int, default=100)
    arguments = parser.parse_args()
    main(arguments.directory, arguments.epochs, arguments.batch_size)
