"""Imports TensorFlow nodes whose operations have different inputs or attributes in headrace.

Source: the definitions of `ParseExample`, `ParseExampleV2`, `ParseSingleExample`, `SparseMatMul`,
and `ResizeArea` and similar operations in TensorFlow 1.15 and 2.
"""

from __future__ import annotations

from dataclasses import replace
from typing import Any, Final

from headrace.core import dtypes
from headrace.core.shapes import TensorShape
from headrace.graph import Tensor
from headrace.tf1 import ops
from headrace.tf1.graph_import.node import Maker, Node, Outputs, by

__all__ = ["FOREIGN"]


def _parse_example(node: Node) -> None:
    num_sparse, num_dense = node.attrs["Nsparse"], node.attrs["Ndense"]
    records, names, *rest = node.inputs
    sparse = [_key(node, tensor) for tensor in rest[:num_sparse]]
    dense = [_key(node, tensor) for tensor in rest[num_sparse : num_sparse + num_dense]]
    _add_parser(node, [records, names], sparse, dense, rest[num_sparse + num_dense :])


def _parse_example_v2(node: Node) -> None:
    if node.attrs.get("ragged_value_types"):
        raise ValueError(f"Node '{node.name[:-1]}': ragged features are not supported.")
    records, names, sparse, dense, _, *defaults = node.inputs
    is_single = records.shape.rank == 0
    inputs = [records] if is_single else [records, names]
    _add_parser(node, inputs, _keys(node, sparse), _keys(node, dense), defaults)


def _parse_single_example(node: Node) -> None:
    record, *defaults = node.inputs
    _add_parser(node, [record], node.attrs["sparse_keys"], node.attrs["dense_keys"], defaults)


def _add_parser(
    node: Node, inputs: list[Tensor], sparse: list[str], dense: list[str], defaults: list[Tensor]
) -> None:
    """Adds a parser for one record, or for a vector of records with names."""
    attrs: dict[str, Any] = {
        "sparse_keys": list(sparse),
        "sparse_types": node.attrs.get("sparse_types", []),
        "dense_keys": list(dense),
        "dense_types": node.attrs.get("Tdense", []),
        "dense_shapes": node.attrs.get("dense_shapes", []),
    }
    is_single = len(inputs) == 1
    rows = None if inputs[0].shape.rank is None else inputs[0].shape.as_list()
    prefix = TensorShape([] if is_single else rows or [None])
    rank = 1 if is_single else 2
    outputs: Outputs = [
        *((dtypes.int64, TensorShape([None, rank])) for _ in sparse),
        *((dtype, TensorShape([None])) for dtype in attrs["sparse_types"]),
        *((dtypes.int64, TensorShape([rank])) for _ in sparse),
        *zip(attrs["dense_types"], map(prefix.concatenate, attrs["dense_shapes"]), strict=True),
    ]
    kind = "ParseSingleExample" if is_single else "ParseExample"
    replace(node, type=kind, inputs=[*inputs, *defaults], attrs=attrs).add(outputs)


def _key(node: Node, tensor: Tensor) -> str:
    return str(_known(node, tensor).item().decode())


def _keys(node: Node, tensor: Tensor) -> list[str]:
    return [key.decode() for key in _known(node, tensor)]


def _known(node: Node, tensor: Tensor) -> Any:
    value = ops.constant_value(tensor)
    if value is None:
        raise ValueError(f"Node '{node.name[:-1]}': the keys of its features must be constants.")
    return value


_RESIZED: Final = {
    "ResizeArea": ops.resize_area,
    "ResizeBicubic": ops.resize_bicubic,
    "ResizeBilinear": ops.resize_bilinear,
    "ResizeNearestNeighbor": ops.resize_nearest_neighbor,
}

# Makers for nodes without a description of their outputs, by type.
FOREIGN: Final[dict[str, Maker]] = {
    "ParseExample": _parse_example,
    "ParseExampleV2": _parse_example_v2,
    "ParseSingleExample": _parse_single_example,
    "SparseMatMul": by(ops.matmul, transpose_a="transpose_a", transpose_b="transpose_b"),
    **{
        op_type: by(
            function, align_corners="align_corners", half_pixel_centers="half_pixel_centers"
        )
        for op_type, function in _RESIZED.items()
    },
}
