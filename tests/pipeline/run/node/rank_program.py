"""One rank of a node; `test_node.py` runs it for each rank.

It reads a description from the standard input and prints one line of JSON for each step.
"""

import hashlib
import json
import os
import sys
import time
from pathlib import Path
from typing import Any

import numpy as np

import headrace as hr


def doubled(example: dict[str, Any]) -> dict[str, Any]:
    return {**example, "twice": example["n"] * 2}


def is_kept(example: dict[str, Any]) -> bool:
    return bool(example["n"] % 7)


def checked(example: dict[str, Any]) -> dict[str, Any]:
    if example["n"] % 50 == 13:
        raise ValueError(f"the number {example['n']} is damaged")
    return example


def failing(example: dict[str, Any]) -> dict[str, Any]:
    if example["n"] == 150:
        raise ValueError("the number 150 is damaged")
    return example


def ragged(example: dict[str, Any]) -> dict[str, Any]:
    return {**example, "list": np.arange(example["n"] % 5, dtype=np.float32)}


def pipelines(directory: Path, rank: int, world: int) -> dict[str, hr.Pipeline]:
    """Returns pipelines by name, with the share of a rank."""
    lines = hr.json_lines(str(directory / "*.jsonl"))
    shuffled = lines.shuffle(window=50, seed=1)
    parts = {
        "even": lines.filter(lambda example: example["n"] % 2 == 0),
        "odd": lines.filter(lambda example: example["n"] % 2 == 1),
    }
    return {
        "window": shuffled.shard(rank, world).batch(4),
        "full": lines.shuffle(seed=2).shard(rank, world, even="pad").batch(4),
        "maps": shuffled.map(doubled).shard(rank, world, even="drop").map(doubled).batch(3),
        "filter before": shuffled.filter(is_kept).shard(rank, world).batch(4),
        "filter after": shuffled.shard(rank, world).filter(is_kept).batch(4),
        "window after": lines.shard(rank, world).shuffle(window=20, seed=5).batch(4),
        "epochs": shuffled.epochs(3).shard(rank, world).batch(4),
        "epochs after": shuffled.shard(rank, world, even="drop").batch(4).epochs(3),
        "mix": hr.mix(parts, weights=[2, 1], seed=3).shard(rank, world).batch(4),
        "skips": shuffled.map(checked).skip_errors(100).shard(rank, world).batch(4),
        "skips after": shuffled.shard(rank, world).map(checked).skip_errors(100).batch(4),
        "fails": lines.map(failing).shard(rank, world).batch(4),
        "fails after": lines.shard(rank, world).map(failing).batch(4),
        "ragged": lines.shard(rank, world).map(ragged).batch(4, ragged="offsets"),
        "processes": lines.map(doubled, num_processes=1).shard(rank, world).batch(4),
        "cache": lines.cache().shuffle(seed=4).epochs(2).shard(rank, world).batch(4),
        "same": shuffled.batch(4),
        "arrow": lines.shard(rank, world).batch(4).options(strings="arrow"),
    }


def plain(value: Any) -> Any:
    """Returns a component as plain data."""
    if isinstance(value, list):
        return [plain(item) for item in value]
    if hasattr(value, "to_pylist"):
        return value.to_pylist()
    if isinstance(value, np.ndarray):
        return [str(value.dtype), value.tolist()]
    return value


def sum_of(batch: dict[str, Any]) -> str:
    """Returns a digest of everything in a batch."""
    content = {name: plain(value) for name, value in batch.items()}
    return hashlib.sha256(json.dumps(content, default=repr).encode()).hexdigest()[:16]


def steps_of(batches: hr.Batches, has_order: bool) -> Any:
    """After each step, yields everything that must be the same with and without a shared engine."""
    number = 0
    while True:
        error = None
        try:
            batch = next(batches, None)
        except Exception as exception:
            batch, error = None, f"{type(exception).__name__}: {exception}"
        yield {
            "step": number,
            "sum": None if batch is None else sum_of(batch),
            "error": error,
            "digest": batches.digest() if has_order and error is None else None,
            "position": batches.position if has_order and error is None else None,
            "counts": batches.counts,
            "skipped": [[s.file and Path(s.file).name, s.record_number] for s in batches.skipped],
            "state": batches.state(),
        }
        if batch is None:
            return
        number += 1


def main() -> None:
    what = json.loads(sys.stdin.readline())
    pipe = pipelines(Path(what["directory"]), what["rank"], what["world"])[what["name"]]
    pipe = pipe.options(node=what["node"], memory_bytes=what.get("memory_bytes"))
    states = what.get("state")
    batches = iter(pipe) if states is None else pipe.resume(states)
    print(json.dumps({"process": os.getpid()}), flush=True)
    for line in steps_of(batches, what["has_order"]):
        execution = batches._execution
        line["owner"] = getattr(getattr(execution, "_exchange", None), "owner", None)
        print(json.dumps(line), flush=True)
        if line["step"] + 1 == what.get("most"):
            batches.close()
            print(json.dumps({"sum": None}), flush=True)
            break
        time.sleep(what.get("pause", 0.0))
    # Kept open until the test has seen all lines.
    sys.stdin.readline()


if __name__ == "__main__":
    main()
