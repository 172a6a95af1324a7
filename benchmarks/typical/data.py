"""Files that are read, made of random numbers."""

import io
from collections.abc import Callable
from pathlib import Path

import numpy as np
from PIL import Image

from benchmarks.instructions.program import write_examples, write_images, write_numbers

Write = Callable[[Path, np.random.Generator, int], None]


def photo(rng: np.random.Generator, width: int, height: int) -> Image.Image:
    """Returns large blots with noise, which take as many bytes a pixel as a photo does."""
    blots = Image.fromarray(rng.integers(0, 256, (8, 8, 3), dtype=np.uint8))
    pixels = np.asarray(blots.resize((width, height), Image.Resampling.BICUBIC), np.float64)
    noisy = pixels + rng.normal(0, 5, pixels.shape)
    return Image.fromarray(noisy.clip(0, 255).astype(np.uint8))


def encoded(picture: Image.Image, kind: str) -> bytes:
    """Returns a file of a kind that PIL knows."""
    file = io.BytesIO()
    picture.save(file, kind)
    return file.getvalue()


def write_lines(path: Path, rng: np.random.Generator, count: int) -> None:
    """Writes lines of 5 to 58 letters and spaces."""
    letters = rng.integers(ord("`"), ord("z") + 1, (count, 58), dtype=np.uint8)
    lengths = rng.integers(5, 59, count).tolist()
    lines = [row[:n].tobytes() for row, n in zip(letters, lengths, strict=True)]
    path.write_bytes(b"\n".join(lines).replace(b"`", b" ") + b"\n")


FILES: dict[str, tuple[Write, int]] = {
    "examples": (write_examples, 30_000),
    "images": (write_images, 20_000),
    "numbers": (write_numbers, 50_000),
    "lines": (write_lines, 200_000),
}
"""What the workloads read, and how many there are of it."""


def write(directory: Path, scale: float) -> dict[str, list[str]]:
    """Writes the files of all workloads.

    Returns:
        For each workload its files.
    """
    rng = np.random.default_rng(1)
    files = {}
    for name, (write_file, count) in FILES.items():
        path = directory / name
        write_file(path, rng, round(scale * count))
        files[name] = [str(path)]
    photos = [directory / "photos" / str(n % 10) / f"{n}.jpg" for n in range(round(scale * 200))]
    for path in photos:
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(encoded(photo(rng, 640, 480), "jpeg"))
    return {**files, "photos": [str(path) for path in photos]}
