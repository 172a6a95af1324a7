"""Pictures with simplejpeg (libjpeg-turbo), for the libraries that leave decoding to the user."""

from collections.abc import Iterable, Iterator, Sequence
from typing import Any

import numpy as np
import simplejpeg

Sample = tuple[bytes, bytes]
"""The file of a picture, and its label as text."""


def decode(sample: Sample) -> tuple[np.ndarray, int]:
    """Returns a picture, uint8, (height, width, 3), and its label."""
    data, label = sample
    return simplejpeg.decode_jpeg(data, colorspace="RGB", fastdct=True), int(label)


def stack(pictures: Sequence[tuple[np.ndarray, int]]) -> tuple[np.ndarray, np.ndarray]:
    """Returns a batch."""
    images, labels = zip(*pictures, strict=True)
    return np.stack(images), np.array(labels)


def pairs(members: Iterable[tuple[str, Any]]) -> Iterator[Sample]:
    """Yields samples of the names and contents of an archive, where two neighbours are one."""
    walk = iter(members)
    for (_, picture), (_, label) in zip(walk, walk, strict=True):
        yield bytes(picture), bytes(label)
