"""WebDataset: tar files, which digits and photos are packed into at the first run."""

import io
import tarfile
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
import torch
import webdataset

from benchmarks.pipelines import consume, dataset
from benchmarks.pipelines.libraries import digits, folder

NUM_WORKERS = 2
PREFETCH = 4


def pack(target: Path, samples: Iterable[tuple[str, bytes, int]]) -> None:
    """Writes a tar file of pairs: what an example holds, and its class."""
    with tarfile.open(f"{target}.part", "w") as archive:
        for number, (ending, data, label) in enumerate(samples):
            for name, contents in ((ending, data), ("cls", str(label).encode())):
                member = tarfile.TarInfo(f"{number:06}.{name}")
                member.size = len(contents)
                archive.addfile(member, io.BytesIO(contents))
    Path(f"{target}.part").rename(target)


def digits_of(name: str) -> Iterator[tuple[str, bytes, int]]:
    records = list(digits.records_of([name]))
    images, labels = digits.parse_digits(records)
    pixels = np.rint((images + 0.5) * 255).astype(np.uint8)
    for image, label in zip(pixels, labels.tolist(), strict=True):
        yield "img", image.tobytes(), label


def photos_of(names: Iterable[str]) -> Iterator[tuple[str, bytes, int]]:
    for name in names:
        yield "jpg", Path(name).read_bytes(), folder.label_of(name)


def converted(task: str, files: list[str]) -> list[str]:
    """Returns tar files with the same examples."""
    home = dataset.ROOT / f"{task}-tar"
    home.mkdir(exist_ok=True)
    if task == "examples":
        shards = {home / f"{Path(name).stem}.tar": digits_of(name) for name in files}
    else:
        by_part: dict[str, list[str]] = {}
        for name in files:
            by_part.setdefault(Path(name).name.partition("-")[0], []).append(name)
        shards = {home / f"{part}.tar": photos_of(names) for part, names in by_part.items()}
    for target, samples in shards.items():
        if not target.exists():
            pack(target, samples)
    return [str(target) for target in shards]


def digit_batch(samples: list[Any]) -> tuple[torch.Tensor, torch.Tensor]:
    images, labels = zip(*samples, strict=True)
    return torch.from_numpy(digits.normalise(images)), torch.tensor([int(text) for text in labels])


def photo(sample: Any) -> tuple[np.ndarray, int]:
    return folder.decode(sample[0]), int(sample[1])


def batches_of(task: str, files: list[str], num_epochs: int) -> Iterator[Any]:
    torch.set_num_threads(1)
    shards = converted(task, files) * num_epochs
    data = webdataset.WebDataset(
        shards, shardshuffle=len(shards), workersplitter=webdataset.split_by_worker
    )
    if task == "examples":
        data = data.shuffle(10_000 // NUM_WORKERS).to_tuple("img", "cls")
        data = data.batched(128, collation_fn=None, partial=True).map(digit_batch)
    else:
        data = data.shuffle(500 // NUM_WORKERS).to_tuple("jpg", "cls").map(photo)
        data = data.batched(64, partial=True)
    workers = {"num_workers": NUM_WORKERS, "prefetch_factor": PREFETCH}
    return iter(webdataset.WebLoader(data, batch_size=None, **workers))


if __name__ == "__main__":
    consume.run(batches_of)
