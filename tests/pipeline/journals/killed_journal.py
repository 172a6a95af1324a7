"""Writers and a reader of a journal that are killed repeatedly.

Run as a program: `killed_journal.py DIRECTORY NUM_KILLS MODE`, where MODE is "rows" or "groups".
Each writer appends numbered rows and notes each append after it, until it is killed. The reader
saves its state after each batch, together with the rows that it has received. Prints as JSON how
many rows were received, dropped and left out, or an error.
"""

import json
import os
import random
import select
import signal
import sys
import time
from collections import Counter
from functools import partial
from pathlib import Path

import numpy as np

import headrace as hr
from headrace.pipeline.journals.arrivals import Segments
from headrace.pipeline.journals.directory import JournalDirectory
from headrace.pipeline.journals.order import OrderLog

GROUP_SIZE = 3
# After these rows, a writer waits until it is killed.
MOST_ROWS = 60


def pipeline(directory, mode):
    if mode == "rows":
        return hr.journal(directory / "journal", poll_s=0.01).padded_batch(5)
    group = {"group": "group", "group_size": GROUP_SIZE, "max_age": 4}
    return hr.journal(directory / "journal", poll_s=0.01, **group).select("id").batch(2)


def write(directory, begun, run, is_last):
    draws = random.Random(run)
    number = 0
    # Before the lock, so that a reader waits for this writer once it runs.
    with (
        hr.Journal(directory / "journal") as journal,
        open(directory / f"appended-{run}", "a", buffering=1) as appended,
    ):
        while number < MOST_ROWS:
            rows = [
                {
                    "id": run * 10**6 + number + k,
                    "group": run * 10**6 + (number + k) // GROUP_SIZE,
                    "data": np.full(draws.randrange(200), run % 256, np.uint8),
                }
                for k in range(draws.randrange(1, 6))
            ]
            journal.append(rows, version=draws.randrange(8))
            number += len(rows)
            appended.write(f"{number}\n")
            begun()
        while not is_last:
            signal.pause()


def read(directory, begun, mode):
    """Continues from the last saved state. The file of results may contain more."""
    saved, results = directory / "saved.json", directory / "results"
    last = json.loads(saved.read_text()) if saved.exists() else {"state": None, "size": 0}
    with open(results, "ab") as file:
        file.truncate(last["size"])
        batches = pipeline(directory, mode).resume(last["state"])
        if mode == "groups":
            batches.set_version(6)
        for batch in batches:
            begun()
            file.write(b"".join(b"%d\n" % number for number in batch["id"].ravel()))
            file.flush()
            saved.with_suffix(".new").write_text(
                json.dumps({"state": batches.state(), "size": file.tell()})
            )
            os.replace(saved.with_suffix(".new"), saved)


class Process:
    """A forked process, which reports when it has begun its work."""

    def __init__(self, function, directory, *arguments):
        self._begun, end = os.pipe()
        self._process = forked(function, directory, partial(closed, end, []), *arguments)
        os.close(end)

    def wait_until_begun(self):
        """Waits until the process reports, has ended, or does nothing.

        A reader that has read all rows does nothing until the writer is killed.
        """
        select.select([self._begun], [], [], 0.5)

    def kill(self):
        os.kill(self._process, signal.SIGKILL)

    def join(self, *expected):
        """Waits for the end, and ends this program if the exit code is another one."""
        os.close(self._begun)
        code = os.waitstatus_to_exitcode(os.waitpid(self._process, 0)[1])
        if code not in expected:
            sys.exit(f"a process ended with {code}")


def closed(end, calls):
    if not calls:
        os.close(end)
        calls.append(end)


def forked(function, *arguments):
    process = os.fork()
    if process == 0:
        try:
            function(*arguments)
        except BaseException as error:
            print(f"{function.__name__}: {error!r}", file=sys.stderr, flush=True)
            os._exit(1)
        os._exit(0)
    return process


def recorded(directory):
    """The rows in order of arrival: delivered and dropped ones."""
    files = JournalDirectory(str(directory / "journal"))
    description = files.description()
    segments, log = Segments(files, description), OrderLog(files, description.number)
    log.open(0)
    rows = {"r": [], "d": []}
    while (line := log.read()) is not None:
        for kind, ids in rows.items():
            for writer, segment, offset, first, count in line.content.get(kind, ()):
                commit = segments.recorded(writer, segment, offset)
                ids.extend(commit.columns[0].numbers(first, first + count).tolist())
    return rows["r"], rows["d"]


def main(directory, num_kills, mode):
    draws = random.Random(num_kills)
    run = 0
    writer, reader = Process(write, directory, run, False), Process(read, directory, mode)
    for _ in range(num_kills):
        process = writer if draws.random() < 0.5 else reader
        if draws.random() < 0.8:
            process.wait_until_begun()
        time.sleep(draws.uniform(0, 0.01))
        process.kill()
        if process is writer:
            writer.join(-signal.SIGKILL)
            run += 1
            writer = Process(write, directory, run, False)
        else:
            # It may have ended, because no writer was open.
            reader.join(-signal.SIGKILL, 0)
            reader = Process(read, directory, mode)
    writer.kill()
    writer.join(-signal.SIGKILL)
    reader.join(0)
    Process(write, directory, run + 1, True).join(0)
    Process(read, directory, mode).join(0)
    check(directory, run + 2, mode)


def check(directory, num_runs, mode):
    received = [int(line) for line in (directory / "results").read_text().split()]
    delivered, dropped = recorded(directory)
    if received != delivered:
        sys.exit("the reader received other rows than the order of arrival has")
    counts = Counter(delivered + dropped)
    if max(counts.values()) > 1:
        sys.exit(f"a row was delivered twice: {counts.most_common(1)}")
    left_out = 0
    for run in range(num_runs):
        path = directory / f"appended-{run}"
        notes = path.read_text().split() if path.exists() else []
        appended = int(notes[-1]) if notes else 0
        there = {number - run * 10**6 for number in counts if number // 10**6 == run}
        missing = set(range(appended)) - there
        if mode == "rows" and (missing or there != set(range(len(there)))):
            sys.exit(f"rows of run {run} are missing: {sorted(missing)}")
        left_out += len(missing)
    groups = [delivered[n : n + GROUP_SIZE] for n in range(0, len(delivered), GROUP_SIZE)]
    keys = [{(i // 10**6, i % 10**6 // GROUP_SIZE) for i in group} for group in groups]
    if mode == "groups" and any(len(key) > 1 for key in keys):
        sys.exit("a group has rows of two groups")
    print(json.dumps({"delivered": len(delivered), "dropped": len(dropped), "left": left_out}))


if __name__ == "__main__":
    main(Path(sys.argv[1]), int(sys.argv[2]), sys.argv[3])
