"""W3: a folder of JPEG photos, decoded and resized."""

import io
import tarfile
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from benchmarks.dataset import bounds_of
from benchmarks.libraries import (
    PREFETCH,
    MappedDataset,
    grain_reading,
    spdl_batches,
    tfdata_batches,
    torch_loader,
)
from benchmarks.manual_loaders import cut, epochs_of
from benchmarks.workload import Part, Workload

BATCH_SIZE = 64
NUM_PARTS = 4
NUM_CLASSES = 10
NOISE = 5.0
"""Camera-like noise. It compensates for the missing detail in enlarged sections."""
SUMMED = slice(3, None, 32)
"""The rows and columns of a photo that are summed."""


def make(home: Path, count: int) -> list[Part]:
    """Writes 640x480 photos of about 98 KB into a directory for each class."""
    from PIL import Image

    from benchmarks.pictures import photographs, section

    def photo() -> Image.Image:
        original = photographs()[rng.integers(len(photographs()))]
        pixels = section(original, rng, 640, 480, rng.uniform(1.0, 1.5)).astype(np.float64)
        pixels = (pixels - 128) * rng.uniform(0.85, 1.15) + 128 + rng.uniform(-15, 15)
        pixels += rng.normal(0.0, NOISE, pixels.shape)
        return Image.fromarray(pixels.clip(0, 255).astype(np.uint8))

    rng = np.random.default_rng(3)
    parts = []
    for number, (begin, end) in enumerate(bounds_of(count, NUM_PARTS)):
        names, label_sum, pixel_sum = [], 0, 0
        for label in rng.integers(0, NUM_CLASSES, end - begin).tolist():
            image = photo()
            name = f"{label:02}/{number}-{len(names):04}.jpg"
            (home / name).parent.mkdir(exist_ok=True)
            image.save(home / name, quality=int(rng.integers(89, 95)))
            small = np.asarray(image.resize((224, 224), Image.Resampling.BILINEAR))
            names.append(name)
            label_sum += label
            pixel_sum += int(small[SUMMED, SUMMED].sum(dtype=np.int64))
        parts.append(Part(names, end - begin, [label_sum, pixel_sum]))
    return parts


def label_of(name: str) -> int:
    """Returns a photo's class, which is the name of its directory."""
    return int(name.rsplit("/", 2)[1])


def sums_of(batch: Any) -> list[int]:
    """Sums photos, uint8, (n, 224, 224, 3), and labels, integers, (n,).

    The sum of the pixels is approximate, because programs round and resize differently.

    Raises:
        ValueError: If they are not such photos.
    """
    pictures, labels = (np.asarray(component) for component in batch)
    if pictures.shape[1:] != (224, 224, 3) or pictures.dtype != np.uint8:
        raise ValueError(f"{pictures.dtype} photos of shape {pictures.shape}")
    pixels = pictures[:, SUMMED, SUMMED].sum(dtype=np.int64)
    return [len(labels), int(labels.sum()), int(pixels)]


W3 = Workload(
    __name__,
    "W3",
    "photos",
    "A folder of JPEG photos, 640x480: decode, resize to 224x224, shuffle, batches of 64",
    "photos",
    sums_of,
    count=1_000,
    make=make,
    min_parts=2,
    is_steady=True,
    tolerances=[0, 0.02],
)


def pipeline(files: list[str], num_epochs: int | None, window: int | None = 1_000) -> Any:
    """Returns the pipeline."""
    import headrace as hr

    @hr.native
    def decode(example: Any) -> Any:
        image = hr.ops.decode_jpeg(example["data"], channels=3, dct_method="fast")
        image = hr.ops.cast(hr.ops.resize(image, [224, 224]), "uint8")
        return {"image": image, "path": example["path"]}

    shuffled = hr.files(files).shuffle(window=window).epochs(num_epochs)
    return shuffled.map(decode).batch(BATCH_SIZE)


@W3.program(
    "headrace-pipeline",
    "headrace, a pipeline",
    "`import headrace as hr`, one thread for each core; photos are decoded at full size",
)
def with_headrace(files: list[str], num_epochs: int) -> Iterator[Any]:
    for batch in pipeline(files, num_epochs):
        yield batch["image"], np.array([label_of(path) for path in batch["path"]])


HALF = "photos are decoded at half of their size (`ratio=2`); two threads"


@W3.tensorflow1(
    "",
    "the TensorFlow 1 program",
    "one photo at a time, as TensorFlow 1's guide writes it; `num_threads=4`",
)
def whole(tf: Any, files: list[str], num_epochs: int) -> Any:
    return decoded(tf, files, num_epochs, ratio=1, num_threads=4, num_batches=7)


@W3.tensorflow1("-best", "at half size", HALF)
def at_half_size(tf: Any, files: list[str], num_epochs: int) -> Any:
    """Decodes at half size, which is less work and still larger than needed."""
    return decoded(tf, files, num_epochs, ratio=2, num_threads=2, num_batches=4)


def decoded(
    tf: Any, files: list[str], num_epochs: int, ratio: int, num_threads: int, num_batches: int
) -> Any:
    labels = [label_of(name) for name in files]
    name, label = tf.train.slice_input_producer([files, labels], num_epochs=num_epochs)
    image = tf.image.decode_jpeg(tf.read_file(name), channels=3, ratio=ratio)
    image = tf.image.resize_images(image, [224, 224])
    return tf.train.batch(
        [tf.cast(image, tf.uint8), label],
        batch_size=BATCH_SIZE,
        num_threads=num_threads,
        capacity=num_batches * BATCH_SIZE,
        allow_smaller_final_batch=True,
    )


@W3.program(
    "tf.data-half",
    "tf.data, at half size",
    "`AUTOTUNE`, in any order; `ratio=2`",
    "tensorflow",
    ratio=2,
)
@W3.program("tf.data", "tf.data", "`AUTOTUNE`, in any order", "tensorflow", ratio=1)
def with_tfdata(files: list[str], num_epochs: int, ratio: int) -> Iterable[Any]:
    import tensorflow as tf

    def load(name: Any, label: Any) -> Any:
        pixels = tf.io.decode_jpeg(tf.io.read_file(name), channels=3, ratio=ratio)
        return tf.cast(tf.image.resize(pixels, [224, 224]), tf.uint8), label

    pairs = tf.data.Dataset.from_tensor_slices((files, [label_of(name) for name in files]))
    photos = pairs.shuffle(len(files)).repeat(num_epochs).map(load, tf.data.AUTOTUNE)
    return tfdata_batches(photos.batch(BATCH_SIZE))


def load(name: str) -> tuple[np.ndarray, int]:
    """Returns a photo decoded at full size, uint8, (224, 224, 3), and its label."""
    return decode(Path(name).read_bytes()), label_of(name)


def decode(data: bytes) -> np.ndarray:
    """Returns a photo, uint8, (224, 224, 3), using Python's fastest decoder and resizer."""
    import cv2
    import simplejpeg

    cv2.setNumThreads(1)
    pixels = simplejpeg.decode_jpeg(data, colorspace="RGB", fastdct=True)
    return cv2.resize(pixels, (224, 224), interpolation=cv2.INTER_LINEAR)


def stack(photos: Sequence[tuple[np.ndarray, int]]) -> tuple[np.ndarray, np.ndarray]:
    """Returns a batch of photos and labels."""
    images, labels = zip(*photos, strict=True)
    return np.stack(images), np.array(labels, np.int32)


BY_HAND = "simplejpeg and OpenCV"


@W3.program("numpy", "NumPy alone", f"one thread; {BY_HAND}", "numpy")
def with_numpy(files: list[str], num_epochs: int) -> Iterator[Any]:
    for names in cut(epochs_of(files, num_epochs), BATCH_SIZE):
        yield stack([load(name) for name in names])


@W3.program(
    "torch-workers",
    "PyTorch, two workers",
    f"`DataLoader(num_workers=2, prefetch_factor=4)`; {BY_HAND}",
    "torch",
)
def with_torch(files: list[str], num_epochs: int) -> Iterable[Any]:
    import torch

    def tensors(name: str) -> tuple[torch.Tensor, int]:
        pixels, label = load(name)
        return torch.from_numpy(pixels), label

    return torch_loader(MappedDataset(tensors, files * num_epochs), BATCH_SIZE, 2, shuffle=True)


@W3.program("spdl", "SPDL", f"two threads, a sink of 8; {BY_HAND}", "spdl", ["spdl.pipeline"])
def with_spdl(files: list[str], num_epochs: int) -> Iterator[Any]:
    return spdl_batches(epochs_of(files, num_epochs), load, BATCH_SIZE, stack)


@W3.program("grain", "Grain", f"two threads; {BY_HAND}", "grain")
def with_grain(files: list[str], num_epochs: int) -> Iterable[Any]:
    import grain

    data = grain.MapDataset.source(files).shuffle(seed=1).repeat(num_epochs)
    return iter(data.map(load).to_iter_dataset(grain_reading(64)).batch(BATCH_SIZE))


@W3.program(
    "webdataset", "WebDataset", f"two workers; tar files; {BY_HAND}", "torch", num_workers=2
)
def with_webdataset(files: list[str], num_epochs: int, num_workers: int) -> Iterable[Any]:
    import torch
    import webdataset

    def photo(sample: Any) -> tuple[np.ndarray, int]:
        return decode(sample[0]), int(sample[1])

    torch.set_num_threads(1)
    shards = archives_of(files) * num_epochs
    data = webdataset.WebDataset(
        shards, shardshuffle=len(shards), workersplitter=webdataset.split_by_worker
    )
    data = data.shuffle(500 // num_workers).to_tuple("jpg", "cls").map(photo)
    data = data.batched(BATCH_SIZE, partial=True)
    workers = {"num_workers": num_workers, "prefetch_factor": PREFETCH}
    return iter(webdataset.WebLoader(data, batch_size=None, **workers))


def archives_of(files: Sequence[str]) -> list[str]:
    """Returns tar files with the same photos, one for each part, created on the first run."""
    by_part: dict[str, list[str]] = {}
    for name in files:
        by_part.setdefault(Path(name).name.partition("-")[0], []).append(name)
    home = Path(files[0]).parent.parent
    targets = []
    for part, names in by_part.items():
        target = home / f"{part}.tar"
        targets.append(str(target))
        if not target.exists():
            pack(target, "jpg", ((Path(name).read_bytes(), label_of(name)) for name in names))
    return targets


def pack(target: Path, ending: str, samples: Iterable[tuple[bytes, int]]) -> None:
    """Writes a tar file of pairs: an example's content and its class."""
    with tarfile.open(f"{target}.part", "w") as archive:
        for number, (data, label) in enumerate(samples):
            for name, contents in ((ending, data), ("cls", str(label).encode())):
                member = tarfile.TarInfo(f"{number:06}.{name}")
                member.size = len(contents)
                archive.addfile(member, io.BytesIO(contents))
    Path(f"{target}.part").rename(target)


W3.limit("photos")
W3.limit("photos_half", "limit-half", "limit, at half size", HALF)
W3.limit("photos_decoded", "limit-decode", "libjpeg-turbo alone", "no resize")
