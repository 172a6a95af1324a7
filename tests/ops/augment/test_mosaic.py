"""Four images become one, together with their targets."""

from typing import Any

import numpy as np
import pytest

import headrace as hr
from headrace import ops

SIZES = [(20, 30), (7, 12), (40, 18), (16, 16)]
BOXES = [
    [[3, 4, 11, 9], [20, 2, 29, 17]],
    [[0, 0, 12, 7]],
    [],
    [[2, 2, 6, 15], [0, 0, 1, 1], [8, 8, 16, 16]],
]


def pictures(dtype: Any = np.uint8) -> list[Any]:
    random = np.random.default_rng(5)
    return [random.integers(0, 256, (*size, 3)).astype(dtype) for size in SIZES]


def targets() -> dict[str, list[Any]]:
    boxes = [np.array(of_image, np.float32).reshape(-1, 4) for of_image in BOXES]
    return {
        "boxes": boxes,
        "masks": [masks(of_image, *size) for of_image, size in zip(boxes, SIZES, strict=True)],
        "keypoints": [of_image.reshape(-1, 2, 2) for of_image in boxes],
        "labels": [number * 10 + np.arange(len(of_image)) for number, of_image in enumerate(boxes)],
    }


def masks(boxes: Any, height: int, width: int) -> Any:
    """The pixels inside each box, (boxes, height, width)."""
    y, x = np.mgrid[:height, :width]
    edges = boxes.T[:, :, None, None]
    return (x >= edges[0]) & (y >= edges[1]) & (x < edges[2]) & (y < edges[3])


def run(function: Any, seed: int | None = None, images: Any = None, **lists: Any) -> Any:
    """Runs a function of lists in a pipeline, and returns the fields of its result."""
    lists = {"images": images or pictures(), **lists}
    row = {f"{name}{k}": value for name, values in lists.items() for k, value in enumerate(values)}

    @hr.native
    def call(example: Any) -> Any:
        arguments = {
            name: [example[f"{name}{k}"] for k in range(len(values))]
            for name, values in lists.items()
        }
        result = function(**arguments)
        return result._asdict() if hasattr(result, "_asdict") else {"image": result}

    [result] = hr.arrays({name: np.asarray(value)[None] for name, value in row.items()}).map(
        call, seed=seed
    )
    return result


def resized(image: Any, size: tuple[int, int]) -> Any:
    """Resizes an image as `resize` does, which is compared with torchvision elsewhere."""
    resize = hr.native(lambda e: {"x": ops.resize(e["x"], list(size), antialias=True)})
    pixels = resize({"x": image})["x"]
    return np.rint(pixels).astype(np.uint8) if image.dtype == np.uint8 else pixels


def composed(
    size: tuple[int, int], center: tuple[int, int], resize: Any = resized, dtype: Any = np.uint8
) -> dict[str, Any]:
    """The mosaic in a few lines of NumPy."""
    height, width = size
    row, column = center
    canvas = np.full((height, width, 3), 114, dtype)
    result: dict[str, list[Any]] = {"boxes": [], "masks": [], "keypoints": [], "labels": []}
    for number, image in enumerate(pictures(dtype)):
        of_image = {name: values[number] for name, values in targets().items()}
        h, w = image.shape[:2]
        scale = min(height / 2 / h, width / 2 / w)
        h_new, w_new = max(round(h * scale), 1), max(round(w * scale), 1)
        top = row - h_new if number < 2 else row
        left = column - w_new if number % 2 == 0 else column
        rows, columns = slice(max(top, 0), top + h_new), slice(max(left, 0), left + w_new)
        part = np.s_[rows.start - top : height - top, columns.start - left : width - left]
        pixels = resize(image, (h_new, w_new))[part]
        canvas[rows, columns] = pixels
        area = (slice(0, row), slice(row, height))[number // 2]
        across = (slice(0, column), slice(column, width))[number % 2]
        ratio = np.array([w_new / w, h_new / h])
        corners = of_image["boxes"].reshape(-1, 2, 2) * ratio + [left, top]
        low, high = [across.start, area.start], [across.stop, area.stop]
        result["boxes"].append(np.clip(corners, low, high).reshape(-1, 4))
        result["keypoints"].append(of_image["keypoints"] * ratio + [left, top])
        y, x = np.arange(h_new) * h // h_new, np.arange(w_new) * w // w_new
        mask = np.zeros((len(corners), height, width), np.bool_)
        mask[:, rows, columns] = of_image["masks"][:, y][:, :, x][:, part[0], part[1]]
        result["masks"].append(mask)
        result["labels"].append(of_image["labels"])
    return {"image": canvas} | {name: np.concatenate(values) for name, values in result.items()}


CASES = [
    ((64, 64), 0.5, (32, 32)),
    ((40, 60), 0.25, (10, 15)),
    ((60, 41), 0.75, (45, 30)),
    ((2, 2), 0.5, (1, 1)),
    ((33, 9), 0.01, (1, 1)),
    ((33, 9), 0.99, (32, 8)),
]


@pytest.mark.parametrize(("size", "part", "center"), CASES)
def test_mosaic_equals_a_composition_in_numpy(size, part, center):
    result = run(
        lambda images, **lists: ops.mosaic(images, size, center_range=part, **lists), **targets()
    )
    expected = composed(size, center)
    assert list(result) == ["image", "boxes", "masks", "keypoints", "labels"]
    assert np.array_equal(result["image"], expected["image"])
    assert np.array_equal(result["masks"], expected["masks"])
    assert np.array_equal(result["labels"], expected["labels"])
    assert np.allclose(result["boxes"], expected["boxes"], atol=1e-4)
    assert np.allclose(result["keypoints"], expected["keypoints"], atol=1e-4)


def test_float_images_keep_their_type():
    result = run(
        lambda images: ops.mosaic(images, 64, center_range=0.5), images=pictures(np.float32)
    )
    expected = composed((64, 64), (32, 32), dtype=np.float32)
    assert result["image"].dtype == np.float32
    assert np.allclose(result["image"], expected["image"], atol=1e-4)


def test_small_boxes_are_removed_with_their_other_targets():
    def small(images: Any, **lists: Any) -> Any:
        return ops.mosaic(images, (40, 60), center_range=0.25, min_area=20, **lists)

    result, expected = run(small, **targets()), composed((40, 60), (10, 15))
    left, top, right, bottom = expected["boxes"].T
    kept = (right - left) * (bottom - top) >= 20
    assert 0 < kept.sum() < len(kept)
    assert np.array_equal(result["kept"], kept)
    for name in ("boxes", "masks", "keypoints", "labels"):
        assert np.allclose(result[name], expected[name][kept], atol=1e-4), name


@pytest.mark.parametrize("format", ["xyxy", "xywh", "cxcywh"])
@pytest.mark.parametrize("normalized", [False, True])
def test_box_formats_are_equivalent(format, normalized):
    def stored(boxes: Any, height: int, width: int) -> Any:
        low, high = boxes[:, :2], boxes[:, 2:]
        if format != "xyxy":
            low, high = low if format == "xywh" else (low + high) / 2, high - low
        unit = [width, height] if normalized else [1, 1]
        return np.concatenate([low / unit, high / unit], 1).astype(np.float32)

    boxes = [stored(of, *size) for of, size in zip(targets()["boxes"], SIZES, strict=True)]
    result = run(
        lambda images, boxes: ops.mosaic(
            images, (40, 60), boxes, center_range=0.5, format=format, normalized=normalized
        ),
        boxes=boxes,
    )
    expected = stored(composed((40, 60), (20, 30))["boxes"], 40, 60)
    assert np.allclose(result["boxes"], expected, atol=1e-4)


def test_center_is_drawn_within_its_range():
    white = [np.full((64, 64, 1), number, np.uint8) for number in (10, 20, 30, 40)]
    centers = set()
    for seed in range(60):
        image = run(
            lambda images: ops.mosaic(images, 64, center_range=(0.25, 0.5), fill=0),
            seed=seed,
            images=white,
        )["image"][:, :, 0]
        row, column = (np.isin(image, [10, 20]).any(1).sum(), np.isin(image, [10, 30]).any(0).sum())
        assert image[row - 1, column - 1] == 10
        assert image[row, column] == 40
        centers.add((row, column))
    rows, columns = map(set, zip(*centers, strict=True))
    for positions in (rows, columns):
        assert min(positions) >= 16
        assert max(positions) < 32
        assert len(positions) > 10


def test_labels_may_have_any_type():
    names = [np.array([b"a", b"b"], object), *([np.array([b"c"], object)] * 3)]
    boxes = [np.zeros((len(of_image), 4), np.float32) for of_image in names]
    result = run(
        lambda images, boxes, labels: ops.mosaic(images, 64, boxes, labels=labels),
        seed=1,
        boxes=boxes,
        labels=names,
    )
    assert result["labels"].tolist() == [b"a", b"b", b"c", b"c", b"c"]


@pytest.mark.parametrize("min_area", [None, 1])
def test_number_of_labels_must_match_the_boxes(min_area):
    wrong = {name: targets()[name] for name in ("boxes", "labels")}
    wrong["labels"][3] = np.arange(2)

    def combine(images: Any, **lists: Any) -> Any:
        return ops.mosaic(images, 64, center_range=0.5, min_area=min_area, **lists)

    with pytest.raises(ValueError, match="incompatible"):
        run(combine, **wrong)

    @hr.native
    def combine_unknown(example: Any) -> Any:
        lists = {name: [example[f"{name}{k}"] for k in range(4)] for name in wrong}
        return combine(pictures(), **lists)._asdict()

    row = {f"{name}{k}": value for name, values in wrong.items() for k, value in enumerate(values)}
    # The sizes are known only when it runs.
    with pytest.raises(hr.errors.InvalidArgumentError, match=r"mosaic|mask"):
        list(hr.iterable(lambda: [row]).map(combine_unknown))


@pytest.mark.parametrize(
    ("arguments", "error", "message"),
    [
        ({"size": 1}, ValueError, "mosaic: size is 1, expected sides of at least 2"),
        ({"center_range": 0}, ValueError, "center_range is 0, expected two numbers above 0"),
        ({"center_range": (0.6, 0.5)}, ValueError, "center_range is .*, the smaller one first"),
        ({"fill": 256}, ValueError, "fill is 256, expected a number from 0 to 255"),
        ({"min_area": 1}, ValueError, "min_area needs boxes"),
        ({"format": "xxyy"}, ValueError, "format is 'xxyy'"),
        (
            {"boxes": [[[0, 0, 1, 1]]]},
            ValueError,
            "boxes has 1 tensors, expected one for each of 4",
        ),
        ({"boxes": 3}, TypeError, "boxes is 3, expected a list with one tensor for each of the 4"),
        ({"labels": [1, 2, 3, 4]}, ValueError, "expected one label per object"),
    ],
)
def test_invalid_arguments_are_rejected(arguments, error, message):
    with pytest.raises(error, match=message):
        run(lambda images: ops.mosaic(images, **{"size": 64, **arguments}), seed=1)


def test_mosaic_needs_four_images_of_one_type():
    with pytest.raises(
        ValueError, match="mosaic: images has 3 tensors, expected one for each of 4"
    ):
        run(lambda images: ops.mosaic(images, 64), seed=1, images=pictures()[:3])
    mixed = [*pictures()[:3], pictures(np.float32)[3]]
    with pytest.raises(TypeError, match=r"mosaic: the images have types \['float32', 'uint8'\]"):
        run(lambda images: ops.mosaic(images, 64), seed=1, images=mixed)
    batch = np.zeros((4, 8, 8, 3), np.uint8)
    with pytest.raises(TypeError, match=r"mosaic: images is .*, expected a list with one"):
        hr.native(lambda e: {"x": ops.mosaic(e["x"], 8)})({"x": batch})


class TestPipeline:
    """Partners that are drawn by several shuffles of one pipeline."""

    COUNT = 23

    def mosaics(self) -> Any:
        numbers = np.arange(self.COUNT)
        image = np.broadcast_to(numbers[:, None, None, None], (self.COUNT, 4, 6, 3))
        data = hr.arrays({"image": image.astype(np.uint8), "label": numbers[:, None]})
        four = hr.zip({str(k): data.shuffle(seed=k) for k in range(4)})

        @hr.native
        def combine(example: Any) -> Any:
            parts = [{n: example[f"{k}.{n}"] for n in ("image", "label")} for k in range(4)]
            images, labels = ([part[name] for part in parts] for name in ("image", "label"))
            boxes = [np.array([[0, 0, 6, 4]], np.float32)] * 4
            return ops.mosaic(images, 16, boxes, labels=labels)._asdict()

        return four.map(combine, seed=5)

    def test_each_example_is_in_each_quarter_once_per_epoch(self):
        pipe = self.mosaics()
        assert len(pipe) == self.COUNT
        labels = np.array([example["labels"] for example in pipe])
        assert labels.shape == (self.COUNT, 4)
        for column in labels.T:
            assert sorted(column) == list(range(self.COUNT))
        assert not np.array_equal(labels[:, 0], labels[:, 1])

    def test_labels_match_the_pixels_of_their_boxes(self):
        for example in self.mosaics().epochs(2):
            for box, label in zip(example["boxes"].astype(int), example["labels"], strict=True):
                left, top, right, bottom = box
                assert (example["image"][top:bottom, left:right] == label).all()

    def test_resume_and_shards_continue_exactly(self):
        pipe = self.mosaics().epochs(2).batch(5)

        def seen(batches: Any) -> list[Any]:
            return [(batch["image"].tolist(), batch["labels"].tolist()) for batch in batches]

        expected = seen(pipe)
        running = iter(pipe)
        first = seen(next(running) for _ in range(6))
        assert first + seen(pipe.resume(running.state())) == expected
        whole = seen(self.mosaics().batch(1))
        shards = [seen(self.mosaics().shard(rank, 2).batch(1)) for rank in range(2)]
        assert sorted(shards[0] + shards[1]) == sorted(whole)

    def test_failing_image_can_be_skipped(self):
        files = [b"broken" if n == 3 else png(n) for n in range(8)]
        data = hr.arrays({"file": np.array(files, object)})
        four = hr.zip({str(k): data.shuffle(seed=k) for k in range(4)})

        @hr.native
        def combine(example: Any) -> Any:
            images = [
                ops.decode_image(example[f"{k}.file"], channels=3, expand_animations=False)
                for k in range(4)
            ]
            return {"image": ops.mosaic(images, 16)}

        rest = list(four.map(combine, seed=5).skip_errors(8))
        assert 4 <= len(rest) < 8


def png(number: int) -> bytes:
    encode = hr.native(lambda e: {"file": ops.encode_png(e["x"])})
    return encode({"x": np.full((4, 6, 3), number, np.uint8)})["file"]
