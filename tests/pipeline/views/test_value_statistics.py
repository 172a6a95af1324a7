"""`stats`: ranges, means and class counts, in one pass."""

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.markup import HOSTILE, Elements

import headrace as hr


def test_statistics_match_numpy():
    values = np.random.default_rng(1).normal(5, 3, (1000, 7)).astype(np.float32)
    one = hr.arrays({"x": values}).stats("x")["x"]
    wide = values.astype(np.float64)
    assert (one.examples, one.count, one.not_finite) == (1000, 7000, 0)
    assert (one.min, one.max) == (values.min(), values.max())
    assert one.mean == pytest.approx(wide.mean(), rel=1e-14)
    assert one.std == pytest.approx(wide.std(), rel=1e-13)
    assert one.histogram is None


@given(
    st.lists(st.integers(-(2**53), 2**53), min_size=1, max_size=40),
    st.integers(1, 7),
)
def test_statistics_do_not_depend_on_batches(numbers, size):
    whole = hr.arrays({"x": np.array(numbers)}).stats()["x"]
    parts = hr.arrays({"x": np.array(numbers)}).batch(size).stats()["x"]
    assert (whole.count, whole.min, whole.max) == (len(numbers), min(numbers), max(numbers))
    assert (parts.count, parts.min, parts.max) == (len(numbers), min(numbers), max(numbers))
    scale = max(map(abs, numbers)) + 1
    assert whole.mean == pytest.approx(sum(numbers) / len(numbers), rel=1e-12, abs=1e-12 * scale)
    assert parts.mean == pytest.approx(whole.mean, rel=1e-12, abs=1e-12 * scale)
    assert parts.std == pytest.approx(whole.std, rel=1e-9, abs=1e-9 * scale)


def test_large_offsets_keep_their_precision():
    values = 1e9 + np.arange(1000) % 10
    one = hr.arrays({"x": values}).batch(7).stats()["x"]
    assert one.std == pytest.approx(math.sqrt(8.25), rel=1e-9)


def test_pictures_have_a_mean_for_each_channel():
    images = np.random.default_rng(2).integers(0, 256, (20, 9, 8, 3), np.uint8)
    for pipe in (hr.arrays({"image": images}), hr.arrays({"image": images}).batch(3)):
        one = pipe.stats("image")["image"]
        wide = images.astype(np.float64)
        assert one.channel_means == pytest.approx(wide.mean(axis=(0, 1, 2)))
        assert one.channel_stds == pytest.approx(wide.std(axis=(0, 1, 2)))
        assert one.mean == pytest.approx(wide.mean())


@pytest.mark.parametrize("size", [None, 3])
def test_channels_may_come_first(size):
    images = np.random.default_rng(2).integers(0, 256, (7, 3, 9, 8), np.uint8)
    videos = np.stack([images, images], axis=1)
    pipe = hr.arrays({"image": images, "video": videos, "grey": images[:, 0]})
    statistics = (pipe if size is None else pipe.batch(size)).stats()
    for name in ("image", "video"):
        assert statistics[name].channel_means == pytest.approx(images.mean(axis=(0, 2, 3)))
        assert statistics[name].channel_stds == pytest.approx(images.std(axis=(0, 2, 3)))
    assert statistics["grey"].channel_means == ()


@pytest.mark.parametrize("size", [1, 2, 5])
def test_channels_without_some_values_keep_their_means(size):
    images = np.random.default_rng(2).normal(0, 1, (5, 6, 4, 3))
    images[1, 2, 3, 0], images[4, ..., 2] = np.nan, np.inf
    finite = np.where(np.isfinite(images), images, np.nan)
    one = hr.arrays({"image": images}).batch(size).stats()["image"]
    assert one.not_finite == 25
    assert one.channel_means == pytest.approx(np.nanmean(finite, axis=(0, 1, 2)))
    assert one.channel_stds == pytest.approx(np.nanstd(finite, axis=(0, 1, 2)))
    assert (one.mean, one.std) == pytest.approx((np.nanmean(finite), np.nanstd(finite)))


def test_a_channel_without_finite_values_has_no_mean():
    images = np.ones((2, 5, 5, 3))
    images[..., 1] = np.nan
    one = hr.arrays({"image": images}).stats()["image"]
    assert one.channel_means == pytest.approx((1, math.nan, 1), nan_ok=True)
    assert one.mean == 1


def test_pictures_of_different_sizes_have_a_mean_for_each_channel():
    sizes = [(4, 5), (6, 3), (2, 2)]
    images = [np.full((*size, 3), (1, 2, 3), np.uint8) for size in sizes]
    one = hr.iterable([{"image": image} for image in images]).stats()["image"]
    assert one.channel_means == (1.0, 2.0, 3.0)
    assert one.count == 3 * sum(height * width for height, width in sizes)


def test_classes_are_counted():
    one = hr.arrays({"label": [2, 0, 2, 1, 2]}).stats("label")["label"]
    assert one.histogram == {2: 3, 0: 1, 1: 1}
    names = hr.arrays({"name": ["b", "a", "b"]}).stats("name")["name"]
    assert list(names.histogram.values()) == [2, 1]
    assert (names.min, names.max, names.mean) == (1, 1, 1.0)


def test_long_arrays_have_no_histogram():
    assert hr.arrays({"x": np.arange(10_001)}).stats()["x"].histogram is None
    assert len(hr.arrays({"x": np.arange(10_000)}).stats()["x"].histogram) == 10_000


def test_non_finite_values_are_ignored():
    one = hr.arrays({"x": np.array([1.0, np.nan, 3.0, -np.inf])}).stats()["x"]
    assert (one.count, one.not_finite, one.min, one.max, one.mean) == (2, 2, 1.0, 3.0, 2.0)


def test_lists_of_any_length_are_read():
    rows = [{"x": np.arange(n, dtype=np.float32)} for n in (3, 0, 2)]
    one = hr.iterable(rows).stats()["x"]
    assert (one.examples, one.count, one.max) == (3, 5, 2.0)


@pytest.mark.parametrize("unit", ["D", "s", "ns"])
def test_dates_are_counted_and_have_a_range(unit):
    days = np.array(["2026-01-02", "NaT", "2026-01-01"], f"datetime64[{unit}]")
    statistics = hr.arrays({"day": days}).stats()
    one = statistics["day"]
    assert (one.count, one.not_finite, one.min, one.max) == (2, 1, days[2], days[0])
    text = f"2 (1 not finite) values in 3 examples, {days[2]} to {days[0]}"
    assert repr(statistics) == f"day: {text}"


def test_durations_have_a_range():
    one = hr.arrays({"wait": np.array([5, 3], "timedelta64[ns]")}).stats()["wait"]
    assert str(one.min) == "3 nanoseconds"


def test_empty_pipeline_has_no_statistics():
    assert hr.arrays({"x": [1]}).take(0).stats() == {}


def test_only_requested_components_are_read():
    assert list(hr.arrays({"x": [1], "y": [2]}).stats("y")) == ["y"]
    with pytest.raises(ValueError, match="'z'"):
        hr.arrays({"x": [1]}).stats("z")


def test_endless_pipelines_are_rejected():
    with pytest.raises(TypeError, match="stats: the pipeline is endless"):
        hr.arrays({"x": [1]}).epochs().stats()


@pytest.mark.parametrize("text", HOSTILE)
def test_values_cannot_become_markup(text):
    statistics = hr.arrays({text.replace("\0", ""): [text]}).stats()
    made = Elements(statistics._repr_html_())
    assert "script" not in made.tags
    assert "img" not in made.tags
    assert "\x1b" not in repr(statistics)


def test_text_has_a_line_for_each_component():
    lines = repr(hr.arrays({"x": [1.0, 2.0], "label": [0, 0]}).stats()).splitlines()
    assert lines[0] == "x: 2 values in 2 examples, 1 to 2, mean 1.5, standard deviation 0.5"
    assert lines[2] == "  0: 2"
