"""Repeatedly kills and resumes a Keras training, for test_backup_and_restore.py.

Arguments: the number of epochs, the number of batches between two backups, whether the pipeline
knows its length, and after how many batches each process is killed.

Prints, as JSON, the lines of an uninterrupted training and of the killed one: for each batch its
epoch, its number, and the loss and metric so far, for each epoch the validation loss, and at the
end the sums of the variables.
"""

import json
import os
import signal
import sys
import tempfile
from pathlib import Path

import keras
import numpy as np

import headrace as hr


class Recorder(keras.callbacks.Callback):
    """Writes the lines, and kills the process after some batches."""

    def __init__(self, file, data, num_batches):
        super().__init__()
        self.file, self.data, self.num_left = file, data, num_batches

    def on_epoch_begin(self, epoch, logs=None):
        self.epoch, self.num_before = epoch, self.data.num_before

    def on_train_batch_end(self, batch, logs=None):
        self.write(self.num_before + batch, logs)
        self.num_left -= 1
        if self.num_left == 0:
            os.kill(os.getpid(), signal.SIGKILL)

    def on_epoch_end(self, epoch, logs=None):
        self.write("end", logs)

    def on_train_end(self, logs=None):
        sums = {str(n): float(v.sum()) for n, v in enumerate(self.model.get_weights())}
        self.write("weights", sums)

    def write(self, number, values):
        texts = [f"{name}={float(value).hex()}" for name, value in sorted(values.items())]
        self.file.write(f"{self.epoch} {number} {' '.join(texts)}\n")
        self.file.flush()


def examples(num, seed):
    x = np.random.default_rng(seed).normal(size=(num, 4)).astype(np.float32)
    return hr.arrays({"x": x, "y": (x.sum(1, keepdims=True) > 0).astype(np.float32)})


def train(directory, num_epochs, save_freq, is_known, num_batches):
    """Trains until the end, or for some batches if their number is not 0."""
    keras.utils.set_random_seed(5)
    pipe = examples(50, 1).shuffle(seed=3)
    if not is_known:
        pipe = pipe.filter(lambda example: example["x"][0] > -1)
    data = hr.keras.adapter(pipe.batch(6), "x", "y")
    validation = hr.keras.adapter(examples(10, 2).batch(5), "x", "y")
    model = keras.Sequential(
        [
            keras.Input((4,)),
            keras.layers.Dense(8, "relu"),
            keras.layers.Dropout(0.5),
            keras.layers.BatchNormalization(),
            keras.layers.Dense(1, "sigmoid"),
        ]
    )
    model.compile(keras.optimizers.Adam(0.01), "binary_crossentropy", metrics=["accuracy"])
    with (directory / "lines.txt").open("a") as file:
        callbacks = [
            hr.keras.BackupAndRestore(data, directory / "backup", save_freq=save_freq),
            Recorder(file, data, num_batches),
        ]
        model.fit(
            data, epochs=num_epochs, validation_data=validation, callbacks=callbacks, verbose=0
        )


def lines_of(kills, *arguments):
    """Returns the lines of trainings in child processes, one for each number of batches."""
    with tempfile.TemporaryDirectory() as name:
        for num_batches in kills:
            child = os.fork()
            if child == 0:
                train(Path(name), *arguments, num_batches)
                os._exit(0)
            expected = -signal.SIGKILL if num_batches else 0
            assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == expected
        return (Path(name) / "lines.txt").read_text().splitlines()


if __name__ == "__main__":
    arguments = (int(sys.argv[1]), int(sys.argv[2]), sys.argv[3] == "known")
    kills = json.loads(sys.argv[4])
    print(json.dumps([lines_of([0], *arguments), lines_of([*kills, 0], *arguments)]))
