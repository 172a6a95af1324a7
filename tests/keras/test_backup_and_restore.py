"""Keras training runs that are killed and resumed."""

import json
import os
import random
import subprocess
import sys
from importlib.util import find_spec
from pathlib import Path

import keras
import numpy as np
import pytest

import headrace as hr
from headrace.errors import DataLossError

PROGRAM = Path(__file__).with_name("keras_resumed.py")
RANDOM = random.Random(4)

CASES = [
    # The number of epochs, the number of batches between two backups, the length, and the kills.
    ("jax", 2, 1, "known", [3, 6]),
    ("jax", 2, 2, "unknown", [5]),
    pytest.param("torch", 3, 2, "known", [3, 9, 5], marks=pytest.mark.nightly),
    pytest.param("torch", 3, 1, "unknown", [3, 9, 5], marks=pytest.mark.nightly),
    pytest.param("tensorflow", 3, 2, "known", [3, 9, 5], marks=pytest.mark.nightly),
    pytest.param("tensorflow", 3, 1, "unknown", [3, 9, 5], marks=pytest.mark.nightly),
    pytest.param(
        *("jax", 23, 1, "known", [RANDOM.randint(1, 8) for _ in range(42)]),
        marks=pytest.mark.nightly,
    ),
]


@pytest.mark.timeout(900)
@pytest.mark.parametrize(("backend", "epochs", "save_freq", "length", "kills"), CASES)
def test_killed_training_matches_the_losses_of_an_uninterrupted_run(
    backend, epochs, save_freq, length, kills
):
    if find_spec(backend) is None:
        pytest.skip(f"{backend} is not installed")
    done = subprocess.run(
        [sys.executable, str(PROGRAM), str(epochs), str(save_freq), length, json.dumps(kills)],
        env=os.environ | {"KERAS_BACKEND": backend},
        capture_output=True,
        text=True,
        timeout=880,
        check=False,
    )
    assert done.returncode == 0, done.stderr[-4000:]
    expected, lines = json.loads(done.stdout.splitlines()[-1])
    assert len(expected) > epochs * 7
    assert sorted(set(lines)) == sorted(set(expected))
    # Each kill repeats only the batches after the last backup.
    assert len(lines) - len(expected) <= len(kills) * save_freq


EXAMPLES = hr.arrays({"x": np.ones((6, 2), np.float32), "y": np.ones((6, 1), np.float32)})
PIPE = EXAMPLES.batch(2)


def compiled_model(*layers):
    model = keras.Sequential([keras.Input((2,)), *layers, keras.layers.Dense(1)])
    model.compile("sgd", "mse", run_eagerly=True, jit_compile=False)
    return model


def fit(data, backup, model=None, **options):
    model = compiled_model() if model is None else model
    model.fit(data, callbacks=[backup], verbose=0, **options)


def test_backup_is_deleted_at_the_end_by_default(tmp_path):
    data = hr.keras.adapter(PIPE, "x", "y")
    fit(data, hr.keras.BackupAndRestore(data, tmp_path), epochs=2)
    assert list(tmp_path.iterdir()) == []
    data = hr.keras.adapter(PIPE, "x", "y")
    backup = hr.keras.BackupAndRestore(data, tmp_path, delete_checkpoint=False)
    fit(data, backup, epochs=2)
    again = hr.keras.adapter(PIPE, "x", "y")
    model = compiled_model()
    fit(again, hr.keras.BackupAndRestore(again, tmp_path), model, epochs=3)
    assert (again.epoch, model.history.epoch) == (3, [2])
    model.fit(again, epochs=1, verbose=0)
    assert model.history.epoch == [0]


def test_damaged_or_mismatched_backup_is_rejected(tmp_path):
    def backup_of(pipe):
        data = hr.keras.adapter(pipe, "x", "y")
        return data, hr.keras.BackupAndRestore(data, tmp_path, 1, delete_checkpoint=False)

    class Stop(keras.callbacks.Callback):
        def on_train_batch_end(self, batch, logs=None):
            raise KeyboardInterrupt

    data, backup = backup_of(PIPE)
    with pytest.raises(KeyboardInterrupt):
        compiled_model().fit(data, callbacks=[backup, Stop()], verbose=0)
    with pytest.raises(ValueError, match="the backup is from another model"):
        fit(*backup_of(PIPE), compiled_model(keras.layers.Dense(3)))
    with pytest.raises(ValueError, match="shuffle"):
        fit(*backup_of(EXAMPLES.shuffle(seed=1).batch(2)))
    file = tmp_path / "training.zip"
    file.write_bytes(file.read_bytes()[:-100])
    with pytest.raises(DataLossError, match=r"training.zip: the backup is damaged.*Remove it"):
        fit(*backup_of(PIPE))


def test_wrong_arguments_are_rejected(tmp_path):
    data = hr.keras.adapter(PIPE, "x", "y")
    with pytest.raises(TypeError, match="data is a list, expected the adapter"):
        hr.keras.BackupAndRestore([1], tmp_path)
    with pytest.raises(ValueError, match="save_freq is 0, expected 'epoch' or a positive number"):
        hr.keras.BackupAndRestore(data, tmp_path, save_freq=0)
    with pytest.raises(ValueError, match="backup_dir is 's3://a/b', expected a local directory"):
        hr.keras.BackupAndRestore(data, "s3://a/b")
    backup = hr.keras.BackupAndRestore(data, tmp_path)
    with pytest.raises(ValueError, match="steps_per_epoch is 2, but an epoch of the data has 3"):
        fit(data, backup, steps_per_epoch=2)
    assert isinstance(backup, keras.callbacks.Callback)
