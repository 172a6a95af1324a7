"""CIFAR's binary files with NumPy, as vectorised as it gets."""

from collections.abc import Iterable, Iterator

import numpy as np


def records_of(files: Iterable[str]) -> Iterator[tuple[np.ndarray, ...]]:
    """Yields the records of CIFAR's binary files: uint8, (n, 3073)."""
    for name in files:
        yield (np.fromfile(name, np.uint8).reshape(-1, 3_073),)


def decode(records: np.ndarray) -> tuple[np.ndarray, ...]:
    """Returns images, uint8, (n, 32, 32, 3), and labels, int32, (n,), of records."""
    planes = records[:, 1:].reshape(-1, 3, 32, 32)
    return np.ascontiguousarray(planes.transpose(0, 2, 3, 1)), records[:, 0].astype(np.int32)


def augment(records: np.ndarray, generator: np.random.Generator) -> tuple[np.ndarray, ...]:
    """Returns crops, float32, (n, 24, 24, 3), mirrored and standardised, and labels, int32."""
    planes = records[:, 1:].reshape(-1, 3, 32, 32).transpose(0, 2, 3, 1)
    crops = np.empty((len(records), 24, 24, 3), np.float32)
    corners = generator.integers(0, 9, (len(records), 2)).tolist()
    mirrored = (generator.random(len(records)) < 0.5).tolist()
    for crop, image, (y, x), is_mirrored in zip(crops, planes, corners, mirrored, strict=True):
        crop[:] = image[y : y + 24, x : x + 24][:, :: -1 if is_mirrored else 1]
    rows = crops.reshape(len(records), -1)
    rows -= rows.mean(axis=1, keepdims=True)
    deviations = np.sqrt(np.einsum("ij,ij->i", rows, rows) / rows.shape[1])
    rows /= np.maximum(deviations, rows.shape[1] ** -0.5)[:, None].astype(np.float32)
    return crops, records[:, 0].astype(np.int32)
