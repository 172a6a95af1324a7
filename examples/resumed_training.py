"""Resumes training after a kill at any time: the next start continues with the next batch.

`python resumed_training.py DIRECTORY` trains on numbers, and saves the weights and the pipeline's
state in one file, which replaces the previous one. With `--die-at 25`, the process kills itself at
that step.
"""

import argparse
import json
import os
import signal
from pathlib import Path

import numpy as np

import headrace as hr


def numbers() -> hr.Pipeline:
    """Returns batches of x and y = 3 x for four epochs, each in a different order."""
    x = np.random.default_rng(1).uniform(-1, 1, 1_000).astype(np.float32)
    return hr.arrays({"x": x, "y": 3 * x}).shuffle(seed=1).epochs(4).batch(100)


def main(directory: Path, die_at: int | None) -> None:
    """Continues from the checkpoint in a directory, or starts from the beginning."""
    checkpoint = directory / "checkpoint.json"
    saved = json.loads(checkpoint.read_text()) if checkpoint.exists() else None
    step, weight, state = saved if saved else (0, 0.0, None)
    print(f"starts at step {step}")
    batches = numbers().resume(state)  # Without a state, this starts from the beginning.
    for step, batch in enumerate(batches, start=step + 1):  # noqa: B020
        errors = weight * batch["x"] - batch["y"]
        weight -= 0.5 * float(np.mean(errors * batch["x"]))
        if step % 10 == 0:
            unfinished = directory / "checkpoint.json.new"
            unfinished.write_text(json.dumps([step, weight, batches.state()]))
            unfinished.replace(checkpoint)
        if step == die_at:
            os.kill(os.getpid(), signal.SIGKILL)
    print(f"{step} steps, weight {weight!r}")


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("directory", type=Path)
    parser.add_argument("--die-at", type=int, default=None)
    arguments = parser.parse_args()
    main(arguments.directory, arguments.die_at)
