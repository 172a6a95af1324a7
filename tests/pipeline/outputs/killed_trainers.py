"""A training in one of several frameworks, which `test_killed_trainers.py` kills and resumes.

    python killed_trainers.py FRAMEWORK DIRECTORY NUM_STEPS

Its ranks are processes with the environment of `torchrun`. Each step, rank 0 prints the step and
its loss, averaged over the ranks. The numbers are small multiples of powers of two, so that sums
are exact in any order and losses of different numbers of ranks can be compared.
"""
# ruff: noqa: PLC0415  # Each framework is imported by its own training alone.

import json
import os
import sys
import warnings
from pathlib import Path

import numpy as np

import headrace as hr

RANK, WORLD = (
    int(os.environ.get(name, default)) for name, default in (("RANK", 0), ("WORLD_SIZE", 1))
)
# The examples of one step over all ranks, and of one epoch.
GLOBAL_BATCH, NUM_EXAMPLES = 8, 40
BATCH = GLOBAL_BATCH // WORLD
RATE = 0.125


def noisy(example, rng):
    return {"x": np.float64([example["n"] % 8 + rng.integers(8)])}


def examples():
    """All examples, in the order that the ranks share."""
    return hr.arrays({"n": np.arange(NUM_EXAMPLES)}).shuffle(seed=3).map(noisy, seed=5)


def uninterrupted(num_steps):
    """The losses of each step, without a framework."""
    weight, losses, epoch = 1.0, [], 0
    while len(losses) < num_steps:
        for batch in examples().batch(GLOBAL_BATCH).epoch(epoch):
            losses.append(float((weight * batch["x"]).mean()))
            weight -= RATE * float(batch["x"].mean())
        epoch += 1
    return losses[:num_steps]


class Run:
    """The files of a training: its checkpoints, and a list of the complete ones."""

    def __init__(self, directory, num_steps):
        self.directory, self.num_steps = directory, num_steps
        self._complete = directory / "complete"

    def report(self, step, loss):
        """Prints the loss of a step, averaged over the ranks."""
        import torch
        import torch.distributed as dist

        total = torch.tensor(float(loss), dtype=torch.float64)
        if dist.is_initialized():
            dist.all_reduce(total)
        if RANK == 0:
            print(step, (total.item() / WORLD).hex(), flush=True)

    def path(self, step):
        return self.directory / f"step-{step}"

    def is_complete(self, step):
        """Notes that the checkpoint of a step is complete. A later run may resume from it."""
        if RANK == 0:
            with self._complete.open("a") as file:
                file.write(f"{step}\n")

    def last(self):
        """The last step with a complete checkpoint; 0 without one."""
        return int(self._complete.read_text().split()[-1]) if self._complete.exists() else 0


def line():
    """The model of all frameworks: a weight, and the loss `mean(weight * x)`."""
    import torch

    class Line(torch.nn.Module):
        def __init__(self):
            super().__init__()
            self.weight = torch.nn.Parameter(torch.ones((), dtype=torch.float64))

        def forward(self, x, **_):
            return {"loss": (self.weight * x).mean()}

    return Line()


def with_pytorch(run):
    import torch
    import torch.distributed as dist

    dist.init_process_group("gloo")
    model = torch.nn.parallel.DistributedDataParallel(line())
    optimizer = torch.optim.SGD(model.parameters(), lr=RATE)
    train = examples().shard().batch(BATCH).to_torch()  # User code
    step = run.last()
    if step:
        checkpoint = torch.load(run.path(step))
        model.load_state_dict(checkpoint["model"])
        train.load_state_dict(checkpoint["train"])  # User code
    while step < run.num_steps:
        for batch in train:
            loss = model(**batch)["loss"]
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
            step += 1
            run.report(step, loss)
            if RANK == 0:
                parts = {"model": model.state_dict(), "train": train.state_dict()}  # User code
                torch.save(parts, run.path(step))
                run.is_complete(step)
            if step == run.num_steps:
                break
    dist.destroy_process_group()


def with_lightning(run):
    import lightning
    import torch
    from lightning.pytorch.callbacks import ModelCheckpoint

    class Module(lightning.LightningModule):
        def __init__(self):
            super().__init__()
            self.line = line()

        def training_step(self, batch, index):
            loss = self.line(**batch)["loss"]
            run.report(self.global_step + 1, loss.detach())
            return loss

        def on_train_batch_start(self, batch, index):
            # The checkpoint of the step before it is complete.
            if self.global_step:
                run.is_complete(self.global_step)

        def configure_optimizers(self):
            return torch.optim.SGD(self.parameters(), lr=RATE)

    class Data(lightning.LightningDataModule):
        def train_dataloader(self):
            return examples().shard().batch(BATCH).to_torch()  # User code

    saves = ModelCheckpoint(
        run.directory, "step-{step}", auto_insert_metric_name=False, save_top_k=-1,
        every_n_train_steps=1,
    )  # fmt: skip
    trainer = lightning.Trainer(
        max_steps=run.num_steps,
        accelerator="cpu",
        devices=WORLD,
        strategy="ddp",
        callbacks=[saves],
        logger=False,
        enable_progress_bar=False,
        enable_model_summary=False,
    )
    last = run.last()
    trainer.fit(Module(), Data(), ckpt_path=f"{run.path(last)}.ckpt" if last else None)


def with_accelerate(run):
    import torch
    from accelerate import Accelerator

    accelerator = Accelerator(cpu=True)
    model = line()
    model, optimizer = accelerator.prepare(model, torch.optim.SGD(model.parameters(), lr=RATE))
    train = examples().shard().batch(BATCH).to_torch()  # User code
    accelerator.register_for_checkpointing(train)  # User code
    step = run.last()
    if step:
        accelerator.load_state(str(run.path(step)))
    while step < run.num_steps:
        for batch in train:
            loss = model(**batch)["loss"]
            optimizer.zero_grad()
            accelerator.backward(loss)
            optimizer.step()
            step += 1
            run.report(step, loss)
            accelerator.save_state(str(run.path(step)))
            accelerator.wait_for_everyone()
            run.is_complete(step)
            if step == run.num_steps:
                break
    accelerator.end_training()


def noting_callback(run):
    """A callback of transformers that notes complete checkpoints."""
    from transformers import TrainerCallback

    class Noting(TrainerCallback):
        def on_save(self, args, state, control, **_):
            run.is_complete(state.global_step)

    return Noting()


# The arguments of both trainers of Hugging Face.
TRAINING = {
    "num_train_epochs": 10_000,
    "save_steps": 1,
    "learning_rate": RATE,
    "lr_scheduler_type": "constant",
    "optim": "sgd",
    "max_grad_norm": 0,
    "logging_strategy": "no",
    "report_to": [],
    "use_cpu": True,
    "disable_tqdm": True,
}


def reporting(kind, run):
    """A class of trainer that reports the loss of each step."""

    class Reporting(kind):
        def training_step(self, *args, **options):
            loss = super().training_step(*args, **options)
            run.report(self.state.global_step + 1, loss)
            return loss

    return Reporting


def fit(trainer, run):
    trainer.add_callback(noting_callback(run))
    trainer = hr.hf.attach(trainer, examples().shard().batch(BATCH))  # User code
    last = run.last()
    trainer.train(resume_from_checkpoint=f"{run.directory}/checkpoint-{last}" if last else None)


def with_trainer(run):
    from transformers import Trainer, TrainingArguments

    arguments = TrainingArguments(str(run.directory), max_steps=run.num_steps, **TRAINING)
    fit(reporting(Trainer, run)(line(), arguments), run)


def with_trl(run):
    import datasets
    from tokenizers import Tokenizer, models
    from transformers import (
        GenerationConfig,
        PretrainedConfig,
        PreTrainedModel,
        PreTrainedTokenizerFast,
    )
    from transformers.modeling_outputs import CausalLMOutput
    from trl import SFTConfig, SFTTrainer

    class Model(PreTrainedModel):
        config_class = PretrainedConfig

        def __init__(self, config):
            super().__init__(config)
            self.line, self.generation_config = line(), GenerationConfig()

        def forward(self, x, **_):
            return CausalLMOutput(**self.line(x))

    class Trainer(reporting(SFTTrainer, run)):
        def compute_loss(self, model, inputs, return_outputs=False, num_items_in_batch=None):
            # SFTTrainer's own counts tokens, which this model lacks.
            return model(**inputs).loss

    arguments = SFTConfig(
        str(run.directory),
        max_steps=run.num_steps,
        bf16=False,
        gradient_checkpointing=False,
        **TRAINING,
    )
    unused = datasets.Dataset.from_dict({"input_ids": [[0]], "labels": [[0]]})  # User code
    words = Tokenizer(models.WordLevel({"<end>": 0}, "<end>"))
    tokenizer = PreTrainedTokenizerFast(
        tokenizer_object=words, eos_token="<end>", pad_token="<end>"
    )
    options = {"train_dataset": unused, "processing_class": tokenizer}
    fit(Trainer(Model(PretrainedConfig()), arguments, **options), run)


def with_grain(run):
    import grain
    import jax
    import torch.distributed as dist
    from torch import from_numpy

    jax.config.update("jax_enable_x64", True)
    dist.init_process_group("gloo")
    loss_and_slope = jax.jit(jax.value_and_grad(lambda weight, x: (weight * x).mean()))
    train = examples().shard().batch(BATCH).epochs().to_grain()  # User code
    batches = iter(train.map(lambda batch: batch["x"]).mp_prefetch(
        grain.MultiprocessingOptions(num_workers=0)
    ))  # fmt: skip
    step, weight = run.last(), np.float64(1)
    if step:
        checkpoint = json.loads(run.path(step).read_text())
        weight = np.float64(checkpoint["weight"])
        batches.set_state(checkpoint["batches"])
    while step < run.num_steps:
        loss, slope = loss_and_slope(weight, next(batches))
        mean = np.array([slope]) / WORLD
        dist.all_reduce(from_numpy(mean))
        weight -= RATE * mean[0]
        step += 1
        run.report(step, loss)
        if RANK == 0:
            parts = {"weight": weight.item(), "batches": batches.get_state()}
            run.path(step).write_text(json.dumps(parts))
            run.is_complete(step)
    batches.close()
    dist.destroy_process_group()


def with_torchtitan(run):
    import torch
    import torch.distributed as dist
    import torch.distributed.checkpoint as dcp

    import headrace.torchtitan

    dist.init_process_group("gloo")
    model = torch.nn.parallel.DistributedDataParallel(line())
    optimizer = torch.optim.SGD(model.parameters(), lr=RATE)
    config = headrace.torchtitan.DataLoader.Config(pipeline=labelled)  # User code
    loader = config.build(
        dp_rank=RANK, dp_world_size=WORLD, tokenizer=None, seq_len=1, local_batch_size=BATCH
    )
    # torchtitan uses PyTorch's checkpoints.
    parts, step = {"model": model, "dataloader": loader}, run.last()
    if step:
        dcp.load(parts, checkpoint_id=run.path(step))
    for inputs, labels in loader:
        loss = model(**inputs)["loss"] + 0 * labels.sum()
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        step += 1
        run.report(step, loss)
        dcp.save(parts, checkpoint_id=run.path(step))
        run.is_complete(step)
        if step == run.num_steps:
            break
    dist.destroy_process_group()


def labelled(tokenizer, seq_len):
    return examples().map(lambda example: {**example, "labels": np.int64([0])})


FRAMEWORKS = {
    "pytorch": with_pytorch,
    "lightning": with_lightning,
    "accelerate": with_accelerate,
    "trainer": with_trainer,
    "trl": with_trl,
    "grain": with_grain,
    "torchtitan": with_torchtitan,
}


if __name__ == "__main__":
    warnings.simplefilter("ignore")
    FRAMEWORKS[sys.argv[1]](Run(Path(sys.argv[2]), int(sys.argv[3])))
