"""Targets equal torchvision's for fixed parameters; `make test-frameworks` installs it."""

import numpy as np
import pytest
from tests.ops.augment import test_mosaic
from tests.ops.augment.models import region
from tests.ops.augment.test_targets import BOXES, HEIGHT, KEYPOINTS, WIDTH, masks, moved, picture

from headrace import ops
from headrace.ops.augment.targets import takes_targets
from headrace.ops.image.resized_crop import _cropped

torch = pytest.importorskip("torch")
v2 = pytest.importorskip("torchvision.transforms.v2")
tv_tensors = pytest.importorskip("torchvision.tv_tensors")
F = v2.functional

SIZE = (HEIGHT, WIDTH)
START = [[0, 0], [29, 0], [29, 19], [0, 19]]
END = [[2, 1], [27, 3], [24, 18], [1, 15]]
CASES = {
    "horizontal_flip": (F.horizontal_flip, ops.flip_left_right),
    "vertical_flip": (F.vertical_flip, ops.flip_up_down),
    "crop": (
        lambda x: F.crop(x, 2, 5, 12, 20),
        lambda i, **t: ops.crop_to_bounding_box(i, 2, 5, 12, 20, **t),
    ),
    "pad": (
        lambda x: F.pad(x, [5, 2, 5, 8]),
        lambda i, **t: ops.pad_to_bounding_box(i, 2, 5, 30, 40, **t),
    ),
    "center_crop": (
        lambda x: F.center_crop(x, [9, 11]),
        lambda i, **t: ops.center_crop(i, (9, 11), **t),
    ),
    "center_crop with zeros": (
        # For odd margins, torchvision moves boxes one pixel further than pixels.
        lambda x: F.center_crop(x, [26, 34]),
        lambda i, **t: ops.center_crop(i, (26, 34), **t),
    ),
    **{
        f"resize {size}": (
            lambda x, size=size: F.resize(x, list(size)),
            lambda i, size=size, **t: ops.resize(i, size, **t),
        )
        for size in [(10, 60), (7, 13), (41, 29), (20, 30)]
    },
    **{
        f"affine {angle} {interpolation} {fill}": (
            lambda x, a=angle, m=interpolation, f=fill: (
                F.affine(x, a, [2, -3], 1.2, [8.0, -5.0], v2.InterpolationMode(m), f)
                if isinstance(x, tv_tensors.Image)
                else F.affine(x, a, [2, -3], 1.2, [8.0, -5.0])
            ),
            lambda i, a=angle, m=interpolation, f=fill, **t: ops.affine(
                i, a, [2, -3], 1.2, [8.0, -5.0], m, f, **t
            ),
        )
        for angle, interpolation, fill in [
            (30.0, "nearest", None),
            (-75.0, "bilinear", None),
            (10.0, "bilinear", [10, 200, 30]),
            (10.0, "nearest", 7),
        ]
    },
    "affine around a position": (
        lambda x: F.affine(x, 20.0, [0, 0], 1.0, [0.0, 0.0], center=[3.0, 4.0]),
        lambda i, **t: ops.affine(i, 20.0, [0, 0], 1.0, 0.0, center=[3.0, 4.0], **t),
    ),
    "perspective": (
        lambda x: F.perspective(x, START, END),
        lambda i, **t: ops.perspective(i, START, END, **t),
    ),
}


@pytest.mark.parametrize("name", CASES)
def test_operation_matches_torchvision(name):
    theirs, ours = CASES[name]
    result = moved(ours)
    image = tv_tensors.Image(torch.from_numpy(picture().transpose(2, 0, 1).copy()))
    boxes = tv_tensors.BoundingBoxes(torch.from_numpy(BOXES), format="XYXY", canvas_size=SIZE)
    points = tv_tensors.KeyPoints(torch.from_numpy(KEYPOINTS), canvas_size=SIZE)
    mask = tv_tensors.Mask(torch.from_numpy(masks(BOXES).astype(np.uint8)))
    pixels = theirs(image).numpy().transpose(1, 2, 0)
    difference = abs(result["image"].astype(int) - pixels)
    # A few pixels may be rounded to either neighbour.
    assert np.median(difference) == 0
    assert (difference > 1).mean() <= (0.03 if "nearest" in name or "affine" in name else 0)
    assert result["image"].dtype == np.uint8
    assert np.allclose(result["boxes"], theirs(boxes).numpy(), atol=2e-4)
    assert np.allclose(result["keypoints"], theirs(points).numpy(), atol=2e-4)
    assert (result["masks"] != theirs(mask).numpy()).mean() <= 0.01


def test_resized_crop_matches_torchvision():
    draws = np.random.default_rng(3).random(22, np.float32)
    attrs = {"height": 16, "width": 24, "scale": [0.3, 0.9], "ratio": [0.5, 2.0], "channels": 0}
    part = region(HEIGHT, WIDTH, (0.3, 0.9), (0.5, 2.0), draws)

    @takes_targets
    def crop(image):
        return _cropped(image, draws, attrs)

    result = moved(crop)
    boxes = tv_tensors.BoundingBoxes(torch.from_numpy(BOXES), format="XYXY", canvas_size=SIZE)
    points = tv_tensors.KeyPoints(torch.from_numpy(KEYPOINTS), canvas_size=SIZE)
    mask = tv_tensors.Mask(torch.from_numpy(masks(BOXES).astype(np.uint8)))
    for value, actual in ((boxes, "boxes"), (points, "keypoints"), (mask, "masks")):
        expected = F.resized_crop(value, *part, [16, 24])
        assert np.allclose(result[actual], expected.numpy(), atol=1e-4)


def test_mosaic_matches_a_torchvision_composition():
    height, width, row, column = 61, 83, 27, 37
    result = test_mosaic.run(
        lambda images, **lists: ops.mosaic(images, (height, width), center_range=0.45, **lists),
        **test_mosaic.targets(),
    )
    canvas = torch.full((3, height, width), 114, dtype=torch.uint8)
    joined = {"boxes": [], "masks": [], "keypoints": []}
    for number, pixels in enumerate(test_mosaic.pictures()):
        of_image = {name: values[number] for name, values in test_mosaic.targets().items()}
        h, w = pixels.shape[:2]
        scale = min(height / 2 / h, width / 2 / w)
        size = [round(h * scale), round(w * scale)]
        top = row - size[0] if number < 2 else row
        left = column - size[1] if number % 2 == 0 else column
        quarter = [
            [0, row][number // 2],
            [0, column][number % 2],
            [row, height - row][number // 2],
            [column, width - column][number % 2],
        ]

        def placed(target, fill, size=size, top=top, left=left, quarter=quarter):
            # Crops to the quarter before the rest of the mosaic is added.
            y, x, h, w = quarter
            part = F.crop(F.resize(target, size), y - top, x - left, h, w)
            return F.pad(part, [x, y, width - x - w, height - y - h], fill=fill)

        image = tv_tensors.Image(torch.from_numpy(pixels.transpose(2, 0, 1).copy()))
        inside = F.resize(image, size)
        y, x, h_part, w_part = quarter
        y0, x0 = max(top, y), max(left, x)
        y1, x1 = min(top + size[0], y + h_part), min(left + size[1], x + w_part)
        canvas[:, y0:y1, x0:x1] = inside[:, y0 - top : y1 - top, x0 - left : x1 - left]
        boxes, points = torch.from_numpy(of_image["boxes"]), torch.from_numpy(of_image["keypoints"])
        mask = tv_tensors.Mask(torch.from_numpy(of_image["masks"].astype(np.uint8)))
        for name, target in {
            "boxes": tv_tensors.BoundingBoxes(boxes, format="XYXY", canvas_size=(h, w)),
            "keypoints": tv_tensors.KeyPoints(points, canvas_size=(h, w)),
            "masks": mask,
        }.items():
            joined[name].append(placed(target, 0))
    pixels = canvas.numpy().transpose(1, 2, 0)
    assert abs(result["image"].astype(int) - pixels).max() <= 1
    for name, parts in joined.items():
        expected = np.concatenate([part.numpy() for part in parts])
        assert np.allclose(result[name], expected, atol=2e-4), name
