"""The elements that a queue without a graph accepts, and its errors for others."""

import numpy as np
import pytest

from headrace.core import errors
from headrace.tf1.queues import FIFOQueue, PaddingFIFOQueue, PriorityQueue

TYPES = ["float16", "float32", "float64", "complex64", "complex128", "bool"] + [
    f"{sign}int{bits}" for sign in ("", "u") for bits in (8, 16, 32, 64)
]


def through(dtype, value, shape=None):
    """Enqueues a value, and returns the dequeued one."""
    queue = FIFOQueue(1, dtype, shapes=shape)
    queue.enqueue(value, timeout=0)
    return queue.dequeue(timeout=0)


def refusal(queue, value, is_batch=False):
    with pytest.raises(errors.InvalidArgumentError) as caught:
        (queue.enqueue_many if is_batch else queue.enqueue)(value, timeout=0)
    assert queue.size() == 0
    return str(caught.value)


@pytest.mark.parametrize("shape", [(), (0,), (1,), (3,), (2, 3), (700,), (20, 30, 7)])
@pytest.mark.parametrize("dtype", TYPES)
def test_arrays_of_every_type_and_shape_round_trip(dtype, shape):
    array = (np.arange(np.prod(shape)) % 3).astype(dtype).reshape(shape)
    taken = through(dtype, array)
    np.testing.assert_array_equal(taken, array, strict=True)
    if shape:
        assert (taken.flags.writeable, taken.flags.c_contiguous) == (True, True)


@pytest.mark.parametrize("dtype", TYPES)
def test_rows_of_a_batch_are_dequeued_as_elements(dtype):
    array = (np.arange(6 * 50) % 3).astype(dtype).reshape(6, 50)
    queue = FIFOQueue(-1, dtype, shapes=(50,))
    queue.enqueue_many(array)
    np.testing.assert_array_equal(queue.dequeue(), array[0], strict=True)
    np.testing.assert_array_equal(queue.dequeue_many(5), array[1:], strict=True)


@pytest.mark.parametrize(
    ("dtype", "value", "expected"),
    [
        ("int64", 7, np.int64(7)),
        ("uint8", 255, np.uint8(255)),
        ("uint64", 2**64 - 1, np.uint64(2**64 - 1)),
        ("int64", -(2**63), np.int64(-(2**63))),
        ("float32", 7, np.float32(7)),
        ("float32", 0.1, np.float32(0.1)),
        ("float16", 0.5, np.float16(0.5)),
        ("complex64", 1j, np.complex64(1j)),
        ("complex128", 2, np.complex128(2)),
        ("bool", True, np.True_),
        ("float64", np.float64(0.1), np.float64(0.1)),
        ("int16", np.int16(-3), np.int16(-3)),
        ("bool", np.False_, np.False_),
        ("uint8", [[1, 255]], np.array([1, 255], np.uint8)),
        ("float32", [[1, 2.5]], np.array([1, 2.5], np.float32)),
        ("float32", [[]], np.array([], np.float32)),
        ("int32", np.arange(6, dtype=">i4")[::2], np.array([0, 2, 4], np.int32)),
        ("int32", np.arange(6, dtype=np.int32).reshape(2, 3).T, [[0, 3], [1, 4], [2, 5]]),
        ("int64", np.array([1, 2], np.longlong), np.array([1, 2])),
    ],
)
def test_convertible_value_is_converted(dtype, value, expected):
    expected = np.asarray(expected, dtype)
    np.testing.assert_array_equal(through(dtype, value), expected, strict=True)


@pytest.mark.parametrize(
    ("value", "expected"),
    [
        (b"a\0b\0", b"a\0b\0"),
        ("é", "é".encode()),
        (np.str_("a"), b"a"),
        (np.bytes_(b"a"), b"a"),
        ([["a", b"b"]], [b"a", b"b"]),
        (np.array(["a", "bc"]), [b"a", b"bc"]),
        (np.array([[b"a"], ["b"]], object), [[b"a"], [b"b"]]),
        (np.array([], object), []),
    ],
)
def test_strings_are_dequeued_as_bytes(value, expected):
    taken = through("string", value)
    assert taken.tolist() == expected if isinstance(taken, np.ndarray) else taken == expected


def test_any_nonzero_byte_is_true():
    assert through("bool", np.array([0, 1, 2], np.uint8).view(bool)).tolist() == [0, 1, 1]


def test_enqueued_array_can_be_changed_afterwards():
    queue, array = FIFOQueue(2, "uint8", shapes=(5000,)), np.ones(5000, np.uint8)
    queue.enqueue(array)
    queue.enqueue_many(array[np.newaxis])
    array[:] = 0
    assert queue.dequeue().all()
    assert queue.dequeue_many(1).all()


def test_array_subclass_is_enqueued_as_a_plain_array():
    assert type(through("float64", np.ones((2, 2)).view(np.matrix))) is np.ndarray


def test_several_components_are_dequeued_as_a_list():
    queue = FIFOQueue(3, ["uint8", "string"], shapes=[(2,), ()])
    queue.enqueue((np.array([1, 2], np.uint8), "a"))
    queue.enqueue_many([[[3, 4], [5, 6]], ["b", "c"]])
    image, label = queue.dequeue()
    assert (image.tolist(), label) == ([1, 2], b"a")
    images, labels = queue.dequeue_many(2)
    assert (images.tolist(), labels.tolist()) == ([[3, 4], [5, 6]], [b"b", b"c"])


@pytest.mark.parametrize("names", [["image"], ["image", "label"]])
def test_named_components_are_a_dict(names):
    queue = FIFOQueue(3, ["int32"] * len(names), shapes=[()] * len(names), names=names)
    element = {name: np.int32(index) for index, name in enumerate(names)}
    queue.enqueue(dict(reversed(element.items())))
    queue.enqueue_many({name: np.full(2, index, np.int32) for index, name in enumerate(names)})
    assert queue.dequeue() == element
    batch = queue.dequeue_many(2)
    assert {name: rows.tolist() for name, rows in batch.items()} == {
        name: [index, index] for index, name in enumerate(names)
    }


ONE = {"dtypes": "float32", "shapes": (3,)}
PAIR = {"dtypes": ["uint8", "int64"], "shapes": [(2, 2), ()]}
NAMED = {**PAIR, "names": ["image", "label"]}
IMAGE = np.zeros((2, 2), np.uint8)


@pytest.mark.parametrize(
    ("queue", "value", "text"),
    [
        (
            ONE,
            [1.0, 2.0, 3.0],
            "got 3 components, expected 1. Each item of a list or tuple is a component. If a "
            "component is a vector, pass it as a NumPy array.",
        ),
        (PAIR, IMAGE, "got 1 components, expected 2."),
        (PAIR, {"image": IMAGE}, "got a dict, but the queue was created without names. Pass a"),
        (NAMED, [IMAGE, 1], "got a value of type list, expected a dict with the keys ['image', "),
        (NAMED, {"image": IMAGE}, "got the keys ['image'], expected a dict with the keys ['image'"),
        (
            ONE,
            np.zeros(3),
            "component 0 has type float64, expected float32. Convert it with .astype('float32').",
        ),
        (PAIR, [IMAGE, 1.5], "component 1 has type float64, expected int64. Convert it with "),
        (PAIR, [IMAGE, True], "component 1 has type bool, expected int64. Convert it with "),
        (PAIR, [IMAGE, 2**63], "component 1 has type uint64, expected int64. Convert it with "),
        (PAIR, [[[1, 2], [3, 256]], 1], "component 0 has type int64, expected uint8. Convert "),
        (PAIR, [IMAGE, "1"], "component 1 has type <U1, expected int64. Convert it with "),
        (PAIR, [IMAGE, None], "component 1 has type object, expected int64. Convert it with "),
        (
            PAIR,
            [[[1], [2, 3]], 1],
            "component 0 cannot be converted to an array of uint8: setting an array element",
        ),
        (
            {"dtypes": "string", "names": ["word"]},
            {"word": 1},
            "component 'word' cannot be converted to an array of string: Expected a string (str or "
            "bytes), got 1",
        ),
        (
            NAMED,
            {"image": np.zeros((3, 2), np.uint8), "label": 1},
            "component 'image' has shape (3, 2), expected (2, 2). Resize before enqueue, or use a "
            "PaddingFIFOQueue.",
        ),
        (
            ONE,
            np.zeros((5, 3), np.float32),
            "component 0 has shape (5, 3), expected (3,). Pass several rows to `enqueue_many`, or "
            "one element to `enqueue`.",
        ),
    ],
)
def test_mismatched_element_is_rejected(queue, value, text):
    assert refusal(FIFOQueue(9, **queue, name="examples"), value).startswith(
        f"queue 'examples': {text}"
    )


@pytest.mark.parametrize(
    ("queue", "value", "text"),
    [
        (
            ONE,
            np.zeros(3, np.float32),
            "component 0 has rows of shape (), expected (3,). Pass several rows to `enqueue_many`, "
            "or one element to `enqueue`.",
        ),
        (ONE, np.zeros((0, 4), np.float32), "component 0 has rows of shape (4,), expected (3,). "),
        (
            {"dtypes": "int64"},
            7,
            "component 0 is a scalar, expected one row for each element. Call `enqueue` to add "
            "a single element.",
        ),
        (
            PAIR,
            [[IMAGE, IMAGE], [1, 2, 3]],
            "component 1 has 3 rows, but component 0 has 2. Pass one row for each element.",
        ),
    ],
)
def test_mismatched_batch_is_rejected(queue, value, text):
    if queue is PAIR:
        value = [np.stack(value[0]), value[1]]
    message = refusal(FIFOQueue(9, **queue, name="examples"), value, is_batch=True)
    assert message.startswith(f"queue 'examples': {text}")


def test_unknown_dimensions_accept_any_size():
    queue = PaddingFIFOQueue(9, "int64", shapes=[[None, 2]])
    queue.enqueue(np.zeros((5, 2), np.int64))
    with pytest.raises(errors.InvalidArgumentError, match=r"shape \(2, 5\), expected \(None, 2\)"):
        queue.enqueue(np.zeros((2, 5), np.int64))


def test_priority_must_be_a_scalar_integer():
    queue = PriorityQueue(9, "string", shapes=[()])
    with pytest.raises(errors.InvalidArgumentError, match="component 0 has type float64, exp"):
        queue.enqueue((1.5, "a"))
    with pytest.raises(errors.InvalidArgumentError, match=r"component 0 has shape \(2,\), exp"):
        queue.enqueue(([1, 2], "a"))


def test_batch_requires_shapes():
    queue = FIFOQueue(9, "int64", name="examples")
    queue.enqueue(1)
    with pytest.raises(errors.InvalidArgumentError) as caught:
        queue.dequeue_many(1)
    assert str(caught.value) == (
        "queue 'examples': a batch requires the shapes of the components, but the queue was "
        "created without shapes. Pass shapes to the queue, or dequeue one element at a time."
    )
    assert queue.dequeue() == 1
