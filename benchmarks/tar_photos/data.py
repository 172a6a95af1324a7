"""Tar files of pairs: a small JPEG and its label."""

import io
import tarfile
from pathlib import Path

import numpy as np

from benchmarks.pictures import picture
from benchmarks.tar_photos.work import SIDE, files_of, sums_of

LABELS = 1_000


def make(home: Path, count: int) -> list[int]:
    """Writes pictures into archives; returns sums over them."""
    rng = np.random.default_rng(12)
    files = files_of(home)
    labels = rng.integers(0, LABELS, count)
    archives = [tarfile.open(name, "w") for name in files]
    pictures = np.empty((count, SIDE, SIDE, 3), np.uint8)
    for number, label in enumerate(labels.tolist()):
        file = io.BytesIO()
        image = picture(rng, SIDE, SIDE)
        image.save(file, "JPEG", quality=90)
        pictures[number] = image
        for ending, data in (("jpg", file.getvalue()), ("cls", str(label).encode())):
            member = tarfile.TarInfo(f"{number:06}.{ending}")
            member.size = len(data)
            archives[number * len(files) // count].addfile(member, io.BytesIO(data))
    for archive in archives:
        archive.close()
    return sums_of((pictures, labels))[1:]
