"""Reads and sets matrix diagonals.

Source: `tf.diag`, `tf.matrix_diag`, `tf.matrix_band_part` and similar functions in TensorFlow 1.15.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from headrace.core import dtypes
from headrace.core.allocation_guard import check_array
from headrace.core.shapes import bracketed, unknown_shape
from headrace.graph import Tensor, TensorLike, define
from headrace.ops.framework.arguments import Input, Outputs, apply_op
from headrace.ops.framework.elementwise import INDEX_TYPES
from headrace.ops.framework.folding import fold, fold_scalar
from headrace.ops.framework.inference import ShapeConflict, check_rank, merge_shapes
from headrace.ops.framework.kernel import Array, fail

__all__ = [
    "diag",
    "diag_part",
    "matrix_band_part",
    "matrix_diag",
    "matrix_diag_part",
    "matrix_set_diag",
]

_DIAGONAL_TYPES = (
    *(dtypes.float16, dtypes.float32, dtypes.float64, dtypes.int32, dtypes.int64),
    *(dtypes.complex64, dtypes.complex128),
)


def diag(diagonal: TensorLike, name: str | None = None) -> Tensor:
    """Returns a tensor with the given elements on its diagonal and zeros elsewhere.

    Args:
        diagonal: The elements, numbers of rank 1 or more. The shape `[a, b]` results in the shape
            `[a, b, a, b]`.
        name: Name of the operation.
    """

    def infer(tensor: Tensor) -> Outputs:
        if tensor.shape.rank == 0:
            raise ShapeConflict("Shape must be at least rank 1 but is rank 0")
        return [(tensor.dtype.base_dtype, tensor.shape.concatenate(tensor.shape))]

    def kernel(array: Array) -> Array:
        if array.ndim < 1:
            fail("Input must be at least rank 1, got 0")
        check_array([array.size, array.size], array.dtype)
        return np.diag(array.ravel()).reshape(array.shape * 2)

    inputs = [Input("diagonal", diagonal, allowed=_DIAGONAL_TYPES)]
    return apply_op("Diag", inputs, infer, name=name, kernel=kernel).outputs[0]


def diag_part(input: TensorLike, name: str | None = None) -> Tensor:
    """Returns the elements on the diagonal of a tensor.

    Args:
        input: Numbers. The second half of the shape must equal the first half.
        name: Name of the operation.

    Returns:
        A tensor whose shape is the first half of the input's shape.

    Raises:
        ValueError: If the number of axes is odd, or the halves of the shape differ.
    """

    def infer(tensor: Tensor) -> Outputs:
        rank = tensor.shape.rank
        if rank is None:
            return [(tensor.dtype.base_dtype, unknown_shape())]
        if rank % 2 or not rank:
            raise ShapeConflict(f"Input must have even and non-zero rank, input rank is {rank}")
        shape = merge_shapes(tensor.shape[: rank // 2], tensor.shape[rank // 2 :])
        return [(tensor.dtype.base_dtype, shape)]

    def kernel(array: Array) -> Array:
        half = array.ndim // 2
        if array.ndim % 2 or not half:
            fail(f"The rank of the tensor should be even and positive, got {array.ndim}")
        if array.shape[:half] != array.shape[half:]:
            fail(f"Invalid shape {bracketed(array.shape)}: the halves of the shape differ")
        size = int(np.prod(array.shape[:half], dtype=np.int64))
        return np.diagonal(array.reshape(size, size)).reshape(array.shape[:half])

    inputs = [Input("input", input, allowed=_DIAGONAL_TYPES)]
    return apply_op("DiagPart", inputs, infer, name=name, kernel=kernel).outputs[0]


def matrix_diag(
    diagonal: TensorLike,
    k: TensorLike = 0,
    num_rows: TensorLike = -1,
    num_cols: TensorLike = -1,
    padding_value: TensorLike = 0,
    name: str | None = None,
) -> Tensor:
    """Returns matrices with the given elements on one or several diagonals.

    Args:
        diagonal: The elements. For one diagonal, a vector or a batch of vectors. For several
            diagonals, a matrix or a batch of matrices with one row per diagonal, uppermost first.
            Each row begins with the start of its diagonal.
        k: The diagonal number: 0 for the main diagonal, positive above it, negative below it. For
            several diagonals, the lowest and the highest number.
        num_rows: The height of the matrices. -1 means the smallest possible.
        num_cols: The width of the matrices. -1 means the smallest possible.
        padding_value: The value of the other elements.
        name: Name of the operation.
    """

    def sizes(length: int, low: int, high: int, rows: int, columns: int) -> tuple[int, int]:
        least = length - min(high, 0), length + max(low, 0)
        if rows == columns == -1:
            return max(least), max(least)
        rows, columns = (a if b == -1 else b for a, b in zip(least, (rows, columns), strict=True))
        if rows < least[0] or columns < least[1]:
            raise ShapeConflict(
                f"num_rows = {rows} and num_cols = {columns} are too small for the diagonals, "
                f"which need at least {least[0]} and {least[1]}"
            )
        if rows != least[0] and columns != least[1]:
            raise ShapeConflict("num_rows and num_cols are not consistent with d_lower and d_upper")
        return rows, columns

    def infer(
        values: Tensor, which: Tensor, height: Tensor, width: Tensor, _padding: Tensor
    ) -> Outputs:
        dtype, shape = values.dtype.base_dtype, values.shape
        if shape.rank == 0:
            raise ShapeConflict("Shape must be at least rank 1 but is rank 0")
        band, rows, columns = fold(which), fold_scalar(height), fold_scalar(width)
        if shape.rank is None or band is None:
            return [(dtype, unknown_shape())]
        low, high = _band_of(band, ShapeConflict)
        front = shape[: -1 if low == high else -2]
        if low != high and not shape[-2].is_compatible_with(high - low + 1):
            raise ShapeConflict(
                f"The number of diagonals provided in the input does not match the lower_diag_index"
                f" and upper_diag_index range: {shape[-2]} and {high - low + 1}"
            )
        length = shape[-1].value
        if length is None or rows is None or columns is None:
            return [(dtype, front.concatenate([None, None]))]
        return [(dtype, front.concatenate(list(sizes(length, low, high, rows, columns))))]

    def kernel(values: Array, which: Array, height: Array, width: Array, padding: Array) -> Array:
        low, high = _band_of(which, _refused)
        if values.ndim < (1 if low == high else 2):
            fail(f"diagonal must be at least 1-dim, received shape: {bracketed(values.shape)}")
        stacked = values[..., None, :] if low == high else values
        if stacked.shape[-2] != high - low + 1:
            fail(
                "The number of diagonals provided in the input does not match the "
                "lower_diag_index and upper_diag_index range."
            )
        length = stacked.shape[-1]
        try:
            shape = sizes(length, low, high, int(height.item()), int(width.item()))
        except ShapeConflict as conflict:
            fail(str(conflict))
        check_array([*stacked.shape[:-2], *shape], values.dtype)
        matrices = np.full((*stacked.shape[:-2], *shape), padding, dtype=values.dtype)
        for number, offset in enumerate(range(high, low - 1, -1)):
            rows, columns = _diagonal_indices(shape, offset)
            matrices[..., rows, columns] = stacked[..., number, : len(rows)]
        return matrices

    inputs = [
        Input("diagonal", diagonal),
        Input("k", k, dtypes.int32),
        Input("num_rows", num_rows, dtypes.int32),
        Input("num_cols", num_cols, dtypes.int32),
        Input("padding_value", padding_value),
    ]
    op = apply_op("MatrixDiagV2", inputs, infer, name=name or "diag", kernel=kernel)
    return op.outputs[0]


def matrix_diag_part(
    input: TensorLike, k: TensorLike = 0, padding_value: TensorLike = 0, name: str | None = None
) -> Tensor:
    """Returns the elements on one or several diagonals of matrices.

    Args:
        input: The matrices, in the last two axes.
        k: The diagonal number, or the lowest and the highest number; see `matrix_diag`.
        padding_value: The value that pads diagonals to the length of the longest one.
        name: Name of the operation.

    Returns:
        The elements of each diagonal, from its start. Several diagonals are returned along a new
        axis, the uppermost first.

    Raises:
        ValueError: If a matrix does not have this diagonal.
    """

    def infer(matrices: Tensor, which: Tensor, _padding: Tensor) -> Outputs:
        dtype, shape, band = matrices.dtype.base_dtype, matrices.shape, fold(which)
        if shape.rank is not None and shape.rank < 2:
            raise ShapeConflict(f"Shape must be at least rank 2 but is rank {shape.rank}")
        if shape.rank is None or band is None:
            return [(dtype, unknown_shape())]
        low, high = _band_of(band, ShapeConflict)
        rows, columns = shape[-2].value, shape[-1].value
        length = None
        if rows is not None and columns is not None:
            length = _longest(rows, columns, low, high, ShapeConflict)
        back = [length] if low == high else [high - low + 1, length]
        return [(dtype, shape[:-2].concatenate(back))]

    def kernel(matrices: Array, which: Array, padding: Array) -> Array:
        if matrices.ndim < 2:
            fail(f"input must be at least 2-dim, received shape: {bracketed(matrices.shape)}")
        low, high = _band_of(which, _refused)
        length = _longest(matrices.shape[-2], matrices.shape[-1], low, high, _refused)
        shape = (*matrices.shape[:-2], high - low + 1, length)
        diagonals = np.full(shape, padding, dtype=matrices.dtype)
        for number, offset in enumerate(range(high, low - 1, -1)):
            rows, columns = _diagonal_indices(matrices.shape[-2:], offset)
            diagonals[..., number, : len(rows)] = matrices[..., rows, columns]
        return diagonals[..., 0, :] if low == high else diagonals

    inputs = [
        Input("input", input),
        Input("k", k, dtypes.int32),
        Input("padding_value", padding_value),
    ]
    op = apply_op("MatrixDiagPartV2", inputs, infer, name=name or "diag_part", kernel=kernel)
    return op.outputs[0]


def matrix_set_diag(
    input: TensorLike, diagonal: TensorLike, k: TensorLike = 0, name: str | None = None
) -> Tensor:
    """Returns matrices with new elements on one or several diagonals.

    Args:
        input: The matrices, in the last two axes.
        diagonal: The elements, in the form that `matrix_diag_part` returns.
        k: The diagonal number, or the lowest and the highest number; see `matrix_diag`.
        name: Name of the operation.

    Raises:
        ValueError: If a matrix does not have this diagonal, or the new elements do not fit.
    """

    def infer(matrices: Tensor, values: Tensor, which: Tensor) -> Outputs:
        shape = matrices.shape
        if shape.rank is not None and shape.rank < 2:
            raise ShapeConflict(f"Shape must be at least rank 2 but is rank {shape.rank}")
        if values.shape.rank == 0:
            raise ShapeConflict("Shape must be at least rank 1 but is rank 0")
        band = fold(which)
        if shape.rank is not None and band is not None:
            low, high = _band_of(band, ShapeConflict)
            check_rank(values.shape, shape.rank - (low == high))
            rows, columns = shape[-2].value, shape[-1].value
            if rows is not None and columns is not None:
                length = _longest(rows, columns, low, high, ShapeConflict)
                back = [length] if low == high else [high - low + 1, length]
                merge_shapes(shape[:-2].concatenate(back), values.shape)
        return [(matrices.dtype.base_dtype, shape)]

    def kernel(matrices: Array, values: Array, which: Array) -> Array:
        if matrices.ndim < 2:
            fail(f"input must be at least 2-dim, received shape: {bracketed(matrices.shape)}")
        low, high = _band_of(which, _refused)
        length = _longest(matrices.shape[-2], matrices.shape[-1], low, high, _refused)
        back = [length] if low == high else [high - low + 1, length]
        if [*values.shape] != [*matrices.shape[:-2], *back]:
            fail(
                "Either first dimensions of diagonal don't match input.shape[:-2], or the last "
                f"ones are not {back}: diagonal.shape is {bracketed(values.shape)}, input.shape "
                f"{bracketed(matrices.shape)}"
            )
        changed = matrices.copy()
        stacked = values[..., None, :] if low == high else values
        for number, offset in enumerate(range(high, low - 1, -1)):
            rows, columns = _diagonal_indices(matrices.shape[-2:], offset)
            changed[..., rows, columns] = stacked[..., number, : len(rows)]
        return changed

    inputs = [
        Input("input", input),
        Input("diagonal", diagonal),
        Input("k", k, dtypes.int32),
    ]
    op = apply_op("MatrixSetDiagV2", inputs, infer, name=name or "set_diag", kernel=kernel)
    return op.outputs[0]


def matrix_band_part(
    input: TensorLike, num_lower: TensorLike, num_upper: TensorLike, name: str | None = None
) -> Tensor:
    """Returns matrices in which the elements far from the diagonal are replaced with zeros.

    Args:
        input: The matrices, in the last two axes.
        num_lower: The number of diagonals to keep below the main diagonal. If negative, all are
            kept.
        num_upper: The number of diagonals to keep above the main diagonal. If negative, all are
            kept.
        name: Name of the operation.
    """

    def infer(matrices: Tensor, below: Tensor, above: Tensor) -> Outputs:
        check_rank(below.shape, 0)
        check_rank(above.shape, 0)
        return [(matrices.dtype.base_dtype, matrices.shape)]

    def kernel(matrices: Array, below: Array, above: Array) -> Any:
        if matrices.ndim < 2:
            fail(f"input must be at least 2-dim, received shape: {bracketed(matrices.shape)}")
        sizes = matrices.shape[-2:]
        bounds = []
        for what, bound, size in (
            ("num_lower", below, sizes[0]),
            ("num_upper", above, sizes[1]),
        ):
            number = int(bound.item())
            if number > size:
                fail(f"{what} must be negative or less or equal to number of rows ({size})")
            bounds.append(size if number < 0 else number)
        distance = np.arange(sizes[1]) - np.arange(sizes[0])[:, None]
        is_kept = (-distance <= bounds[0]) & (distance <= bounds[1])
        return np.where(is_kept, matrices, matrices.dtype.type(0))

    inputs = [
        Input("input", input),
        Input("num_lower", num_lower, var="Tindex", allowed=INDEX_TYPES, default=dtypes.int64),
        Input("num_upper", num_upper, var="Tindex", allowed=INDEX_TYPES, default=dtypes.int64),
    ]
    return apply_op("MatrixBandPart", inputs, infer, name=name, kernel=kernel).outputs[0]


def _refused(text: str) -> Exception:
    """Returns the error that replaces `ShapeConflict` in a run."""
    fail(text)


def _band_of(k: Array, error: Any) -> tuple[int, int]:
    """Returns the numbers of the lowest and the highest diagonal."""
    if k.ndim > 1 or k.size not in (1, 2):
        raise error(f"diag_index must be a scalar or vector, received shape: {bracketed(k.shape)}")
    low, high = int(k.ravel()[0]), int(k.ravel()[-1])
    if low > high:
        raise error(f"lower_diag_index must not be larger than upper_diag_index: {low} > {high}")
    return low, high


def _longest(rows: int, columns: int, low: int, high: int, error: Any) -> int:
    """Returns the length of the longest diagonal in a band."""
    for which, number in (("lower", low), ("upper", high)):
        if number and not -rows < number < columns:
            raise error(
                f"{which}_diag_index is out of bound: {number} It must be between {-rows + 1} and "
                f"{columns - 1}"
            )
    return min(rows + min(high, 0), columns - max(low, 0))


def _diagonal_indices(shape: tuple[int, ...], offset: int) -> tuple[Array, Array]:
    """Returns the rows and columns of the elements on a diagonal."""
    length = max(0, min(shape[0] + min(offset, 0), shape[1] - max(offset, 0)))
    steps = np.arange(length)
    return steps + max(-offset, 0), steps + max(offset, 0)


define("Diag")
define("DiagPart")
define("MatrixBandPart")
define("MatrixDiagPartV2")
define("MatrixDiagV2")
define("MatrixSetDiagV2")
