"""Prints the batches that a Keras model trains on, for test_adapter.py.

For each kind of pipeline, the JSON output has the examples of each training step and each
validation step, and then the numbers of the first epochs.
"""

import json
import warnings

import keras
import numpy as np

import headrace as hr

warnings.simplefilter("ignore")  # Keras warns at the end of data of unknown length.


class Recorder(keras.Model):
    """Records the examples of its batches."""

    def __init__(self):
        super().__init__()
        self.layer = keras.layers.Dense(1)
        self.steps = []

    def call(self, inputs):
        _, x = inputs
        return self.layer(x)

    def train_step(self, *arguments):
        return self._record(arguments, super().train_step)

    def test_step(self, *arguments):
        return self._record(arguments, super().test_step)

    def _record(self, arguments, step):
        data = arguments[-1]
        n = data[0][0]
        self.steps.append(np.asarray(n).tolist())
        return step(*arguments)


def examples(num):
    columns = {"n": np.arange(num), "x": np.ones((num, 2), np.float32), "y": np.zeros((num, 1))}
    columns["w"] = np.linspace(0, 1, num, dtype=np.float32)
    return hr.arrays(columns).shuffle(seed=3)


PIPES = {
    "known": examples(10).batch(4),
    "two": examples(6).batch(4),
    "single": examples(3).batch(4),
    "unknown": examples(10).filter(lambda example: example["n"] != 7).batch(4),
    "unknown single": examples(4).filter(lambda example: example["n"] != 2).batch(4),
}


def fit(pipe, **options):
    model = Recorder()
    model.compile("sgd", "mse", run_eagerly=True, jit_compile=False)
    data = hr.keras.adapter(pipe, ("n", "x"), "y", sample_weight="w")
    model.fit(data, verbose=0, **options)
    return model, data


results = {}
for name, pipe in PIPES.items():
    model, data = fit(pipe, epochs=3)
    model.fit(data, epochs=2, verbose=0)
    results[name] = [model.steps, data.epoch]
model, data = fit(PIPES["known"], epochs=3, steps_per_epoch=2)
results["two steps"] = [model.steps, data.epoch]
data = hr.keras.adapter(PIPES["known"], ("n", "x"), "y")
data.epoch = 4
model.steps = []
model.fit(data, initial_epoch=4, epochs=6, verbose=0)
results["continued"] = [model.steps, data.epoch]
validation = hr.keras.adapter(examples(5).batch(3), ("n", "x"), "y")
model, data = fit(PIPES["known"], epochs=2, validation_data=validation)
results["validated"] = [model.steps, data.epoch]
if keras.backend.backend() == "jax":
    keras.distribution.set_distribution(keras.distribution.DataParallel())
    for name in ("known", "single", "unknown"):
        model, data = fit(PIPES[name], epochs=3)
        results[f"distributed {name}"] = [model.steps, data.epoch]
print(json.dumps(results))
