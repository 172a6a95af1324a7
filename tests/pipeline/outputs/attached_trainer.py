"""Trainer on a pipeline that `headrace.hf.attach` has attached; a program of test_hf.py.

    python attached_trainer.py DIRECTORY WAY [CHECKPOINT]

Prints, as JSON, the examples of each batch that the model has seen, its losses, the examples of
each evaluation, the epochs that were logged and the final weights.
"""

import json
import os
import sys
import warnings

import numpy as np
import torch
import transformers
from transformers import Trainer, TrainingArguments

import headrace as hr

EPOCHS = 3
RANK, WORLD = (
    int(os.environ.get(name, default)) for name, default in (("RANK", 0), ("WORLD_SIZE", 1))
)


def examples(num=42):
    columns = {"n": np.arange(num), "x": np.arange(num, dtype=np.float32)[:, None] / num}
    return hr.arrays(columns).shuffle(seed=3)


class Line(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.layer = torch.nn.Linear(1, 1)
        self.seen, self.evaluated, self.losses = [], [], []

    def forward(self, n, x):
        (self.seen if self.training else self.evaluated).append(n.tolist())
        loss = ((self.layer(x) - 2 * x) ** 2).mean()
        if self.training:
            self.losses.append(loss.item())
        return {"loss": loss}


def pipeline(way):
    pipe = examples()
    if way == "unknown":
        pipe = pipe.filter(lambda example: example["n"] != 7)
    return pipe.shard(RANK, WORLD).batch(12 // WORLD)


def main(directory, way, checkpoint=None):
    warnings.simplefilter("ignore")
    transformers.logging.set_verbosity_error()
    torch.manual_seed(0)
    model = Line()
    arguments = TrainingArguments(
        directory,
        num_train_epochs=EPOCHS,
        max_steps=12 if way == "unknown" else -1,
        gradient_accumulation_steps=3 if way == "accumulated" else 1,
        save_steps=1,
        eval_strategy="epoch" if way == "evaluated" else "no",
        logging_steps=1,
        lr_scheduler_type="linear",
        learning_rate=0.1,
        report_to=[],
        use_cpu=True,
        disable_tqdm=True,
        restore_callback_states_from_checkpoint=way == "restored",
    )
    evaluation = {"small": examples(5).batch(3), "large": examples(9).batch(4).to_torch()}
    trainer = Trainer(model, arguments, eval_dataset=[0] if way == "evaluated" else None)
    trainer = hr.hf.attach(trainer, pipeline(way), evaluation if way == "evaluated" else None)
    trainer.train(resume_from_checkpoint=checkpoint)
    epochs = [entry["epoch"] for entry in trainer.state.log_history if "loss" in entry]
    result = {
        "seen": model.seen,
        "losses": model.losses,
        "evaluated": model.evaluated,
        "epochs": epochs,
        "step": trainer.state.global_step,
        "weights": [weight.tolist() for weight in model.parameters()],
    }
    with open(f"{directory}/result-{RANK}.json", "w") as file:
        json.dump(result, file)


if __name__ == "__main__":
    main(*sys.argv[1:])
