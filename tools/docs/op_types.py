"""Determines the types and shapes that an elementwise operation accepts, by trying each."""

import inspect
from collections.abc import Callable
from typing import Any, Final

import headrace.tf1 as tf
from headrace.core import dtypes

__all__ = ["types_of"]

_TYPES: Final = tuple(
    getattr(dtypes, name)
    for name in (
        *("bool", "int8", "int16", "int32", "int64", "uint8", "uint16", "uint32", "uint64"),
        *("float16", "float32", "float64", "complex64", "complex128", "string"),
    )
)
_SHAPE: Final = (2, 3)


def types_of(operation: Callable[..., Any]) -> str:
    """Describes the inputs of an operation on tensors of one type. Empty for other operations."""
    count = len([name for name in inspect.signature(operation).parameters if name != "name"])
    results = {dtype.name: _result(operation, [(dtype, _SHAPE)] * count) for dtype in _TYPES}
    taken = {name: result.dtype.name for name, result in results.items() if result is not None}
    if not taken:
        return ""
    few = f"{_listed(list(taken))}; other types are a `TypeError`"
    sentences = [f"Takes {'any type' if len(taken) == len(_TYPES) else few}."]
    outputs = {name: "the same type" if name == value else value for name, value in taken.items()}
    if len(set(taken.values())) == 1:
        sentences.append(f"Returns {next(iter(taken.values()))}.")
    else:
        groups = {
            value: [name for name in taken if outputs[name] == value] for value in outputs.values()
        }
        same, *others = sorted(groups, key=lambda value: value != "the same type")
        rest = [f"{value} for {_listed(groups[value])}" for value in others]
        first = same if same == "the same type" else f"{same} for {_listed(groups[same])}"
        sentences.append(f"Returns {first}{f', but {_listed(rest)}' if rest else ''}.")
    if count > 1:
        sentences.append("The inputs have one type; Python numbers take that of the other input.")
        dtype = next(dtype for dtype in _TYPES if dtype.name in taken)
        shapes = [(dtype, _SHAPE), *[(dtype, _SHAPE[1:])] * (count - 1)]
        if _result(operation, shapes) is not None:
            sentences.append("Shapes are broadcast as in NumPy.")
    return " ".join(sentences)


def _result(operation: Callable[..., Any], inputs: list[tuple[Any, tuple[int, ...]]]) -> Any:
    """Returns the symbolic result for these types and shapes, or None if they are rejected."""
    with tf.Graph().as_default():
        try:
            return operation(*[tf.placeholder(dtype, shape) for dtype, shape in inputs])
        except (TypeError, ValueError):
            return None


def _listed(names: list[str]) -> str:
    return names[0] if len(names) == 1 else f"{', '.join(names[:-1])} and {names[-1]}"
