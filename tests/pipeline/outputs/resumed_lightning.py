"""Lightning's checkpoints, each of which a new trainer continues from.

Run as a program: `resumed_lightning.py KIND`. KIND determines whether the number of batches is
"known" to the pipeline, "unknown", or "given" to the loader. With " estimated" after it, the model
requests the number of steps before the checkpoint is read. "max_size" and "max_size_cycle" combine
a loader with a shorter one. Prints, as JSON, for each checkpoint how many batches were before it
and which batches followed, by their numbers in a training without an interruption.
"""

import json
import sys
import tempfile
import warnings
from pathlib import Path

import lightning
import numpy as np
import torch
from lightning.pytorch.callbacks import ModelCheckpoint
from lightning.pytorch.utilities import CombinedLoader

import headrace as hr

EPOCHS, BATCHES = 3, 4
QUIET = {"logger": False, "enable_progress_bar": False, "enable_model_summary": False}


def noisy(example, rng):
    return {**example, "noise": np.float32(rng.normal())}


def loader(kind, size=80):
    kind = kind.removesuffix(" estimated")
    if kind.startswith("max_size"):
        kind, is_unknown, _ = kind.partition(" unknown")
        part = "unknown" if is_unknown else "known"
        return CombinedLoader([loader("known"), loader(part, size // 2)], kind)
    numbers = hr.arrays({"n": np.arange(size), "x": np.arange(size, dtype=np.float32)[:, None]})
    if kind == "known":
        return numbers.shuffle(seed=3).map(noisy, seed=5).batch(20).to_torch()
    kept = numbers.filter(lambda example: True).shuffle(window=30, seed=3)
    pipe = kept.map(noisy, seed=5).batch(20)
    return pipe.to_torch(length=BATCHES if kind == "given" else None)


class Line(lightning.LightningModule):
    def __init__(self, is_estimated):
        super().__init__()
        self.layer = torch.nn.Linear(1, 1)
        self.is_estimated = is_estimated
        self.seen = []

    def training_step(self, batch, index):
        parts = batch if isinstance(batch, list) else [batch]
        self.seen.append(
            [part and [part[name].tolist() for name in ("n", "noise")] for part in parts]
        )
        return self.layer(parts[0]["x"]).mean()

    def validation_step(self, batch, index):
        self.log("error", self.layer(batch["x"]).mean(), batch_size=20)

    def configure_optimizers(self):
        if self.is_estimated:
            self.trainer.estimated_stepping_batches  # noqa: B018  # It sets up the data.
        return torch.optim.SGD(self.parameters(), lr=1e-6)


def fit(kind, epochs, saved, checkpoint=None, validates=False):
    """Returns the examples that a model has seen."""
    model = Line(kind.endswith("estimated"))
    options = {**QUIET, "accelerator": "cpu", "default_root_dir": tempfile.mkdtemp()}
    trainer = lightning.Trainer(max_epochs=epochs, callbacks=[saved], **options)
    validated = {"val_dataloaders": loader("known")} if validates else {}
    trainer.fit(model, loader(kind), ckpt_path=checkpoint, weights_only=False, **validated)
    return model.seen


def main(kind):
    warnings.simplefilter("ignore")
    unsaved = ModelCheckpoint(tempfile.mkdtemp(), save_top_k=0)
    full = fit(kind, EPOCHS, unsaved)
    results = {"whole": len(full)}

    def follow(name, checkpoint, validates=False):
        try:
            seen = fit(kind, EPOCHS, unsaved, str(checkpoint), validates)
        except hr.errors.FailedPreconditionError as error:
            results[name] = error.message
        else:
            results[name] = [full.index(batch) for batch in seen]

    once = tempfile.mkdtemp()
    fit(kind, 2, ModelCheckpoint(once))
    follow("each epoch", *Path(once).iterdir())
    validated = tempfile.mkdtemp()
    fit(kind, 1, ModelCheckpoint(validated, monitor="error"), validates=True)
    follow("after a validation", *Path(validated).iterdir(), validates=True)
    steps = tempfile.mkdtemp()
    each = ModelCheckpoint(steps, every_n_train_steps=1, save_top_k=-1, filename="{step}")
    fit(kind, EPOCHS, each)
    for step in range(1, EPOCHS * BATCHES):
        follow(f"step {step}", f"{steps}/step={step}.ckpt")
    print(json.dumps(results))


if __name__ == "__main__":
    main(sys.argv[1])
