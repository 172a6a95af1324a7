"""The assertions of `tf.test.TestCase`: which values they accept."""

from typing import Any

import numpy as np

from tensorflow_comparison.table import case

_NAN, _INF = float("nan"), float("inf")
_PAIRS: list[tuple[Any, Any]] = [
    *((1.0, 1.0 + 1e-7), (1.0, 1.0 + 1e-5), ([1.0, 2.0], [1.0, 2.0]), ([1.0], 1.0), (1.0, [1.0])),
    *(([_NAN, 1.0], [_NAN, 1.0]), ([_NAN], [1.0]), ([_INF], [_INF]), ([_INF], [-_INF])),
    *(
        ([[1, 2]], [[1, 2]]),
        ([1, 2], [1, 3]),
        ([], []),
        ([[]], []),
        (np.float16(1), np.float16(1.002)),
    ),
    *((np.float32(1), 1.000003), (1, 1.0), (True, 1), ([b"a"], [b"a"]), ([b"a"], [b"b"])),
    *(({"a": 1.0}, {"a": 1.0}), ({"a": 1.0}, {"b": 1.0}), ({"a": 1.0}, [1.0])),
    *(({"a": [1.0, [2.0, 3.0]]}, {"a": (1.0, [2.0, 3.0])}), ([1.0, [2.0, 3.0]], [1.0, [2.0, 4.0]])),
    *(([[1.0], [2.0, 3.0]], [[1.0], [2.0]]), (0.0, 1e-6), (1e6, 1e6 + 0.5)),
]
_COMPARISONS = (
    *("assertAllClose", "assertNotAllClose", "assertAllEqual", "assertNotAllEqual"),
    "assertAllCloseAccordingToType",
)


def verdict(tf: Any, name: str, *arguments: Any) -> str:
    """Returns the result of an assertion: "holds", "fails" or "refuses" (the values)."""
    test = tf.test.TestCase("run")
    try:
        getattr(test, name)(*arguments)
    except AssertionError:
        return "fails"
    except (TypeError, ValueError):
        return "refuses"
    return "holds"


@case(*[(name,) for name in _COMPARISONS])
def of_two_values(tf: Any, name: str) -> Any:
    """Numbers, arrays, strings, lists and dicts."""
    is_plain = name in ("assertAllClose", "assertNotAllClose")
    pairs = [pair for pair in _PAIRS if is_plain or not isinstance(pair[0], dict)]
    flat = pairs if is_plain else [pair for pair in pairs if "[2.0, " not in repr(pair)]
    return [verdict(tf, name, *pair) for pair in flat]


@case(
    ("assertAllGreater", [1, 2], 0),
    ("assertAllGreater", [1, 2], 1),
    ("assertAllLess", [1, 2], 3),
    ("assertAllLess", [1, 2], 2),
    ("assertAllGreaterEqual", [1, 2], 1),
    ("assertAllGreaterEqual", [1, 2], 2),
    ("assertAllLessEqual", [1.0, 2.0], 2),
    ("assertAllInRange", [0.0, 1.0], 0, 1),
    ("assertAllInRange", [0.0, 1.0], 0, 1, True),
    ("assertAllInRange", [0.0, 1.0], 0, 1, False, True),
    ("assertAllInRange", [0.0, _NAN], 0, 1),
    ("assertAllInRange", ["a"], 0, 1),
    ("assertAllInSet", [1, 2, 1], [1, 2]),
    ("assertAllInSet", [1, 3], [1, 2]),
    ("assertNear", 1.0, 1.1, 0.2),
    ("assertNear", 1.0, 1.3, 0.2),
    ("assertArrayNear", [1.0, 2.0], [1.1, 2.0], 0.2),
    ("assertArrayNear", [1.0, 2.0], [1.1, 2.3], 0.2),
    ("assertArrayNear", [1.0], [1.0, 2.0], 0.2),
    ("assertDTypeEqual", np.zeros(2, np.int8), np.int8),
    ("assertDTypeEqual", np.zeros(2, np.int8), np.int16),
    ("assertStartsWith", "words", "wo"),
    ("assertStartsWith", "words", "rds"),
    ("assertItemsEqual", [2, 1], [1, 2]),
    ("assertItemsEqual", [2, 1], [1, 1]),
    ("assertDeviceEqual", "/device:CPU:0", "/CPU:0"),
    ("assertDeviceEqual", "/job:a/device:CPU:0", "/device:CPU:0"),
)
def of_one_kind(tf: Any, name: str, *arguments: Any) -> Any:
    """Assertions about elements, ranges, types and names."""
    return verdict(tf, name, *arguments)


@case()
def of_tensors(tf: Any) -> Any:
    """Tensors, which each assertion evaluates."""
    number = tf.constant([1.0, 2.0])
    test = tf.test.TestCase("run")
    with tf.Session().as_default():
        return [
            *(verdict(tf, "assertAllEqual", number, [1.0, 2.0]),),
            *(verdict(tf, "assertAllEqual", [1.0, 3.0], number),),
            *(verdict(tf, "assertAllClose", number, number + 1e-9),),
            *(verdict(tf, "assertAllClose", {"a": number}, {"a": [1.0, 2.0]}),),
            *(verdict(tf, "assertShapeEqual", np.zeros(2), number),),
            *(verdict(tf, "assertShapeEqual", np.zeros(3), number),),
            test.evaluate({"a": number, "b": [number[0]]}),
        ]


@case(("wrong",), ("other",))
def of_errors(tf: Any, words: str) -> Any:
    """Errors of operations, matched by their messages."""
    test = tf.test.TestCase("run")
    tensor = tf.check_numerics(tf.constant(_NAN), "wrong")
    try:
        with tf.Session() as session, test.assertRaisesOpError(words):
            session.run(tensor)
    except AssertionError:
        return "fails"
    return "holds"
