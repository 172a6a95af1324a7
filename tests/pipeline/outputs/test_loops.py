"""Training loops of other libraries get each example exactly once per epoch."""

import json
import os
import re
import subprocess
import sys
from importlib.util import find_spec
from pathlib import Path

import pytest
from tests.torchrun import torchrun

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
    """Returns the last line that a program in this directory prints, as JSON."""
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
def test_lightning_sees_each_example_once_per_epoch():
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
def test_accelerate_sees_each_example_once_per_epoch():
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
@pytest.mark.parametrize(
    "kind",
    [
        "known",
        "given",
        "known estimated",
        "max_size",
        "max_size_cycle",
        "max_size estimated",
        "max_size_cycle estimated",
    ],
)
def test_lightning_resumes_from_each_checkpoint(kind):
    result = run_script("resumed_lightning.py", kind)
    assert result.pop("whole") == 12
    for step in range(1, 12):
        assert result.pop(f"step {step}") == list(range(step, 12)), step
    assert result["each epoch"] == list(range(8, 12))
    assert result["after a validation"] == list(range(4, 12))


@needs("lightning")
@pytest.mark.timeout(240)
def test_lightning_resumes_within_an_epoch_of_unknown_length():
    result = run_script("resumed_lightning.py", "unknown")
    assert result.pop("whole") == 12
    for step in range(1, 12):
        assert result.pop(f"step {step}") == list(range(step, 12)), step
    # It takes the first batch before it sets the epoch, and does not load the state.
    for name, epoch in (("each epoch", 2), ("after a validation", 1)):
        text = result[name]
        assert text.startswith(
            f"to_torch: the training loop started epoch {epoch} with a batch of epoch 0"
        )
        assert "Pass the number of batches per epoch: to_torch(length=...)" in text


@needs("lightning")
@pytest.mark.timeout(240)
@pytest.mark.parametrize(
    ("kind", "words"),
    [
        (
            "unknown estimated",
            "to_torch: Lightning read the first batch before it loaded the check",
        ),
        (
            "max_size unknown",
            "to_torch: CombinedLoader('max_size') cannot resume with a loader of unknown length",
        ),
    ],
)
def test_lightning_stops_with_an_error_if_it_cannot_resume(kind, words):
    result = run_script("resumed_lightning.py", kind)
    for step in range(1, 12):
        text = result[f"step {step}"]
        assert text.startswith(words), step
        assert "Pass the number of batches per epoch: to_torch(length=...)." in text


@needs("accelerate")
@needs("torchdata")
@pytest.mark.timeout(240)
@pytest.mark.parametrize("loop", ["torchdata", "prepared", "registered", "wrapped"])
def test_accelerate_and_torchdata_loops_resume_from_each_state(loop):
    result = run_script("resumed_accelerate.py", loop)
    assert len(result) == 2 * (9 + 3)
    for length, before, batches in result:
        assert batches == list(range(before, 12)), (length, before)


@needs("transformers")
@needs("accelerate")
@pytest.mark.timeout(240)
@pytest.mark.parametrize("way", ["prepared", "examples"])
def test_trainer_resumes_from_its_checkpoints(way):
    result = run_script("resumed_trainer.py", way)
    assert len(result) == 7
    for step, batches in result.items():
        assert batches == list(range(int(step), 12)), step


@needs("transformers")
@needs("accelerate")
@pytest.mark.timeout(240)
@pytest.mark.parametrize("way", ["plain", "loader"])
def test_trainer_rejects_a_loader_it_could_not_resume(way):
    error = run_script("resumed_trainer.py", way)["error"]
    assert error.startswith("to_torch: Trainer got a loader that Accelerate has not prepared")
    assert "headrace.hf.attach(trainer, loader)" in error


@needs("transformers")
@pytest.mark.timeout(240)
def test_trainer_rejects_batches_of_batches():
    error = run_script("resumed_trainer.py", "batches")["error"]
    assert error.endswith("If a trainer creates the DataLoader, remove batch() from the pipeline.")


@needs("accelerate")
@pytest.mark.timeout(240)
def test_accelerate_does_not_redistribute_the_examples_of_a_rank(tmp_path):
    program = tmp_path / "train.py"
    program.write_text(DISTRIBUTED)
    torchrun(2, "--redirects=1", f"--log-dir={tmp_path}", program, timeout=200)
    ranks = [json.loads(file.read_text()) for file in sorted(tmp_path.rglob("stdout.log"))]
    assert len(ranks) == 2
    for uninterrupted, dispatched, sharded, registered in ranks:
        assert uninterrupted == 40, "its part of the batches"
        for error in (dispatched, sharded):
            assert error.startswith("to_torch: Accelerate distributes the batches of one process")
        assert registered == 40


@needs("accelerate")
@needs("torchdata")
@pytest.mark.timeout(480)
@pytest.mark.parametrize(("world", "num_steps"), [(1, 3), (2, 2)])
def test_gradient_accumulation_on_the_page_stops_with_the_epoch(tmp_path, world, num_steps):
    """Steps have 2, 2 and 1 of the 5 batches of one process, or 2 and 1 of the 3 batches of two."""
    page = Path(__file__).parents[3] / "docs/guides/train/accelerate.md"
    blocks = re.findall(r"^```python\n(.*?)^```$", page.read_text("utf-8"), re.M | re.S)
    (program,) = (block for block in blocks if "gradient_accumulation_steps" in block)
    head, loop = program.split("num_steps = 0\n")
    loop = loop.replace("print(num_steps)\n", "").replace("\n    with", f"\n{SEEN}    with")
    epochs = "".join(f"seen, num_steps = [], 0\n{loop}{RESULT}" for _ in range(2))
    (tmp_path / "train.py").write_text(f"import json\n{head}{epochs}")
    options = ["--redirects=1", f"--log-dir={tmp_path}"]
    torchrun(world, *options, "train.py", cwd=tmp_path, timeout=400)
    logs = sorted(tmp_path.rglob("stdout.log"))
    ranks = [list(map(json.loads, log.read_text().splitlines())) for log in logs]
    assert [len(rank) for rank in ranks] == [2] * world
    for epoch in zip(*ranks, strict=True):
        steps, seen, weights = zip(*epoch, strict=True)
        assert steps == (num_steps,) * world
        assert sorted(n for of_rank in seen for n in of_rank) == list(range(100))
        assert len(set(weights)) == 1


SEEN = """\
    seen += [round(100 * x) for x in batch["x"].ravel().tolist()]
"""
RESULT = """\
print(json.dumps([num_steps, seen, next(model.parameters()).item()]))
"""

DISTRIBUTED = """
import json
import numpy as np
import torch
from accelerate import Accelerator
import headrace as hr

accelerator = Accelerator(cpu=True)
numbers = hr.arrays({"n": np.arange(80)}).shuffle(seed=3)
mine = numbers.shard(accelerator.process_index, accelerator.num_processes)

def prepared(pipe):
    return accelerator.prepare(torch.utils.data.DataLoader(pipe.to_torch(), batch_size=None))

def count(loader):
    return len({number for batch in loader for number in batch["n"].tolist()})

found = [count(prepared(numbers.batch(10)))]
for dispatches in (True, False):
    accelerator.dataloader_config.dispatch_batches = dispatches
    pipe = mine.batch(10) if dispatches else mine
    size = None if dispatches else 10
    try:
        loader = torch.utils.data.DataLoader(pipe.to_torch(), batch_size=size)
        next(iter(accelerator.prepare(loader)))
    except ValueError as error:
        found.append(str(error))
found.append(count(mine.batch(10).to_torch()))
print(json.dumps(found))
torch.distributed.destroy_process_group()
"""


@needs("keras")
@needs("jax")
@pytest.mark.timeout(120)
def test_keras_sees_each_example_once_per_epoch():
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
