"""W1 and W3 as tensors of PyTorch: the pipeline alone, through Ray, and by Ray Data."""

import statistics
import warnings
from collections.abc import Callable, Iterable, Iterator
from functools import partial
from pathlib import Path
from typing import Any

import torch

import headrace as hr
from benchmarks.ray import jobs
from benchmarks.ray.ray_data import RAY_DATA
from benchmarks.ray.timing import Timed, through_ray, timed

__all__ = ["workloads"]


def tensors(batches: Iterable[dict[str, Any]]) -> Iterator[dict[str, torch.Tensor]]:
    """Yields batches as tensors that share memory with Ray's object store, as Ray Data's do."""
    with warnings.catch_warnings():
        # Nobody writes to these tensors.
        warnings.filterwarnings("ignore", "The given NumPy array is not writable")
        for batch in batches:
            yield {name: torch.from_numpy(array) for name, array in batch.items()}


def programs_of(name: str, pipe: hr.Pipeline, directory: Path) -> dict[str, Callable[[], Timed]]:
    """Returns the programs of a workload; each gives tensors."""
    return {
        "headrace alone": lambda: timed(iter(pipe.to_torch()), "image"),
        "headrace.ray, 1 reader of 2 threads": partial(through_ray, pipe, 1, 2, tensors),
        "headrace.ray, 2 readers of 1 thread": partial(through_ray, pipe, 2, 1, tensors),
        **{
            other: lambda run=run: timed(run(directory), "image")
            for other, run in RAY_DATA[name].items()
        },
    }


def workloads(directory: Path, num_rounds: int) -> dict[str, Any]:
    """Returns examples a second of each program after the first batch, for W1 and W3."""
    found: dict[str, Any] = {}
    for name, job in jobs.JOBS.items():
        programs = programs_of(name, job(directory), directory)
        taken: dict[str, list[Timed]] = {program: [] for program in programs}
        for _ in range(num_rounds):
            for program, run in programs.items():
                taken[program].append(run())
        alone = [one.rate for one in taken["headrace alone"]]
        for program, rounds in taken.items():
            rates = [one.rate for one in rounds]
            ratios = [mine / other for mine, other in zip(rates, alone, strict=True)]
            found[f"{name}, {program}"] = {
                "rate": statistics.median(rates),
                "rates": rates,
                "of_alone": statistics.median(ratios),
                "epoch_s": statistics.median(one.first_s + one.rest_s for one in rounds),
                "first_batch_s": statistics.median(one.first_s for one in rounds),
            }
    return found
