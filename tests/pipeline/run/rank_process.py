"""One rank of a training that only counts; `test_rank_processes.py` runs it for each rank."""

import json
import sys
from pathlib import Path
from typing import Any

import headrace as hr


def is_kept(example: dict[str, Any]) -> bool:
    return not example["record"].endswith(b"3")


def records_of(batch: dict[str, Any]) -> list[str]:
    # The rest of a record is padding.
    return [text[:8].decode() for text in batch["record"]]


def bytes_read() -> int:
    """The bytes that this process has read from files so far, also from the page cache."""
    for line in Path("/proc/self/io").read_text().splitlines():
        if line.startswith("rchar: "):
            return int(line.split()[1])
    raise AssertionError("there is no line rchar")


def ranks(directory: Path, rank: int, world: int) -> dict[str, hr.Pipeline]:
    records = hr.tfrecords(str(directory / "*.tfrecord"))
    pipes = {
        "filter": records.shuffle(window=50, seed=1, num_open=2).filter(is_kept),
        "shuffle": records.shuffle(seed=2),
    }
    return {
        f"{name}, {even}": pipe.shard(rank, world, even=even).batch(4).epochs(2)
        for name, pipe in pipes.items()
        for even in ("drop", "pad")
    }


def main(directory: Path, rank: int, world: int, saved: dict[str, Any]) -> None:
    mine = ranks(directory, rank, world)
    report: dict[str, Any] = {}
    for name, pipe in mine.items():
        with iter(pipe) as batches:
            results = [[records_of(b), batches.digest(), batches.state()] for b in batches]
        report[name] = {
            "steps": [step for step, _, _ in results],
            "digests": [digest for _, digest, _ in results],
            "state": results[5][2],
        }
    for name, state in saved.items():
        with mine[name].resume(state) as batches:
            results = [[records_of(batch), batches.digest()] for batch in batches]
        report[f"{name}, resumed"] = results
    # Without indexes, which the first process would write for the others.
    records = hr.tfrecords(str(directory / "*.tfrecord")).options(index="memory")
    shard = records.shuffle(seed=2).shard(rank, world)
    report["read"] = []
    for epoch in range(2):
        before = bytes_read()
        num_examples = sum(1 for _ in shard.epoch(epoch))
        report["read"].append([num_examples, bytes_read() - before])
    print(json.dumps(report))


if __name__ == "__main__":
    main(Path(sys.argv[1]), int(sys.argv[2]), int(sys.argv[3]), json.load(sys.stdin))
