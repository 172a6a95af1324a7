"""Helpers for the examples on digits: real MNIST digits, and a network."""

from typing import Any

import numpy as np
from numpy.typing import NDArray

from headrace.demo.data import digits_path, load_digits, split
from headrace.demo.model import Adam, initial_parameters, logits, loss_and_gradients


def load(num_train: int) -> tuple[Any, Any]:
    """Returns (images, labels) for training, and the same for testing.

    Args:
        num_train: The number of digits for training, at most 4,000.

    Returns:
        Images, float32, (digits, 784), with a mean of about 0 and a range of 1. Labels, int64,
        (digits,).
    """
    images, labels = load_digits(digits_path())
    train, test = split(labels, seed=1)
    scaled = (images / 255 - 0.13).astype(np.float32)
    return (scaled[train[:num_train]], labels[train[:num_train]]), (scaled[test], labels[test])


class Learner:
    """A network with one hidden layer. It takes one step per batch."""

    def __init__(self) -> None:
        self._parameters = initial_parameters(seed=1)
        self._optimizer = Adam(self._parameters)
        self.num_steps = 0

    def step(self, images: NDArray[np.float32], labels: NDArray[np.int64]) -> float:
        """Trains on a batch, and returns its mean cross-entropy."""
        loss, gradients = loss_and_gradients(self._parameters, images, labels)
        self._optimizer.step(gradients)
        self.num_steps += 1
        return loss

    def accuracy(self, images: NDArray[np.float32], labels: NDArray[np.int64]) -> float:
        """Returns the accuracy on these digits, from 0 to 1."""
        return float((logits(self._parameters, images).argmax(axis=1) == labels).mean())
