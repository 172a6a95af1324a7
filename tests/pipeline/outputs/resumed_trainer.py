"""Hugging Face's Trainer, resumed from each of its checkpoints.

Run as a program: `resumed_trainer.py WAY`. WAY is "prepared" for a loader that Accelerate prepares,
"plain" for one that it does not, "loader" for one without a `DataLoader`, "examples" for a dataset
of examples, which Trainer batches, and "batches" for a dataset of batches. Prints, as JSON, for
each checkpoint how many batches were before it and which batches followed, by their numbers in a
training without an interruption; or the error.
"""

import json
import sys
import tempfile
import warnings

import numpy as np
import torch
import transformers
from transformers import Trainer, TrainingArguments

import headrace as hr

EPOCHS, BATCHES, SIZE = 3, 4, 20


def examples():
    columns = {"n": np.arange(80), "x": np.arange(80, dtype=np.float32)[:, None]}
    return hr.arrays(columns).shuffle(seed=3)


def batches():
    return examples().batch(SIZE)


class Line(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.layer = torch.nn.Linear(1, 1)
        self.seen = []

    def forward(self, n, x):
        if self.training:
            self.seen.append(n.tolist())
        return {"loss": self.layer(x).mean()}


class WithLoader(Trainer):
    way = "prepared"

    def get_train_dataloader(self):
        loader = batches().to_torch()
        if self.way == "loader":
            return loader
        wrapped = torch.utils.data.DataLoader(loader, batch_size=None)
        return self.accelerator.prepare(wrapped) if self.way == "prepared" else wrapped

    def get_eval_dataloader(self, eval_dataset=None):
        return torch.utils.data.DataLoader(batches().to_torch(), batch_size=None)


def fit(way, directory, checkpoint=None):
    """Returns the examples that a model has seen."""
    model = Line()
    arguments = TrainingArguments(
        directory,
        num_train_epochs=EPOCHS,
        per_device_train_batch_size=SIZE,
        save_strategy="steps",
        save_steps=1,
        eval_strategy="no" if way in ("examples", "batches") else "epoch",
        logging_strategy="no",
        remove_unused_columns=False,
        report_to=[],
        use_cpu=True,
        disable_tqdm=True,
    )
    if way in ("examples", "batches"):
        pipe = examples() if way == "examples" else batches()
        trainer = Trainer(model, arguments, train_dataset=pipe.to_torch())
    else:
        trainer = WithLoader(model, arguments, eval_dataset=batches().to_torch())
        trainer.way = way
    trainer.train(resume_from_checkpoint=checkpoint)
    return model.seen


def main(way):
    warnings.simplefilter("ignore")
    transformers.logging.set_verbosity_error()
    uninterrupted = [
        batch["n"].tolist() for epoch in range(EPOCHS) for batch in batches().epoch(epoch)
    ]
    directory = tempfile.mkdtemp()
    try:
        results = {"0": [uninterrupted.index(batch) for batch in fit(way, directory)]}
        for step in (1, 3, 4, 6, 8, 11):
            seen = fit(way, tempfile.mkdtemp(), f"{directory}/checkpoint-{step}")
            results[str(step)] = [uninterrupted.index(batch) for batch in seen]
    except ValueError as error:
        results = {"error": str(error)}
    print(json.dumps(results))


if __name__ == "__main__":
    main(sys.argv[1])
