"""Arrays whose elements are not contiguous in memory: `arrays` yields the same rows as NumPy."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.pipeline.conftest import same

import headrace as hr
from headrace.pipeline.sources.array_columns import array_columns

TYPES = ["uint8", "bool", "float32", ">i4", "float64"]
STEPS = st.sampled_from([-3, -1, 1, 2])


@st.composite
def views(draw):
    """An array of 1 to 3 axes that views another one in some way."""
    dtype = np.dtype(draw(st.sampled_from(TYPES)))
    shape = draw(st.lists(st.integers(1, 6), min_size=1, max_size=3))
    # Bytes other than 0 and 1 are also true.
    array = np.arange(np.prod(shape)).astype("uint8" if dtype.kind == "b" else dtype)
    array = array.view(bool) if dtype.kind == "b" else array
    array = array.reshape(shape).transpose(draw(st.permutations(range(len(shape)))))
    array = array[tuple(slice(None, None, draw(STEPS)) for _ in shape)]
    if draw(st.booleans()):
        width = draw(st.integers(1, array.shape[0]))
        array = np.lib.stride_tricks.sliding_window_view(array, width, axis=0)
    if draw(st.booleans()):
        array = np.broadcast_to(array, (2, *array.shape))
    return array


@given(views(), st.integers(1, 4))
def test_strided_rows_match_numpy(array, size):
    copied = np.array(array, order="C")
    pipelines = [hr.arrays({"x": each, "n": np.arange(len(each))}) for each in (array, copied)]
    for change in (
        lambda p: p.batch(size),
        lambda p: p.shuffle(seed=3),
        lambda p: p.shuffle(window=3, seed=1).batch(size),
        lambda p: p.skip(1).shard(1, 2).map(lambda example: example),
    ):
        inputs, expected = (list(change(pipeline)) for pipeline in pipelines)
        assert same(inputs, expected)


def test_sliding_windows_over_a_mapped_file_need_no_memory(tmp_path):
    """All windows together have six million million bytes."""
    numbers = np.lib.format.open_memmap(
        tmp_path / "tokens.npy", mode="w+", dtype=np.uint16, shape=(4_000_000,)
    )
    numbers[:] = np.arange(4_000_000) % 6_000
    windows = np.lib.stride_tricks.sliding_window_view(numbers, 1_000_001)
    pipeline = hr.arrays({"tokens": windows})
    assert len(pipeline) == 3_000_000
    batch = next(iter(pipeline.skip(5_999).batch(2)))
    assert batch["tokens"].shape == (2, 1_000_001)
    assert batch["tokens"][:, :3].tolist() == [[5_999, 0, 1], [0, 1, 2]]


@pytest.mark.parametrize(
    ("make", "is_copied"),
    [
        (lambda x: x, False),
        (lambda x: x[::-2], False),
        (lambda x: x[3:, None], False),
        (lambda x: x.T, True),
        (lambda x: x[:, ::2], True),
        (lambda x: np.broadcast_to(x[0, 0], (9, 9)), False),
        (lambda x: x.astype(">f4"), True),
    ],
)
def test_strided_array_is_copied_only_if_the_copy_is_no_larger(make, is_copied):
    array = make(np.zeros((10, 10), np.float32))
    assert np.shares_memory(array_columns({"x": array}).arrays["x"], array) is not is_copied


def test_mapped_file_is_never_copied(tmp_path):
    array = np.lib.format.open_memmap(tmp_path / "x.npy", mode="w+", shape=(4, 6)).T
    array[:] = np.arange(24).reshape(6, 4)
    assert np.shares_memory(array_columns({"x": array}).arrays["x"], array)
    assert same(list(hr.arrays(array).batch(6)), [{"x": np.arange(24.0).reshape(6, 4)}])
