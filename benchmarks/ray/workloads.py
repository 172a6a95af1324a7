"""W1 and W3 as PyTorch tensors: with the pipeline alone, through Ray, and with Ray Data."""

import statistics
import time
import warnings
from collections.abc import Callable, Iterable, Iterator
from functools import partial
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import ray
import torch

import headrace as hr
import headrace.ray as hray
from benchmarks.ray import jobs

__all__ = ["through_ray", "timed", "workloads"]


class IterationTime(NamedTuple):
    """The duration of an iteration.

    Attributes:
        first_s: The seconds to the first batch.
        rest_s: The seconds for all other batches.
        count: The number of examples in the other batches.
    """

    first_s: float
    rest_s: float
    count: int

    @property
    def rate(self) -> float:
        """The examples per second after the first batch."""
        return self.count / self.rest_s


def timed(batches: Iterator[dict[str, Any]], name: str) -> IterationTime:
    """Iterates to the end, and counts the examples in one component."""
    begin = time.monotonic()
    next(batches)
    first = time.monotonic()
    count = sum(len(batch[name]) for batch in batches)
    return IterationTime(first - begin, time.monotonic() - first, count)


def through_ray(
    pipe: hr.Pipeline,
    num_readers: int,
    cpus: float,
    converted: Callable[[Iterable[dict[str, Any]]], Iterator[dict[str, Any]]] = iter,
) -> IterationTime:
    """Reads through readers that are already running. `converted` converts the batches."""
    with hray.serve(pipe, num_readers=num_readers, cpus_per_reader=cpus) as feed:
        begun = feed.batches(credit_bytes=0)
        next(begun)  # Now the readers are running.
        begun.close()
        return timed(converted(feed.batches()), next(iter(pipe.spec)))


def images_and_labels(images: list[bytes], labels: Any) -> dict[str, np.ndarray]:
    """Converts digits like the pipeline of W1."""
    pixels = np.frombuffer(b"".join(images), np.uint8).reshape(-1, 784)
    return {"image": pixels * np.float32(1 / 255) - np.float32(0.5), "label": np.array(labels)}


def files_of_digits(directory: Path) -> list[str]:
    return [str(path) for path in sorted(directory.glob("digits-*.tfrecord"))]


def batches_of_digits(dataset: Any) -> Iterator[dict[str, Any]]:
    return iter(dataset.iter_torch_batches(batch_size=128, local_shuffle_buffer_size=10_000))


def digits_by_reader(directory: Path) -> Iterator[dict[str, Any]]:
    """W1 with Ray Data's TFRecord reader, which parses with TensorFlow."""

    def convert(block):
        return images_and_labels(list(block["image"]), block["label"])

    dataset = ray.data.read_tfrecords(files_of_digits(directory), override_num_blocks=4)
    return batches_of_digits(dataset.map_batches(convert, batch_size=1024))


def digits_by_hand(directory: Path) -> Iterator[dict[str, Any]]:
    """W1 with Ray Data's byte reader. This program splits and parses the records."""

    def parse(block):
        from headrace.protos import Example

        for data in block["bytes"]:
            images, labels = [], []
            for record in jobs.records_of(data):
                features = Example.FromString(record).features.feature
                images.append(features["image"].bytes_list.value[0])
                labels.append(features["label"].int64_list.value[0])
            yield images_and_labels(images, labels)

    dataset = ray.data.read_binary_files(files_of_digits(directory), override_num_blocks=4)
    return batches_of_digits(dataset.map_batches(parse, batch_size=1))


def photos_by_reader(directory: Path) -> Iterator[dict[str, Any]]:
    """W3 with Ray Data's image reader."""
    dataset = ray.data.read_images(str(directory / "photos"), size=(224, 224), mode="RGB")
    return iter(dataset.iter_torch_batches(batch_size=64, local_shuffle_buffer_size=200))


RAY_DATA = {
    "W1": {"Ray Data, read_tfrecords": digits_by_reader, "Ray Data, by hand": digits_by_hand},
    "W3": {"Ray Data": photos_by_reader},
}


def tensors(batches: Iterable[dict[str, Any]]) -> Iterator[dict[str, torch.Tensor]]:
    """Yields batches as tensors that share memory with Ray's object store, as Ray Data's do."""
    with warnings.catch_warnings():
        # No code writes to these tensors.
        warnings.filterwarnings("ignore", "The given NumPy array is not writable")
        for batch in batches:
            yield {name: torch.from_numpy(array) for name, array in batch.items()}


def programs_of(
    name: str, pipe: hr.Pipeline, directory: Path
) -> dict[str, Callable[[], IterationTime]]:
    """Returns a workload's programs. Each produces tensors."""
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
    """Returns each program's examples per second after the first batch, for W1 and W3."""
    results: dict[str, Any] = {}
    for name, job in jobs.JOBS.items():
        programs = programs_of(name, job(directory), directory)
        taken: dict[str, list[IterationTime]] = {program: [] for program in programs}
        for _ in range(num_rounds):
            for program, run in programs.items():
                taken[program].append(run())
        alone = [one.rate for one in taken["headrace alone"]]
        for program, rounds in taken.items():
            rates = [one.rate for one in rounds]
            ratios = [mine / other for mine, other in zip(rates, alone, strict=True)]
            results[f"{name}, {program}"] = {
                "rate": statistics.median(rates),
                "rates": rates,
                "of_alone": statistics.median(ratios),
                "epoch_s": statistics.median(one.first_s + one.rest_s for one in rounds),
                "first_batch_s": statistics.median(one.first_s for one in rounds),
            }
    return results
