"""A distributed training that only counts. `test_torchrun.py` starts it with `torchrun`."""

import json
import sys
from pathlib import Path
from typing import Any

import torch
import torch.distributed as dist

import headrace as hr

NUM_EPOCHS = 2
SAVED_STEP = 6


def is_kept(example: dict[str, Any]) -> bool:
    return not example["text"].endswith(b"3")


def examples(directory: Path) -> hr.Pipeline:
    """All examples, in the order that the ranks share."""
    lines = hr.text_lines(str(directory / "*.txt"))
    return lines.shuffle(window=50, seed=1, num_open=2).filter(is_kept)


def main(directory: Path, results: Path, state_file: Path, node: str | None = None) -> None:
    dist.init_process_group("gloo")
    rank = dist.get_rank()
    ranks = examples(directory).shard(even="pad").batch(4).epochs(NUM_EPOCHS)
    if node:
        ranks = ranks.options(node=node)
    batches = ranks.resume(json.loads(state_file.read_text())) if state_file.exists() else ranks
    steps, state = [], None
    with iter(batches) as batches:
        for batch in batches:
            # A collective call in each step: a rank with fewer steps would leave the others here.
            total = torch.ones(1)
            dist.all_reduce(total)
            assert total.item() == dist.get_world_size()
            steps.append([text.decode() for text in batch["text"]])
            if len(steps) == SAVED_STEP:
                state = batches.state()
    dist.barrier()
    dist.destroy_process_group()
    (results / f"{rank}.json").write_text(json.dumps({"steps": steps, "state": state}))


if __name__ == "__main__":
    main(*map(Path, sys.argv[1:4]), *sys.argv[4:])
