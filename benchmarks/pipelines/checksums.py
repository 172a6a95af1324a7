"""Sums over what a program gave, to be compared with those over its data.

They are cheap, since they are taken while the clock runs, and exact wherever all programs compute
the same. An example that is lost or comes twice changes them.
"""

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

Batch = Any
"""The components of a batch, as NumPy arrays or what NumPy takes for one."""

PIXELS = slice(98, None, 196)
"""Of a digit's 784 pixels, those that are summed."""

ROWS = slice(3, None, 32)
"""Of a photo's rows and columns, those that are summed."""

MICRO = 1e6
"""Numbers are written with six decimals, so their millions are whole."""


def examples(batch: Batch) -> tuple[int, list[int]]:
    """Images, float32, (n, 784), -0.5 to 0.5; labels, int64, (n,)."""
    images, labels = (np.asarray(component) for component in batch)
    pixels = np.rint((images[:, PIXELS] + 0.5) * 255)
    return len(labels), [int(labels.sum()), int(pixels.sum(dtype=np.float64))]


def augmented_images(batch: Batch) -> tuple[int, list[int]]:
    """Standardised images, float32, (n, 24, 24, 3); labels, integers, (n,), 0 to 255."""
    images, labels = (np.asarray(component) for component in batch)
    first = images[0]
    if images.shape[1:] != (24, 24, 3) or abs(first.mean()) > 1e-3 or first.std() > 1.001:
        raise ValueError(f"{images.shape} images of mean {first.mean()}, deviation {first.std()}")
    wide = labels.astype(np.int64)
    return len(labels), [int(wide.sum()), int(wide @ wide)]


def images(batch: Batch) -> tuple[int, list[int]]:
    """Images, uint8, (n, 32, 32, 3); labels, integers, (n,), 0 to 255."""
    pictures, labels = (np.asarray(component) for component in batch)
    wide = labels.astype(np.int64)
    middle = pictures[:, 16, 16].sum(dtype=np.int64)
    return len(labels), [int(wide.sum()), int(wide @ wide), int(middle)]


def photos(batch: Batch) -> tuple[int, list[int]]:
    """Photos, uint8, (n, 224, 224, 3); labels, integers, (n,). The pixels' sum is approximate."""
    pictures, labels = (np.asarray(component) for component in batch)
    if pictures.shape[1:] != (224, 224, 3) or pictures.dtype != np.uint8:
        raise ValueError(f"{pictures.dtype} photos of shape {pictures.shape}")
    return len(labels), [int(labels.sum()), int(pictures[:, ROWS, ROWS].sum(dtype=np.int64))]


def numbers(batch: Batch) -> tuple[int, list[int]]:
    """Features, float32, (n, 10); labels, integers, (n,)."""
    features, labels = (np.asarray(component) for component in batch)
    ends = np.rint(features[:, ::9] * MICRO).sum(axis=0, dtype=np.float64)
    return len(labels), [int(labels.sum()), int(ends[0]), int(ends[1])]


def lines(batch: Batch) -> tuple[int, list[int]]:
    """Lines, bytes without their ends, (n,); or an array of Arrow's with offsets of 64 bits."""
    if hasattr(batch, "buffers"):
        _, offsets, data = batch.buffers()
        ends = np.frombuffer(offsets, np.int64)
        return len(batch), [len(memoryview(data)[ends[0] : ends[-1]])]
    texts = batch.tolist() if isinstance(batch, np.ndarray) else batch
    return len(texts), [len(b"".join(texts))]


CHECKSUMS: dict[str, Callable[[Batch], tuple[int, list[int]]]] = {
    "examples": examples,
    "augmented_images": augmented_images,
    "images": images,
    "photos": photos,
    "numbers": numbers,
    "lines": lines,
}

TOLERANCES = {"photos": [0, 0.02]}
"""How far a sum may be off, as a part of it, where programs differ in how they round and resize."""


def difference(task: str, expected: Sequence[int], got: Sequence[int]) -> str:
    """Returns what is wrong with what came out of a run; nothing if it is right.

    Args:
        task: A key of `CHECKSUMS`.
        expected: The number of examples, then the sums over the data; there may be more of them.
        got: The number of examples that came, then their sums.
    """
    expected = expected[: len(got)]
    tolerances = [0.0, *TOLERANCES.get(task, [0.0] * len(got))][: len(got)]
    if all(
        abs(value - wanted) <= tolerance * wanted
        for wanted, value, tolerance in zip(expected, got, tolerances, strict=True)
    ):
        return ""
    return f"examples were lost or doubled: number and sums {list(got)}, expected {list(expected)}"
