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
    pictures = np.empty((count, SIDE, SIDE, 3), np.uint8)
    bounds = np.linspace(0, count, len(files) + 1).astype(int).tolist()
    for name, begin, end in zip(files, bounds, bounds[1:], strict=False):
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
    return sums_of((pictures, labels))[1:]
