"""The components of a queue's elements, and the conversion of values to components."""

from collections.abc import Sequence
from dataclasses import dataclass
from os import PathLike
from typing import Any, NoReturn, TypeAlias, cast

import numpy as np
import numpy.typing as npt

from headrace.core.dtypes import DType, DTypesLike, as_dtype, string
from headrace.core.engine import native_array
from headrace.core.errors import InvalidArgumentError
from headrace.core.shapes import ShapeLike, ShapesLike, TensorShape, as_shape

__all__ = ["ElementLike", "Signature", "as_shapes", "as_types"]

_Array = npt.NDArray[Any]

# A queue element or a batch of elements: a list or tuple of components, a dict of components by
# name, or the only component.
ElementLike: TypeAlias = npt.ArrayLike | PathLike[str] | Sequence[Any] | dict[str, Any]

# Python values have no dtype. They are converted to their component's dtype if it can hold them.
_UNTYPED = (bool, int, float, complex, list, tuple)


@dataclass(frozen=True)
class Signature:
    """The components of the elements of a queue.

    Attributes:
        queue: The name of the queue, for messages.
        dtypes: The dtype of each component.
        shapes: The shape of each component, with None for unknown dimensions, or None if components
            may have any shape.
        names: The name of each component, or None.
    """

    queue: str
    dtypes: Sequence[DType]
    shapes: Sequence[TensorShape] | None
    names: Sequence[str] | None

    def __post_init__(self) -> None:
        for what, items in (("shapes", self.shapes), ("names", self.names)):
            if items is not None and len(items) != len(self.dtypes):
                raise ValueError(
                    f"queue '{self.queue}': got {len(items)} {what} for {len(self.dtypes)} "
                    "dtypes, expected the same number of both."
                )

    def split(self, element: ElementLike) -> list[Any]:
        """Returns the components of an element or a batch in order.

        Raises:
            InvalidArgumentError: If the number or the names of the components differ from the
                queue's.
        """
        if self.names is not None:
            if not isinstance(element, dict) or element.keys() != set(self.names):
                got = f"the keys {list(element)}" if isinstance(element, dict) else _kind(element)
                self._refuse(f"got {got}, expected a dict with the keys {list(self.names)}.")
            return [element[name] for name in self.names]
        if isinstance(element, dict):
            self._refuse("got a dict, but the queue was created without names. Pass a list.")
        components = list(element) if isinstance(element, (list, tuple)) else [element]
        if len(components) != len(self.dtypes):
            self._refuse(
                f"got {len(components)} components, expected {len(self.dtypes)}. Each item of "
                "a list or tuple is a component. If a component is a vector, pass it as a "
                "NumPy array."
            )
        return components

    def arrays(self, components: Sequence[Any], is_batch: bool) -> list[_Array]:
        """Returns components as arrays with exactly the dtypes and shapes of the queue.

        Python numbers and lists of numbers are converted to the dtype of their component if it can
        represent them. A value with a dtype must already have the right dtype.

        Args:
            components: The result of `split`.
            is_batch: Whether each component has an additional first dimension over elements.

        Raises:
            InvalidArgumentError: If a dtype or shape is wrong, or the lengths in a batch differ.
        """
        arrays = [self._array(index, value) for index, value in enumerate(components)]
        for index, array in enumerate(arrays):
            self._check_shape(index, array.shape, is_batch)
            if is_batch and len(array) != len(arrays[0]):
                self._refuse(
                    f"{self._name(index)} has {len(array)} rows, but {self._name(0)} has "
                    f"{len(arrays[0])}. Pass one row for each element."
                )
        return arrays

    def _array(self, index: int, value: object) -> _Array:
        dtype = self.dtypes[index]
        try:
            if dtype is string:
                return native_array(np.array(value, dtype=object))
            array = np.asarray(value)
        except (TypeError, ValueError) as error:
            self._refuse(
                f"{self._name(index)} cannot be converted to an array of {dtype.name}: {error}."
            )
        target_dtype = np.dtype(dtype.as_numpy_dtype)
        if isinstance(value, _UNTYPED) and _holds(target_dtype, array):
            array = array.astype(target_dtype)
        if array.dtype.newbyteorder("=") != target_dtype:
            self._refuse(
                f"{self._name(index)} has type {array.dtype}, expected {dtype.name}. Convert "
                f"it with .astype('{target_dtype}')."
            )
        return native_array(array)

    def _check_shape(self, index: int, shape: tuple[int, ...], is_batch: bool) -> None:
        if is_batch and not shape:
            self._refuse(
                f"{self._name(index)} is a scalar, expected one row for each element. Call "
                "`enqueue` to add a single element."
            )
        row = shape[1:] if is_batch else shape
        if self.shapes is None or self.shapes[index].is_compatible_with(row):
            return
        rows = "rows of shape" if is_batch else "shape"
        remedy = "Pass several rows to `enqueue_many`, or one element to `enqueue`."
        if len(row) == self.shapes[index].rank:
            remedy = "Resize before enqueue, or use a PaddingFIFOQueue."
        expected = tuple(self.shapes[index].as_list())
        self._refuse(f"{self._name(index)} has {rows} {row}, expected {expected}. {remedy}")

    def _name(self, index: int) -> str:
        return f"component {index}" if self.names is None else f"component '{self.names[index]}'"

    def _refuse(self, text: str) -> NoReturn:
        raise InvalidArgumentError(None, None, f"queue '{self.queue}': {text}")


def as_types(dtypes: DTypesLike) -> list[DType]:
    """Returns one dtype, or several dtypes, as a list.

    Raises:
        TypeError: If a value is not a dtype.
    """
    return [as_dtype(dtype) for dtype in _as_list(dtypes)]


def as_shapes(shapes: ShapesLike) -> list[TensorShape]:
    """Returns one shape, or several shapes, as a list. A list of dimensions is one shape.

    Raises:
        TypeError: If a value is not a shape.
    """
    if all(dim is None or isinstance(dim, int) for dim in _as_list(shapes)):
        return [as_shape(cast("ShapeLike", shapes))]
    return [as_shape(shape) for shape in _as_list(shapes)]


def _as_list(value: object) -> list[Any]:
    return list(value) if isinstance(value, (list, tuple)) else [value]


def _holds(dtype: np.dtype[Any], array: _Array) -> bool:
    """Returns whether a dtype can hold Python numbers, given as NumPy's array of them."""
    if array.size == 0:
        return True
    if array.dtype.kind in "iu" and dtype.kind in "iu":
        limits = np.iinfo(dtype)
        return bool(limits.min <= array.min() and array.max() <= limits.max)
    kinds = {"b": "b", "f": "f", "c": "fc"}.get(dtype.kind, "")
    return array.dtype.kind in kinds or (array.dtype.kind in "iu" and dtype.kind in "fc")


def _kind(value: object) -> str:
    return f"a value of type {type(value).__name__}"
