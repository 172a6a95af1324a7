"""The recipe with simplejpeg and OpenCV, for the libraries that leave it to the user."""

import math
import random
from collections.abc import Sequence
from pathlib import Path

import cv2
import numpy as np
import simplejpeg

from benchmarks.imagenet_photos.work import DEVIATION, MEAN, SIDE, label_of

cv2.setNumThreads(1)

SCALE = (1 / (255 * np.array(DEVIATION))).astype(np.float32)
SHIFT = (-np.array(MEAN) / np.array(DEVIATION)).astype(np.float32)


def load(name: str) -> tuple[np.ndarray, int]:
    """Returns a random part of a photo, uint8, (224, 224, 3), perhaps mirrored, and its label."""
    pixels = simplejpeg.decode_jpeg(Path(name).read_bytes(), colorspace="RGB", fastdct=True)
    top, left, height, width = part_of(*pixels.shape[:2])
    part = pixels[top : top + height, left : left + width]
    small = cv2.resize(part, (SIDE, SIDE), interpolation=cv2.INTER_LINEAR)
    return (cv2.flip(small, 1) if random.random() < 0.5 else small), label_of(name)


def part_of(height: int, width: int) -> tuple[int, int, int, int]:
    """Returns top, left, height and width of a part, as torchvision's RandomResizedCrop draws."""
    for _ in range(10):
        area = height * width * random.uniform(0.08, 1.0)
        ratio = math.exp(random.uniform(math.log(3 / 4), math.log(4 / 3)))
        rows, columns = round(math.sqrt(area / ratio)), round(math.sqrt(area * ratio))
        if 0 < rows <= height and 0 < columns <= width:
            top, left = random.randint(0, height - rows), random.randint(0, width - columns)
            return top, left, rows, columns
    return 0, 0, height, width


def normalised(photos: Sequence[tuple[np.ndarray, int]]) -> tuple[np.ndarray, np.ndarray]:
    """Returns a batch: photos, float32, (n, 3, 224, 224), around 0, and labels."""
    images, labels = zip(*photos, strict=True)
    batch = np.empty((len(images), 3, SIDE, SIDE), np.float32)
    for target, image in zip(batch, images, strict=True):
        for channel, plane in enumerate(cv2.split(image)):
            np.multiply(plane, SCALE[channel], out=target[channel])
            target[channel] += SHIFT[channel]
    return batch, np.array(labels)
