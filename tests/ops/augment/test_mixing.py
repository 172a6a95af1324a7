import numpy as np
import pytest

import headrace as hr
from headrace import ops
from headrace.ops.augment.arguments import LAYOUTS
from headrace.ops.augment.mixing import _cut, _mixed

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
