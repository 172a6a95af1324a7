"""Masks, keypoints and crowds of a COCO file."""

import json

import numpy as np
import pytest
from tests.pipeline.run_lengths import compressed

import headrace as hr
from headrace.core import errors

HEIGHT, WIDTH = 6, 8
SQUARE = [[1, 1, 4, 1, 4, 3, 1, 3]]
# Two polygons that overlap, partly outside the image, with corners between pixels.
POLYGONS = [[0.3, 0.7, 5.2, 1.9, 2.6, 5.4], [-2, 3, 9.5, 3.5, 9.5, 20, -2, 7]]
# The mask that pycocotools 2.0.11 draws for them.
DRAWN = [
    "00000000",
    "01100000",
    "01111000",
    "11111111",
    "11111111",
    "11111111",
]
RUNS = [7, 3, 20, 2, 16]
POINTS = [1, 2, 2, 3, 4, 1, 0, 0, 0]


def write(root, annotations, categories=None, **size):
    """Writes two images and a COCO file, and returns the arguments of `coco`."""
    (root / "photos").mkdir(parents=True, exist_ok=True)
    size = size or {"height": HEIGHT, "width": WIDTH}
    images = [{"id": number, "file_name": f"{number}.png", **size} for number in (1, 2)]
    for image in images:
        (root / "photos" / image["file_name"]).write_bytes(b"...")
    entries = [
        {"id": 10 + n, "image_id": 1, "category_id": 1, "bbox": [1, 2, 3, 4], **annotation}
        for n, annotation in enumerate(annotations)
    ]
    categories = categories or [{"id": 1, "name": "person"}]
    content = {"images": images, "annotations": entries, "categories": categories}
    (root / "objects.json").write_text(json.dumps(content))
    return root / "photos", root / "objects.json"


def runs(counts, height=HEIGHT, width=WIDTH):
    return {"size": [height, width], "counts": counts}


def of_runs(counts, height=HEIGHT, width=WIDTH):
    values = np.arange(len(counts)) % 2
    return np.repeat(values, counts).reshape(width, height).T.astype(np.uint8)


def masks_of(root, annotations, **options):
    return next(iter(hr.coco(*write(root, annotations), masks=True, **options)))["masks"]


def test_polygons_and_run_lengths_are_drawn_as_masks(tmp_path):
    outlines = [SQUARE, runs(RUNS), runs(compressed(RUNS)), POLYGONS]
    masks = masks_of(tmp_path, [{"segmentation": outline} for outline in outlines])
    assert masks.dtype == np.uint8
    assert masks.shape == (4, HEIGHT, WIDTH)
    square = np.zeros((HEIGHT, WIDTH))
    square[1:3, 1:4] = 1
    assert np.array_equal(masks[0], square)
    assert np.array_equal(masks[1], of_runs(RUNS))
    assert np.array_equal(masks[2], masks[1])
    assert ["".join(map(str, row)) for row in masks[3]] == DRAWN


def test_rectangles_between_pixels_are_drawn_exactly(tmp_path):
    random = np.random.default_rng(1)
    edges = random.integers(0, [WIDTH, HEIGHT], (50, 2, 2))
    low, high = edges.min(1), edges.max(1)
    polygons = [[[a, b, c, b, c, d, a, d]] for (a, b), (c, d) in zip(low, high, strict=True)]
    annotations = [{"segmentation": np.array(polygon).tolist()} for polygon in polygons]
    y, x = np.mgrid[:HEIGHT, :WIDTH]
    expected = [
        (x >= a) & (x < c) & (y >= b) & (y < d) for (a, b), (c, d) in zip(low, high, strict=True)
    ]
    assert np.array_equal(masks_of(tmp_path, annotations), expected)


def test_random_run_lengths_are_decoded_from_both_forms(tmp_path):
    random = np.random.default_rng(2)
    ends = [
        np.sort(random.integers(0, HEIGHT * WIDTH + 1, random.integers(1, 9))) for _ in range(99)
    ]
    counts = [np.diff([0, *end, HEIGHT * WIDTH]).tolist() for end in ends]
    expected = [of_runs(run) for run in counts]
    for encode in (list, compressed):
        annotations = [{"segmentation": runs(encode(run))} for run in counts]
        assert np.array_equal(masks_of(tmp_path, annotations), expected)


def test_long_runs_are_decompressed(tmp_path):
    counts = [70_000, 3, 40_000, 120_000, 1, 169_996]
    outline = runs(compressed(counts), 400, 1000)
    arguments = write(tmp_path, [{"segmentation": outline}], height=400, width=1000)
    [mask] = next(iter(hr.coco(*arguments, masks=True)))["masks"]
    assert np.array_equal(mask, of_runs(counts, 400, 1000))


def test_images_without_objects_have_no_masks_and_no_keypoints(tmp_path):
    annotations = [{"segmentation": SQUARE, "keypoints": POINTS}]
    pipe = hr.coco(*write(tmp_path, annotations), masks=True, keypoints=True)
    _, second = pipe
    assert second["masks"].shape == (0, HEIGHT, WIDTH)
    assert second["keypoints"].shape == (0, 3, 2)
    assert second["visibility"].shape == (0, 3)


def test_components_have_the_declared_types(tmp_path):
    annotations = [{"segmentation": SQUARE, "keypoints": POINTS}]
    pipe = hr.coco(*write(tmp_path, annotations), masks=True, keypoints=True)
    assert list(pipe.spec.items())[3:8] == [
        ("area", hr.Spec(np.dtype(np.float32), (None,))),
        ("iscrowd", hr.Spec(np.dtype(np.bool_), (None,))),
        ("masks", hr.Spec(np.dtype(np.uint8), (None, None, None))),
        ("keypoints", hr.Spec(np.dtype(np.float32), (None, 3, 2))),
        ("visibility", hr.Spec(np.dtype(np.uint8), (None, 3))),
    ]
    for example in pipe:
        assert list(example) == list(pipe.spec)


def test_keypoints_have_a_visibility(tmp_path):
    annotations = [{"keypoints": POINTS}, {}, {"keypoints": [0.5] * 2 + [2] + POINTS[:6]}]
    [example, _] = hr.coco(*write(tmp_path, annotations), keypoints=True)
    assert example["keypoints"].tolist() == [
        [[1, 2], [3, 4], [0, 0]],
        [[0, 0], [0, 0], [0, 0]],
        [[0.5, 0.5], [1, 2], [3, 4]],
    ]
    assert example["visibility"].tolist() == [[2, 1, 0], [0, 0, 0], [2, 2, 1]]


def test_categories_may_have_different_numbers_of_keypoints(tmp_path):
    categories = [
        {"id": 1, "name": "person", "keypoints": ["nose", "left_eye", "right_eye"]},
        {"id": 2, "name": "hand", "keypoints": ["thumb"]},
        {"id": 3, "name": "tree"},
    ]
    annotations = [{"keypoints": POINTS}, {"category_id": 2, "keypoints": [7, 8, 1]}]
    arguments = write(tmp_path, [*annotations, {"category_id": 3}], categories)
    [example, _] = hr.coco(*arguments, keypoints=True)
    assert example["visibility"].tolist() == [[2, 1, 0], [1, 0, 0], [0, 0, 0]]
    assert example["keypoints"][1].tolist() == [[7, 8], [0, 0], [0, 0]]


@pytest.mark.parametrize(("iscrowd", "ids"), [(None, [0, 1, 2]), (False, [0, 2]), (True, [1])])
def test_crowds_can_be_excluded(tmp_path, iscrowd, ids):
    outlines = [SQUARE, runs(RUNS), POLYGONS]
    annotations = [
        {"segmentation": outline, "iscrowd": number % 2, "area": number, "keypoints": POINTS}
        for number, outline in enumerate(outlines)
    ]
    pipe = hr.coco(*write(tmp_path, annotations), masks=True, keypoints=True, iscrowd=iscrowd)
    [example, empty] = pipe
    assert example["area"].tolist() == ids
    assert np.array_equal(example["masks"], masks_of(tmp_path, annotations)[ids])
    assert len(example["keypoints"]) == len(ids)
    assert len(empty["boxes"]) == 0


def test_masks_stay_with_their_image_after_shuffles_shards_and_a_resume(tmp_path):
    annotations = [
        {"segmentation": runs([n, 1, HEIGHT * WIDTH - 1 - n]), "image_id": 1 + n % 2, "area": n}
        for n in range(9)
    ]
    pipe = hr.coco(*write(tmp_path, annotations), masks=True)

    def numbers(example):
        found = [int(mask.T.argmax()) for mask in example["masks"]]
        assert found == example["area"].tolist()
        return found

    shuffled = pipe.shuffle(seed=3).epochs(4)
    expected = [numbers(example) for example in shuffled]
    assert sorted(expected[:2]) == [[0, 2, 4, 6, 8], [1, 3, 5, 7]]
    running = iter(shuffled)
    rows = [numbers(next(running)) for _ in range(5)]
    assert rows + [numbers(row) for row in shuffled.resume(running.state())] == expected
    shards = [numbers(row) for rank in (0, 1) for row in pipe.shard(rank, 2)]
    assert sorted(shards) == sorted(expected[:2])
    [batch] = pipe.select("masks").padded_batch(2)
    assert batch["masks"].shape == (2, 5, HEIGHT, WIDTH)


@pytest.mark.parametrize(
    ("annotation", "message"),
    [
        ({}, "segmentation is None, expected polygons, or an object with size and counts"),
        ({"segmentation": []}, r"segmentation is \[\], expected polygons"),
        (
            {"segmentation": [[1, 2, 3, 4]]},
            r"polygon 0 of segmentation is \[1, 2, 3, 4\], expected",
        ),
        ({"segmentation": [*SQUARE, [1] * 7]}, "polygon 1 of segmentation is .* three corners"),
        ({"segmentation": [[1, 2, 3, 4, 5, "6"]]}, "polygon 0 of segmentation"),
        ({"segmentation": [[1, 2, 3, 4, 5, float("nan")]]}, "has a corner at .*, expected finite"),
        ({"segmentation": [[1, 2, 3, 4, 5, 1e7]]}, "a corner at 10000000.0, expected finite"),
        (
            {"segmentation": runs(RUNS, 8, 6)},
            r"has the size \[8, 6\], but the image is listed with",
        ),
        ({"segmentation": runs(None)}, "counts of segmentation is neither a list"),
        ({"segmentation": runs([1.5, 46.5])}, "counts of segmentation is neither a list"),
        ({"segmentation": runs("é")}, "counts of segmentation is neither a list"),
        (
            {"segmentation": runs(compressed(RUNS) + "o")},
            "counts of segmentation is neither a list",
        ),
        ({"segmentation": runs(RUNS[:-1])}, "add up to 32 pixels, expected 48"),
        ({"segmentation": runs(compressed(RUNS[:-1]))}, "add up to 32 pixels, expected 48"),
        ({"segmentation": runs([50, -2])}, "no negative ones"),
        ({"segmentation": runs([1 << 80])}, "add up to 1208925819614629174706176 pixels"),
    ],
)
def test_error_for_invalid_outlines_names_file_and_annotation(tmp_path, annotation, message):
    arguments = write(tmp_path, [{"segmentation": SQUARE}, annotation])
    with pytest.raises(
        errors.InvalidArgumentError, match=rf"objects.json: annotations\[1\] \(id 11\): .*{message}"
    ):
        iter(hr.coco(*arguments, masks=True))
    assert len(list(hr.coco(*arguments))) == 2


@pytest.mark.parametrize(
    ("keypoints", "message"),
    [
        (None, r"keypoints is None, expected 9 numbers"),
        (POINTS[:8], r"expected 9 numbers x, y, visibility"),
        (["1", *POINTS[1:]], r"keypoints is \['1', .* expected 9 numbers"),
        ([1, 2, 3, *POINTS[3:]], "with a visibility of 0, 1 or 2"),
        ([float("inf"), *POINTS[1:]], "expected finite numbers"),
    ],
)
def test_error_for_invalid_keypoints_names_file_and_annotation(tmp_path, keypoints, message):
    arguments = write(tmp_path, [{"keypoints": POINTS}, {"keypoints": keypoints}])
    with pytest.raises(
        errors.InvalidArgumentError, match=rf"objects.json: annotations\[1\] \(id 11\): .*{message}"
    ):
        iter(hr.coco(*arguments, keypoints=True))


def test_error_for_a_file_without_keypoints_suggests_a_remedy(tmp_path):
    with pytest.raises(errors.InvalidArgumentError, match="there are no keypoints"):
        len(hr.coco(*write(tmp_path, [{}]), keypoints=True))


@pytest.mark.parametrize("height", [None, 0, 2.5, "6", 2**30])
def test_masks_require_image_sizes(tmp_path, height):
    arguments = write(tmp_path, [], height=height, width=WIDTH)
    with pytest.raises(errors.InvalidArgumentError, match=r"objects.json: image 1: height is"):
        iter(hr.coco(*arguments, masks=True))
    assert len(list(hr.coco(*arguments))) == 2


def test_options_are_checked():
    for option in ("masks", "keypoints", "iscrowd"):
        with pytest.raises(TypeError, match=f"coco: {option} is 2, expected a bool"):
            hr.coco("photos", "objects.json", **{option: 2})
