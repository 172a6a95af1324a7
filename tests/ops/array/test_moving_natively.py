"""Operations that only move elements agree with NumPy, for all types, shapes and indices."""

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

import headrace.tf1 as tf

TYPES = [np.uint8, np.int16, np.float32, np.complex64, np.int64, np.complex128, np.bool_, object]


@st.composite
def arrays(draw, max_rank=4, min_rank=0):
    shape = draw(st.lists(st.integers(0, 4), min_size=min_rank, max_size=max_rank))
    numbers = np.arange(np.prod(shape, dtype=int)).reshape(shape)
    numpy_type = draw(st.sampled_from(TYPES))
    if numpy_type is object:
        return np.vectorize(lambda n: b"%d" % n, otypes=[object])(numbers)
    return (numbers % 2 if numpy_type is np.bool_ else numbers).astype(numpy_type)


bounds = st.none() | st.integers(-6, 6)
slices = st.builds(slice, bounds, bounds, st.none() | st.sampled_from([-3, -2, -1, 1, 2, 3]))


@st.composite
def keys(draw, shape):
    """What can stand in brackets behind an array of a shape: without places out of bounds."""
    key = []
    for size in shape[: draw(st.integers(0, len(shape)))]:
        places = st.integers(-size, size - 1) if size else slices
        key.append(draw(places | slices))
    for extra in draw(st.lists(st.just(None), max_size=2)):
        key.insert(draw(st.integers(0, len(key))), extra)
    if draw(st.booleans()):
        key.append(Ellipsis)
    return tuple(key)


def run(make, *values):
    """The result of operations over placeholders, of which nothing is known beforehand."""
    with tf.Graph().as_default(), tf.Session() as session:
        fed = [tf.placeholder(tf.string if v.dtype == object else v.dtype) for v in values]
        return session.run(make(*fed), dict(zip(fed, values, strict=True)))


def assert_same(got, expected):
    expected = np.asarray(expected)
    assert np.shape(got) == expected.shape
    assert np.array_equal(np.asarray(got, dtype=expected.dtype), expected)


@given(st.data(), arrays())
def test_indexing(data, array):
    key = data.draw(keys(array.shape))
    assert_same(run(lambda x: x[key], array), array[key])


@given(st.data(), arrays())
def test_transposing(data, array):
    order = data.draw(st.permutations(range(array.ndim)))
    assert_same(run(lambda x: tf.transpose(x, np.array(order, int)), array), array.transpose(order))


@given(st.data(), arrays(max_rank=3), st.integers(1, 3))
def test_stacking(data, array, count):
    axis = data.draw(st.integers(-array.ndim - 1, array.ndim))
    parts = [array] * count
    got = run(lambda *xs: tf.stack(list(xs), axis), *parts)
    assert_same(got, np.stack(parts, axis))


@given(st.data(), arrays(min_rank=1))
def test_concatenating(data, array):
    axis = data.draw(st.integers(-array.ndim, array.ndim - 1))
    half = np.take(array, range(array.shape[axis] // 2), axis)
    parts = [array, half, array]
    got = run(lambda *xs: tf.concat(list(xs), axis), *parts)
    assert_same(got, np.concatenate(parts, axis))


@given(st.data(), arrays())
def test_axes_of_size_one(data, array):
    axis = data.draw(st.integers(-array.ndim - 1, array.ndim))
    wider = np.expand_dims(array, axis)
    assert_same(run(lambda x: tf.expand_dims(x, axis), array), wider)
    assert_same(run(lambda x: tf.squeeze(x, [axis]), wider), array)
    assert_same(run(tf.squeeze, wider), np.squeeze(wider))


@given(arrays())
def test_measures(array):
    assert_same(run(tf.shape, array), np.array(array.shape, np.int32))
    assert_same(run(lambda x: tf.size(x, out_type=tf.int64), array), np.int64(array.size))
    assert_same(run(tf.rank, array), np.int32(array.ndim))
