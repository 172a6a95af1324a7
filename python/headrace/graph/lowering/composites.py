"""Composite objects: several tensors that a run can fetch and feed as one value.

Source: `session.register_session_run_conversion_functions` in TensorFlow 1.15.
"""

from collections.abc import Callable, Iterable, Sequence
from typing import Any, Final, NamedTuple, TypeAlias

from headrace.graph import Tensor
from headrace.ops.sparse.tensor import SparseTensor, SparseTensorValue

__all__ = ["Composite", "composite_for", "register_session_run_conversion_functions"]

_Fetch: TypeAlias = Callable[[Any], tuple[Sequence[Any], Callable[[list[Any]], Any]]]
_Feed: TypeAlias = Callable[[Any, Any], Iterable[tuple[Any, Any]]]
_Parts: TypeAlias = Callable[[Any], Sequence[Any]]


class Composite(NamedTuple):
    """Describes how to fetch and feed objects of one class.

    Attributes:
        kind: The class of the objects.
        fetch: Returns an object's tensors, and a function that combines their values.
        feed: Returns pairs of a tensor and a value, given an object and its value. None if objects
            of the class cannot be fed.
        parts: Returns the tensors that `partial_run` may feed. None if `partial_run` cannot feed
            objects of this class.
    """

    kind: type[Any]
    fetch: _Fetch
    feed: _Feed | None
    parts: _Parts | None


def register_session_run_conversion_functions(
    tensor_type: type[Any],
    fetch_function: _Fetch,
    feed_function: _Feed | None = None,
    feed_function_for_partial_run: _Parts | None = None,
) -> None:
    """Registers a class whose objects can be fetched and fed.

    Args:
        tensor_type: The class.
        fetch_function: Accepts an object, and returns its fetches and a function that combines a
            list of their values.
        feed_function: Accepts an object and its value, and returns pairs of a tensor and a value.
        feed_function_for_partial_run: Accepts an object, and returns its tensors.

    Raises:
        ValueError: If the class or a subclass is already registered.
    """
    for composite in _composites:
        if issubclass(composite.kind, tensor_type):
            raise ValueError(f"{tensor_type} has already been registered so ignore it.")
    added = Composite(tensor_type, fetch_function, feed_function, feed_function_for_partial_run)
    _composites.insert(0, added)


def composite_for(value: object) -> Composite | None:
    """Returns how to fetch and feed an object, or None if it does not consist of tensors."""
    if isinstance(value, (Tensor, str)):
        return None
    return next((composite for composite in _composites if isinstance(value, composite.kind)), None)


def _sparse_parts(sparse: SparseTensor) -> tuple[Tensor, Tensor, Tensor]:
    return sparse.indices, sparse.values, sparse.dense_shape


def _feed_sparse(sparse: SparseTensor, value: object) -> list[tuple[Any, Any]]:
    if not (isinstance(value, tuple) and len(value) == len(SparseTensorValue._fields)):
        raise TypeError(
            f"feed_dict: got {value!r} for a sparse tensor, expected a SparseTensorValue or "
            "(indices, values, dense_shape)."
        )
    return list(zip(_sparse_parts(sparse), value, strict=True))


# The newest entry comes first. Entries are never removed.
_composites: Final = [
    Composite(
        SparseTensor,
        lambda sparse: (_sparse_parts(sparse), lambda values: SparseTensorValue(*values)),
        _feed_sparse,
        _sparse_parts,
    )
]
