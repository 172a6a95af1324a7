"""Summaries: numbers under a tag. The expected buckets were computed by TensorFlow."""

import io
import re
import sys

import numpy as np
import pytest
from PIL import Image

import headrace.tf1 as tf


def values_of(serialized):
    return list(tf.Summary.FromString(serialized).value)


def test_scalar_summary_contains_a_number_under_its_name(run):
    summary = tf.summary.scalar("loss", tf.constant(1.5))
    assert (summary.name, summary.op.type, summary.dtype) == ("loss:0", "ScalarSummary", tf.string)
    assert summary.shape == []
    (value,) = values_of(run(summary))
    assert (value.tag, value.simple_value) == ("loss", 1.5)
    assert value.WhichOneof("value") == "simple_value"


@pytest.mark.parametrize("value", [3, 2.5, np.int64(7), np.float16(0.5), np.uint8(255)])
def test_scalar_summary_accepts_any_numeric_type(run, value):
    (written,) = values_of(run(tf.summary.scalar("x", value)))
    assert written.simple_value == value


@pytest.mark.parametrize("value", ["text", True])
def test_scalar_summary_requires_a_number(value):
    with pytest.raises(TypeError, match="not in list of allowed values"):
        tf.summary.scalar("x", value)


def test_scalar_summary_rejects_a_vector(run):
    summary = tf.summary.scalar("x", [1.0, 2.0])
    text = "tags and values are not the same shape: [] != [2] (tag 'x')"
    with pytest.raises(tf.errors.InvalidArgumentError, match=re.escape(text)):
        run(summary)


@pytest.mark.parametrize(
    ("name", "family", "operation", "tag"),
    [
        ("a", None, "scope/a", "scope/a"),
        ("a b*c", None, "scope/a_b_c", "scope/a_b_c"),
        ("/a/b", None, "scope/a/b", "scope/a/b"),
        ("a", "f", "scope/f/a", "f/scope/f/a"),
        ("a", "f g", "scope/f_g/a", "f_g/scope/f_g/a"),
    ],
)
def test_tag_contains_the_scope_and_the_family(run, name, family, operation, tag):
    with tf.name_scope("scope"):
        summary = tf.summary.scalar(name, 1.0, family=family)
    assert summary.op.name == operation
    assert [value.tag for value in values_of(run(summary))] == [tag]


def test_name_in_use_gets_a_number(run):
    summaries = [tf.summary.scalar("a", 1.0) for _ in range(2)]
    assert [values_of(value)[0].tag for value in run(summaries)] == ["a", "a_1"]


def test_summaries_are_added_to_the_requested_collections():
    default = tf.summary.scalar("a", 1.0)
    other = tf.summary.histogram("b", 1.0, collections=["mine", "yours"])
    nowhere = tf.summary.scalar("c", 1.0, collections=[])
    assert tf.get_collection(tf.GraphKeys.SUMMARIES) == [default]
    assert tf.get_collection("mine") == tf.get_collection("yours") == [other]
    assert nowhere.name == "c:0"


def test_merge_all_merges_all_summaries(run):
    tf.summary.scalar("a", 1.0)
    with tf.name_scope("inner"):
        tf.summary.scalar("b", 2.0)
    merged = tf.summary.merge_all()
    assert merged.op.name == "Merge/MergeSummary"
    values = values_of(run(merged))
    assert [(value.tag, value.simple_value) for value in values] == [("a", 1.0), ("inner/b", 2.0)]
    inner = tf.summary.merge_all(scope="inner")
    assert [value.tag for value in values_of(run(inner))] == ["inner/b"]


def test_merging_no_summaries_returns_none_or_fails():
    tf.summary.scalar("a", 1.0)
    assert tf.summary.merge_all("other") is None
    with pytest.raises(ValueError, match="with length 0 shorter than minimum length 1"):
        tf.summary.merge([])


def test_merged_summary_can_be_named_and_collected(run):
    parts = [tf.summary.scalar("a", 1.0), tf.summary.histogram("b", [1.0])]
    merged = tf.summary.merge(parts, collections=["mine"], name="both")
    assert merged.op.name == "both/both"
    assert tf.get_collection("mine") == [merged]
    assert [value.tag for value in values_of(run(merged))] == ["a", "b"]


def test_duplicate_tag_is_rejected(run):
    summary = tf.summary.scalar("a", 1.0)
    text = "Duplicate tag a found in summary inputs"
    with pytest.raises(tf.errors.InvalidArgumentError, match=text):
        run(tf.summary.merge([summary, summary]))


def test_only_summaries_can_be_merged(run):
    text = "Could not parse one of the summary inputs"
    with pytest.raises(tf.errors.InvalidArgumentError, match=text):
        run(tf.summary.merge([tf.constant(b"\x0a\x7f")]))


LARGEST = sys.float_info.max


@pytest.mark.parametrize(
    ("values", "limits", "counts"),
    [
        ([], [LARGEST], [0]),
        ([0.0], [0, 1e-12, LARGEST], [0, 1, 0]),
        ([5, 5, 5], [4.6361946174186253, 5.0998140791604882, LARGEST], [0, 3, 0]),
        (
            [1.0, 2, 2, -3, 0],
            [
                *(-3.1665833053880363, -2.8787120958073054, 0, 1e-12, 0.917246389039776),
                *(1.0089710279437536, 1.9661990955585713, 2.1628190051144287, LARGEST),
            ],
            [0, 1, 0, 1, 0, 1, 0, 2, 0],
        ),
        (
            [1e30, -1e30, 1e-30, 0, 1e308],
            [-LARGEST, -9.9207756218597835e19, 0, 1e-12, 9.9207756218597835e19, LARGEST],
            [0, 1, 0, 2, 0, 2],
        ),
    ],
)
def test_histogram_counts_values_by_size(run, values, limits, counts):
    summary = tf.summary.histogram("h", np.array(values, np.float64))
    (value,) = values_of(run(summary))
    histogram = value.histo
    assert (value.tag, list(histogram.bucket)) == ("h", counts)
    assert list(histogram.bucket_limit) == limits
    array = np.array(values or [np.nan])
    assert histogram.num == len(values)
    assert histogram.min == (array.min() if values else LARGEST)
    assert histogram.max == (array.max() if values else -LARGEST)
    with np.errstate(over="ignore"):
        sums = (sum(values), sum(np.float64(v) ** 2 for v in values))
    assert (histogram.sum, histogram.sum_squares) == sums


@pytest.mark.parametrize(("value", "what"), [(np.nan, "Nan"), (-np.inf, "Infinity")])
def test_histogram_rejects_nan_and_infinity(run, value, what):
    with pytest.raises(tf.errors.InvalidArgumentError, match=f"{what} in summary histogram for: h"):
        run(tf.summary.histogram("h", [1.0, value]))


IMAGES = np.random.default_rng(0).integers(0, 256, (5, 2, 3, 3)).astype(np.uint8)


def pixels_of(serialized):
    """Tags and pixels of a summary of images."""
    shown = {}
    for value in values_of(serialized):
        pixels = np.asarray(Image.open(io.BytesIO(value.image.encoded_image_string)))
        channels = 1 if pixels.ndim == 2 else pixels.shape[2]
        size = value.image.height, value.image.width, value.image.colorspace
        assert size == (*pixels.shape[:2], channels)
        shown[value.tag] = pixels.reshape(size)
    return shown


@pytest.mark.parametrize("channels", [1, 3, 4])
@pytest.mark.parametrize(
    ("max_outputs", "tags"),
    [
        (1, ["scope/a_b/image"]),
        (2, ["scope/a_b/image/0", "scope/a_b/image/1"]),
        (9, [f"scope/a_b/image/{number}" for number in range(5)]),
    ],
)
def test_each_image_has_its_own_tag(run, channels, max_outputs, tags):
    images = np.concatenate([IMAGES, IMAGES], -1)[..., :channels]
    with tf.name_scope("scope"):
        summary = tf.summary.image("a b", images, max_outputs)
    assert (summary.op.name, summary.op.type) == ("scope/a_b", "ImageSummary")
    assert tf.get_collection(tf.GraphKeys.SUMMARIES) == [summary]
    shown = pixels_of(run(summary))
    assert list(shown) == tags
    assert all(
        np.array_equal(pixels, image) for pixels, image in zip(shown.values(), images, strict=False)
    )
    family = run(tf.summary.image("a", images, 1, collections=[], family="f"))
    assert list(pixels_of(family)) == ["f/f/a/image"]


# As TensorFlow shows them.
SHOWN = [
    ([0.0, 0.5, 1.0, 2.0], [0, 63, 127, 255]),
    ([0.0, 0.5, -1.0, 1.0], [128, 191, 1, 255]),
    ([0.0, 1e-9], [0, 0]),
    ([1.0, np.nan, np.inf, 0.5], [255, 255, 255, 127]),
]


@pytest.mark.parametrize("dtype", [np.float16, np.float32, np.float64])
@pytest.mark.parametrize(("values", "expected"), SHOWN)
def test_float_images_are_scaled_individually(run, dtype, values, expected):
    images = np.array([values, np.zeros(len(values))], dtype).reshape(2, 1, -1, 1)
    shown = pixels_of(run(tf.summary.image("x", images)))
    assert shown["x/image/0"].ravel().tolist() == expected
    assert not shown["x/image/1"].any()


def test_nonfinite_pixel_is_red(run):
    image = np.full((1, 1, 2, 3), 0.5, np.float32)
    image[0, 0, 1, 2] = np.nan
    shown = pixels_of(run(tf.summary.image("x", image, 1)))
    assert shown["x/image"].tolist() == [[[255, 255, 255], [255, 0, 0]]]


@pytest.mark.parametrize("shape", [(2, 3, 3), (1, 2, 3, 2), (1, 2, 3, 5), ()])
def test_non_image_batch_is_rejected(run, shape):
    text = "Tensor must be 4-D with last dim 1, 3, or 4, not ["
    with pytest.raises(tf.errors.InvalidArgumentError, match=re.escape(text)):
        run(tf.summary.image("x", np.zeros(shape, np.uint8)))


def test_images_without_pixels_are_not_shown(run):
    assert values_of(run(tf.summary.image("x", IMAGES[:0]))) == []
    with pytest.raises(tf.errors.InvalidArgumentError, match="PNG encoding failed"):
        run(tf.summary.image("x", IMAGES[:, :0]))


def test_invalid_image_arguments_are_rejected():
    with pytest.raises(ValueError, match="passed 0 less than minimum 1"):
        tf.summary.image("x", IMAGES, 0)
    with pytest.raises(TypeError, match="not in list of allowed values"):
        tf.summary.image("x", tf.constant(IMAGES, tf.int32))
