"""A training loop that is killed repeatedly, and continues from its saved state each time.

Run as a program: `killed_training.py RECORDS DIRECTORY NUM_KILLS`. Each process takes batches.
After each batch it saves the examples seen in the epoch and the state of the pipeline, in a new
file that replaces the old one. Some time later it is killed. The last process continues to the end
of an epoch. Prints for each epoch whether each example came exactly once, as JSON.
"""

import json
import os
import random
import signal
import sys
import threading
from pathlib import Path

import headrace as hr

KEPT = [number for number in range(1000) if number % 7 != 3]
LEAST_EPOCHS = 3


def pipeline(records):
    return (
        hr.tfrecords(records)
        .parse({"number": int})
        .filter(lambda example: example["number"] % 7 != 3)
        .shuffle(window=50, seed=3)
        .map(lambda example: {"number": example["number"]})
        .epochs()
        .batch(4)
    )


def train(records, saved, seconds):
    model = {"seen": [], "finished": [], "state": None}
    if saved.exists():
        model = json.loads(saved.read_text())
    batches = pipeline(records).resume(model["state"])
    num_finished = max(len(model["finished"]) + 1, LEAST_EPOCHS)
    if seconds is not None:
        timer = threading.Timer(seconds, os.kill, (os.getpid(), signal.SIGKILL))
        timer.daemon = True
        timer.start()
    for batch in batches:
        for number in batch["number"].tolist():
            model["seen"].append(number)
            if len(model["seen"]) == len(KEPT):
                model["finished"].append(sorted(model["seen"]) == KEPT)
                model["seen"] = []
        model["state"] = batches.state()
        beside = saved.with_suffix(".new")
        beside.write_text(json.dumps(model))
        os.replace(beside, saved)
        if seconds is None and len(model["finished"]) >= num_finished:
            return


def main(records, directory, num_kills):
    saved = Path(directory) / "model.json"
    draws = random.Random(7)
    for seconds in [*(draws.uniform(0, 0.03) for _ in range(num_kills)), None]:
        process = os.fork()
        if process == 0:
            train(records, saved, seconds)
            os._exit(0)
        _, status = os.waitpid(process, 0)
        if os.waitstatus_to_exitcode(status) != (0 if seconds is None else -signal.SIGKILL):
            sys.exit(f"a process ended with {os.waitstatus_to_exitcode(status)}")
    print(json.dumps(json.loads(saved.read_text())["finished"]))


if __name__ == "__main__":
    main(sys.argv[1], sys.argv[2], int(sys.argv[3]))
