import numpy as np
import pytest

import headrace as hr
from headrace import ops
from headrace.ops.augment.arguments import LAYOUTS
from headrace.ops.augment.combine import Combination
from headrace.ops.augment.mixing import _blended, _cut, _mixed

BATCH = np.random.default_rng(1).integers(0, 256, (4, 10, 12, 3), np.uint8)
LABELS = np.array([2, 0, 1, 2])
ONE_HOT = np.eye(3, dtype=np.float32)[LABELS]


def computed(function, seed=None, **components):
    rows = hr.arrays({name: np.asarray(value)[None] for name, value in components.items()})
    [results] = rows.map(hr.native(lambda example: function(**example)._asdict()), seed=seed)
    return results


def with_share(values, share):
    return values * np.float32(share) + np.roll(values, 1, 0) * np.float32(1 - share)


@pytest.mark.parametrize("share", [0.0, 0.3, 1.0])
def test_each_image_is_mixed_with_the_previous_one(share):
    mixed = computed(lambda x, y: _mixed(x, y, share, 3), x=np.float32(BATCH), y=LABELS)
    assert np.allclose(mixed["images"], with_share(np.float32(BATCH), share), rtol=1e-6)
    assert np.allclose(mixed["labels"], with_share(ONE_HOT, share))
    of_bytes = computed(lambda x, y: _mixed(x, y, share, None), x=BATCH, y=ONE_HOT)
    assert of_bytes["images"].dtype == np.uint8
    assert abs(of_bytes["images"] - with_share(np.float32(BATCH), share)).max() <= 0.501


@pytest.mark.parametrize("layout", LAYOUTS)
@pytest.mark.parametrize(("share", "draws"), [(0.5, (0.9, 0.2)), (0.0, (0.4, 0.5)), (1, (0, 0))])
def test_cut_mix_pastes_a_rectangle(layout, share, draws):
    height, width = BATCH.shape[1:3]
    half = 0.5 * np.sqrt(1 - share)
    x, y = int(draws[0] * width), int(draws[1] * height)
    across, down = int(half * width), int(half * height)
    rows = slice(max(y - down, 0), min(y + down, height))
    columns = slice(max(x - across, 0), min(x + across, width))
    expected = BATCH.copy()
    expected[:, rows, columns] = np.roll(BATCH, 1, 0)[:, rows, columns]
    left = 1 - (rows.stop - rows.start) * (columns.stop - columns.start) / (height * width)
    images = BATCH if layout == "HWC" else np.ascontiguousarray(BATCH.transpose(0, 3, 1, 2))
    cut = computed(
        lambda x, y: _cut(x, y, share, np.float32(draws), 3, LAYOUTS[layout]), x=images, y=LABELS
    )
    result = cut["images"] if layout == "HWC" else cut["images"].transpose(0, 2, 3, 1)
    assert np.array_equal(result, expected)
    assert np.allclose(cut["labels"], with_share(ONE_HOT, left))


@pytest.mark.parametrize("alpha", [0.2, 1.0, 4.0])
def test_shares_follow_a_beta_distribution(alpha):
    ones = np.float32([[0], [1]])
    rows = hr.arrays(
        {"x": ones.repeat(4000, 0).reshape(2, -1).T.reshape(-1, 1), "n": np.arange(8000)}
    )
    mix = hr.native(
        lambda e: ops.mixup(e["x"], ops.cast(e["x"][:, 0], "int64"), alpha, 2)._asdict()
    )
    batches = rows.batch(2).map(mix, seed=3)
    shares = np.array([batch["labels"][1, 1] for batch in batches])
    assert abs(shares.mean() - 0.5) < 0.02
    assert abs(shares.var() - 1 / (4 * (2 * alpha + 1))) < 0.01


def test_label_outside_the_classes_is_an_error():
    for labels in ([0, 1, 2, 3], [0, -1, 1, 1]):
        with pytest.raises(
            hr.errors.InvalidArgumentError, match=r"mixup: label .* expected 0 to 2"
        ):
            computed(lambda x, y: _mixed(x, y, 0.5, 3), x=BATCH, y=np.array(labels))


def test_wrong_layout_is_an_error():
    with pytest.raises(
        hr.errors.InvalidArgumentError, match=r"cutmix: the images have shape .4,10,"
    ):
        computed(
            lambda x, y: _cut(x, y, 0.5, np.float32([0, 0]), 3, LAYOUTS["CHW"]), x=BATCH, y=LABELS
        )


@pytest.mark.parametrize("operation", [ops.mixup, ops.cutmix])
@pytest.mark.parametrize(
    ("labels", "arguments", "error", "message"),
    [
        (LABELS, {}, ValueError, "num_classes is None, expected a positive integer"),
        (
            LABELS,
            {"num_classes": 3, "alpha": 0},
            ValueError,
            "alpha is 0, expected a positive number",
        ),
        (
            ONE_HOT,
            {"num_classes": 4},
            ValueError,
            "num_classes is 4, but the labels have 3 classes",
        ),
        (np.float32(LABELS), {"num_classes": 3}, TypeError, "type float32, expected integers"),
        (np.int64(2), {"num_classes": 3}, ValueError, "Call .* after batch"),
    ],
)
def test_invalid_arguments_are_rejected(operation, labels, arguments, error, message):
    with pytest.raises(error, match=message):
        computed(lambda x, y: operation(x, y, **arguments), 1, x=BATCH, y=labels)


class TestTargets:
    """Two images that are mixed together with their boxes."""

    IMAGES = (BATCH[0], BATCH[1])
    BOXES = (np.float32([[1, 2, 5, 20]]), np.float32([[0, 0, 1, 1], [3, 3, 8, 8]]))
    LABELS = (np.array([7]), np.array([8, 9]))

    def mixed(self, share=None, seed=None, images=IMAGES, boxes=BOXES, **options):
        columns = {"x": images[0], "y": images[1], "a": boxes[0], "b": boxes[1]}
        columns |= {"n": self.LABELS[0], "m": self.LABELS[1]}

        def mix(x, y, a, b, n, m):
            if share is None:
                return ops.mixup([x, y], [n, m], boxes=[a, b], **options)
            arguments = {"format": "xyxy", "normalized": False, "min_area": None} | options
            targets = Combination("mixup", 2, [a, b], None, None, [n, m], **arguments)
            return _blended([x, y], share, targets)

        return computed(mix, seed, **columns)

    @pytest.mark.parametrize("dtype", [np.uint8, np.float32])
    @pytest.mark.parametrize("share", [0.0, 0.3, 1.0])
    def test_images_are_blended_and_boxes_and_labels_joined(self, share, dtype):
        images = [image.astype(dtype) for image in self.IMAGES]
        result = self.mixed(share, images=images)
        one, other = (np.float32(image) for image in images)
        expected = one * np.float32(share) + other * np.float32(1 - share)
        assert result["image"].dtype == dtype
        assert abs(result["image"] - expected).max() <= (0.501 if dtype == np.uint8 else 1e-4)
        assert list(result) == ["image", "boxes", "labels"]
        assert result["boxes"].tolist() == [[1, 2, 5, 10], [0, 0, 1, 1], [3, 3, 8, 8]]
        assert result["labels"].tolist() == [7, 8, 9]

    def test_small_boxes_are_removed_with_their_labels(self):
        result = self.mixed(0.5, min_area=2)
        assert result["boxes"].tolist() == [[1, 2, 5, 10], [3, 3, 8, 8]]
        assert result["labels"].tolist() == [7, 9]
        assert result["kept"].tolist() == [True, False, True]

    def test_masks_and_keypoints_are_joined(self):
        masks = np.arange(2 * 10 * 12).reshape(2, 10, 12) % 3 == 0
        points = np.float32([[1, 2], [30, -4]])

        def mix(x, y, masks, points):
            return ops.mixup([x, y], masks=[masks, masks], keypoints=[points, points])

        x, y = self.IMAGES
        result = computed(mix, 1, x=x, y=y, masks=masks, points=points)
        assert list(result) == ["image", "masks", "keypoints"]
        assert np.array_equal(result["masks"], np.concatenate([masks, masks]))
        assert np.array_equal(result["keypoints"], np.concatenate([points, points]))

    def test_weight_follows_the_seed_and_alpha(self):
        black, white = np.zeros((10, 12, 3), np.float32), np.ones((10, 12, 3), np.float32)
        shares = [
            self.mixed(seed=seed, images=(white, black), alpha=32)["image"][0, 0, 0]
            for seed in range(40)
        ]
        assert len(set(shares)) > 30
        assert abs(np.mean(shares) - 0.5) < 0.05
        assert np.std(shares) < 0.12
        again = self.mixed(seed=3, images=(white, black), alpha=32)["image"][0, 0, 0]
        assert again == shares[3]

    def test_images_of_different_shapes_are_an_error(self):
        with pytest.raises(
            hr.errors.InvalidArgumentError, match=r"mixup: the images have shapes \[10,12,3\] and"
        ):
            self.mixed(0.5, images=(BATCH[0], BATCH[1][:1]))

    @pytest.mark.parametrize(
        ("arguments", "error", "message"),
        [
            ({"num_classes": 3}, ValueError, "num_classes is 3, but labels are not mixed"),
            ({"alpha": 0}, ValueError, "alpha is 0, expected a positive number"),
            ({"boxes": [[[0, 0, 1, 1]]]}, ValueError, "boxes has 1 tensors, expected one for each"),
            ({"boxes": None, "min_area": 1}, ValueError, "min_area need boxes"),
            ({"boxes": None}, TypeError, "labels is None, expected the labels of a batch"),
        ],
    )
    def test_invalid_arguments_are_rejected(self, arguments, error, message):
        boxes = [[[0, 0, 1, 1]]] * 2
        with pytest.raises(error, match=message):
            computed(
                lambda x, y: ops.mixup([x, y], **{"boxes": boxes, **arguments}),
                1,
                x=BATCH[0],
                y=BATCH[1],
            )
