"""W12: small JPEGs and labels in tar files."""

import io
import tarfile
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from benchmarks.dataset import bounds_of
from benchmarks.libraries import PREFETCH, spdl_batches
from benchmarks.manual_loaders import epochs_of, shuffled
from benchmarks.workload import BY_HAND, Part, Workload

WINDOW = 1_000
BATCH_SIZE = 128
NUM_FILES = 8
SIDE = 64
LABELS = 1_000
PIXELS = slice(3, None, 8)
"""The rows and columns of a picture that are summed."""

Sample = tuple[bytes, bytes]
"""A picture's file, and its label as text."""


def make(home: Path, count: int) -> list[Part]:
    """Writes pictures into archives."""
    from benchmarks.pictures import picture

    rng = np.random.default_rng(12)
    labels = rng.integers(0, LABELS, count)
    pictures = np.empty((count, SIDE, SIDE, 3), np.uint8)
    for name, (begin, end) in zip(files_of(home), bounds_of(count, NUM_FILES), strict=True):
        with tarfile.open(name, "w") as archive:
            for number in range(begin, end):
                file = io.BytesIO()
                image = picture(rng, SIDE, SIDE)
                image.save(file, "JPEG", quality=90)
                pictures[number] = image
                label = str(labels[number]).encode()
                for ending, data in (("jpg", file.getvalue()), ("cls", label)):
                    member = tarfile.TarInfo(f"{number:06}.{ending}")
                    member.size = len(data)
                    archive.addfile(member, io.BytesIO(data))
    return [Part([], count, sums_of((pictures, labels))[1:])]


def files_of(home: Path) -> list[str]:
    """Returns the archives of a directory of data."""
    return [str(home / f"pictures-{number}.tar") for number in range(NUM_FILES)]


def sums_of(batch: Any) -> list[int]:
    """Sums pictures, uint8, (n, 64, 64, 3), and labels, integers, (n,).

    The last sum differs slightly between decoders.

    Raises:
        ValueError: If they are not such pictures.
    """
    pictures, labels = (np.asarray(component) for component in batch)
    if pictures.shape[1:] != (SIDE, SIDE, 3) or pictures.dtype != np.uint8:
        raise ValueError(f"{pictures.dtype} pictures of shape {pictures.shape}")
    wide = labels.astype(np.int64)
    pixels = pictures[:, PIXELS, PIXELS].sum(dtype=np.int64)
    return [len(wide), int(wide.sum()), int(wide @ wide), int(pixels)]


W12 = Workload(
    __name__,
    "W12",
    "tar_photos",
    "Tar files of JPEGs, 64x64, and labels: decode, shuffle 1,000, five epochs, batches of 128",
    "pictures",
    sums_of,
    count=4_000,
    make=make,
    num_epochs=5,
    tolerances=[0, 0, 0.02],
)


@W12.program(
    "headrace", "headrace", "`hr.webdataset`, a window, a native function; one thread for each core"
)
def with_headrace(home: Path, num_epochs: int) -> Iterable[Any]:
    import headrace as hr

    @hr.native
    def decode(example: Any) -> Any:
        image = hr.ops.decode_jpeg(example["jpg"], channels=3, dct_method="fast")
        return {"image": image, "label": hr.ops.string_to_number(example["cls"], "int64")}

    samples = hr.webdataset(files_of(home)).shuffle(window=WINDOW, seed=1).epochs(num_epochs)
    return ((batch["image"], batch["label"]) for batch in samples.map(decode).batch(BATCH_SIZE))


def decode(sample: Sample) -> tuple[np.ndarray, int]:
    """Returns a picture, uint8, (height, width, 3), and its label."""
    import simplejpeg

    data, label = sample
    return simplejpeg.decode_jpeg(data, colorspace="RGB", fastdct=True), int(label)


def stack(pictures: Sequence[tuple[np.ndarray, int]]) -> tuple[np.ndarray, np.ndarray]:
    """Returns a batch."""
    images, labels = zip(*pictures, strict=True)
    return np.stack(images), np.array(labels)


def pairs(members: Iterable[tuple[str, Any]]) -> Iterator[Sample]:
    """Yields samples from an archive's names and contents. Two neighbours form one sample."""
    walk = iter(members)
    for (_, picture), (_, label) in zip(walk, walk, strict=True):
        yield bytes(picture), bytes(label)


@W12.program(BY_HAND, "tarfile and simplejpeg by hand", "one thread", "numpy", ["simplejpeg"])
def with_tarfile(home: Path, num_epochs: int) -> Iterator[Any]:
    def samples() -> Iterator[Sample]:
        for name in epochs_of(files_of(home), num_epochs):
            with tarfile.open(name) as archive:
                yield from pairs(
                    (member.name, file.read())
                    for member in archive
                    if (file := archive.extractfile(member)) is not None
                )

    for batch in shuffled(samples(), BATCH_SIZE, WINDOW):
        yield stack([decode(sample) for sample in batch])


@W12.program(
    "webdataset-alone",
    "WebDataset, no workers",
    "`WebLoader(num_workers=0)`; simplejpeg",
    "torch",
    ["simplejpeg"],
    num_workers=0,
)
@W12.program(
    "webdataset-workers",
    "WebDataset, two workers",
    "`WebLoader(num_workers=2, prefetch_factor=4)`; simplejpeg",
    "torch",
    ["simplejpeg"],
    num_workers=2,
)
def with_webdataset(home: Path, num_epochs: int, num_workers: int) -> Iterable[Any]:
    """Returns batches. Archives are divided among processes, or read in this process."""
    import webdataset

    shards = files_of(home) * num_epochs
    data = webdataset.WebDataset(
        shards, shardshuffle=len(shards), workersplitter=webdataset.split_by_worker
    )
    data = data.shuffle(WINDOW // max(num_workers, 1)).to_tuple("jpg", "cls").map(decode)
    data = data.batched(BATCH_SIZE, collation_fn=stack, partial=True)
    workers = {"num_workers": num_workers, "prefetch_factor": PREFETCH} if num_workers else {}
    return iter(webdataset.WebLoader(data, batch_size=None, **workers))


@W12.program(
    "spdl",
    "SPDL",
    "`iter_tarfile`; two threads decode with simplejpeg; shuffled by hand",
    "spdl",
    ["spdl.io", "spdl.pipeline", "simplejpeg"],
)
def with_spdl(home: Path, num_epochs: int) -> Iterator[Any]:
    import spdl.io

    def samples() -> Iterator[Sample]:
        for name in epochs_of(files_of(home), num_epochs):
            yield from pairs(spdl.io.iter_tarfile(Path(name).read_bytes()))

    def load(batch: Sequence[Sample]) -> Any:
        return stack([decode(sample) for sample in batch])

    return spdl_batches(shuffled(samples(), BATCH_SIZE, WINDOW), load)


W12.limit("tar_photos")
