"""W8: ImageNet photos: crop a random part, flip, normalise."""

import math
import random
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from benchmarks.libraries import (
    MappedDataset,
    grain_reading,
    spdl_batches,
    tfdata_batches,
    torch_loader,
)
from benchmarks.manual_loaders import cut, epochs_of
from benchmarks.workload import BY_HAND, Part, Workload

BATCH_SIZE = 64
SIDE = 224
MEAN = (0.485, 0.456, 0.406)
DEVIATION = (0.229, 0.224, 0.225)
LABELS = 100
WIDTH, HEIGHT = 500, 375


def make(home: Path, count: int) -> list[Part]:
    """Writes 500x375 JPEG photos with quality 90 into a directory for each class."""
    from benchmarks.pictures import picture

    rng = np.random.default_rng(8)
    labels = rng.integers(0, LABELS, count)
    for number, label in enumerate(labels.tolist()):
        target = home / f"{label:03}"
        target.mkdir(exist_ok=True)
        picture(rng, WIDTH, HEIGHT).save(target / f"{number:05}.jpg", quality=90)
    return [Part([], count, [int(labels.sum()), int(labels @ labels)])]


def files_of(home: Path) -> list[str]:
    """Returns the photos in a data directory. Their subdirectories are named after their labels."""
    return sorted(str(path) for path in home.glob("*/*.jpg"))


def label_of(name: str) -> int:
    """Returns a photo's label, which is the name of its directory."""
    return int(name.rsplit("/", 2)[1])


def sums_of(batch: Any) -> list[int]:
    """Sums the labels of photos. Pixels are random.

    Args:
        batch: Photos, float32, (n, 3, 224, 224), around 0, and labels, integers, (n,).

    Raises:
        ValueError: If they are not normalised photos.
    """
    photos, labels = (np.asarray(component) for component in batch)
    corner = photos[:, :, ::32, ::32]
    if photos.shape[1:] != (3, SIDE, SIDE) or photos.dtype != np.float32:
        raise ValueError(f"{photos.dtype} photos of shape {photos.shape}")
    if not 0.1 < corner.std() < 2 or abs(corner.mean()) > 1 or np.abs(corner).max() > 2.7:
        raise ValueError(f"photos of mean {corner.mean()}, deviation {corner.std()}")
    wide = labels.astype(np.int64)
    return [len(wide), int(wide.sum()), int(wide @ wide)]


W8 = Workload(
    __name__,
    "W8",
    "imagenet",
    "JPEG photos, 500x375: a random part resized to 224x224, flip, normalise to float32, "
    "batches of 64",
    "photos",
    sums_of,
    count=1_000,
    make=make,
    num_epochs=3,
)
DECODED = "decoded whole with simplejpeg, resized with OpenCV"
PHOTO_TOOLS = ["cv2", "simplejpeg"]


@W8.program(
    "headrace", "headrace", "`hr.image_folder`, a native function; one thread for each core"
)
def with_headrace(home: Path, num_epochs: int) -> Iterable[Any]:
    import headrace as hr

    @hr.native
    def augmented(example: Any) -> Any:
        image = hr.ops.random_resized_crop(example["data"], SIDE, dct_method="fast")
        image = hr.ops.random_horizontal_flip(image)
        return {"image": hr.ops.normalize(image, MEAN, DEVIATION), "label": example["label"]}

    photos = hr.image_folder(home)
    classes = [int(name) for name in photos.classes]
    shuffled = photos.shuffle(seed=1).epochs(num_epochs).map(augmented, seed=2)
    for batch in shuffled.batch(BATCH_SIZE):
        yield batch["image"], [classes[label] for label in batch["label"].tolist()]


def load(name: str) -> tuple[np.ndarray, int]:
    """Returns a random, perhaps mirrored part of a photo, uint8, (224, 224, 3), and its label."""
    import cv2
    import simplejpeg

    cv2.setNumThreads(1)
    pixels = simplejpeg.decode_jpeg(Path(name).read_bytes(), colorspace="RGB", fastdct=True)
    top, left, height, width = part_of(*pixels.shape[:2])
    part = pixels[top : top + height, left : left + width]
    small = cv2.resize(part, (SIDE, SIDE), interpolation=cv2.INTER_LINEAR)
    return (cv2.flip(small, 1) if random.random() < 0.5 else small), label_of(name)


def part_of(height: int, width: int) -> tuple[int, int, int, int]:
    """Draws top, left, height and width of a part, like torchvision's RandomResizedCrop."""
    for _ in range(10):
        area = height * width * random.uniform(0.08, 1.0)
        ratio = math.exp(random.uniform(math.log(3 / 4), math.log(4 / 3)))
        rows, columns = round(math.sqrt(area / ratio)), round(math.sqrt(area * ratio))
        if 0 < rows <= height and 0 < columns <= width:
            top, left = random.randint(0, height - rows), random.randint(0, width - columns)
            return top, left, rows, columns
    return 0, 0, height, width


SCALE = (1 / (255 * np.array(DEVIATION))).astype(np.float32)
SHIFT = (-np.array(MEAN) / np.array(DEVIATION)).astype(np.float32)


def normalised(photos: Sequence[tuple[np.ndarray, int]]) -> tuple[np.ndarray, np.ndarray]:
    """Returns a batch: photos, float32, (n, 3, 224, 224), around 0, and labels."""
    import cv2

    images, labels = zip(*photos, strict=True)
    batch = np.empty((len(images), 3, SIDE, SIDE), np.float32)
    for target, image in zip(batch, images, strict=True):
        for channel, plane in enumerate(cv2.split(image)):
            np.multiply(plane, SCALE[channel], out=target[channel])
            target[channel] += SHIFT[channel]
    return batch, np.array(labels)


@W8.program(
    BY_HAND, "simplejpeg and OpenCV by hand", f"one thread; {DECODED}", "numpy", PHOTO_TOOLS
)
def by_hand(home: Path, num_epochs: int) -> Iterator[Any]:
    for names in cut(epochs_of(files_of(home), num_epochs), BATCH_SIZE):
        yield normalised([load(name) for name in names])


@W8.program("spdl", "SPDL", f"two threads; {DECODED}", "spdl", ["spdl.pipeline", *PHOTO_TOOLS])
def with_spdl(home: Path, num_epochs: int) -> Iterator[Any]:
    return spdl_batches(epochs_of(files_of(home), num_epochs), load, BATCH_SIZE, normalised)


@W8.program("grain", "Grain", f"two threads; {DECODED}", "grain", PHOTO_TOOLS)
def with_grain(home: Path, num_epochs: int) -> Iterator[Any]:
    import grain

    names = grain.MapDataset.source(files_of(home)).shuffle(seed=1).repeat(num_epochs)
    photos = names.map(load).to_iter_dataset(grain_reading(64))
    return iter(photos.batch(BATCH_SIZE, batch_fn=normalised))


@W8.program(
    "torch",
    "PyTorch, two workers",
    f"`DataLoader(num_workers=2, prefetch_factor=4)`; {DECODED}",
    "torch",
    PHOTO_TOOLS,
)
def with_torch(home: Path, num_epochs: int) -> Iterable[Any]:
    import torch

    def collate(photos: Any) -> Any:
        return tuple(map(torch.from_numpy, normalised(photos)))

    photos = MappedDataset(load, files_of(home) * num_epochs)
    return iter(torch_loader(photos, BATCH_SIZE, 2, shuffle=True, collate_fn=collate))


@W8.program("tf.data", "tf.data", "`AUTOTUNE`, in any order; `decode_and_crop_jpeg`", "tensorflow")
def with_tfdata(home: Path, num_epochs: int) -> Iterable[Any]:
    """Returns batches. Only the selected part of each photo is decoded."""
    import tensorflow as tf

    def load(name: Any, label: Any) -> Any:
        data = tf.io.read_file(name)
        begin, size, _ = tf.image.sample_distorted_bounding_box(
            tf.io.extract_jpeg_shape(data),
            [[[0.0, 0.0, 1.0, 1.0]]],
            aspect_ratio_range=(3 / 4, 4 / 3),
            area_range=(0.08, 1.0),
            max_attempts=10,
            min_object_covered=0.0,
            use_image_if_no_bounding_boxes=True,
        )
        window = tf.stack([begin[0], begin[1], size[0], size[1]])
        part = tf.io.decode_and_crop_jpeg(data, window, channels=3)
        image = tf.image.random_flip_left_right(tf.image.resize(part, [SIDE, SIDE]))
        image = (image / 255.0 - MEAN) / DEVIATION
        return tf.transpose(image, [2, 0, 1]), label

    files = files_of(home)
    pairs = tf.data.Dataset.from_tensor_slices((files, [label_of(name) for name in files]))
    photos = pairs.shuffle(len(files)).repeat(num_epochs).map(load, tf.data.AUTOTUNE)
    return tfdata_batches(photos.batch(BATCH_SIZE))


W8.limit("augmented_photos")
