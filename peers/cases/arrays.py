"""Array operations."""

from typing import Any

from peers.table import generated


@generated("small_arrays")
def reductions_of(tf: Any, rows: list[list[int]]) -> Any:
    """Sums, products and extremes over each axis and all."""
    array = tf.constant(rows, tf.int32, shape=[len(rows), len(rows[0])])
    return [
        function(array, axis=axis, keepdims=keepdims)
        for function in (tf.reduce_sum, tf.reduce_prod, tf.reduce_max, tf.reduce_min)
        for axis in (None, 0, 1, [0, 1])
        for keepdims in (False, True)
    ]
