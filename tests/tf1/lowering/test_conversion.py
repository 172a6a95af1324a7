"""Fed numbers that a tensor's type cannot represent: a warning, or an error on request."""

import math
import re
import threading
from decimal import Decimal
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra import numpy as arrays

import headrace.tf1 as tf
from headrace.graph.lowering.conversion import LossyValue, without_loss

NAN, INFINITY = math.nan, math.inf

# The fed value, the type of the placeholder, the value in the error and its position.
REFUSED = [
    ([300], tf.uint8, "300 at [0]"),
    ([1.5], tf.int32, "1.5 at [0]"),
    ([2**40], tf.int32, "1099511627776 at [0]"),
    ([2**70], tf.int32, f"{2**70} at [0]"),
    ([1, 2**70], tf.float16, f"{2**70} at [1]"),
    ([10**400], tf.float64, f"{10**400} at [0]"),
    ([[1, 2], [3, -1]], tf.uint8, "-1 at [1, 1]"),
    ([2**63], tf.int64, f"{2**63} at [0]"),
    ([2**53 + 1, 1.5], tf.int64, "1.5 at [1]"),
    ([200, -129], tf.int8, "200 at [0]"),
    (1.5, tf.int32, "1.5 with"),
    (NAN, tf.int32, "nan with"),
    (1e30, tf.int32, "1e+30 with"),
    ([0.0, NAN], tf.int64, "nan at [1]"),
    ([-INFINITY], tf.uint16, "-inf at [0]"),
    (np.array([[1.0, 2.5]]), tf.int32, "2.5 at [0, 1]"),
    (np.array([NAN]), tf.uint8, "nan at [0]"),
    (np.array([1.0, 2.0**63]), tf.int64, "9.223372036854775808e+18"[:3]),
    (np.array([2**31]), tf.int32, "2147483648 at [0]"),
    (np.array([2**63], np.uint64), tf.int64, f"{2**63} at [0]"),
    (np.array([-1]), tf.uint64, "-1 at [0]"),
    (np.array([1, -1], np.int8), tf.uint8, "-1 at [1]"),
    (np.int64(300), tf.uint8, "300 with"),
    (np.float64(2.5), tf.uint8, "2.5 with"),
    ([1e6], tf.float16, "1000000.0 at [0]"),
    (65520, tf.float16, "65520 with"),
    (np.array([1e300]), tf.float32, "1e+300 at [0]"),
    (1e300, tf.float32, "1e+300 with"),
    ([1e300], tf.complex64, "1e+300 at [0]"),
    ([1 + 2j], tf.float32, "(1+2j) at [0]"),
    ([0j, 1j], tf.int32, "1j at [1]"),
    ([None], tf.float32, "None at [0]"),
    (None, tf.float64, "None with"),
    ([None], tf.bool, "None at [0]"),
    (["False"], tf.bool, "'False' at [0]"),
    (np.array([Decimal("0.5"), 1], object), tf.int32, "Decimal('0.5') at [0]"),
]


@pytest.fixture
def strict_session():
    with tf.Session(config=tf.ConfigProto(allow_lossy_feeds=False)) as session:
        yield session


@pytest.mark.parametrize(("value", "dtype", "named"), REFUSED)
@pytest.mark.parametrize("is_callable", [False, True])
def test_number_out_of_range_for_the_type_is_rejected(
    strict_session, value, dtype, named, is_callable
):
    session = strict_session
    x = tf.placeholder(dtype, name="x")
    copy = tf.identity(x)
    words = re.escape(f"Type of feed value {named}") + ".*is not compatible with Tensor type"
    run = session.make_callable(copy, [x]) if is_callable else lambda v: session.run(copy, {x: v})
    with pytest.raises(TypeError, match=words):
        run(value)


def test_error_for_a_lossy_feed_has_a_remedy(strict_session):
    x = tf.placeholder(tf.uint8, name="x")
    with pytest.raises(TypeError) as caught:
        strict_session.run(x, {x: [[1, 300]]})
    assert str(caught.value) == (
        "Type of feed value 300 at [0, 1] with type <class 'int'> is not compatible with Tensor "
        "type <class 'numpy.uint8'>. Try explicitly setting the type of the feed tensor to a "
        "larger type (e.g. int64). Tensor 'x:0' accepts whole numbers from 0 to 255. Remove "
        "tf.ConfigProto(allow_lossy_feeds=False) to convert such values as TensorFlow does."
    )


@pytest.mark.parametrize(
    ("value", "dtype", "expected"),
    [
        ([2.0, 3], tf.int32, [2, 3]),
        (np.array([2.0, -0.0]), tf.uint8, [2, 0]),
        (np.float32(7.0), tf.int64, 7),
        ([2**53 + 1, 1.0], tf.int64, [2**53 + 1, 1]),
        ([2**63], tf.uint64, [2**63]),
        (np.array([2**40]), tf.float32, [float(2**40)]),
        ([2**200], tf.float64, [2.0**200]),
        (np.array([0.1]), tf.float32, [float(np.float32(0.1))]),
        ([65519], tf.float16, [65504.0]),
        ([1e-300], tf.float32, [0.0]),
        ([INFINITY, -INFINITY], tf.float16, [INFINITY, -INFINITY]),
        (np.array([INFINITY]), tf.float32, [INFINITY]),
        ([1 + 0j], tf.float32, [1.0]),
        (np.array([2 + 0j]), tf.int32, [2]),
        (["7"], tf.int32, [7]),
        ([5, 0, 0.5], tf.bool, [True, False, True]),
        (np.array([Fraction(4, 2), 1], object), tf.int32, [2, 1]),
        ([], tf.int32, []),
        (np.zeros([0, 3]), tf.uint8, []),
    ],
)
def test_number_in_range_for_the_type_is_accepted(session, value, dtype, expected):
    x = tf.placeholder(dtype)
    assert session.run(tf.identity(x), {x: value}).tolist() == expected


def test_nan_is_accepted_for_floats(session):
    x = tf.placeholder(tf.float16)
    assert math.isnan(session.run(tf.identity(x), {x: [NAN]})[0])


def test_array_of_the_right_type_is_not_copied(session):
    x = tf.placeholder(tf.int64)
    array = np.arange(3)
    assert session.run(x, {x: array}) is array


LOSSY = pytest.mark.parametrize(
    ("value", "dtype", "expected"),
    [
        ([300], tf.uint8, [44]),
        ([1.5], tf.int32, [1]),
        (-3.7, tf.int32, -3),
        ([2**40], tf.int32, [0]),
        (np.array([2**40 + 1]), tf.int32, [1]),
        (np.int64(2**32 + 5), tf.int32, 5),
        (np.array([-1]), tf.uint8, [255]),
        ([1e6], tf.float16, [INFINITY]),
    ],
)


@LOSSY
def test_converted_number_causes_one_warning_per_placeholder(value, dtype, expected):
    x, y = tf.placeholder(dtype, name="x"), tf.placeholder(dtype, name="y")
    with tf.Session() as session:
        with pytest.warns(RuntimeWarning) as caught:
            assert session.run(tf.identity(x), {x: value}).tolist() == expected
        (warning,) = caught
        assert re.search(
            r"Tensor 'x:0': feed value .* does not fit into .*becomes .*, as in TensorFlow\. .*"
            r"allow_lossy_feeds=False\) to raise an error",
            str(warning.message),
        )
        assert warning.filename == __file__
        assert session.make_callable(tf.identity(x), [x])(value).tolist() == expected
        with pytest.warns(RuntimeWarning, match="'y:0'"):
            assert session.run(tf.identity(y), {y: value}).tolist() == expected


def test_floats_from_a_feeding_thread_do_not_stop_a_program():
    """Pixels from 0 to 1 are fed as integers, so the queue gets truncated numbers."""
    x = tf.placeholder(tf.int32, [3], name="x")
    queue = tf.FIFOQueue(10, tf.int32, [3])
    enqueue, dequeue = queue.enqueue(x), queue.dequeue()

    def feed(session):
        for number in range(5):
            session.run(enqueue, {x: np.array([0.5, 1.0, 1.9]) + number})

    def dequeued(session):
        thread = threading.Thread(target=feed, args=(session,))
        thread.start()
        inputs = [session.run(dequeue).tolist() for _ in range(5)]
        thread.join(30)
        return inputs

    config = tf.ConfigProto(operation_timeout_in_ms=30_000)
    with tf.Session(config=config) as session:
        with pytest.warns(RuntimeWarning, match="'x:0'.* becomes 0"):
            value = dequeued(session)
        assert value == [[number, number + 1, number + 1] for number in range(5)]


@LOSSY
@pytest.mark.filterwarnings("ignore:overflow encountered")
def test_session_can_allow_lossy_conversion(value, dtype, expected):
    x = tf.placeholder(dtype)
    copy = tf.identity(x)
    with tf.Session(config=tf.ConfigProto(allow_lossy_feeds=True)) as session:
        assert session.run(copy, {x: value}).tolist() == expected
        assert session.make_callable(copy, [x])(value).tolist() == expected


@pytest.mark.parametrize("value", [300, [2**70]])
def test_feed_rejected_by_tensorflow_is_always_rejected(value):
    x = tf.placeholder(tf.uint8)
    with (
        tf.Session(config=tf.ConfigProto(allow_lossy_feeds=True)) as session,
        pytest.raises(
            TypeError, match=r"is not compatible with Tensor type <class .numpy\.uint8.>"
        ),
    ):
        session.run(x, {x: value})


TYPES = [
    *("int8", "int16", "int32", "int64", "uint8", "uint16", "uint32", "uint64"),
    *("float16", "float32", "float64"),
]
ARRAYS = st.sampled_from(TYPES).flatmap(
    lambda name: arrays.arrays(name, arrays.array_shapes(max_dims=2, max_side=4))
)


@given(ARRAYS, st.sampled_from(TYPES))
def test_numbers_are_unchanged_or_rejected(array, name):
    dtype = np.dtype(name)
    held = [is_held(item, dtype) for item in array.ravel().tolist()]
    for value in (array, array.tolist()):
        if all(held):
            result = without_loss(value, dtype)
            assert result.dtype == dtype
            np.testing.assert_array_equal(result, array.astype(dtype))
        else:
            with pytest.raises(LossyValue) as caught:
                without_loss(value, dtype)
            assert np.ravel_multi_index(caught.value.index, array.shape) == held.index(False)


def is_held(item: int | float, dtype: np.dtype) -> bool:
    """Returns whether a type can hold a number, by Python's exact arithmetic."""
    if dtype.kind == "f":
        with np.errstate(over="ignore"):
            return not math.isfinite(item) or bool(np.isfinite(np.array(float(item)).astype(dtype)))
    limits = np.iinfo(dtype)
    return math.isfinite(item) and item == int(item) and limits.min <= item <= limits.max
