"""Changes rows and slices of variables."""

from typing import Any

from tensorflow_comparison.table import case

_FUNCTIONS = ["update", "add", "sub", "mul", "div", "min", "max"]
_DTYPES = ["float32", "float64", "int32", "int64", "uint8", "float16"]


def _variable(tf: Any, dtype: str = "float32") -> Any:
    return tf.Variable(tf.cast([[1, 2], [3, 4], [5, 6]], dtype), name="v")


@case(*[(function, dtype) for function in _FUNCTIONS for dtype in _DTYPES])
def scattered_rows(tf: Any, function: str, dtype: str) -> Any:
    """Repeated rows, a single row, and a scalar for several rows."""
    variable = _variable(tf, dtype)
    scatter = getattr(tf, f"scatter_{function}")
    results = []
    inputs: list[Any] = [
        ([0, 2, 0], [[9, 7], [8, 8], [1, 2]]),
        (1, [1, 2]),
        ([[1, 2], [0, 1]], 2),
        ([], tf.zeros([0, 2], dtype)),
    ]
    ops = [scatter(variable, tf.cast(at, tf.int32), tf.cast(new, dtype)) for at, new in inputs]
    with tf.Session() as session:
        session.run(tf.global_variables_initializer())
        for op in ops:
            results.append(session.run(op).tolist())
        return [(op.name, op.dtype.name, str(op.shape)) for op in ops], results


@case(*[(function, dtype) for function in ("update", "add", "sub") for dtype in _DTYPES])
def scattered_slices(tf: Any, function: str, dtype: str) -> Any:
    """Single elements, rows, and the whole variable."""
    variable = _variable(tf, dtype)
    scatter = getattr(tf, f"scatter_nd_{function}")
    ops = [
        scatter(variable, [[0, 1], [2, 0], [0, 1]], tf.cast([1, 2, 1], dtype)),
        scatter(variable, tf.constant([[1], [0]], tf.int64), tf.cast([[1, 2], [3, 4]], dtype)),
        scatter(variable, [[[1, 1]], [[2, 1]]], tf.cast([[5], [6]], dtype)),
    ]
    with tf.Session() as session:
        session.run(tf.global_variables_initializer())
        return [(op.name, str(op.shape), session.run(op).tolist()) for op in ops]


@case(("string",), ("bool",))
def scattered_others(tf: Any, dtype: str) -> Any:
    """Values that can only be replaced."""
    values = [b"a", b"b"] if dtype == "string" else [True, False]
    variable = tf.Variable(values)
    with tf.Session() as session:
        session.run(tf.global_variables_initializer())
        return session.run(tf.scatter_update(variable, [1, 0], values)).tolist()


@case()
def scattered_rows_of_rows(tf: Any) -> Any:
    """`batch_scatter_update`, of several ranks."""
    two, three = tf.Variable(tf.zeros([2, 3])), tf.Variable(tf.zeros([2, 2, 3], tf.int32))
    positions = tf.constant([[[0, 2], [1, 0]], [[2, 2], [0, 1]]])
    ops = [
        tf.batch_scatter_update(two, [[0, 1], [2, 0]], [[1.0, 2.0], [3.0, 4.0]]),
        tf.batch_scatter_update(three, positions, tf.reshape(tf.range(8), [2, 2, 2])),
    ]
    with tf.Session() as session:
        session.run(tf.global_variables_initializer())
        return [session.run(op).tolist() for op in ops]


@case(*[(function,) for function in [*_FUNCTIONS, "nd_update", "nd_add", "nd_sub"]])
def scattered_by_methods(tf: Any, function: str) -> Any:
    """The methods of variables."""
    variable = _variable(tf)
    slices = tf.IndexedSlices(tf.constant([[3.0, 4.0]]), tf.constant([1]))
    inputs = [[[0, 1]], [5.0]] if function.startswith("nd") else [slices]
    method = getattr(variable, f"scatter_{function}")
    with tf.Session() as session:
        session.run(tf.global_variables_initializer())
        return session.run(method(*inputs)).tolist()


_WRONG: list[Any] = [
    *[("update", [0, 3], [[1.0, 1.0]] * 2), ("add", [[0, -1]], [[[1.0, 1.0]] * 2])],
    *[("update", [0], [[1.0]]), ("mul", [0, 1], [1.0, 2.0]), ("nd_update", [[0, 2]], [1.0])],
    *[("nd_update", [[0]], [[1.0]]), ("nd_update", [[0, 0, 0]], [1.0])],
]


@case(*[(*wrong, fed) for wrong in _WRONG for fed in (False, True)])
def scattered_wrongly(tf: Any, function: str, positions: Any, value: Any, fed: bool) -> Any:
    """Arguments that are rejected when the graph is built or when it runs."""
    variable = _variable(tf)
    indices, updates = tf.placeholder(tf.int32), tf.placeholder(tf.float32)
    scatter = getattr(tf, f"scatter_{function}")
    op = scatter(variable, indices, updates) if fed else scatter(variable, positions, value)
    with tf.Session() as session:
        session.run(tf.global_variables_initializer())
        return session.run(op, {indices: positions, updates: value}).tolist()
