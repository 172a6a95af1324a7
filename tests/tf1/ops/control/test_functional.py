"""`tf.map_fn`, `tf.scan`, `tf.foldl` and `tf.foldr`: functions of the rows of tensors."""

import numpy as np
import pytest

import headrace.tf1 as tf


def run(fetches, feeds=None):
    with tf.Session(config=tf.ConfigProto(operation_timeout_in_ms=20_000)) as session:
        session.run(tf.global_variables_initializer())
        return session.run(fetches, feeds)


def test_map_fn_applies_a_function_to_each_row():
    result = tf.map_fn(lambda row: row * 2, tf.constant([[1, 2], [3, 4]]))
    assert result.name == "map/TensorArrayStack/TensorArrayGatherV3:0"
    assert (result.shape, result.dtype) == ([2, 2], tf.int32)
    assert run(result).tolist() == [[2, 4], [6, 8]]


def test_map_fn_accepts_and_returns_structures():
    rows = {"a": tf.constant([1, 2]), "b": (tf.constant([3.0, 4.0]),)}
    result = tf.map_fn(
        lambda row: (tf.cast(row["a"], tf.float32) + row["b"][0], row["a"]),
        rows,
        dtype=(tf.float32, tf.int32),
    )
    sums, firsts = run(result)
    assert (sums.tolist(), firsts.tolist()) == ([4, 6], [1, 2])


def test_map_fn_decodes_records_row_by_row():
    records = tf.placeholder(tf.string, [None])
    images = tf.map_fn(
        lambda record: tf.cast(tf.reshape(tf.decode_raw(record, tf.uint8), [2, 2]), tf.float32),
        records,
        dtype=tf.float32,
    )
    assert images.shape.as_list() == [None, 2, 2]
    fed = [bytes([i, i + 1, i + 2, i + 3]) for i in range(64)]
    assert run(images, {records: fed}).tolist() == [[[i, i + 1], [i + 2, i + 3]] for i in range(64)]
    with pytest.raises(tf.errors.InvalidArgumentError, match=r"iteration 3 of the loop map/while"):
        run(images, {records: [b"1234", b"1234", b"1234", b"12345", b"1"]})


def test_map_fn_body_can_parse_and_draw_random_numbers():
    example = tf.train.Example()
    example.features.feature["n"].int64_list.value.append(7)
    features = {"n": tf.FixedLenFeature([], tf.int64)}
    records = tf.constant([example.SerializeToString()] * 3)
    parsed = tf.map_fn(
        lambda record: tf.parse_single_example(record, features)["n"], records, dtype=tf.int64
    )
    assert run(parsed).tolist() == [7, 7, 7]
    drawn = tf.map_fn(lambda row: row + tf.random_uniform([], seed=1), tf.zeros([5]))
    assert len(set(run(drawn).tolist())) == 5


def test_map_fn_over_many_rows_is_the_same_with_and_without_rewrites():
    """Several threads may take the rows of the first one."""
    rows = np.random.default_rng(1).random((300, 50, 50), np.float32)
    tensor = tf.placeholder(tf.float32, [None, 50, 50])
    result = tf.map_fn(tf.image.per_image_standardization, tensor[..., None])
    options = tf.OptimizerOptions(opt_level=tf.OptimizerOptions.L0)
    plain = tf.ConfigProto(graph_options=tf.GraphOptions(optimizer_options=options))
    with tf.Session() as session, tf.Session(config=plain) as other:
        first, second = (each.run(result, {tensor: rows}) for each in (session, other))
    np.testing.assert_array_equal(first, second)


def test_error_names_the_first_failing_row():
    records = [b"1234" * 50_000] * 40
    records[17] = records[30] = b"123"
    tensor = tf.placeholder(tf.string, [None])
    sums = tf.map_fn(
        lambda record: tf.reduce_sum(tf.decode_raw(record, tf.int32)), tensor, dtype=tf.int32
    )
    with tf.Session() as session:
        for _ in range(5):
            with pytest.raises(tf.errors.InvalidArgumentError, match="iteration 17 of the loop"):
                session.run(sums, {tensor: records})


def test_python_functions_are_called_in_row_order():
    seen = []

    def function(value):
        seen.append(int(value))
        return value * np.int32(3)

    result = tf.map_fn(lambda x: tf.py_func(function, [x], tf.int32), tf.constant([3, 1, 2]))
    assert run(result).tolist() == [9, 3, 6]
    assert seen == [3, 1, 2]


def test_map_fn_over_no_rows_requires_a_known_shape():
    none = tf.placeholder_with_default(np.zeros([0, 2], np.int32), [None, 2])
    assert run(tf.map_fn(lambda row: row, none)).shape == (0, 2)
    with pytest.raises(tf.errors.UnimplementedError, match="is not fully defined"):
        run(tf.map_fn(lambda row: tf.range(row[0]), none))


def test_map_fn_rows_must_have_equal_shapes():
    with pytest.raises(tf.errors.InvalidArgumentError, match="TensorArray has inconsistent shapes"):
        run(tf.map_fn(lambda n: tf.range(n + 0), tf.constant([1, 2])))


@pytest.mark.parametrize(
    ("make", "error", "text"),
    [
        (lambda: tf.map_fn(1, tf.ones([2])), TypeError, "fn must be callable"),
        (lambda: tf.map_fn(lambda x: x, 1), ValueError, "elems must be a 1[+] dimensional Tensor"),
        (lambda: tf.map_fn(lambda x: x, (1, 2)), ValueError, "elements in elems must be 1[+]"),
        (
            lambda: tf.map_fn(lambda x: x, tf.SparseTensor([[0]], [1], [1])),
            TypeError,
            "values of a sparse tensor",
        ),
        (
            lambda: tf.map_fn(tf.to_int64, tf.constant([1])),
            TypeError,
            "of type int64, expected int32. Pass the types of the results of fn as dtype",
        ),
        (
            lambda: tf.map_fn(lambda x: x[0], (tf.ones([2]), tf.ones([3])), dtype=tf.float32),
            ValueError,
            "not compatible",
        ),
        (lambda: tf.scan(1, tf.ones([2])), TypeError, "fn must be callable"),
        (lambda: tf.foldl(1, tf.ones([2])), TypeError, "fn must be callable"),
        (
            lambda: tf.foldr(lambda a, x: (a, x), tf.ones([2])),
            ValueError,
            "not a sequence and the second is a sequence",
        ),
    ],
)
def test_invalid_functions_and_elements_are_rejected(make, error, text):
    with pytest.raises(error, match=text):
        make()


def test_different_numbers_of_rows_are_rejected_at_run_time():
    first, second = tf.placeholder(tf.int32, [None]), tf.placeholder(tf.int32, [None])
    result = tf.map_fn(lambda row: row[0] + row[1], (first, second), dtype=tf.int32)
    with pytest.raises(tf.errors.InvalidArgumentError, match="of 2 and 3 rows"):
        run(result, {first: [1, 2], second: [1, 2, 3]})


def test_scan_keeps_the_accumulated_value_after_each_row():
    numbers = tf.constant([1, 2, 3, 4])
    result = tf.scan(lambda a, x: a + x, numbers)
    assert (result.name, result.shape) == ("scan/TensorArrayStack/TensorArrayGatherV3:0", [4])
    assert run(result).tolist() == [1, 3, 6, 10]
    assert run(tf.scan(lambda a, x: a + x, numbers, reverse=True)).tolist() == [10, 9, 7, 4]
    assert run(tf.scan(lambda a, x: a * 2 + x, numbers, 5)).tolist() == [11, 24, 51, 106]


def test_backward_scan_starts_with_the_last_row():
    result = tf.scan(lambda a, x: a * 2 + x, tf.constant([1, 2, 3]), 5, reverse=True)
    assert run(result).tolist() == [(13 * 2 + 2) * 2 + 1, 13 * 2 + 2, 13]


def test_scan_accumulates_structures():
    first = (tf.constant(1), tf.constant(1))
    left, right = tf.scan(lambda a, _: (a[1], a[0] + a[1]), tf.zeros([6]), first)
    assert run(left).tolist() == [1, 2, 3, 5, 8, 13]
    assert run(right).tolist() == [2, 3, 5, 8, 13, 21]


def test_folds_combine_rows_from_either_end():
    numbers = tf.constant([1, 2, 3])
    left = tf.foldl(lambda a, x: a * 2 + x, numbers)
    assert (left.name, left.shape) == ("foldl/while/Exit_2:0", [])
    assert run(left) == 11
    assert run(tf.foldr(lambda a, x: a * 2 + x, numbers)) == 17
    assert run(tf.foldl(lambda a, x: a * 2 + x, numbers, 5)) == 51
    assert run(tf.foldr(lambda a, x: a * 2 + x, numbers, 5)) == 57
    assert run(tf.foldl(lambda a, x: a + x, np.zeros([0], np.int32), 5)) == 5
