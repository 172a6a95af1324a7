"""`tf.contrib.slim.one_hot_encoding`.

Source: `tf.contrib.layers.one_hot_encoding` in TensorFlow 1.15.
"""

from headrace.core import dtypes
from headrace.graph import Tensor, TensorLike, add_to_collections, name_scope
from headrace.tf1 import ops

__all__ = ["one_hot_encoding"]


def one_hot_encoding(
    labels: TensorLike,
    num_classes: int,
    on_value: float = 1.0,
    off_value: float = 0.0,
    outputs_collections: str | None = None,
    scope: str | None = None,
) -> Tensor:
    """Converts labels to one-hot rows, float32.

    Args:
        labels: int32 or int64, (n,) or a scalar.
        num_classes: The length of the rows.
        on_value: The value at the label's index.
        off_value: The value elsewhere.
        outputs_collections: A collection to add the result to.
        scope: Name of the scope.
    """
    with name_scope(scope, "OneHotEncoding", [labels, num_classes]):
        numbers = ops.convert_to_tensor(labels)
        if numbers.dtype == dtypes.int32:
            numbers = ops.cast(numbers, dtypes.int64)
        rows = ops.one_hot(numbers, num_classes, on_value=on_value, off_value=off_value)
        if outputs_collections is not None:
            add_to_collections(outputs_collections, rows)
        return rows
