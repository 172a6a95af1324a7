"""The network of the CIFAR-10 examples, in NumPy: one hidden layer over all pixels."""

import numpy as np
from cifar_input import CROP, NUM_CLASSES

import headrace.tf1 as tf
from headrace.demo.model import Parameters, logits

NUM_INPUTS = CROP * CROP * 3
NUM_HIDDEN = 128


def initial_parameters() -> Parameters:
    """Returns random weights and zero biases, float32."""
    generator = np.random.default_rng(1)
    sizes = {"hidden": (NUM_INPUTS, NUM_HIDDEN), "output": (NUM_HIDDEN, NUM_CLASSES)}
    parameters: Parameters = {}
    for layer, (fan_in, fan_out) in sizes.items():
        weights = generator.standard_normal((fan_in, fan_out)) * np.sqrt(2 / fan_in)
        parameters[f"{layer}/weights"] = weights.astype(np.float32)
        parameters[f"{layer}/biases"] = np.zeros(fan_out, np.float32)
    return parameters


def make_variables() -> dict[str, tf.Variable]:
    """Adds the variables that hold the parameters in checkpoints."""
    return {name: tf.Variable(value, name=name) for name, value in initial_parameters().items()}


def num_correct(parameters: Parameters, pictures: np.ndarray, labels: np.ndarray) -> int:
    """Returns how many images of a batch are classified correctly."""
    guesses = logits(parameters, pictures.reshape(len(pictures), -1)).argmax(axis=1)
    return int((guesses == labels).sum())
