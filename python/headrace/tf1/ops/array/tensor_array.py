"""Tensor arrays, which each run creates, fills and reads element by element.

Source: `tf.TensorArray` in TensorFlow 1.15.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NoReturn

from headrace.core import dtypes
from headrace.core.dtypes import DType, DTypeLike, as_dtype
from headrace.core.shapes import ShapeLike, TensorShape, as_shape, unknown_shape
from headrace.graph import Operation, Tensor, TensorLike, define, get_default_graph, name_scope
from headrace.ops.array.placeholder import identity
from headrace.ops.array.range import range as range_of
from headrace.ops.array.shape import shape as shape_of
from headrace.ops.framework.arguments import Input, Outputs, apply_op
from headrace.ops.framework.conversion import convert_to_tensor
from headrace.ops.framework.folding import fold, fold_scalar

__all__ = ["TensorArray"]


class TensorArray:
    """An array of tensors of the same type, which belongs to one run.

    Each element is written once. Methods that write return a new object, whose `flow` depends on
    the writes so far. Always continue with this object. An array can be a loop variable.

    Args:
        dtype: The type of the elements.
        size: int32 scalar, the number of elements. Required unless `handle` is given.
        dynamic_size: Whether writing past the end extends the array. Defaults to False.
        clear_after_read: Whether reading an element frees it, so that it can be read only once.
            Defaults to True.
        tensor_array_name: Not used.
        handle: The handle of another object for the same array. By default, a new array is created.
        flow: The flow to continue with. Defaults to the first flow of the array.
        infer_shape: Whether all elements have the same shape, which is inferred from the writes.
        element_shape: The static shape of each element, or None if unknown.
        colocate_with_first_write_call: Not used.
        name: Name of the operation.

    Raises:
        TypeError: If `handle` is not a tensor.
        ValueError: If neither or both of `size` and `handle` are given, or a handle is combined
            with arguments for a new array.
    """

    def __init__(
        self,
        dtype: DTypeLike,
        size: TensorLike | None = None,
        dynamic_size: bool | None = None,
        clear_after_read: bool | None = None,
        tensor_array_name: str | None = None,
        handle: Tensor | None = None,
        flow: Tensor | None = None,
        infer_shape: bool = True,
        element_shape: ShapeLike = None,
        colocate_with_first_write_call: bool = True,
        name: str | None = None,
    ) -> None:
        if handle is not None and tensor_array_name:
            raise ValueError("Cannot construct with both handle and tensor_array_name")
        if handle is not None and not isinstance(handle, Tensor):
            raise TypeError("Handle must be a Tensor")
        if handle is None and size is None:
            raise ValueError("Size must be provided if handle is not provided")
        for argument, value in (
            ("size", size),
            ("element_shape", element_shape),
            ("dynamic_size", dynamic_size),
            ("clear_after_read", clear_after_read),
        ):
            if handle is not None and value is not None:
                raise ValueError(f"Cannot provide both a handle and {argument} at the same time")
        self._dtype = as_dtype(dtype).base_dtype
        self._dynamic_size = bool(dynamic_size)
        self._size = None if dynamic_size else size
        self._infer_shape = infer_shape or element_shape is not None
        # The known shape of an element. All objects for the same array share the list, so shapes
        # written in a loop's body are known after the loop.
        self._known = [as_shape(element_shape)]
        if handle is not None:
            self._handle = handle
            self._flow = convert_to_tensor(0.0, name="flow") if flow is None else flow
            return
        attrs = {
            "dtype": self._dtype,
            "element_shape": self._known[0],
            "dynamic_size": self._dynamic_size,
            "clear_after_read": clear_after_read is not False,
            "identical_element_shapes": infer_shape,
            "tensor_array_name": tensor_array_name or "",
        }
        with name_scope(name, "TensorArray", [size, flow]) as scope:
            assert size is not None
            inputs = [Input("size", size, dtype=dtypes.int32)]
            op = apply_op("TensorArrayV3", inputs, _made, name=scope, attrs=attrs)
        self._handle, first = op.outputs
        self._flow = first if flow is None else flow

    @property
    def dtype(self) -> DType:
        """The type of the elements."""
        return self._dtype

    @property
    def handle(self) -> Tensor:
        """int64, (): the array's number in its run, which is meaningless outside the run."""
        return self._handle

    @property
    def flow(self) -> Tensor:
        """float32, (): a tensor that waits for all writes through this object."""
        return self._flow

    @property
    def dynamic_size(self) -> bool:
        """Whether writing past the end extends the array."""
        return self._dynamic_size

    @property
    def element_shape(self) -> TensorShape:
        """The known part of the shape of each element."""
        return self._known[0]

    def with_flow(self, flow: Tensor) -> TensorArray:
        """Returns a new object for the same array, with the given flow."""
        other = TensorArray.__new__(TensorArray)
        other.__dict__.update(self.__dict__)
        other._flow = flow
        return other

    def identity(self) -> TensorArray:
        """Returns an object with the same content that waits for its own control dependencies."""
        return self.with_flow(identity(self._flow))

    def grad(self, source: str, flow: Tensor | None = None, name: str | None = None) -> NoReturn:
        """Not supported, because there are no gradients.

        Raises:
            NotImplementedError: Always.
        """
        raise NotImplementedError(
            "TensorArray.grad: headrace has no gradients. Train in PyTorch, JAX or TensorFlow 2."
        )

    def read(self, index: TensorLike, name: str | None = None) -> Tensor:
        """Returns an element. The run fails if it was not written or was cleared by a read."""
        inputs = [Input("index", index, dtype=dtypes.int32)]
        return self._act(
            "TensorArrayReadV3", inputs, [(self._dtype, self._known[0])], name
        ).outputs[0]

    def write(self, index: TensorLike, value: TensorLike, name: str | None = None) -> TensorArray:
        """Writes an element and returns the updated array.

        Raises:
            ValueError: If the shape of `value` differs from the shape of the other elements.
        """
        with name_scope(name, "TensorArrayWrite", [self._handle, index, value]):
            tensor = self._converted(value)
            self._learn(tensor.shape)
            inputs = [Input("index", index, dtype=dtypes.int32), Input("value", tensor)]
            return self._written("TensorArrayWriteV3", inputs)

    def stack(self, name: str | None = None) -> Tensor:
        """Returns all elements, stacked along a new first axis."""
        with name_scope(name, "TensorArrayStack", [self._handle]):
            stacked = self.gather(range_of(0, self.size()))
            if self._known[0].rank is not None:
                stacked.set_shape(TensorShape([self._known_size()]).concatenate(self._known[0]))
            return stacked

    def gather(self, indices: TensorLike, name: str | None = None) -> Tensor:
        """Returns the elements at some indices, int32, (n,), stacked along a new first axis."""
        shape = TensorShape([None]).concatenate(self._known[0])
        inputs = [Input("indices", indices, dtype=dtypes.int32)]
        attrs = {"element_shape": self._known[0]}
        outputs = [(self._dtype, shape)]
        return self._act("TensorArrayGatherV3", inputs, outputs, name, attrs).outputs[0]

    def concat(self, name: str | None = None) -> Tensor:
        """Returns all elements, joined along their first axis, whose size may vary."""
        rest = shape = unknown_shape()
        if self._known[0].rank is not None:
            length, *others = self._known[0].as_list()
            size = self._known_size() if self._infer_shape else None
            rest = TensorShape(others)
            total = None if size is None or length is None else size * length
            shape = TensorShape([total, *others])
        attrs = {"element_shape_except0": rest}
        outputs = [(self._dtype, shape), (dtypes.int64, TensorShape([None]))]
        return self._act("TensorArrayConcatV3", [], outputs, name, attrs).outputs[0]

    def unstack(self, value: TensorLike, name: str | None = None) -> TensorArray:
        """Writes the rows of a value as elements and returns the updated array."""
        with name_scope(name, "TensorArrayUnstack", [self._handle, value]):
            tensor = self._converted(value)
            return self.scatter(range_of(0, shape_of(tensor)[0]), tensor)

    def scatter(
        self, indices: TensorLike, value: TensorLike, name: str | None = None
    ) -> TensorArray:
        """Writes the rows of a value at the given indices, int32, (n,)."""
        with name_scope(name, "TensorArrayScatter", [self._handle, value, indices]):
            tensor = self._converted(value)
            indices = convert_to_tensor(indices, dtype=dtypes.int32, name="indices")
            _check_scattered(indices.shape, tensor.shape)
            if tensor.shape.rank:
                self._learn(TensorShape(tensor.shape.as_list()[1:]))
            inputs = [Input("indices", indices, var="Tindices"), Input("value", tensor)]
            return self._written("TensorArrayScatterV3", inputs)

    def split(self, value: TensorLike, lengths: TensorLike, name: str | None = None) -> TensorArray:
        """Writes parts of a value as elements. `lengths`, int64, (n,), are their first sizes."""
        with name_scope(name, "TensorArraySplit", [self._handle, value, lengths]):
            tensor = self._converted(value)
            sizes = convert_to_tensor(lengths, dtype=dtypes.int64, name="lengths")
            if tensor.shape.rank:
                static = fold(sizes)
                is_uniform = static is not None and static.size > 0 and static.min() == static.max()
                size = static.flat[0] if static is not None and is_uniform else None
                self._learn(TensorShape([size, *tensor.shape.as_list()[1:]]))
            return self._written(
                "TensorArraySplitV3",
                [Input("value", tensor), Input("lengths", sizes, var="Tlengths")],
            )

    def size(self, name: str | None = None) -> Tensor:
        """Returns the number of elements, int32, ()."""
        if self._size is not None:
            return convert_to_tensor(self._size, dtype=dtypes.int32)
        outputs = [(dtypes.int32, TensorShape([]))]
        return self._act("TensorArraySizeV3", [], outputs, name).outputs[0]

    def close(self, name: str | None = None) -> Operation:
        """Returns the operation that drops all elements. Using the array afterwards is an error."""
        op = get_default_graph().create_op("TensorArrayCloseV3", [self._handle], [], name=name)
        return op

    def _converted(self, value: TensorLike) -> Tensor:
        tensor = convert_to_tensor(value, None, self._dtype, "value")
        if tensor.dtype.base_dtype != self._dtype:
            raise ValueError(
                f"TensorArray: value '{tensor.name}' has dtype {tensor.dtype.name}, expected "
                f"{self._dtype.name}. Cast it before you write it."
            )
        return tensor

    def _known_size(self) -> int | None:
        """Returns the number of elements if it is known before a run."""
        return None if self._size is None else fold_scalar(convert_to_tensor(self._size))

    def _learn(self, shape: TensorShape) -> None:
        """Records the shape of a written element."""
        element_shape = self._known[0]
        if not self._infer_shape:
            return
        if not shape.is_compatible_with(element_shape):
            raise ValueError(
                f"Inconsistent shapes: saw {shape} but expected {element_shape} (and "
                "infer_shape=True)"
            )
        self._known[0] = element_shape.merge_with(shape)

    def _written(self, op_type: str, inputs: list[Input]) -> TensorArray:
        op = self._act(op_type, inputs, [(dtypes.float32, TensorShape([]))], None)
        return self.with_flow(op.outputs[0])

    def _act(
        self,
        op_type: str,
        inputs: list[Input],
        outputs: Outputs,
        name: str | None,
        attrs: dict[str, Any] | None = None,
    ) -> Operation:
        infer: Callable[..., Outputs] = lambda *_tensors: outputs  # noqa: E731
        all_inputs = [
            Input("handle", self._handle, var="Thandle"),
            *inputs,
            Input("flow_in", self._flow, dtype=dtypes.float32),
        ]
        arguments = {"dtype": self._dtype, **(attrs or {})}
        return apply_op(op_type, all_inputs, infer, name=name, attrs=arguments)


def _check_scattered(indices: TensorShape, value: TensorShape) -> None:
    """Checks the static shapes of the rows to write and of their indices."""
    if value.rank == 0:
        raise ValueError(
            "TensorArray: scatter got a scalar value, expected one row for each index."
        )
    if indices.rank == 1 and value.rank:
        counts = indices.as_list()[0], value.as_list()[0]
        if None not in counts and counts[0] != counts[1]:
            raise ValueError(
                f"TensorArray: scatter got {counts[1]} rows for {counts[0]} indices, expected "
                "one row for each index."
            )


def _made(_size: Tensor) -> Outputs:
    return [(dtypes.int64, TensorShape([])), (dtypes.float32, TensorShape([]))]


# These operations have side effects on the array, so they are never computed before a run or by
# several threads.
define("TensorArrayV3", is_stateful=True)
define("TensorArrayReadV3", is_stateful=True)
define("TensorArrayWriteV3", is_stateful=True)
define("TensorArrayGatherV3", is_stateful=True)
define("TensorArrayScatterV3", is_stateful=True)
define("TensorArrayConcatV3", is_stateful=True)
define("TensorArraySplitV3", is_stateful=True)
define("TensorArraySizeV3", is_stateful=True)
define("TensorArrayCloseV3", is_stateful=True)
