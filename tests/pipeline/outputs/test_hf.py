"""Hugging Face's Trainer on pipelines, with `headrace.hf.attach`."""

import json
import subprocess
import sys
from pathlib import Path

import pytest

pytest.importorskip("transformers")
pytest.importorskip("accelerate")

import numpy as np
import torch
from tests.torchrun import torchrun
from transformers import Trainer, TrainingArguments

import headrace as hr

PROGRAM = Path(__file__).with_name("attached_trainer.py")


def trained(directory, way="plain", checkpoint=None, world=1):
    """The results of a training's ranks."""
    directory.mkdir(exist_ok=True)
    arguments = [str(PROGRAM), str(directory), way, *([str(checkpoint)] if checkpoint else [])]
    if world > 1:
        torchrun(world, *arguments, timeout=200)
    else:
        command = [sys.executable, *arguments]
        done = subprocess.run(command, capture_output=True, text=True, timeout=200, check=False)
        assert done.returncode == 0, done.stderr[-4000:]
    return [json.loads((directory / f"result-{rank}.json").read_text()) for rank in range(world)]


def uninterrupted(epochs=3):
    columns = {"n": list(range(42))}
    pipe = hr.arrays(columns).shuffle(seed=3).batch(12)
    return [batch["n"].tolist() for epoch in range(epochs) for batch in pipe.epoch(epoch)]


@pytest.mark.timeout(600)
@pytest.mark.parametrize("way", ["plain", "accumulated", "restored", "unknown"])
def test_training_resumes_at_any_step(way, tmp_path):
    (whole,) = trained(tmp_path / "whole", way)
    if way != "unknown":
        assert whole["seen"] == uninterrupted()
    num_steps = whole["step"]
    for step in (1, num_steps // 2, num_steps // 2 + 1, num_steps - 1):
        checkpoint = tmp_path / "whole" / f"checkpoint-{step}"
        (rest,) = trained(tmp_path / f"rest{step}", way, checkpoint)
        num_left = len(rest["seen"])
        assert 0 < num_left < len(whole["seen"])
        assert rest["seen"] == whole["seen"][-num_left:]
        assert rest["losses"] == whole["losses"][-num_left:]
        assert rest["weights"] == whole["weights"]
        assert rest["step"] == num_steps
        if way != "unknown":
            assert rest["epochs"] == whole["epochs"]


@pytest.mark.timeout(600)
@pytest.mark.parametrize("world", [1, 2])
def test_training_resumes_on_a_different_number_of_processes(world, tmp_path):
    whole = trained(tmp_path / "whole", world=3 - world)
    for step in (2, 5):
        checkpoint = tmp_path / "whole" / f"checkpoint-{step}"
        rest = trained(tmp_path / f"rest{step}", checkpoint=checkpoint, world=world)
        expected = uninterrupted()[step:]
        for number, batch in enumerate(expected):
            seen = [n for rank in rest for n in rank["seen"][number]]
            assert sorted(seen) == sorted(batch)
        assert len(rest[0]["seen"]) == len(expected)
    assert all(rank["step"] == 12 for rank in whole)


@pytest.mark.timeout(300)
def test_sft_trainer_resumes_exactly(tmp_path):
    pytest.importorskip("trl")
    done = subprocess.run(
        [sys.executable, PROGRAM.with_name("attached_sft_trainer.py"), tmp_path],
        capture_output=True,
        text=True,
        timeout=250,
        check=False,
    )
    assert done.returncode == 0, done.stderr[-4000:]
    whole, resumed = json.loads(done.stdout.splitlines()[-1])
    assert len(whole[0]) == 6
    assert resumed == whole


@pytest.mark.timeout(300)
def test_each_evaluation_reads_epoch_0(tmp_path):
    (result,) = trained(tmp_path / "whole", "evaluated")
    once = [
        batch["n"].tolist()
        for num, size in ((5, 3), (9, 4))
        for batch in hr.arrays({"n": list(range(num))}).shuffle(seed=3).batch(size)
    ]
    assert result["evaluated"] == once * 3


class Model(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.layer = torch.nn.Linear(1, 1)


def trainer_in(directory, model=None, **options):
    quiet = {"report_to": [], "use_cpu": True, "disable_tqdm": True}
    arguments = TrainingArguments(str(directory), **quiet, **options)
    return Trainer(model or Model(), arguments)


PIPE = hr.arrays({"x": [1.0, 2.0]})


def test_invalid_arguments_are_rejected(tmp_path):
    with pytest.raises(TypeError, match="trainer is a int, expected a transformers"):
        hr.hf.attach(3, PIPE.batch(1))
    with pytest.raises(TypeError, match="train is a list, expected a pipeline"):
        hr.hf.attach(trainer_in(tmp_path), [1])
    with pytest.raises(ValueError, match=r"the pipeline train has no batches. Call batch\(size\)"):
        hr.hf.attach(trainer_in(tmp_path), PIPE)
    with pytest.raises(ValueError, match=r"the pipeline eval\['a'\] has no batches"):
        hr.hf.attach(trainer_in(tmp_path), PIPE.batch(1), {"a": PIPE})
    with pytest.raises(ValueError, match="ignore_data_skip is True"):
        hr.hf.attach(trainer_in(tmp_path, ignore_data_skip=True), PIPE.batch(1))
    trainer = trainer_in(tmp_path)
    assert hr.hf.attach(trainer, PIPE.batch(1)) is trainer
    with pytest.raises(ValueError, match="this trainer has a pipeline already"):
        hr.hf.attach(trainer, PIPE.batch(1))


def test_empty_data_is_rejected_before_training(tmp_path):
    for pipe in (hr.arrays({"x": []}).batch(2), PIPE.batch(3, remainder="drop")):
        with pytest.raises(ValueError, match="the pipeline train yields no batches"):
            hr.hf.attach(trainer_in(tmp_path), pipe)
    nothing = PIPE.filter(lambda example: False).batch(1)
    trainer = hr.hf.attach(trainer_in(tmp_path, max_steps=2), nothing)
    with pytest.raises(ValueError, match="epoch 0 of the pipeline has no batches"):
        trainer.train()


def test_loader_belongs_to_one_trainer(tmp_path):
    loader = PIPE.batch(1).to_torch()
    hr.hf.attach(trainer_in(tmp_path), loader)
    with pytest.raises(ValueError, match="train is already attached to another trainer"):
        hr.hf.attach(trainer_in(tmp_path), loader)


class Mean(Model):
    """Keeps the examples of its first batch."""

    first = None

    def forward(self, n):
        self.first = n.tolist() if self.first is None else self.first
        return {"loss": self.layer(n.float().mean()[None]).mean()}


@pytest.mark.timeout(300)
def test_training_resumes_far_into_an_epoch_without_rereading_earlier_data(tmp_path):
    step, size = 20_000, 2
    examples = hr.arrays({"n": np.arange(100_000)}).shuffle(seed=3)

    def train(num_steps, checkpoint=None):
        trainer = trainer_in(tmp_path, Mean(), max_steps=num_steps, save_steps=1)
        trainer = hr.hf.attach(trainer, examples.shard(0, 1).batch(size))
        trainer.train(resume_from_checkpoint=checkpoint)
        return trainer.model.first

    train(1)
    # A state does not depend on the batch size, so a few large batches are enough.
    batches = iter(examples.shard(0, 1).batch(1000 * size))
    for _ in range(step // 1000):
        next(batches)
    position, expected = batches.state(), next(batches)["n"][:size].tolist()
    batches.close()
    checkpoint = tmp_path / f"checkpoint-{step}"
    (tmp_path / "checkpoint-1").rename(checkpoint)
    file = checkpoint / "trainer_state.json"
    content = json.loads(file.read_text())
    content["global_step"], content["epoch"] = step, step * size / 100_000
    saved = content["stateful_callbacks"]["HeadraceLoader"]["attributes"]["position"]
    saved.update(epoch=0, batches=json.dumps(position))
    file.write_text(json.dumps(content))
    first = train(step + 1, str(checkpoint))
    assert first == expected


def test_several_processes_need_a_shard(tmp_path, monkeypatch):
    trainer = trainer_in(tmp_path)
    monkeypatch.setattr(type(trainer.args), "world_size", 2)
    with pytest.raises(ValueError, match="there are 2 processes, but the pipeline train has no"):
        hr.hf.attach(trainer, PIPE.batch(1))
    hr.hf.attach(trainer, PIPE.shard(0, 2).batch(1))


@pytest.mark.parametrize("world", [1, 4])
def test_shards_divide_the_data_among_all_processes(world, tmp_path, monkeypatch):
    trainer = trainer_in(tmp_path)
    monkeypatch.setattr(type(trainer.args), "world_size", world)
    with pytest.raises(ValueError, match=f"2 ranks, but the number of processes is {world}"):
        hr.hf.attach(trainer, PIPE.shard(0, 2).batch(1))
    hr.hf.attach(trainer, hr.arrays({"x": range(8)}).shard(0, world).batch(1))


@pytest.mark.timeout(300)
def test_checkpoint_without_a_position_is_an_error(tmp_path):
    trained(tmp_path / "whole")
    state = tmp_path / "whole" / "checkpoint-3" / "trainer_state.json"
    content = json.loads(state.read_text())
    del content["stateful_callbacks"]["HeadraceLoader"]
    state.write_text(json.dumps(content))
    with pytest.raises(AssertionError, match="the checkpoint of step 3 has no position"):
        trained(tmp_path / "rest", checkpoint=state.parent)


def test_loader_has_the_attributes_of_a_data_loader():
    loader = PIPE.batch(2).to_torch()
    assert isinstance(loader.dataset, torch.utils.data.IterableDataset)
    assert (loader.batch_size, loader.num_workers, loader.drop_last) == (None, 0, False)
    assert loader.pin_memory is False
    (batch,) = loader
    assert loader.collate_fn(batch) is batch
    # Frameworks that build a new loader of these attributes get the same batches.
    options = {"batch_size": loader.batch_size, "collate_fn": loader.collate_fn}
    (again,) = torch.utils.data.DataLoader(loader.dataset, **options)
    assert torch.equal(again["x"], batch["x"])
