"""Makers for operations on sparse tensors."""

from typing import Any, Final

from headrace.core import dtypes
from headrace.core.dtypes import DType
from headrace.core.shapes import TensorShape, unknown_shape
from headrace.ops.sparse.broadcast import product_of_elements, quotient_of_elements
from headrace.tf1 import ops
from headrace.tf1.graph_import.node import Maker, Node, Outputs, by, native
from headrace.tf1.ops.sparse.elementwise import sum_with_parts
from headrace.tf1.ops.sparse.matmul import product_of_parts
from headrace.tf1.ops.sparse.softmax import softmax_of_parts

__all__ = ["SPARSE"]

_VECTOR = TensorShape([None])


def _parts(dtype: DType, rank: Any = None) -> list[tuple[DType, TensorShape]]:
    """Returns the dtypes and static shapes of indices, values and shape."""
    return [
        (dtypes.int64, TensorShape([None, rank])),
        (dtype, _VECTOR),
        (dtypes.int64, TensorShape([rank])),
    ]


def _serialized(shape: TensorShape) -> Maker:
    return native(lambda _: [(dtypes.string, shape)])


def _like(node: Node) -> Outputs:
    return [(tensor.dtype.base_dtype, tensor.shape) for tensor in node.inputs[:2]]


def _as_first(node: Node) -> Outputs:
    """Returns the dtypes and shapes of the first sparse tensor. The number of values may differ."""
    _, values, shape = node.inputs[:3]
    return _parts(values.dtype.base_dtype, shape.shape.num_elements())


def _extreme(node: Node) -> Outputs:
    return _as_first(node)[:2]


def _joined(node: Node) -> Outputs:
    count = len(node.inputs) // 3
    rank = node.inputs[-1].shape.num_elements()
    return _parts(node.inputs[count].dtype.base_dtype, rank)


def _crossed(node: Node) -> Outputs:
    return _parts(node.attrs["out_type"], 2)


def _filled(node: Node) -> Outputs:
    indices, values, _ = _as_first(node)
    return [indices, values, (dtypes.bool, _VECTOR), (dtypes.int64, _VECTOR)]


def _pieces(node: Node) -> Outputs:
    _, _, values, shape = node.inputs
    parts = _parts(values.dtype.base_dtype, shape.shape.num_elements())
    return [part for part in parts for _ in range(node.attrs["num_split"])]


def _reshaped(node: Node) -> Outputs:
    rank = node.inputs[2].shape.num_elements()
    return [(dtypes.int64, TensorShape([None, rank])), (dtypes.int64, TensorShape([rank]))]


def _reduced(node: Node) -> Outputs:
    return [(node.inputs[1].dtype.base_dtype, unknown_shape())]


def _segments(function: Any) -> dict[str, Maker]:
    words = function.__name__.removeprefix("sparse_").split("_")
    op_type = "Sparse" + "".join(word.capitalize() for word in words)
    return {op_type: by(function), f"{op_type}WithNumSegments": by(function)}


SPARSE: Final[dict[str, Maker]] = {
    "DeserializeManySparse": native(lambda node: _parts(node.attrs["dtype"])),
    "SerializeManySparse": _serialized(TensorShape([None, 3])),
    "SerializeSparse": _serialized(TensorShape([3])),
    "SparseAdd": native(_as_first),
    "SparseConcat": native(_joined),
    "SparseCross": native(_crossed),
    "SparseDenseCwiseDiv": by(quotient_of_elements),
    "SparseDenseCwiseMul": by(product_of_elements),
    "SparseFillEmptyRows": native(_filled),
    "SparseReduceMax": native(_reduced),
    "SparseReduceMaxSparse": native(lambda node: _parts(node.inputs[1].dtype.base_dtype)),
    "SparseReduceSum": native(_reduced),
    "SparseReduceSumSparse": native(lambda node: _parts(node.inputs[1].dtype.base_dtype)),
    "SparseReorder": native(_like),
    "SparseReshape": native(_reshaped),
    **_segments(ops.sparse_segment_mean),
    **_segments(ops.sparse_segment_sqrt_n),
    **_segments(ops.sparse_segment_sum),
    "SparseSlice": native(_as_first),
    "SparseSoftmax": by(softmax_of_parts),
    "SparseSparseMaximum": native(_extreme),
    "SparseSparseMinimum": native(_extreme),
    "SparseSplit": native(_pieces),
    "SparseTensorDenseAdd": by(sum_with_parts),
    "SparseTensorDenseMatMul": by(product_of_parts, adjoint_a="adjoint_a", adjoint_b="adjoint_b"),
    "SparseToDense": by(ops.sparse_to_dense, validate_indices="validate_indices"),
}
