"""Functions over tensor rows: maps, scans and folds.

Source: `tf.map_fn`, `tf.scan`, `tf.foldl` and `tf.foldr` in TensorFlow 1.15.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from headrace.core.dtypes import DType, as_dtype
from headrace.core.shapes import TensorShape, unknown_shape
from headrace.graph import Tensor, name_scope
from headrace.ops.framework.conversion import convert_to_tensor
from headrace.ops.sparse.tensor import SparseTensor
from headrace.tf1.ops.control.repetition import Repetition, as_results, check_result, leave
from headrace.tf1.ops.control.structure import check_same_structure, flatten, pack

__all__ = ["foldl", "foldr", "map_fn", "scan"]


def map_fn(
    fn: Callable[[Any], Any],
    elems: Any,
    dtype: Any = None,
    parallel_iterations: int | None = None,
    back_prop: bool = True,
    swap_memory: bool = False,
    infer_shape: bool = True,
    name: str | None = None,
) -> Any:
    """Applies a function to each row of tensors and stacks the results.

    The function is called once, while the graph is built. Rows are computed in order. If the
    operations are native, have no side effects and take long enough, several threads compute rows.

    Args:
        fn: Called with one row of each tensor, in the structure of `elems`.
        elems: A tensor with at least one dimension, or a structure of tensors with the same number
            of rows.
        dtype: The types of the results of `fn`, in the same structure. Defaults to the types of
            `elems`.
        parallel_iterations: The maximum number of rows to compute at the same time. Defaults to 10.
        back_prop: Not used.
        swap_memory: Not used.
        infer_shape: Whether the results for all rows have the same static shape.
        name: Name of the scope.

    Returns:
        The results of `fn`, with one more leading axis.

    Raises:
        TypeError: If `fn` is not a function, `elems` is sparse, or the results of `fn` do not have
            the types in `dtype`.
        ValueError: If a tensor is a scalar, or structures or numbers of rows differ.
    """
    if not callable(fn):
        raise TypeError("fn must be callable.")
    if isinstance(elems, SparseTensor):
        raise TypeError(
            "To perform a map over the values of a sparse tensor use either  "
            "SparseTensor(input.indices, fn(input.values), input.dense_shape) or  "
            "SparseTensor(input.indices, map_fn(fn, input.values), input.dense_shape)"
        )
    with name_scope(name, "map", flatten(elems)):
        sequences = _sequences(elems)
        repetition = Repetition()
        rows = [repetition.go_through(sequence, "TensorArrayReadV3") for sequence in sequences]
        returned = repetition.inside(lambda: fn(pack(elems, rows)))
        check_same_structure(elems if dtype is None else dtype, returned)
        kinds = [t.dtype for t in sequences] if dtype is None else map(as_dtype, flatten(dtype))
        results = repetition.inside(lambda: as_results(flatten(returned)))
        for kind, result in zip(kinds, results, strict=True):
            _check_type(kind.base_dtype, result)
        attrs = {"parallel_iterations": parallel_iterations or 10}
        shapes = [_stacked(result, sequences, infer_shape) for result in results]
        return pack(returned, _stacks(repetition.make("ForEach", None, results, shapes, attrs)))


def scan(
    fn: Callable[[Any, Any], Any],
    elems: Any,
    initializer: Any = None,
    parallel_iterations: int = 10,
    back_prop: bool = True,
    swap_memory: bool = False,
    infer_shape: bool = True,
    reverse: bool = False,
    name: str | None = None,
) -> Any:
    """Folds the rows of tensors and returns the accumulated value after each row.

    Args:
        fn: Called with the accumulated value and one row of each tensor. Returns the new
            accumulated value.
        elems: A tensor with at least one dimension, or a structure of tensors with the same number
            of rows.
        initializer: The initial accumulated value. Defaults to the first row, for which `fn` is not
            called.
        parallel_iterations: Checked, but not used.
        back_prop: Not used.
        swap_memory: Not used.
        infer_shape: Whether all results have the same static shape.
        reverse: Whether to start with the last row.
        name: Name of the scope.

    Returns:
        The accumulated values, with one more leading axis: the result of `fn` for each row.

    Raises:
        TypeError: If `fn` is not a function, or types differ between two rows.
        ValueError: If a tensor is a scalar, or structures, shapes or numbers of rows differ.
    """
    if not callable(fn):
        raise TypeError("fn must be callable.")
    with name_scope(name, "scan", flatten(elems)):
        sequences = _sequences(elems)
        structure = elems if initializer is None else initializer
        repetition, shapes, results = _folding(fn, elems, initializer, sequences, reverse)
        shapes += [_stacked(result, sequences, infer_shape) for result in results]
        attrs = _attrs(parallel_iterations, reverse, initializer)
        outputs = repetition.make("ForEach", None, [*results, *results], shapes, attrs)
        return pack(structure, _stacks(outputs[len(results) :]))


def foldl(
    fn: Callable[[Any, Any], Any],
    elems: Any,
    initializer: Any = None,
    parallel_iterations: int = 10,
    back_prop: bool = True,
    swap_memory: bool = False,
    name: str | None = None,
) -> Any:
    """Combines the rows of tensors, starting with the first.

    Args:
        fn: Called with the accumulated value and one row of each tensor. Returns the new
            accumulated value.
        elems: A tensor with at least one dimension, or a structure of tensors with the same number
            of rows.
        initializer: The initial accumulated value. Defaults to the first row, for which `fn` is not
            called.
        parallel_iterations: Checked, but not used.
        back_prop: Not used.
        swap_memory: Not used.
        name: Name of the scope.

    Returns:
        The result of `fn` for the last row.

    Raises:
        TypeError: If `fn` is not a function, or types differ between two rows.
        ValueError: If a tensor is a scalar, or structures, shapes or numbers of rows differ.
    """
    return _fold(fn, elems, initializer, parallel_iterations, False, name, "foldl")


def foldr(
    fn: Callable[[Any, Any], Any],
    elems: Any,
    initializer: Any = None,
    parallel_iterations: int = 10,
    back_prop: bool = True,
    swap_memory: bool = False,
    name: str | None = None,
) -> Any:
    """Combines the rows of tensors, starting with the last; see `foldl`."""
    return _fold(fn, elems, initializer, parallel_iterations, True, name, "foldr")


def _fold(
    fn: Callable[[Any, Any], Any],
    elems: Any,
    initializer: Any,
    parallel_iterations: int,
    is_reversed: bool,
    name: str | None,
    default_name: str,
) -> Any:
    if not callable(fn):
        raise TypeError("fn must be callable.")
    with name_scope(name, default_name, flatten(elems)):
        sequences = _sequences(elems)
        structure = elems if initializer is None else initializer
        output = _folding(fn, elems, initializer, sequences, is_reversed)
        repetition, shapes, results = output
        attrs = _attrs(parallel_iterations, is_reversed, initializer)
        outputs = repetition.make("ForEach", None, results, shapes, attrs)
        # TensorFlow's first loop variables are the iteration count and the row number.
        return pack(structure, repetition.exits(outputs, 2))


def _folding(
    fn: Callable[[Any, Any], Any],
    elems: Any,
    initializer: Any,
    sequences: Sequence[Tensor],
    is_reversed: bool,
) -> tuple[Repetition, list[TensorShape], list[Tensor]]:
    """Returns an accumulating loop, the shapes of its values, and their next values."""
    structure = elems if initializer is None else initializer
    if initializer is None:
        first = [sequence[-1 if is_reversed else 0] for sequence in sequences]
    else:
        first = [convert_to_tensor(value) for value in flatten(initializer)]
    repetition = Repetition()
    accumulated = [repetition.carry(tensor, tensor.shape) for tensor in first]
    rows = [repetition.go_through(sequence, "TensorArrayReadV3") for sequence in sequences]
    returned = repetition.inside(lambda: fn(pack(structure, accumulated), pack(elems, rows)))
    check_same_structure(structure, returned)
    results = repetition.inside(lambda: as_results(flatten(returned)))
    for tensor, result in zip(first, results, strict=True):
        check_result(tensor, tensor.shape, result)
    return repetition, [tensor.shape for tensor in first], results


def _attrs(parallel_iterations: int, is_reversed: bool, initializer: Any) -> dict[str, Any]:
    return {
        "parallel_iterations": parallel_iterations,
        "reverse": is_reversed,
        "skip_first": initializer is None,
    }


def _sequences(elems: Any) -> list[Tensor]:
    """Checks and returns the static shapes of the tensors over whose rows a function is mapped."""
    sequences = [convert_to_tensor(elem, name="elem") for elem in flatten(elems)]
    if any(sequence.shape.rank == 0 for sequence in sequences):
        raise ValueError(
            "elems must be a 1+ dimensional Tensor, not a scalar"
            if len(sequences) == 1
            else "elements in elems must be 1+ dimensional Tensors, not scalars"
        )
    num_rows = sequences[0].shape.with_rank_at_least(1)[0]
    for sequence in sequences[1:]:
        num_rows.assert_is_compatible_with(sequence.shape.with_rank_at_least(1)[0])
    return sequences


def _check_type(expected: DType, result: Tensor) -> None:
    if result.dtype.base_dtype != expected:
        raise TypeError(
            f"map_fn: fn returned '{result.name}' of type {result.dtype.name}, expected "
            f"{expected.name}. Pass the types of the results of fn as dtype."
        )


def _stacked(result: Tensor, sequences: Sequence[Tensor], infers: bool) -> TensorShape:
    """Returns the static shape of the results of all rows."""
    num_rows = sequences[0].shape.with_rank_at_least(1)[0]
    for sequence in sequences[1:]:
        num_rows = num_rows.merge_with(sequence.shape.with_rank_at_least(1)[0])
    return TensorShape([num_rows]).concatenate(result.shape if infers else unknown_shape())


def _stacks(stacked: Sequence[Tensor]) -> list[Tensor]:
    """Returns the results of all rows, with TensorFlow's names."""
    stacks = []
    for tensor in stacked:
        with name_scope(None, "TensorArrayStack"):
            stacks.append(leave(tensor, "TensorArrayGatherV3"))
    return stacks
