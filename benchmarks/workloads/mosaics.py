"""W20: photos with boxes, combined into mosaics as trainers of detectors do."""

import json
import random
from collections.abc import Iterator, Sequence
from itertools import product
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from benchmarks.manual_loaders import cut
from benchmarks.workload import Part, Workload

BATCH_SIZE = 16
SIZE = 640
LOW, HIGH = 0.25, 0.75
"""The range of a mosaic's centre, as fractions of its sides."""
FILL = 114
DRAWS = 400
"""The number of centres from which the expected sums are computed."""


def make(home: Path, count: int) -> list[Part]:
    """Writes JPEG photos of 640 by 400 to 640 pixels with up to 14 boxes, and a COCO file."""
    from PIL import Image

    from benchmarks.pictures import photographs, section

    rng = np.random.default_rng(20)
    content: dict[str, list[Any]] = {"images": [], "annotations": [], "categories": []}
    content["categories"] = [{"id": number, "name": f"class {number}"} for number in range(80)]
    totals = np.zeros(3)
    for number in range(count):
        height = int(rng.integers(400, 641))
        original = photographs()[rng.integers(len(photographs()))]
        pixels = section(original, rng, 640, height, rng.uniform(1.0, 1.5))
        name = f"{number:05}.jpg"
        Image.fromarray(np.ascontiguousarray(pixels)).save(home / name, quality=90)
        content["images"].append({"id": number, "file_name": name})
        boxes = []
        for _ in range(rng.integers(1, 15)):
            sides = np.exp(rng.uniform(2.5, 5.9, 2))
            corner = rng.uniform(0, np.maximum([640, height] - sides, 1))
            boxes.append([*corner, *(corner + sides)])
            annotation = {"id": len(content["annotations"]), "image_id": number}
            category = int(rng.integers(80))
            box = [*corner.tolist(), *sides.tolist()]
            content["annotations"].append({**annotation, "category_id": category, "bbox": box})
        totals += [4 * number, *_expected(pixels[..., 0].mean(), height, np.array(boxes), rng)]
    (home / "objects.json").write_text(json.dumps(content))
    return [Part([], count, [round(total) for total in totals.tolist()])]


def _expected(
    red: float, height: int, boxes: np.ndarray, rng: np.random.Generator
) -> tuple[float, float]:
    """Returns the mean sums of a photo that is once in each quarter of a mosaic.

    The sums are those of red values, in thousands, and of the areas of boxes.
    """
    quarters = rng.uniform(LOW * SIZE, HIGH * SIZE, (DRAWS, 1, 2))
    sides = np.array([640, height]) / 2
    visible = np.minimum(sides, quarters).prod(-1).mean()
    area = 0.0
    for corner in product((0, 1), repeat=2):
        # The distances of the edges from the corner at the centre.
        ends = np.sort([abs(corner * sides - boxes[:, side : side + 2] / 2) for side in (0, 2)], 0)
        low, high = (np.minimum(end, quarters) for end in ends)
        area += (high - low).prod(-1).mean(0).sum()
    return 4 * (red * visible + FILL * (SIZE**2 / 4 - visible)) / 1000, area


def files_of(home: Path) -> list[str]:
    """Returns the photos in a data directory, sorted by name."""
    return sorted(map(str, home.glob("*.jpg")))


def sums_of(batch: Any) -> list[int]:
    """Sums photo numbers, (n, 4), red values, (n, 640, 640, 3), and the areas of boxes, (boxes, 4).

    Red values and areas are compared approximately, because centres are random.

    Raises:
        ValueError: If the mosaics have another type or shape.
    """
    images, boxes, numbers = (np.asarray(component) for component in batch)
    if images.shape != (len(numbers), SIZE, SIZE, 3) or images.dtype != np.uint8:
        raise ValueError(f"{images.dtype} mosaics of shape {images.shape}")
    areas = (boxes[:, 2:] - boxes[:, :2]).prod(1).sum(dtype=np.float64)
    reds = images[..., 0].sum(dtype=np.int64)
    return [len(images), int(numbers.sum()), round(reds / 1000), round(float(areas))]


W20 = Workload(
    __name__,
    "W20",
    "mosaics",
    "JPEG photos with boxes: decode, mosaics of four with 640x640 pixels, flip, batches of 16",
    "mosaics",
    sums_of,
    count=160,
    make=make,
    num_epochs=2,
    tolerances=[0, 0.1, 0.2],
)


@W20.program(
    "headrace",
    "headrace",
    "`hr.coco`, four shuffles, `hr.ops.mosaic` in a native function; a thread per core",
)
def with_headrace(home: Path, num_epochs: int) -> Iterator[Any]:
    import headrace as hr

    @hr.native
    def mosaic(example: Any) -> Any:
        images, boxes, labels, numbers = (
            [example[f"{part}.{name}"] for part in range(4)]
            for name in ("image", "boxes", "labels", "image_id")
        )
        images = [hr.ops.decode_jpeg(image, channels=3) for image in images]
        made = hr.ops.mosaic(images, SIZE, boxes, labels=labels, fill=FILL, min_area=1)
        flipped = hr.ops.random_horizontal_flip(made.image, boxes=made.boxes)
        numbers = hr.ops.stack(numbers)
        return {**flipped._asdict(), "labels": made.labels, "numbers": numbers}

    photos = hr.coco(home, home / "objects.json")
    four = hr.zip({f"{part}": photos.shuffle(seed=part) for part in range(4)})
    mosaics = four.epochs(num_epochs).map(mosaic, seed=4)
    for batch in mosaics.batch(BATCH_SIZE, ragged="offsets"):
        yield batch["image"], batch["boxes.values"], batch["numbers"]


class Photo(NamedTuple):
    """A photo as programs by hand read it."""

    path: str
    number: int
    boxes: np.ndarray
    labels: np.ndarray


def fours_of(home: Path, num_epochs: int) -> list[tuple[Photo, ...]]:
    """Returns the photos of each mosaic. Each photo is once in each quarter per epoch."""
    content = json.loads((home / "objects.json").read_text())
    objects: dict[int, list[Any]] = {image["id"]: [] for image in content["images"]}
    for entry in content["annotations"]:
        x, y, width, height = entry["bbox"]
        objects[entry["image_id"]].append([x, y, x + width, y + height, entry["category_id"]])
    photos = []
    for image in content["images"]:
        values = np.array(objects[image["id"]], np.float32)
        path = str(home / image["file_name"])
        photos.append(Photo(path, image["id"], values[:, :4], values[:, 4].astype(np.int64)))
    return [
        four
        for epoch in range(num_epochs)
        for four in zip(
            *(random.Random(4 * epoch + part).sample(photos, len(photos)) for part in range(4)),
            strict=True,
        )
    ]


def place_of(
    number: int, center: Sequence[int], height: int, width: int
) -> tuple[tuple[int, int], tuple[int, ...], tuple[int, ...]]:
    """Returns where a photo begins (x, y), the edges of its quarter, and its visible edges."""
    x, y = center
    left, right = ((0, x), (x, SIZE))[number % 2]
    top, bottom = ((0, y), (y, SIZE))[number // 2]
    x, y = left or right - width, top or bottom - height
    visible = max(x, left), max(y, top), min(x + width, right), min(y + height, bottom)
    return (x, y), (left, top, right, bottom), visible


def collected(mosaics: Sequence[tuple[Any, Any, Any]]) -> tuple[Any, Any, Any]:
    """Returns a batch."""
    images, boxes, numbers = zip(*mosaics, strict=True)
    return np.stack(images), np.concatenate(boxes), np.array(numbers)


@W20.program(
    "torchvision",
    "torchvision",
    "`torchvision.transforms.v2` and a mosaic by hand, one thread",
    "vision",
    ["torchvision.transforms.v2"],
)
def with_torchvision(home: Path, num_epochs: int) -> Iterator[Any]:
    import torch
    from torchvision import tv_tensors
    from torchvision.io import ImageReadMode, decode_jpeg, read_file
    from torchvision.transforms import v2

    torch.set_num_threads(1)
    rng = random.Random(4)
    flip = v2.Compose([v2.RandomHorizontalFlip(), v2.SanitizeBoundingBoxes(min_area=1)])

    def mosaic(four: Sequence[Photo]) -> tuple[Any, Any, Any]:
        center = [int(rng.uniform(LOW, HIGH) * SIZE) for _ in range(2)]
        canvas = torch.full((3, SIZE, SIZE), FILL, dtype=torch.uint8)
        parts = []
        for number, photo in enumerate(four):
            image = decode_jpeg(read_file(photo.path), ImageReadMode.RGB)
            height, width = image.shape[1:]
            scale = SIZE / 2 / max(height, width)
            size = [round(height * scale), round(width * scale)]
            boxes = tv_tensors.BoundingBoxes(
                torch.from_numpy(photo.boxes), format="XYXY", canvas_size=(height, width)
            )
            image, boxes = v2.functional.resize(image, size), v2.functional.resize(boxes, size)
            (x, y), quarter, (x0, y0, x1, y1) = place_of(number, center, *size)
            canvas[:, y0:y1, x0:x1] = image[:, y0 - y : y1 - y, x0 - x : x1 - x]
            shifted = boxes.as_subclass(torch.Tensor) + torch.tensor([x, y, x, y])
            low, high = torch.tensor(quarter[:2] * 2), torch.tensor(quarter[2:] * 2)
            parts.append(torch.minimum(torch.maximum(shifted, low), high))
        target = {
            "boxes": tv_tensors.BoundingBoxes(
                torch.cat(parts), format="XYXY", canvas_size=(SIZE, SIZE)
            ),
            "labels": torch.from_numpy(np.concatenate([photo.labels for photo in four])),
        }
        image, target = flip(tv_tensors.Image(canvas), target)
        numbers = [photo.number for photo in four]
        return image.permute(1, 2, 0).numpy(), target["boxes"].numpy(), numbers

    for fours in cut(fours_of(home, num_epochs), BATCH_SIZE):
        yield collected([mosaic(four) for four in fours])


@W20.program(
    "albumentations",
    "albumentations, OpenCV",
    "`albumentations` and a mosaic by hand, one thread",
    "vision",
    ["albumentations"],
)
def with_albumentations(home: Path, num_epochs: int) -> Iterator[Any]:
    import albumentations as A
    import cv2

    cv2.setNumThreads(1)
    rng = random.Random(4)
    options = {"label_fields": ["labels"]}
    fit = A.Compose([A.LongestMaxSize(SIZE // 2)], A.BboxParams("pascal_voc", **options))
    flip = A.Compose([A.HorizontalFlip()], A.BboxParams("pascal_voc", min_area=1, **options))

    def mosaic(four: Sequence[Photo]) -> tuple[Any, Any, Any]:
        center = [int(rng.uniform(LOW, HIGH) * SIZE) for _ in range(2)]
        canvas = np.full((SIZE, SIZE, 3), FILL, np.uint8)
        boxes, labels = [], []
        for number, photo in enumerate(four):
            image = cv2.cvtColor(cv2.imread(photo.path), cv2.COLOR_BGR2RGB)
            made = fit(image=image, bboxes=photo.boxes, labels=photo.labels)
            (x, y), quarter, (x0, y0, x1, y1) = place_of(number, center, *made["image"].shape[:2])
            canvas[y0:y1, x0:x1] = made["image"][y0 - y : y1 - y, x0 - x : x1 - x]
            shifted = made["bboxes"] + np.array([x, y, x, y])
            boxes.append(np.clip(shifted, quarter[:2] * 2, quarter[2:] * 2))
            labels.append(made["labels"])
        inside = np.concatenate(boxes)
        is_visible = (inside[:, 2:] > inside[:, :2]).all(1)
        names = np.concatenate(labels)[is_visible]
        made = flip(image=canvas, bboxes=inside[is_visible], labels=names)
        return made["image"], made["bboxes"], [photo.number for photo in four]

    for fours in cut(fours_of(home, num_epochs), BATCH_SIZE):
        yield collected([mosaic(four) for four in fours])
