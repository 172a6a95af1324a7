"""Operations that only move elements agree with NumPy, for all types, shapes and indices."""

import numpy as np
from hypothesis import assume, given
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
    """Draws an index for an array of a shape: without positions out of bounds."""
    key = []
    for size in shape[: draw(st.integers(0, len(shape)))]:
        positions = st.integers(-size, size - 1) if size else slices
        key.append(draw(positions | slices))
    for extra in draw(st.lists(st.just(None), max_size=2)):
        key.insert(draw(st.integers(0, len(key))), extra)
    if draw(st.booleans()):
        key.append(Ellipsis)
    return tuple(key)


def run(make, *values):
    """Returns the result of operations on placeholders without known types and shapes."""
    with tf.Graph().as_default(), tf.Session() as session:
        fed = [tf.placeholder(tf.string if v.dtype == object else v.dtype) for v in values]
        return session.run(make(*fed), dict(zip(fed, values, strict=True)))


def assert_same(got, expected):
    expected = np.asarray(expected)
    assert np.shape(got) == expected.shape
    assert np.array_equal(np.asarray(got, dtype=expected.dtype), expected)


@given(st.data(), arrays())
def test_indexing_matches_numpy(data, array):
    key = data.draw(keys(array.shape))
    assert_same(run(lambda x: x[key], array), array[key])


@given(st.data(), arrays())
def test_transpose_matches_numpy(data, array):
    order = data.draw(st.permutations(range(array.ndim)))
    assert_same(run(lambda x: tf.transpose(x, np.array(order, int)), array), array.transpose(order))


@given(st.data(), arrays(max_rank=3), st.integers(1, 3))
def test_stack_matches_numpy(data, array, count):
    axis = data.draw(st.integers(-array.ndim - 1, array.ndim))
    parts = [array] * count
    got = run(lambda *xs: tf.stack(list(xs), axis), *parts)
    assert_same(got, np.stack(parts, axis))


@given(st.data(), arrays(min_rank=1))
def test_concat_matches_numpy(data, array):
    axis = data.draw(st.integers(-array.ndim, array.ndim - 1))
    half = np.take(array, range(array.shape[axis] // 2), axis)
    parts = [array, half, array]
    got = run(lambda *xs: tf.concat(list(xs), axis), *parts)
    assert_same(got, np.concatenate(parts, axis))


@given(st.data(), arrays())
def test_expand_dims_and_squeeze_match_numpy(data, array):
    axis = data.draw(st.integers(-array.ndim - 1, array.ndim))
    wider = np.expand_dims(array, axis)
    assert_same(run(lambda x: tf.expand_dims(x, axis), array), wider)
    assert_same(run(lambda x: tf.squeeze(x, [axis]), wider), array)
    assert_same(run(tf.squeeze, wider), np.squeeze(wider))


@given(st.data(), arrays(max_rank=3))
def test_tile_matches_numpy(data, array):
    times = np.array([data.draw(st.integers(0, 3)) for _ in array.shape], np.int64)
    assert_same(run(tf.tile, array, times), np.tile(array, times))


@given(st.data(), arrays())
def test_reverse_matches_numpy(data, array):
    axes = (
        data.draw(st.lists(st.sampled_from(range(array.ndim)), unique=True)) if array.ndim else []
    )
    axes = [axis - array.ndim if data.draw(st.booleans()) else axis for axis in axes]
    assert_same(run(tf.reverse, array, np.array(axes, np.int32)), np.flip(array, tuple(axes)))


@given(st.data(), arrays(max_rank=3), st.sampled_from(["CONSTANT", "REFLECT", "SYMMETRIC"]))
def test_pad_matches_numpy(data, array, mode):
    most = [2 if mode == "CONSTANT" else size - (mode == "REFLECT") for size in array.shape]
    assume(min(most, default=0) >= 0)
    amounts = [[data.draw(st.integers(0, size)) for _ in "ba"] for size in most]
    amounts = np.array(amounts, np.int32).reshape(-1, 2)
    value = {"constant_values": b"" if array.dtype == object else 0} if mode == "CONSTANT" else {}
    expected = np.pad(array, amounts, mode.lower(), **value) if array.ndim else array
    assert_same(run(lambda x, a: tf.pad(x, a, mode), array, amounts), expected)
    if mode == "CONSTANT" and array.dtype != object:
        filled = run(lambda x, a: tf.pad(x, a, constant_values=tf.cast(1, x.dtype)), array, amounts)
        assert_same(filled, np.pad(array, amounts, constant_values=1) if array.ndim else array)


@given(st.data(), arrays(min_rank=1))
def test_split_and_unstack_match_numpy(data, array):
    axis = data.draw(st.integers(-array.ndim, array.ndim - 1))
    size = array.shape[axis]
    slices = run(lambda x: tf.unstack(x, size, axis), array) if size else []
    for got, expected in zip(slices, np.moveaxis(array, axis, 0), strict=True):
        assert_same(got, expected)
    count = data.draw(st.sampled_from([n for n in range(1, 5) if size % n == 0]))
    parts = run(lambda x, position: tf.split(x, count, position), array, np.int32(axis))
    for got, expected in zip(parts, np.split(array, count, axis), strict=True):
        assert_same(got, expected)
    sizes = np.diff([0, *sorted(data.draw(st.lists(st.integers(0, size), max_size=3))), size])
    parts = run(lambda x, s: tf.split(x, s, axis, len(sizes)), array, sizes)
    for got, expected in zip(parts, np.split(array, np.cumsum(sizes)[:-1], axis), strict=True):
        assert_same(got, expected)


@given(st.data(), arrays(max_rank=3), st.sampled_from([np.uint8, np.int32, np.int64]))
def test_one_hot_matches_numpy(data, array, numpy_type):
    indices = (np.arange(array.size).reshape(array.shape) % 5 - 1).astype(numpy_type)
    depth, axis = np.int32(3), data.draw(st.integers(-1, array.ndim))
    values = (
        np.array([b"no", b"yes"], object) if array.dtype == object else array.dtype.type([0, 1])
    )
    off, on = (np.array(value, array.dtype) for value in values)
    got = run(lambda i, n, x, y: tf.one_hot(i, n, x, y, axis), indices, depth, on, off)
    position = array.ndim if axis < 0 else axis
    steps = np.arange(depth).reshape(-1, *[1] * (array.ndim - position))
    assert_same(got, np.where(np.expand_dims(indices, position) == steps, on, off))


@given(st.data(), arrays(min_rank=1))
def test_boolean_mask_matches_numpy(data, array):
    first = data.draw(st.integers(0, array.ndim - 1))
    last = data.draw(st.integers(first + 1, array.ndim))
    shape = array.shape[first:last]
    mask = (np.arange(np.prod(shape, dtype=int)).reshape(shape) % 3 > 0).astype(
        data.draw(st.sampled_from([np.bool_, np.uint8, np.float32]))
    )

    def masked(x, m):
        m.set_shape([None] * mask.ndim)
        return tf.boolean_mask(x, m, axis=first)

    assert_same(run(masked, array, mask), array[(slice(None),) * first + (mask > 0,)])


@given(st.data(), arrays(min_rank=1))
def test_gather_matches_numpy(data, array):
    axis = data.draw(st.integers(-array.ndim, array.ndim - 1))
    positions = st.integers(0, max(array.shape[axis] - 1, 0))
    count = 4 if array.shape[axis] else 0
    indices = np.array(data.draw(st.lists(positions, max_size=count)), np.int64)
    got = run(lambda x, i, position: tf.gather(x, i, axis=position), array, indices, np.int32(axis))
    assert_same(got, np.take(array, indices, axis))


@given(arrays())
def test_shape_size_and_rank_match_numpy(array):
    assert_same(run(tf.shape, array), np.array(array.shape, np.int32))
    assert_same(run(lambda x: tf.size(x, out_type=tf.int64), array), np.int64(array.size))
    assert_same(run(tf.rank, array), np.int32(array.ndim))
