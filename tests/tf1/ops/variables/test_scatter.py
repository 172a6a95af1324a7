"""Rows and slices of variables that change."""

from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pytest

import headrace.tf1 as tf

ROWS = [[1.0, 2.0], [3.0, 4.0], [5.0, 6.0]]
CHANGES = {
    "update": lambda old, new: new,
    "add": np.add,
    "sub": np.subtract,
    "mul": np.multiply,
    "div": np.divide,
    "min": np.minimum,
    "max": np.maximum,
}


@pytest.fixture
def rows(run):
    variable = tf.Variable(ROWS)
    run(variable.initializer)
    return variable


@pytest.mark.parametrize("how", CHANGES)
class TestRows:
    def test_scatter_updates_are_applied_in_order(self, run, rows, how):
        inputs = [[9.0, 8.0], [7.0, 0.5], [2.0, 4.0]]
        expected = np.array(ROWS, np.float32)
        for row, values in zip([0, 2, 0], inputs, strict=True):
            expected[row] = CHANGES[how](expected[row], values)
        got = run(getattr(tf, f"scatter_{how}")(rows, [0, 2, 0], inputs))
        assert got.tolist() == expected.tolist() == run(rows).tolist()

    def test_scatter_updates_can_be_scalars(self, run, rows, how):
        expected = np.array(ROWS)
        expected[[1, 2]] = CHANGES[how](expected[[1, 2]], 2.0)
        assert run(getattr(tf, f"scatter_{how}")(rows, [[1, 2]], 2.0)).tolist() == expected.tolist()

    def test_scatter_updates_can_be_indexed_slices(self, run, rows, how):
        slices = tf.IndexedSlices(tf.constant([[2.0, 4.0]]), tf.constant([1]))
        expected = np.array(ROWS)
        expected[1] = CHANGES[how](expected[1], [2.0, 4.0])
        assert run(getattr(rows, f"scatter_{how}")(slices)).tolist() == expected.tolist()


@pytest.mark.parametrize("how", ["update", "add", "sub"])
class TestSlices:
    @pytest.mark.parametrize(
        ("places", "values"),
        [([[0, 1], [2, 0]], [1.0, 2.0]), ([[0], [2]], [[9.0, 8.0], [7.0, 6.0]])],
    )
    def test_scatter_nd_updates_are_addressed_by_tuples(self, run, rows, how, places, values):
        expected = np.array(ROWS)
        for place, value in zip(places, values, strict=True):
            expected[tuple(place)] = CHANGES[how](expected[tuple(place)], value)
        assert (
            run(getattr(tf, f"scatter_nd_{how}")(rows, places, values)).tolist()
            == expected.tolist()
        )
        run(rows.initializer)
        assert run(getattr(rows, f"scatter_nd_{how}")(places, values)).tolist() == expected.tolist()


def test_batch_scatter_update_changes_elements_of_each_row(run):
    variable = tf.Variable([[1, 2, 3], [4, 5, 6]])
    run(variable.initializer)
    places, inputs = [[0, 1], [2, 0]], [[10, 11], [12, 13]]
    expected = [[10, 11, 3], [13, 5, 12]]
    assert run(tf.batch_scatter_update(variable, places, inputs)).tolist() == expected
    slices = tf.IndexedSlices(tf.constant([[0], [0]]), tf.constant([[1], [1]]))
    assert run(variable.batch_scatter_update(slices)).tolist() == [[10, 0, 3], [13, 0, 12]]
    with pytest.raises(ValueError, match="unknown shape"):
        tf.batch_scatter_update(variable, tf.placeholder(tf.int32), inputs)


@pytest.mark.parametrize(
    ("values", "new"),
    [(["a", "b"], "zz"), ([True, True], False), ([1, -7], 3), ([1 + 2**40, 2], 2**50)],
)
def test_scatter_update_supports_other_types(run, values, new):
    variable = tf.Variable(values, dtype=tf.int64 if max(map(bool, values)) > 1 else None)
    run(variable.initializer)
    got = run(tf.scatter_update(variable, [1], tf.constant([new], variable.dtype.base_dtype)))
    assert got.tolist() == run(tf.constant([values[0], new], variable.dtype.base_dtype)).tolist()


def test_integer_division_rounds_towards_zero(run):
    variable = tf.Variable([-7, 7])
    run(variable.initializer)
    assert run(tf.scatter_div(variable, [0, 1], [2, -2])).tolist() == [-3, -3]
    with pytest.raises(tf.errors.InvalidArgumentError, match="Integer division by zero"):
        run(tf.scatter_div(variable, [0], [0]))


@pytest.mark.parametrize(
    ("op", "places", "values", "text"),
    [
        (tf.scatter_update, [0, 3], [[0.0, 0.0]] * 2, r"indices\[1\] = 3 is not in \[0, 3\)"),
        (tf.scatter_add, [[0, -1]], [[[0.0, 0.0]] * 2], r"indices\[0,1\] = -1 is not in"),
        (tf.scatter_update, [0], [[0.0]], r"Must have updates.shape = indices.shape \+ params"),
        (
            tf.scatter_nd_add,
            [[0, 1], [2, 3]],
            [1.0, 1.0],
            r"indices\[1\] = \[2, 3\] does not index",
        ),
        (tf.scatter_nd_sub, [[0]], [[1.0]], r"Dimensions \[1,2\) of input\[shape=\[3,2\]\] must"),
        (tf.scatter_nd_sub, [[0, 0, 0]], [1.0], r"Dimensions \[3,2\) of input"),
        (tf.scatter_nd_update, 0, [1.0], "Indices shape must have rank at least one"),
    ],
)
def test_invalid_update_changes_nothing(run, rows, op, places, values, text):
    indices, updates = tf.placeholder(tf.int32), tf.placeholder(tf.float32)
    with pytest.raises(tf.errors.InvalidArgumentError, match=text):
        run(op(rows, indices, updates), {indices: places, updates: values})
    assert run(rows).tolist() == ROWS


def test_scatter_into_a_scalar_is_rejected(run):
    variable, indices, updates = tf.Variable(3.0), tf.placeholder(tf.int32), tf.placeholder("float")
    run(variable.initializer)
    with pytest.raises(tf.errors.InvalidArgumentError, match="must be at least 1-D"):
        run(tf.scatter_update(variable, indices, updates), {indices: [0], updates: [1.0]})
    with pytest.raises(tf.errors.FailedPreconditionError, match="uninitialized"):
        run(tf.scatter_update(tf.Variable([1.0]), indices, updates), {indices: [0], updates: [1.0]})


@pytest.mark.parametrize(
    ("make", "kind", "text"),
    [
        (lambda v: tf.scatter_update(tf.constant([1.0]), [0], [1.0]), TypeError, "a variable"),
        (lambda v: tf.scatter_update(v, [0.0], [[1.0, 1.0]]), TypeError, "'indices' has DataType"),
        (lambda v: tf.scatter_update(v, [0, 1], [[1.0, 1.0, 1.0]] * 2), ValueError, "are 3 and 2"),
        (lambda v: tf.scatter_nd_add(v, [[0]], 1.0), ValueError, "at least rank 1 but is rank 0"),
        (lambda v: v.scatter_add(3), TypeError, "sparse_delta is not IndexedSlices: 3"),
    ],
)
def test_invalid_arguments_are_rejected(rows, make, kind, text):
    with pytest.raises(kind, match=text):
        make(rows)


def test_concurrent_updates_are_all_applied(run):
    counts, number = tf.Variable(tf.zeros([10], tf.int64)), tf.placeholder(tf.int64, [None])
    run(counts.initializer)
    add = tf.scatter_add(counts, number, tf.ones_like(number))
    with ThreadPoolExecutor(4) as pool:
        list(pool.map(lambda n: run(add, {number: [n % 10] * 3}), range(400)))
    assert run(counts).tolist() == [120] * 10
