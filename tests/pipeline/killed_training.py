"""A training loop that is killed again and again, and goes on each time from what it saved.

Run as a program: `killed_training.py RECORDS DIRECTORY NUM_KILLS`. Each process takes batches, and
saves after each batch what it has seen so far together with the state of the pipeline: beside, and
renamed. Some time later it is killed. Prints the numbers of all examples that were seen, in order.
"""

import json
import os
import random
import signal
import sys
import threading
from pathlib import Path

import headrace as hr


def pipeline(records):
    return (
        hr.tfrecords(records)
        .parse({"number": int})
        .filter(lambda example: example["number"] % 7 != 3)
        .shuffle(window=50, seed=3)
        .map(lambda example: {"number": example["number"]})
        .epochs(8)
        .batch(4)
    )


def train(records, saved, seconds):
    model = json.loads(saved.read_text()) if saved.exists() else {"seen": [], "state": None}
    batches = pipeline(records).resume(model["state"])
    timer = threading.Timer(seconds, os.kill, (os.getpid(), signal.SIGKILL))
    timer.daemon = True
    timer.start()
    for batch in batches:
        model["seen"].extend(batch["number"].tolist())
        model["state"] = batches.state()
        beside = saved.with_suffix(".new")
        beside.write_text(json.dumps(model))
        os.replace(beside, saved)
    timer.cancel()


def main(records, directory, num_kills):
    saved = Path(directory) / "model.json"
    draws = random.Random(7)
    for number in range(num_kills + 1):
        seconds = draws.uniform(0, 0.03) if number < num_kills else 600
        process = os.fork()
        if process == 0:
            train(records, saved, seconds)
            os._exit(0)
        _, status = os.waitpid(process, 0)
        if os.waitstatus_to_exitcode(status) == 0:
            break
    print(number, json.dumps(json.loads(saved.read_text())["seen"]))


if __name__ == "__main__":
    main(sys.argv[1], sys.argv[2], int(sys.argv[3]))
