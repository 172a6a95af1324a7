"""Boxes, masks and keypoints follow the pixels of their image."""

from typing import Any

import numpy as np
import pytest
from tests.ops.augment.models import warped

import headrace as hr
from headrace import ops

HEIGHT, WIDTH = 20, 30
BOXES = np.array([[3, 4, 11, 9], [20, 2, 29, 17], [0, 0, 30, 20]], np.float32)
KEYPOINTS = np.array([[3, 4], [10, 8], [20, 2], [28, 16]], np.float32)


def moved(function: Any, seed: int | None = None, **targets: Any) -> Any:
    """Runs a function on an image and its targets, and returns the fields of its result."""
    if not targets:
        targets = {"boxes": BOXES, "masks": masks(BOXES), "keypoints": KEYPOINTS}
    row = {"image": picture()} | targets
    rows = hr.arrays({name: np.asarray(value)[None] for name, value in row.items()})

    @hr.native
    def run(example: Any) -> Any:
        image = example["image"]
        return function(image, **{name: example[name] for name in targets})._asdict()

    [result] = rows.map(run, seed=seed)
    return result


def picture() -> Any:
    """Pixels that number the rows and columns, from 1."""
    y, x = np.mgrid[1 : HEIGHT + 1, 1 : WIDTH + 1]
    return np.stack([y, x, y * x % 251], -1).astype(np.uint8)


def masks(boxes: Any, height: int = HEIGHT, width: int = WIDTH) -> Any:
    """The pixels inside each box."""
    y, x = np.mgrid[:height, :width]
    return np.stack([(x >= a) & (y >= b) & (x < c) & (y < d) for a, b, c, d in boxes])


def check_consistency(result: Any) -> None:
    """Checks that the masks of rectangles fill the moved boxes."""
    height, width = result["image"].shape[:2]
    for box, mask in zip(result["boxes"], result["masks"], strict=True):
        rows, columns = np.nonzero(mask)
        if len(rows):
            edges = [columns.min(), rows.min(), columns.max() + 1, rows.max() + 1]
            assert np.allclose(box, edges), (box, edges)
    assert result["masks"].shape == (3, height, width)


WHOLE_PIXELS = {
    "flip_left_right": (ops.flip_left_right, lambda x: x[:, ::-1]),
    "flip_up_down": (ops.flip_up_down, lambda x: x[::-1]),
    "transpose": (ops.transpose_image, lambda x: x.swapaxes(0, 1)),
    **{
        f"rot90 {k}": (
            lambda image, k=k, **t: ops.rot90(image, k, **t),
            lambda x, k=k: np.rot90(x, k),
        )
        for k in (-1, 0, 1, 2, 3, 4)
    },
    "crop": (
        lambda image, **t: ops.crop_to_bounding_box(image, 2, 5, 12, 20, **t),
        lambda x: x[2:14, 5:25],
    ),
    "pad": (
        lambda image, **t: ops.pad_to_bounding_box(image, 2, 5, 30, 40, **t),
        lambda x: np.pad(x, [(2, 8), (5, 5)] + [(0, 0)] * (x.ndim - 2)),
    ),
    "crop or pad": (
        lambda image, **t: ops.resize_image_with_crop_or_pad(image, 13, 35, **t),
        lambda x: np.pad(x[3:16], [(0, 0), (2, 3)] + [(0, 0)] * (x.ndim - 2)),
    ),
    "centre": (lambda image, **t: ops.center_crop(image, (9, 11), **t), lambda x: x[6:15, 10:21]),
    "centre with zeros": (
        lambda image, **t: ops.center_crop(image, (25, 11), **t),
        lambda x: np.pad(x[:, 10:21], [(2, 3), (0, 0)] + [(0, 0)] * (x.ndim - 2)),
    ),
    "central": (lambda image, **t: ops.central_crop(image, 0.5, **t), lambda x: x[5:15, 7:23]),
    "all": (lambda image, **t: ops.central_crop(image, 1.0, **t), lambda x: x),
}


@pytest.mark.parametrize("name", WHOLE_PIXELS)
def test_targets_move_with_whole_pixels(name):
    function, expected = WHOLE_PIXELS[name]
    result = moved(function)
    assert list(result) == ["image", "boxes", "masks", "keypoints"]
    assert np.array_equal(result["image"], expected(picture()))
    for mask, before in zip(result["masks"], masks(BOXES), strict=True):
        assert np.array_equal(mask, expected(before))
    check_consistency(result)
    height, width = result["image"].shape[:2]
    for (x, y), (old_x, old_y) in zip(result["keypoints"], KEYPOINTS, strict=True):
        if 0 <= x < width and 0 <= y < height:
            pixel = picture()[int(old_y), int(old_x)]
            assert np.array_equal(result["image"][int(y), int(x)], pixel)


def test_targets_follow_a_random_crop():
    result = moved(lambda image, **t: ops.random_crop(image, [12, 16, 3], **t), seed=3)
    row, column = result["image"][0, 0, :2].astype(int) - 1
    assert np.array_equal(result["image"], picture()[row : row + 12, column : column + 16])
    assert np.array_equal(result["masks"], masks(BOXES)[:, row : row + 12, column : column + 16])
    assert np.array_equal(result["keypoints"], KEYPOINTS - [column, row])
    check_consistency(result)


@pytest.mark.parametrize(
    ("flip", "axis"),
    [
        (ops.random_flip_left_right, 1),
        (ops.random_flip_up_down, 0),
        (lambda image, **t: ops.random_horizontal_flip(image, 0.5, **t), 1),
    ],
)
def test_targets_are_flipped_only_with_their_image(flip, axis):
    flips = []
    for seed in range(8):
        result = moved(flip, seed=seed)
        is_flipped = not np.array_equal(result["image"], picture())
        flips.append(is_flipped)
        turned = np.flip(masks(BOXES), axis + 1) if is_flipped else masks(BOXES)
        assert np.array_equal(result["masks"], turned)
        check_consistency(result)
    assert set(flips) == {True, False}


def test_targets_follow_a_resize():
    result = moved(lambda image, **t: ops.resize(image, [10, 60], **t))
    assert result["image"].dtype == np.uint8
    assert np.allclose(result["boxes"], BOXES * [2, 0.5, 2, 0.5])
    assert np.allclose(result["keypoints"], KEYPOINTS * [2, 0.5])
    rows, columns = np.arange(10) * 2, np.arange(60) // 2
    assert np.array_equal(result["masks"], masks(BOXES)[:, rows][:, :, columns])


def test_resize_without_targets_is_unchanged():
    [example] = hr.arrays({"image": picture()[None]}).map(
        hr.native(lambda e: {"image": ops.resize(e["image"], [10, 60])})
    )
    assert example["image"].dtype == np.float32


def test_targets_follow_a_resize_that_keeps_the_aspect_ratio():
    result = moved(lambda i, **t: ops.resize(i, [10, 60], preserve_aspect_ratio=True, **t))
    assert result["image"].shape == (10, 15, 3)
    assert np.allclose(result["boxes"], BOXES / 2)


def test_float_images_stay_floats():
    def shrunk(image: Any, boxes: Any) -> Any:
        return ops.resize(ops.cast(image, np.float32), [10, 15], boxes=boxes)

    result = moved(shrunk, boxes=BOXES)
    assert result["image"].dtype == np.float32
    assert not np.array_equal(result["image"], np.rint(result["image"]))


def test_targets_follow_a_random_resized_crop():
    for seed in range(5):
        result = moved(lambda i, **t: ops.random_resized_crop(i, (40, 60), **t), seed=seed)
        # The last box is the whole image, so its mask covers every pixel of the crop.
        assert result["masks"][2].all()
        assert np.allclose(result["boxes"][2], [0, 0, 60, 40])
        for box, mask in zip(result["boxes"][:2], result["masks"][:2], strict=True):
            rows, columns = np.nonzero(mask)
            if len(rows):
                edges = [columns.min(), rows.min(), columns.max() + 1, rows.max() + 1]
                assert abs(box - edges).max() <= 8


def test_random_resized_crop_of_a_file_moves_boxes():
    file = hr.native(lambda e: {"x": ops.encode_png(e["x"])})({"x": picture()})["x"]
    crop = hr.native(lambda e: ops.random_resized_crop(e["file"], 16, boxes=e["boxes"])._asdict())
    of_pixels = hr.native(
        lambda e: ops.random_resized_crop(e["image"], 16, boxes=e["boxes"])._asdict()
    )
    files = np.array([file], object)
    [one] = hr.arrays({"file": files, "boxes": BOXES[None]}).map(crop, seed=1)
    [other] = hr.arrays({"image": picture()[None], "boxes": BOXES[None]}).map(of_pixels, seed=1)
    assert np.array_equal(one["boxes"], other["boxes"])
    assert np.array_equal(one["image"], other["image"])


def test_letterbox_keeps_the_aspect_ratio_and_adds_margins():
    result = moved(lambda image, **t: ops.letterbox(image, (61, 60), **t))
    assert result["image"].shape == (61, 60, 3)
    assert (result["image"][:10] == 114).all()
    assert (result["image"][50:] == 114).all()
    assert result["image"][10:50, :, 1].max() <= WIDTH
    assert np.allclose(result["boxes"], BOXES * 2 + [0, 10, 0, 10])
    assert np.allclose(result["keypoints"], KEYPOINTS * 2 + [0, 10])
    expected = masks(BOXES).repeat(2, 1).repeat(2, 2)
    assert np.array_equal(result["masks"], np.pad(expected, [(0, 0), (10, 11), (0, 0)]))


@pytest.mark.parametrize(
    ("angle", "translate", "scale", "shear"),
    [(30.0, [2, -3], 1.2, 0.0), (-75, [0, 0], 0.6, [10.0, -5.0]), (0, [4.5, 0.25], 1, [0, 12])],
)
def test_affine_moves_pixels_and_targets(angle, translate, scale, shear):
    result = moved(lambda i, **t: ops.affine(i, angle, translate, scale, shear, **t))
    to_result = _affine(angle, translate, scale, shear)
    to_image = np.linalg.inv(to_result)
    expected, is_near = warped(picture(), to_image[:2])
    assert np.array_equal(result["image"][~is_near], expected[~is_near])
    for mask, before in zip(result["masks"], masks(BOXES), strict=True):
        assert np.array_equal(
            mask[~is_near], warped(before[..., None].astype(np.uint8), to_image[:2])[0][~is_near, 0]
        )
    middle = np.array([WIDTH / 2, HEIGHT / 2])
    points = (KEYPOINTS - middle) @ to_result[:2, :2].T + to_result[:2, 2] + middle
    assert np.allclose(result["keypoints"], points, atol=1e-4)
    corners = BOXES[:, [0, 1, 2, 1, 2, 3, 0, 3]].reshape(-1, 4, 2) - middle
    corners = corners @ to_result[:2, :2].T + to_result[:2, 2] + middle
    edges = np.concatenate([corners.min(1), corners.max(1)], 1)
    limits = [WIDTH, HEIGHT, WIDTH, HEIGHT]
    assert np.allclose(result["boxes"], np.clip(edges, 0, limits), atol=1e-4)


def _affine(angle: float, translate: Any, scale: float, shear: Any) -> Any:
    """The map of positions from the centre: first a shear, then a rotation clockwise."""
    along_x, along_y = np.radians([shear, 0] if np.isscalar(shear) else shear)
    turn = np.radians(angle)
    rotation = np.array([[np.cos(turn), -np.sin(turn)], [np.sin(turn), np.cos(turn)]])
    sheared_y = np.array([[1, 0], [-np.tan(along_y), 1]])
    sheared_x = np.array([[1, -np.tan(along_x)], [0, 1]])
    matrix = np.eye(3)
    matrix[:2, :2] = scale * rotation @ sheared_y @ sheared_x
    matrix[:2, 2] = translate
    return matrix


def test_random_zoom_out_places_the_image_on_a_larger_canvas():
    sizes = set()
    for seed in range(6):
        result = moved(lambda i, **t: ops.random_zoom_out(i, 9, (1.0, 2.0), p=0.8, **t), seed=seed)
        height, width = result["image"].shape[:2]
        sizes.add((height, width))
        assert HEIGHT <= height <= 2 * HEIGHT
        assert WIDTH <= width <= 2 * WIDTH
        left, top, right, bottom = result["boxes"][2].astype(int)
        inner = result["image"][top:bottom, left:right]
        assert np.array_equal(inner, picture())
        assert (result["image"] == 9).all(-1).sum() >= height * width - HEIGHT * WIDTH
        check_consistency(result)
    assert len(sizes) > 1
    assert (HEIGHT, WIDTH) in sizes


def test_random_iou_crop_keeps_boxes_whose_centre_is_inside():
    parts = set()
    for seed in range(12):
        result = moved(
            lambda i, **t: ops.random_iou_crop(i, overlaps=[0.3, 1.0], min_area=1, **t),
            seed=seed,
            boxes=BOXES,
            masks=masks(BOXES),
        )
        height, width = result["image"].shape[:2]
        row, column = result["image"][0, 0, :2].astype(int) - 1
        parts.add((row, column, height, width))
        centres = (BOXES[:, :2] + BOXES[:, 2:]) / 2 - [column, row]
        is_inside = ((centres > 0) & (centres < [width, height])).all(1)
        is_whole = (height, width) == (HEIGHT, WIDTH)
        assert np.array_equal(result["kept"], is_inside | is_whole)
        shift, limits = [column, row] * 2, [width, height] * 2
        assert np.allclose(result["boxes"], np.clip(BOXES - shift, 0, limits)[result["kept"]])
        assert is_whole or 0.5 <= width / height <= 2.0
        overlaps = [_overlap(box, [column, row, column + width, row + height]) for box in BOXES]
        assert is_whole or max(np.array(overlaps)[is_inside]) >= 0.3
        assert result["masks"].shape == (len(result["boxes"]), height, width)
    assert len(parts) > 3
    assert (0, 0, HEIGHT, WIDTH) in parts


def _overlap(one: Any, other: Any) -> float:
    sides = np.minimum(one[2:], other[2:]) - np.maximum(one[:2], other[:2])
    both = max(sides[0], 0) * max(sides[1], 0)
    areas = [(box[2] - box[0]) * (box[3] - box[1]) for box in (one, other)]
    return both / (sum(areas) - both)


def test_boxes_outside_a_random_iou_crop_become_empty():
    for seed in range(30):
        result = moved(
            lambda i, boxes: ops.random_iou_crop(i, boxes, overlaps=[0.0]), seed=seed, boxes=BOXES
        )
        assert result["boxes"].shape == (3, 4)
        if (result["boxes"] == 0).all(1).any():
            return
    raise AssertionError("every part contains all centres")


def test_random_iou_crop_without_boxes_keeps_the_image():
    empty = np.zeros((0, 4), np.float32)
    result = moved(ops.random_iou_crop, seed=1, boxes=empty)
    assert np.array_equal(result["image"], picture())


def test_affine_accepts_random_tensors():
    def turned(image: Any, boxes: Any) -> Any:
        angle = ops.random_uniform([], -30.0, 30.0)
        shift = ops.random_uniform([2], -2.0, 2.0)
        return ops.affine(image, angle, shift, 1.0, 0.0, "bilinear", boxes=boxes)

    first, second = (moved(turned, seed=seed, boxes=BOXES) for seed in (1, 2))
    assert not np.array_equal(first["image"], second["image"])
    assert not np.array_equal(first["boxes"], second["boxes"])


def test_perspective_moves_the_corners():
    start = [[0, 0], [30, 0], [30, 20], [0, 20]]
    end = [[2, 1], [28, 3], [25, 19], [1, 16]]
    result = moved(lambda i, **t: ops.perspective(i, start, end, fill=7, **t), keypoints=start)
    assert np.allclose(result["keypoints"], end, atol=1e-3)
    assert (result["image"][0, 0] == 7).all()
    boxes = moved(lambda i, **t: ops.perspective(i, start, end, **t), boxes=[[0, 0, 30, 20]])
    assert np.allclose(boxes["boxes"], [[1, 1, 28, 19]], atol=1e-3)


@pytest.mark.parametrize("format", ["xyxy", "xywh", "cxcywh"])
@pytest.mark.parametrize("normalized", [False, True])
def test_box_formats_are_equivalent(format, normalized):
    def convert(boxes: Any, height: int, width: int) -> Any:
        left, top, right, bottom = np.asarray(boxes, np.float64).T
        numbers = {
            "xyxy": [left, top, right, bottom],
            "xywh": [left, top, right - left, bottom - top],
            "cxcywh": [(left + right) / 2, (top + bottom) / 2, right - left, bottom - top],
        }[format]
        return np.stack(numbers, 1) / ([width, height] * 2 if normalized else 1)

    def crop(image: Any, **targets: Any) -> Any:
        return ops.crop_to_bounding_box(image, 2, 5, 12, 20, **targets)

    expected = moved(crop, boxes=BOXES)["boxes"]
    result = moved(
        lambda i, boxes: crop(i, boxes=boxes, format=format, normalized=normalized),
        boxes=convert(BOXES, HEIGHT, WIDTH),
    )["boxes"]
    assert np.allclose(result, convert(expected, 12, 20), atol=1e-5)


def test_normalized_keypoints_are_fractions_of_the_sides():
    points = KEYPOINTS / [WIDTH, HEIGHT]
    result = moved(
        lambda i, keypoints: ops.flip_left_right(i, keypoints=keypoints, normalized=True),
        keypoints=points,
    )
    expected = KEYPOINTS * [-1, 1] + [WIDTH - 1, 0]
    assert np.allclose(result["keypoints"], expected / [WIDTH, HEIGHT])


def test_keypoints_of_objects_keep_their_shape():
    points = KEYPOINTS.reshape(2, 2, 2)
    result = moved(ops.flip_up_down, keypoints=points)
    assert np.array_equal(result["keypoints"], points * [1, -1] + [0, HEIGHT - 1])


def test_small_boxes_are_removed_with_their_masks_and_keypoints():
    points = np.arange(12, dtype=np.float32).reshape(3, 2, 2)
    result = moved(
        lambda i, **t: ops.crop_to_bounding_box(i, 0, 15, 20, 15, min_area=1.0, **t),
        boxes=BOXES,
        masks=masks(BOXES),
        keypoints=points,
    )
    assert list(result) == ["image", "boxes", "masks", "keypoints", "kept"]
    assert result["kept"].tolist() == [False, True, True]
    assert np.array_equal(result["boxes"], [[5, 2, 14, 17], [0, 0, 15, 20]])
    assert np.array_equal(result["masks"], masks(BOXES)[1:, :, 15:])
    assert np.array_equal(result["keypoints"], points[1:] - [15, 0])


def test_boxes_are_clipped_but_kept_by_default():
    def crop(image: Any, boxes: Any) -> Any:
        return ops.crop_to_bounding_box(image, 0, 15, 20, 15, boxes=boxes)

    assert np.array_equal(moved(crop, boxes=BOXES)["boxes"][0], [0, 4, 0, 9])


def test_images_without_objects_have_empty_targets():
    empty = {
        "boxes": np.zeros((0, 4), np.float32),
        "masks": np.zeros((0, HEIGHT, WIDTH), np.uint8),
        "keypoints": np.zeros((0, 2), np.float32),
    }
    functions = [function for function, _ in WHOLE_PIXELS.values()]
    functions += [
        lambda i, **t: ops.resize(i, [10, 15], **t),
        lambda i, **t: ops.random_resized_crop(i, [10, 15], **t),
        ops.random_horizontal_flip,
        lambda i, **t: ops.letterbox(i, 40, **t),
        lambda i, **t: ops.affine(i, 10, [0, 0], 1, 0, **t),
    ]
    for function in functions:
        result = moved(function, seed=1, **empty)
        assert result["boxes"].shape == (0, 4)
        assert result["masks"].shape == (0, *result["image"].shape[:2])
        assert result["keypoints"].shape == (0, 2)


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"boxes": [[5, 0, 4, 1]]}, r"box 0 is \(5, 0, 4, 1\), expected x1 <= x2 .* format=.xywh"),
        ({"boxes": [[0, 0, np.inf, 1]]}, "box 0 is .* expected finite numbers"),
        ({"boxes": [[0, 0, -1, 1]], "format": "xywh"}, "expected a width and a height of at least"),
        ({"masks": np.zeros((1, 5, 5), np.uint8)}, r"masks has shape \[1,5,5\], but the image has"),
        (
            {"boxes": BOXES, "masks": masks(BOXES[:1]), "min_area": 1},
            "must|mismatch|shape|incompatible|dimension",
        ),
    ],
)
def test_invalid_values_are_rejected_at_run_time(arguments, message):
    with pytest.raises((hr.errors.OpError, ValueError), match=message):
        _flip_with(arguments)


@pytest.mark.parametrize(
    ("arguments", "error", "message"),
    [
        ({"boxes": np.zeros(4)}, ValueError, r"boxes has shape \(4,\), expected \(boxes, 4\)"),
        ({"boxes": BOXES, "format": "yx"}, ValueError, "format is 'yx', expected 'xyxy'"),
        ({"boxes": BOXES, "min_area": -1}, ValueError, "min_area is -1, expected a number of at"),
        ({"keypoints": KEYPOINTS, "min_area": 1}, ValueError, "min_area needs boxes"),
        ({"masks": np.zeros((1, 20, 30))}, TypeError, "masks has type float64, expected uint8"),
        ({"masks": np.zeros((20, 30), np.uint8)}, ValueError, r"expected \(masks, height, width\)"),
        ({"keypoints": np.zeros(2)}, ValueError, r"keypoints has shape \(2,\), expected \(points"),
        ({"boxes": np.array([["a"] * 4], object)}, TypeError, "boxes has type string"),
    ],
)
def test_invalid_arguments_are_rejected(arguments, error, message):
    with pytest.raises(error, match=message):
        _flip_with(arguments)


def _flip_with(arguments: Any) -> None:
    targets = {
        name: arguments[name] for name in ("boxes", "masks", "keypoints") if name in arguments
    }
    options = {name: value for name, value in arguments.items() if name not in targets}
    moved(lambda i, **t: ops.flip_left_right(i, **t, **options), **targets)


def test_batch_of_images_with_targets_is_rejected():
    flip = hr.native(lambda e: ops.flip_left_right(e["x"], boxes=BOXES)._asdict())
    with pytest.raises(ValueError, match=r"the image has shape .* Call it on each image, before"):
        list(hr.arrays({"x": picture()[None]}).batch(1).map(flip))


def test_operations_without_targets_accept_batches():
    flip = hr.native(lambda e: {"x": ops.flip_left_right(e["x"])})
    [batch] = hr.arrays({"x": picture()[None]}).batch(1).map(flip)
    assert np.array_equal(batch["x"][0], picture()[:, ::-1])


def test_help_describes_the_targets():
    assert "boxes: float32, (boxes, 4)" in ops.flip_left_right.__doc__
    assert "a named tuple" in ops.random_resized_crop.__doc__
