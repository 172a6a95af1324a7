"""W19: photos of many sizes, cut into the patches of a vision-language model."""

from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from benchmarks.manual_loaders import cut, epochs_of
from benchmarks.workload import Part, Workload

BATCH_SIZE = 8
PATCH = 14
SIDE = 2 * PATCH
MIN_PIXELS, MAX_PIXELS = 56 * 56, 28 * 28 * 1280
"""The limits of Qwen2-VL's processor."""
MEAN = [0.48145466, 0.4578275, 0.40821073]
STD = [0.26862954, 0.26130258, 0.27577711]


def make(home: Path, count: int) -> list[Part]:
    """Writes JPEG photos of 0.05 to 0.9 megapixels, which are not reduced much."""
    from PIL import Image

    from benchmarks.pictures import photographs, section

    rng = np.random.default_rng(19)
    totals = np.zeros(2, np.int64)
    for number in range(count):
        width, height = (int(side) for side in np.exp(rng.uniform(5.4, 6.8, 2)))
        original = photographs()[rng.integers(len(photographs()))]
        pixels = section(original, rng, width, height, rng.uniform(1.0, 1.5))
        path = home / f"{number:05}.jpg"
        Image.fromarray(np.ascontiguousarray(pixels)).save(path, quality=90)
        new_width, new_height = (round(side / SIDE) * SIDE for side in (width, height))
        with Image.open(path) as photo:
            resized = photo.resize((new_width, new_height), Image.Resampling.BICUBIC)
        reds = (np.asarray(resized)[..., 0] / 255 - MEAN[0]) / STD[0]
        totals += [new_width * new_height // PATCH**2, round(reds.sum() * 100)]
    return [Part([], count, totals.tolist())]


def files_of(home: Path) -> list[str]:
    """Returns the photos in a data directory, sorted by name."""
    return sorted(map(str, home.glob("*.jpg")))


def sums_of(batch: Any) -> list[int]:
    """Sums patches, float32, (n, 1176), and the grids of photos, (photos, 3).

    Pixel values are compared approximately, because programs round differently.

    Raises:
        ValueError: If they are not such patches.
    """
    patches, grids = (np.asarray(component) for component in batch)
    if patches.shape != (grids.prod(1).sum(), 2 * 3 * PATCH**2) or patches.dtype != np.float32:
        raise ValueError(f"{patches.dtype} patches of shape {patches.shape}")
    reds = patches[:, : PATCH**2].sum(dtype=np.float64)
    return [len(grids), len(patches), round(reds * 100)]


W19 = Workload(
    __name__,
    "W19",
    "patches",
    "JPEG photos of many sizes: decode, resize and cut into Qwen2-VL's patches, batches of 8",
    "photos",
    sums_of,
    count=160,
    make=make,
    num_epochs=2,
    tolerances=[0, 0.01],
)


@W19.program(
    "headrace", "headrace", "`hr.files`, `hr.ops.patches` in a native function; a thread per core"
)
def with_headrace(home: Path, num_epochs: int) -> Iterator[Any]:
    import headrace as hr

    @hr.native
    def patches(example: Any) -> Any:
        return hr.ops.patches(example["data"], mean=MEAN, std=STD)._asdict()

    photos = hr.files(files_of(home)).shuffle(seed=1).epochs(num_epochs).map(patches)
    for batch in photos.batch(BATCH_SIZE, ragged="offsets"):
        yield batch["pixel_values.values"], batch["grid"]


@W19.program(
    "transformers-pillow",
    "transformers, Pillow",
    "`Qwen2VLImageProcessorPil`, one thread",
    "vision",
    ["transformers", "torch"],
    backend="Pil",
)
@W19.program(
    "transformers-torchvision",
    "transformers, torchvision",
    "`Qwen2VLImageProcessor`, one thread",
    "vision",
    ["transformers", "torchvision"],
    backend="",
)
def with_transformers(home: Path, num_epochs: int, backend: str) -> Iterator[Any]:
    import torch
    import transformers
    from PIL import Image

    torch.set_num_threads(1)
    processor = getattr(transformers, f"Qwen2VLImageProcessor{backend}")(
        image_mean=MEAN, image_std=STD, min_pixels=MIN_PIXELS, max_pixels=MAX_PIXELS
    )

    def patches(names: Sequence[str]) -> tuple[Any, Any]:
        images = [Image.open(name).convert("RGB") for name in names]
        result = processor(images, return_tensors="np")
        return result["pixel_values"], result["image_grid_thw"]

    for names in cut(epochs_of(files_of(home), num_epochs), BATCH_SIZE):
        yield patches(names)
