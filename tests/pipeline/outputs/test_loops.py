"""Training loops of other libraries get each example of each epoch once."""

import json
import os
import subprocess
import sys
from importlib.util import find_spec
from pathlib import Path

import pytest

DATA = """
import json
import numpy as np
import headrace as hr

numbers = np.arange(200, dtype=np.float32)[:, None] / 200
pipe = hr.arrays({"x": numbers, "y": 3 * numbers}).shuffle(seed=3).batch(20)
"""


def run(program):
    """Returns the last line that a program prints, as JSON."""
    done = subprocess.run(
        [sys.executable, "-c", DATA + program],
        capture_output=True,
        text=True,
        timeout=100,
        check=False,
        env={**os.environ, "KERAS_BACKEND": "jax", "JAX_PLATFORMS": "cpu"},
    )
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout.splitlines()[-1])


def run_script(name, argument):
    """Returns the last line that a program beside this one prints, as JSON."""
    done = subprocess.run(
        [sys.executable, str(Path(__file__).with_name(name)), argument],
        capture_output=True,
        text=True,
        timeout=200,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout.splitlines()[-1])


def needs(name):
    return pytest.mark.skipif(find_spec(name) is None, reason=f"{name} is not installed")


@needs("lightning")
@pytest.mark.timeout(120)
def test_lightning_sees_each_example_of_each_epoch_once():
    seen = run("""
import lightning
import torch

class Line(lightning.LightningModule):
    def __init__(self):
        super().__init__()
        self.layer = torch.nn.Linear(1, 1)
        self.seen = []

    def training_step(self, batch, index):
        self.seen.extend(batch["x"].ravel().tolist())
        return torch.nn.functional.mse_loss(self.layer(batch["x"]), batch["y"])

    def configure_optimizers(self):
        return torch.optim.SGD(self.parameters(), lr=0.1)

quiet = dict(logger=False, enable_progress_bar=False, enable_model_summary=False)
trainer = lightning.Trainer(max_epochs=3, accelerator="cpu", enable_checkpointing=False, **quiet)
model = Line()
trainer.fit(model, pipe.to_torch())
print(json.dumps(model.seen))
""")
    epochs = [seen[start : start + 200] for start in range(0, 600, 200)]
    assert len(seen) == 600
    assert all(len(set(epoch)) == 200 for epoch in epochs)
    assert epochs[0] != epochs[1] != epochs[2]


@needs("accelerate")
@pytest.mark.timeout(120)
def test_accelerate_sees_each_example_of_each_epoch_once():
    seen = run("""
import torch
from accelerate import Accelerator

accelerator = Accelerator(cpu=True)
model = torch.nn.Linear(1, 1)
optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
loader = torch.utils.data.DataLoader(pipe.to_torch(), batch_size=None)
model, optimizer, loader = accelerator.prepare(model, optimizer, loader)
seen = []
for epoch in range(2):
    for batch in loader:
        seen.extend(batch["x"].ravel().tolist())
        accelerator.backward(torch.nn.functional.mse_loss(model(batch["x"]), batch["y"]))
        optimizer.step()
        optimizer.zero_grad()
print(json.dumps(seen))
""")
    assert len(seen) == 400
    assert len(set(seen[:200])) == len(set(seen[200:])) == 200
    assert seen[:200] != seen[200:]


@needs("lightning")
@pytest.mark.timeout(240)
@pytest.mark.parametrize("kind", ["known", "unknown", "given"])
def test_lightning_continues_from_each_of_its_checkpoints(kind):
    found = run_script("resumed_lightning.py", kind)
    assert found.pop("whole") == 12
    for step in range(1, 12):
        assert found.pop(f"step {step}") == list(range(step, 12)), step
    if kind == "unknown":
        # It takes the first batch before it sets the epoch, and does not load the state.
        for name, epoch in (("each epoch", 2), ("after a validation", 1)):
            text = found[name]
            assert text.startswith(
                f"to_torch: the loop began epoch {epoch} with a batch of epoch 0"
            )
            assert "Give to_torch(length=...)" in text
    else:
        assert found["each epoch"] == list(range(8, 12))
        assert found["after a validation"] == list(range(4, 12))


@needs("accelerate")
@needs("torchdata")
@pytest.mark.timeout(240)
@pytest.mark.parametrize("loop", ["torchdata", "prepared", "registered"])
def test_loops_with_accelerate_and_torchdata_continue_from_each_state(loop):
    found = run_script("resumed_accelerate.py", loop)
    assert len(found) == 2 * (9 + 3)
    for length, before, batches in found:
        assert batches == list(range(before, 12)), (length, before)


@needs("keras")
@needs("jax")
@pytest.mark.timeout(120)
def test_keras_sees_each_example_of_each_epoch_once():
    losses = run("""
import keras

model = keras.Sequential([keras.layers.Dense(1)])
model.compile("sgd", "mse")
pairs = ((batch["x"], batch["y"]) for batch in pipe.epochs())
history = model.fit(pairs, steps_per_epoch=10, epochs=3, verbose=0)
print(json.dumps(history.history["loss"]))
""")
    assert len(losses) == 3
    assert losses[0] > losses[-1] > 0
