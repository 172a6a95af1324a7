"""A JAX training loop fed from headrace's queues.

The threads read, parse and shuffle while the device computes: a batch is a NumPy array that nobody
else holds, and `jax.device_put` takes it from there. Needs JAX; `convert_to_records.py` writes the
files.
"""

import argparse
from pathlib import Path
from typing import Any

import jax
import jax.numpy as jnp
from digits import load
from records_digits import read_and_decode

import headrace.tf1 as tf

LEARNING_RATE = 0.2


def initial_parameters(key: Any) -> list[tuple[Any, Any]]:
    """Returns weights and biases of two layers."""
    sizes = [784, 128, 10]
    keys = jax.random.split(key, len(sizes) - 1)
    return [
        (jax.random.normal(key, (fan_in, fan_out)) / jnp.sqrt(fan_in), jnp.zeros(fan_out))
        for key, fan_in, fan_out in zip(keys, sizes, sizes[1:], strict=False)
    ]


def logits(parameters: list[tuple[Any, Any]], images: Any) -> Any:
    """Returns one score for each digit, float32, (batch, 10)."""
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
    names = tf.train.string_input_producer(
        tf.train.match_filenames_once(str(directory / "train-*.tfrecords")), num_epochs=num_epochs
    )
    batch = tf.train.shuffle_batch(
        read_and_decode(names), batch_size, capacity=3_000, min_after_dequeue=1_000, num_threads=2
    )
    parameters = initial_parameters(jax.random.key(1))
    num_steps = 0
    with tf.Session() as session:
        session.run([tf.global_variables_initializer(), tf.local_variables_initializer()])
        coord = tf.train.Coordinator()
        threads = tf.train.start_queue_runners(session, coord)
        try:
            while not coord.should_stop():
                parameters, _ = step(parameters, *jax.device_put(tuple(session.run(batch))))
                num_steps += 1
        except tf.errors.OutOfRangeError:
            pass  # The epochs are over.
        finally:
            coord.request_stop()
        coord.join(threads)
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
