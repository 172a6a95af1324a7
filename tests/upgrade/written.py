"""Writes the files that later versions must read: `python -m tests.upgrade.written`.

Run it once per release, before the tag. It creates `tests/upgrade/VERSION/`, which then never
changes.
"""

import json
import os
import shutil
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np

import headrace as hr

MODIFIED = 1_700_000_000
"""The modification time of all data files. Git doesn't store it."""
STEPS = 5
"""The number of batches before the state."""


def examples_of(name: str) -> Callable[[dict[str, Any]], dict[str, Any]]:
    """Returns a function that parses a line. It has the same name in each version."""

    def parsed(example: dict[str, Any]) -> dict[str, Any]:
        return {name: int(example["text"])}

    return parsed


def pipelines(data: Path) -> dict[str, Any]:
    """Returns the pipelines whose states are stored, by name."""
    lines = [data / "lines-0.txt", data / "lines-1.txt"]
    arrays = {"n": np.arange(60), "label": np.arange(60) % 3}
    longer = hr.arrays({"n": np.arange(100, 160)})
    ragged = hr.arrays({"row": np.arange(40)}).map(_tokens, seed=2)
    return {
        "text": hr.text_lines(lines).batch(7),
        "function": hr.text_lines(lines).map(examples_of("number")).batch(7, remainder="drop"),
        "records": hr.tfrecords(data / "records.tfrecord").shuffle(seed=1).batch(4),
        "csv": hr.csv(data / "table.csv").shuffle(seed=2, window=20).epochs(2).batch(6),
        "json": hr.json_lines(data / "rows.jsonl").shuffle(seed=4).skip(3).batch(5),
        "filter": hr.arrays(arrays).shuffle(seed=3).filter(_is_even).epochs(3).batch(4),
        "mix": hr.mix(
            [hr.arrays({"n": arrays["n"]}).epochs(), longer.epochs()], [0.7, 0.3], seed=5
        ).batch(4),
        "concat": hr.concat([hr.arrays({"n": arrays["n"]}), longer]).shuffle(seed=6).batch(9),
        "shard": hr.arrays(arrays).shuffle(seed=7).shard(1, 2).batch(3),
        "padded": ragged.shuffle(seed=8).padded_batch(4),
        "buckets": ragged.bucket_by_length("tokens", [3, 6], size=4).epochs(2),
        "pack": ragged.pack(16, ["tokens"]).epochs(2).batch(2),
        "schedule": hr.arrays(arrays).shuffle(seed=9).epochs(2).batch({0: 3, 12: 5}),
    }


def _is_even(example: dict[str, Any]) -> bool:
    return bool(example["n"] % 2 == 0)


def _tokens(example: dict[str, Any], rng: np.random.Generator) -> dict[str, Any]:
    return {"tokens": rng.integers(0, 9, 1 + int(example["row"]) % 9)}


def plain(batch: dict[str, Any]) -> dict[str, Any]:
    """Returns a batch as lists that JSON can represent."""
    return {
        name: [value.decode() if isinstance(value, bytes) else value for value in array.tolist()]
        if array.dtype == object
        else array.tolist()
        for name, array in batch.items()
    }


def set_times(data: Path) -> None:
    """Gives all data files the modification time that they had when the indexes were written."""
    for path in data.iterdir():
        if path.suffix != ".hrindex":
            os.utime(path, (MODIFIED, MODIFIED))


def main(home: Path) -> None:
    """Writes data, states, indexes, a ledger and a journal of this version."""
    directory = home / hr.__version__
    shutil.rmtree(directory, ignore_errors=True)
    data = directory / "data"
    data.mkdir(parents=True)
    for number in range(2):
        lines = range(100 * number, 100 * number + 30)
        (data / f"lines-{number}.txt").write_text("".join(f"{n}\n" for n in lines))
    with hr.records.TFRecordWriter(data / "records.tfrecord") as writer:
        for number in range(30):
            writer.write(b"record %d" % number)
    (data / "table.csv").write_text("a,b\n" + "".join(f"{n},{n / 4}\n" for n in range(50)))
    (data / "rows.jsonl").write_text("".join(f'{{"a": {n}}}\n' for n in range(40)))
    set_times(data)

    stored = {}
    for name, pipe in pipelines(data).items():
        batches = iter(pipe)
        for _ in range(STEPS):
            next(batches)
        state, digest = json.loads(json.dumps(batches.state())), batches.digest()
        following = [plain(next(batches)) for _ in range(2)]
        stored[name] = {"state": state, "digest": digest, "next": following}
        batches.close()
    (directory / "states.json").write_text(json.dumps(stored, indent=1) + "\n")

    ledger = directory / "ledger.jsonl"
    pipe = pipelines(data)["text"]
    with hr.Ledger(ledger) as steps:
        batches = iter(pipe)
        for step, _ in enumerate(batches):
            steps.record(step, batches, loss=1 / (1 + step))
    with hr.Journal(directory / "journal") as journal:
        for number in range(6):
            journal.append([{"group": number // 2, "tokens": np.arange(number)}], version=number)


if __name__ == "__main__":
    main(Path(sys.argv[1]) if len(sys.argv) > 1 else Path(__file__).parent)
