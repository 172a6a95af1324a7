"""Sparse tensors serialized as strings, for queues and files.

Source: `tf.serialize_sparse`, `tf.serialize_many_sparse` and `tf.deserialize_many_sparse` of
TensorFlow 1.15.
"""

from headrace.core import dtypes
from headrace.core.dtypes import DType, DTypeLike, as_dtype
from headrace.core.shapes import TensorShape
from headrace.graph import Tensor, TensorLike, define
from headrace.ops.framework.arguments import Input, Outputs, apply_op
from headrace.ops.framework.inference import ShapeConflict, check_rank
from headrace.ops.sparse.tensor import SparseTensor, SparseTensorValue, as_sparse_tensor

__all__ = ["deserialize_many_sparse", "serialize_many_sparse", "serialize_sparse"]

_NUM_PARTS = 3


def serialize_sparse(
    sp_input: SparseTensor | SparseTensorValue,
    out_type: DTypeLike = dtypes.string,
    name: str | None = None,
) -> Tensor:
    """Serializes a sparse tensor to three strings: its indices, values and shape.

    Args:
        sp_input: The sparse tensor.
        out_type: Must be string.
        name: Name of the operation.

    Returns:
        Strings, (3,): serialized `TensorProto`s.

    Raises:
        TypeError: If `sp_input` is not a sparse tensor, or `out_type` is not string.
    """
    return _serialize("SerializeSparse", sp_input, TensorShape([_NUM_PARTS]), out_type, name)


def serialize_many_sparse(
    sp_input: SparseTensor | SparseTensorValue,
    out_type: DTypeLike = dtypes.string,
    name: str | None = None,
) -> Tensor:
    """Serializes each row of a sparse tensor to three strings.

    Args:
        sp_input: The sparse tensor, of at least two dimensions.
        out_type: Must be string.
        name: Name of the operation.

    Returns:
        Strings, (rows, 3): see `serialize_sparse`.

    Raises:
        InvalidArgumentError: At run time, if the tensor has only one dimension, or an index is out
            of range.
        TypeError: If `sp_input` is not a sparse tensor, or `out_type` is not string.
    """
    shape = TensorShape([None, _NUM_PARTS])
    return _serialize("SerializeManySparse", sp_input, shape, out_type, name)


def deserialize_many_sparse(
    serialized_sparse: TensorLike,
    dtype: DTypeLike,
    rank: int | None = None,
    name: str | None = None,
) -> SparseTensor:
    """Deserializes and stacks sparse tensors.

    Args:
        serialized_sparse: Strings, (n, 3), from `serialize_sparse` or `serialize_many_sparse`.
        dtype: The type of the elements.
        rank: The number of dimensions of the result, or None if unknown.
        name: Name of the operation.

    Returns:
        A sparse tensor with a new leading dimension. Each other dimension has the largest size
        among the tensors.

    Raises:
        InvalidArgumentError: At run time, if `serialized_sparse` is empty, a tensor is damaged, or
            types or ranks differ.
        ValueError: If `serialized_sparse` does not have three columns.
    """
    kind = as_dtype(dtype)

    def infer(strings: Tensor) -> Outputs:
        check_rank(strings.shape, 2)
        width = strings.shape[1].value if strings.shape.rank else None
        if width not in (None, _NUM_PARTS):
            raise ShapeConflict(f"Dimension must be {_NUM_PARTS} but is {width}")
        return [
            (dtypes.int64, TensorShape([None, rank])),
            (kind, TensorShape([None])),
            (dtypes.int64, TensorShape([rank])),
        ]

    inputs = [Input("serialized_sparse", serialized_sparse, dtypes.string)]
    attrs = {"dtype": kind}
    op = apply_op("DeserializeManySparse", inputs, infer, name=name, attrs=attrs)
    return SparseTensor(*op.outputs)


def _serialize(
    op_type: str,
    sparse: SparseTensor | SparseTensorValue,
    shape: TensorShape,
    out_type: DTypeLike,
    name: str | None,
) -> Tensor:
    sparse = as_sparse_tensor(sparse)
    kind: DType = as_dtype(out_type)
    if kind != dtypes.string:
        raise TypeError(f"{name or op_type}: out_type is {kind.name}, expected string.")
    inputs = [
        Input("sparse_indices", sparse.indices, dtypes.int64),
        Input("sparse_values", sparse.values),
        Input("sparse_shape", sparse.dense_shape, dtypes.int64),
    ]
    outputs = [(dtypes.string, shape)]
    attrs = {"out_type": kind}
    op = apply_op(op_type, inputs, lambda *_: outputs, name=name, attrs=attrs)
    return op.outputs[0]


define("DeserializeManySparse")
define("SerializeManySparse")
define("SerializeSparse")
