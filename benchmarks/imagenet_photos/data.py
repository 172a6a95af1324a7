"""JPEG photos, 500x375 at quality 90, in a directory for each class."""

from pathlib import Path

import numpy as np

from benchmarks.pictures import picture

LABELS = 100
WIDTH, HEIGHT = 500, 375


def make(home: Path, count: int) -> list[int]:
    """Writes photos; returns sums over their labels."""
    rng = np.random.default_rng(8)
    labels = rng.integers(0, LABELS, count)
    for number, label in enumerate(labels.tolist()):
        target = home / f"{label:03}"
        target.mkdir(exist_ok=True)
        picture(rng, WIDTH, HEIGHT).save(target / f"{number:05}.jpg", quality=90)
    return [int(labels.sum()), int(labels @ labels)]
