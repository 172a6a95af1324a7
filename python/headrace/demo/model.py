"""The demo's network in NumPy: 784 pixels, one hidden layer, 10 digits."""

from __future__ import annotations

from pathlib import Path

import numpy as np
from numpy.typing import NDArray

FloatArray = NDArray[np.float32]
Parameters = dict[str, FloatArray]
"""The parameters or their gradients, by name. A checkpoint of the demo contains the parameters."""

NUM_PIXELS = 28 * 28
NUM_HIDDEN = 256
NUM_CLASSES = 10
CHECKPOINT = "checkpoint.npz"


def initial_parameters(seed: int) -> Parameters:
    """Returns random weights (He's scale for the ReLU layer) and zero biases, all float32."""
    rng = np.random.default_rng(seed)
    return {
        "hidden/weights": _normal(rng, (NUM_PIXELS, NUM_HIDDEN), np.sqrt(2 / NUM_PIXELS)),
        "hidden/biases": np.zeros(NUM_HIDDEN, np.float32),
        "output/weights": _normal(rng, (NUM_HIDDEN, NUM_CLASSES), np.sqrt(1 / NUM_HIDDEN)),
        "output/biases": np.zeros(NUM_CLASSES, np.float32),
    }


def _normal(rng: np.random.Generator, shape: tuple[int, ...], scale: float) -> FloatArray:
    return (scale * rng.standard_normal(shape)).astype(np.float32)


def save_parameters(directory: Path, parameters: Parameters) -> None:
    """Saves a checkpoint. It replaces an older checkpoint once it is complete."""
    checkpoint = directory / CHECKPOINT
    unfinished = checkpoint.with_suffix(".unfinished")
    with unfinished.open("wb") as file:
        np.savez(file, allow_pickle=False, **parameters)
    unfinished.replace(checkpoint)


def load_parameters(directory: Path) -> Parameters:
    """Loads the checkpoint.

    Raises:
        FileNotFoundError: If the checkpoint does not exist.
    """
    with np.load(directory / CHECKPOINT) as saved:
        return dict(saved)


def logits(parameters: Parameters, images: FloatArray) -> FloatArray:
    """Returns a float32 score for each image and digit, with shape (batch, 10).

    Args:
        parameters: The parameters, from `initial_parameters` or a checkpoint.
        images: float32, (batch, 784), as `headrace.demo.records.digits` scales them.
    """
    return _output(parameters, _hidden(parameters, images))


def _hidden(parameters: Parameters, images: FloatArray) -> FloatArray:
    hidden: FloatArray = images @ parameters["hidden/weights"] + parameters["hidden/biases"]
    return hidden.clip(min=0)


def _output(parameters: Parameters, hidden: FloatArray) -> FloatArray:
    return hidden @ parameters["output/weights"] + parameters["output/biases"]


def loss_and_gradients(
    parameters: Parameters, images: FloatArray, labels: NDArray[np.int64]
) -> tuple[float, Parameters]:
    """Returns the mean cross-entropy of a batch and its gradient for each parameter.

    Args:
        parameters: The parameters of the network.
        images: float32, (batch, 784), as `headrace.demo.records.digits` scales them.
        labels: int64, (batch,), 0 to 9.
    """
    rows = np.arange(len(labels))
    hidden = _hidden(parameters, images)
    log_probabilities = _log_softmax(_output(parameters, hidden))
    loss = -float(log_probabilities[rows, labels].mean())
    by_output = np.exp(log_probabilities)
    by_output[rows, labels] -= 1
    by_output /= np.float32(len(labels))
    by_hidden = (by_output @ parameters["output/weights"].T) * (hidden > 0)
    return loss, {
        "hidden/weights": images.T @ by_hidden,
        "hidden/biases": by_hidden.sum(axis=0),
        "output/weights": hidden.T @ by_output,
        "output/biases": by_output.sum(axis=0),
    }


def _log_softmax(scores: FloatArray) -> FloatArray:
    shifted: FloatArray = scores - scores.max(axis=1, keepdims=True)
    log_sums: FloatArray = np.log(np.exp(shifted).sum(axis=1, keepdims=True))
    return shifted - log_sums


class Adam:
    """Updates parameters in place along the gradients, with a separate rate for each parameter.

    Source: Kingma and Ba, "Adam: A Method for Stochastic Optimization" (2014), algorithm 1.
    """

    def __init__(self, parameters: Parameters, rate: float = 2e-3) -> None:
        self._parameters = parameters
        self._rate = rate
        self._step = 0
        self._mean = {name: np.zeros_like(value) for name, value in parameters.items()}
        self._square = {name: np.zeros_like(value) for name, value in parameters.items()}

    def step(self, gradients: Parameters) -> None:
        """Takes one step. `gradients` contains an array of the same shape for each parameter."""
        self._step += 1
        rate = self._rate * np.sqrt(1 - 0.999**self._step) / (1 - 0.9**self._step)
        for name, gradient in gradients.items():
            mean, square = self._mean[name], self._square[name]
            mean += 0.1 * (gradient - mean)
            square += 0.001 * (gradient * gradient - square)
            self._parameters[name] -= np.float32(rate) * mean / (np.sqrt(square) + 1e-8)
