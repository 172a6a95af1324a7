"""Trains like a TensorFlow 1 program whose model moved to another library, with the same input.

`inputs` is the program's own function, unchanged since it ran under TensorFlow: a queue of file
names, readers, a parser, and a queue that shuffles. The model, its loss and its optimizer were

    logits = tf.layers.dense(images, 10)
    loss = tf.losses.sparse_softmax_cross_entropy(labels, logits)
    train_op = tf.train.GradientDescentOptimizer(0.2).minimize(loss)

Below, they are a class in PyTorch, in JAX and in NumPy. `sess.run(train_op)` became a fetch of the
batch and a training step. `convert_to_records.py` writes the files.
"""

import argparse
from importlib.util import find_spec
from pathlib import Path
from typing import Any, Final

import numpy as np
from digits import load

import headrace.tf1 as tf  # Before: import tensorflow as tf

LEARNING_RATE: Final = 0.2


def inputs(directory: str, num_epochs: int, batch_size: int) -> Any:
    """Adds the operations that read batches of images and labels. This function is unchanged."""
    pattern = directory + "/train-*.tfrecords"
    names = tf.train.string_input_producer(tf.gfile.Glob(pattern), num_epochs=num_epochs)
    _, record = tf.TFRecordReader().read(names)
    features = tf.parse_single_example(
        record,
        features={
            "image_raw": tf.FixedLenFeature([], tf.string),
            "label": tf.FixedLenFeature([], tf.int64),
        },
    )
    image = tf.decode_raw(features["image_raw"], tf.uint8)
    image.set_shape([784])
    image = tf.cast(image, tf.float32) * (1.0 / 255) - 0.13
    label = tf.cast(features["label"], tf.int32)
    return tf.train.shuffle_batch(
        [image, label],
        batch_size=batch_size,
        num_threads=2,
        capacity=500 + 3 * batch_size,
        min_after_dequeue=500,
    )


class TorchModel:
    """The model in PyTorch."""

    def __init__(self) -> None:
        import torch  # noqa: PLC0415

        self._torch = torch
        self._model = torch.nn.Linear(784, 10)
        self._optimizer = torch.optim.SGD(self._model.parameters(), lr=LEARNING_RATE)

    def step(self, images: Any, labels: Any) -> Any:
        """Trains on a batch, and returns the loss before the step."""
        scores = self._model(self._torch.from_numpy(images))
        expected = self._torch.from_numpy(labels).long()
        loss = self._torch.nn.functional.cross_entropy(scores, expected)
        self._optimizer.zero_grad()
        loss.backward()
        self._optimizer.step()
        return loss.item()

    def guess(self, images: Any) -> Any:
        """Returns the predicted digit of each image."""
        with self._torch.no_grad():
            return self._model(self._torch.from_numpy(images)).argmax(1).numpy()


class JaxModel:
    """The model in JAX."""

    def __init__(self) -> None:
        import jax  # noqa: PLC0415

        def loss(parameters: Any, images: Any, labels: Any) -> Any:
            scores = jax.nn.log_softmax(images @ parameters[0] + parameters[1])
            return -scores[jax.numpy.arange(len(labels)), labels].mean()

        self._loss = jax.jit(jax.value_and_grad(loss))
        self._parameters = [jax.numpy.zeros((784, 10)), jax.numpy.zeros(10)]

    def step(self, images: Any, labels: Any) -> float:
        """Trains on a batch, and returns the loss before the step."""
        loss, gradients = self._loss(self._parameters, images, labels)
        pairs = zip(self._parameters, gradients, strict=True)
        self._parameters = [value - LEARNING_RATE * gradient for value, gradient in pairs]
        return float(loss)

    def guess(self, images: Any) -> Any:
        """Returns the predicted digit of each image."""
        return np.asarray(images @ self._parameters[0] + self._parameters[1]).argmax(1)


class NumpyModel:
    """The model in NumPy, with a hand-written gradient."""

    def __init__(self) -> None:
        self._weights, self._biases = np.zeros([784, 10]), np.zeros(10)

    def step(self, images: Any, labels: Any) -> float:
        """Trains on a batch, and returns the loss before the step."""
        scores = images @ self._weights + self._biases
        shares = np.exp(scores - scores.max(1, keepdims=True))
        shares /= shares.sum(1, keepdims=True)
        rows = np.arange(len(labels))
        loss = -np.log(shares[rows, labels]).mean()
        shares[rows, labels] -= 1
        self._weights -= LEARNING_RATE * (images.T @ shares) / len(labels)
        self._biases -= LEARNING_RATE * shares.mean(0)
        return float(loss)

    def guess(self, images: Any) -> Any:
        """Returns the predicted digit of each image."""
        return (images @ self._weights + self._biases).argmax(1)


MODELS: Final = {"torch": TorchModel, "jax": JaxModel, "numpy": NumpyModel}


def main(directory: str, num_epochs: int, batch_size: int, library: str) -> None:
    """Trains on the digits in a directory."""
    batch = inputs(directory, num_epochs, batch_size)
    model = MODELS[library]()
    num_steps = 0
    with tf.Session() as sess:
        sess.run([tf.global_variables_initializer(), tf.local_variables_initializer()])
        coord = tf.train.Coordinator()
        threads = tf.train.start_queue_runners(sess=sess, coord=coord)
        try:
            while not coord.should_stop():
                images, labels = sess.run(batch)  # Before: _, loss = sess.run([train_op, loss])
                loss = model.step(images, labels)
                num_steps += 1
                if num_steps % 20 == 0:
                    print(f"step {num_steps}: loss {loss:.2f}")
        except tf.errors.OutOfRangeError:
            print(f"{num_epochs} epochs are over")
        finally:
            coord.request_stop()
        coord.join(threads)
    _, (images, labels) = load(0)
    print(f"{library}: {num_steps} steps, accuracy {(model.guess(images) == labels).mean():.3f}")


if __name__ == "__main__":
    installed = next(name for name in MODELS if find_spec(name) is not None)
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("directory", type=Path)
    parser.add_argument("--epochs", type=int, default=8)
    parser.add_argument("--batch-size", type=int, default=50)
    parser.add_argument("--library", choices=MODELS, default=installed)
    arguments = parser.parse_args()
    main(str(arguments.directory), arguments.epochs, arguments.batch_size, arguments.library)
