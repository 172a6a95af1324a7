"""Saveable objects, which can be written to checkpoints and read back.

In a checkpoint, a variable is stored under its own name, and a table under `NAME-keys` and
`NAME-values`.

Source: `tf.train.Saver` and the saveable of `MutableHashTable` in TensorFlow 1.15.
"""

from collections.abc import Collection, Mapping
from typing import Any, TypeAlias

import numpy.typing as npt

from headrace.core import errors
from headrace.core.dtypes import DType, as_dtype, kernel_name
from headrace.core.shapes import TensorShape, bracketed
from headrace.graph import GraphKeys, Tensor, get_collection
from headrace.tf1.ops.lookup.mutable import MutableHashTable
from headrace.tf1.ops.variables.initialization import global_variables
from headrace.tf1.ops.variables.variable import Variable
from headrace.tf1.tensor_bundle import BundleReader

__all__ = ["CheckedReader", "Saveable", "by_name", "fetches"]

Saveable: TypeAlias = Variable | MutableHashTable

_PARTS = ("keys", "values")


class CheckedReader:
    """Reads values from a checkpoint and checks that they fit the variables and tables.

    Args:
        reader: The reader of the checkpoint.
        prefix: The prefix of the checkpoint, for error messages.
        reshapes: Whether the shape of a variable may differ from the shape of its value, if the
            number of elements is the same.
    """

    def __init__(self, reader: BundleReader, prefix: str, reshapes: bool) -> None:
        self._reader, self._prefix, self._reshapes = reader, prefix, reshapes

    def read(self, name: str, saveable: Saveable) -> list[npt.NDArray[Any]]:
        """Returns the value of a variable, or the keys and values of a table.

        Raises:
            InvalidArgumentError: If a dtype or shape differs.
            NotFoundError: If the checkpoint does not contain the variable or table.
        """
        if isinstance(saveable, Variable):
            value = self._read(name, saveable, saveable.dtype.base_dtype)
            return [self._shaped(value, name, saveable)]
        types = saveable.key_dtype, saveable.value_dtype
        keys, values = (
            self._read(f"{name}-{part}", saveable, dtype)
            for part, dtype in zip(_PARTS, types, strict=True)
        )
        shape = TensorShape([*keys.shape, *saveable.value_shape])
        if keys.ndim != 1 or not shape.is_compatible_with(values.shape):
            raise _misfit(
                saveable,
                f"Expected shape {bracketed(shape)} for value, got {bracketed(values.shape)} "
                f"({name} in {self._prefix})",
            )
        return [keys, values]

    def _read(self, name: str, saveable: Saveable, dtype: DType) -> npt.NDArray[Any]:
        reader = self._reader
        if name not in reader:
            raise errors.NotFoundError(
                None,
                saveable.op,
                f"Key {name} not found in checkpoint {self._prefix}. It has: "
                f"{', '.join(reader.keys())}",
            )
        stored_dtype = as_dtype(reader.dtype(name))
        if stored_dtype != dtype:
            raise _misfit(
                saveable,
                f"tensor_name = {name}; expected dtype {kernel_name(dtype)} does not equal "
                f"original dtype {kernel_name(stored_dtype)} in {self._prefix}",
            )
        return reader.read(name)

    def _shaped(self, value: npt.NDArray[Any], name: str, variable: Variable) -> npt.NDArray[Any]:
        expected_shape, what = variable.shape, f"{name} in {self._prefix}"
        if expected_shape.is_compatible_with(value.shape):
            return value
        if not self._reshapes:
            raise _misfit(
                variable,
                "Assign requires shapes of both tensors to match. "
                f"lhs shape= {bracketed(expected_shape)} rhs shape= {bracketed(value.shape)} "
                f"({what})",
            )
        if expected_shape.num_elements() != value.size:
            raise _misfit(
                variable,
                f"Input to reshape is a tensor with {value.size} values, but the requested shape "
                f"has {expected_shape.num_elements()} ({what})",
            )
        return value.reshape(tuple(size or 0 for size in expected_shape.as_list()))


def fetches(saveables: Mapping[str, Saveable]) -> dict[str, Variable | Tensor]:
    """Returns the fetches for a checkpoint, by their names in the checkpoint."""
    fetched: dict[str, Variable | Tensor] = {}
    for name, saveable in saveables.items():
        if isinstance(saveable, Variable):
            fetched[name] = saveable
        else:
            parts = zip(_PARTS, saveable.exported(), strict=True)
            fetched |= {f"{name}-{part}": tensor for part, tensor in parts}
    return fetched


def _misfit(saveable: Saveable, text: str) -> errors.InvalidArgumentError:
    return errors.InvalidArgumentError(None, saveable.op, text)


def by_name(var_list: Collection[Saveable] | Mapping[str, Saveable] | None) -> dict[str, Saveable]:
    """Returns the variables and tables to save, by their names in a checkpoint.

    Args:
        var_list: The variables and tables, or a dict by name. None means everything that can be
            saved.

    Raises:
        TypeError: If `var_list` contains anything else.
        ValueError: If two variables or tables have the same name, or one variable or table has two
            names.
    """
    if var_list is None:
        var_list = [*global_variables(), *get_collection(GraphKeys.SAVEABLE_OBJECTS)]
    if isinstance(var_list, Mapping):
        return _checked_dict(var_list)
    if not isinstance(var_list, (list, tuple, set)):
        raise TypeError(f"Variables to save should be passed in a dict or a list. Got {var_list}")
    result: dict[str, Saveable] = {}
    for one in var_list:
        if not isinstance(one, Saveable):
            raise TypeError(f"Variable to save is not a Variable: {one}")
        name = one.op.name if isinstance(one, Variable) else one.saved_name
        if name in result:
            raise ValueError(f"At least two variables have the same name: {name}")
        result[name] = one
    return result


def _checked_dict(var_list: Mapping[str, Saveable]) -> dict[str, Saveable]:
    for name, one in var_list.items():
        text = "names_to_saveables must be a dict mapping string names to Tensors/Variables."
        if not isinstance(name, str):
            raise TypeError(f"{text} Name is not a string: {name}")
        if not isinstance(one, Saveable):
            raise TypeError(f"{text} Not a variable: {one}")
    seen: set[Saveable] = set()
    for name, one in var_list.items():
        if one in seen:
            raise ValueError(f"The same saveable will be restored with two names: {name}")
        seen.add(one)
    return dict(var_list)
