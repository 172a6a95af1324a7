"""A native function's graph, restricted to operations that the engine can run."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, Final, NoReturn

from headrace.core import dtypes
from headrace.core.dtypes import DType
from headrace.core.errors import UnimplementedError
from headrace.core.shapes import TensorShape
from headrace.graph import Graph, Loop, Operation, Role, Tensor, find_location
from headrace.ops.framework.folding import fold
from headrace.ops.framework.kernel import as_array
from headrace.pipeline.native_functions.lowering import RowLowering
from headrace.pipeline.native_functions.values import TracedTensor

__all__ = ["COMPUTES_WITHOUT", "TracedGraph"]

COMPUTES_WITHOUT: Final = (
    "Native functions can return bfloat16, dates and times, lists of lists, and batches of "
    "arrays in lists unchanged, but cannot compute with them. Convert them in a Python function "
    "first, for example with value.astype(np.float32)."
)


class TracedGraph(Graph):
    """A graph that rejects stateful operations and operations that only NumPy can compute.

    Operations that depend on no argument are computed at once and become constants.

    Args:
        name: The function's name, for errors.
        seed: The seed for random operations, or None to reject them.

    Attributes:
        lowering: Compiles the graph to programs.
    """

    tensor_class = TracedTensor
    is_native = True

    def __init__(self, name: str, seed: int | None) -> None:
        super().__init__()
        self.lowering: Final = RowLowering(seed)
        self._name = name
        self._has_seed = seed is not None
        # The operations whose values depend on an argument.
        self._varying: set[Operation] = set()

    def is_varying(self, tensor: Tensor) -> bool:
        """Returns whether a value depends on the function's arguments."""
        return tensor.op in self._varying

    def create_op(
        self,
        op_type: str,
        inputs: Sequence[Tensor],
        output_dtypes: Sequence[DType],
        *,
        output_shapes: Sequence[TensorShape] | None = None,
        name: str | None = None,
        attrs: dict[str, Any] | None = None,
        kernel: Callable[..., Any] | None = None,
        repeats: Loop | None = None,
    ) -> Operation:
        """Adds an operation; see `Graph.create_op`.

        Raises:
            TypeError: If the operation computes with a type that the engine only passes through.
            ValueError: If the engine cannot run the operation for each row.
        """
        if any(tensor.dtype == dtypes.resource for tensor in inputs):
            raise TypeError(
                f"{self._name}: {op_type} got bfloat16, a date or time, or a list. "
                f"{COMPUTES_WITHOUT}"
            )
        if op_type in _PIPELINE_OPTIONS:
            attrs = {**(attrs or {}), _PIPELINE_OPTIONS[op_type]: True}
        op = super().create_op(
            op_type,
            inputs,
            output_dtypes,
            output_shapes=output_shapes,
            name=name,
            attrs=attrs,
            kernel=kernel,
            repeats=repeats,
        )
        constant = self._folded(op)
        if constant is not None:
            return constant
        definition = op.definition
        is_each = repeats is not None and repeats.is_each
        if (
            definition.is_placeholder
            or definition.is_random
            or is_each  # Its function may draw random numbers.
            or any(map(self.is_varying, op.inputs))
        ):
            self._varying.add(op)
        if is_each:
            return op
        if definition.is_random:
            self._add_random(op)
        elif definition.is_stateful or definition.role not in _ROLES or definition.takes_variable:
            self._refuse(op, "has state or side effects. Use a Python function")
        if repeats is not None or (op.loop is not None and not op.loop.is_each):
            self._refuse(op, "is part of a loop. Use headrace.ops.each or a Python function")
        if op.branch is not None or op.control_inputs:
            self._refuse(
                op, "depends on a condition or on another operation. Use headrace.ops.where"
            )
        if op in self._varying and not (definition.is_placeholder or definition.is_random):
            self._check_kernel(op)
        return op

    def _add_random(self, op: Operation) -> None:
        if not self._has_seed:
            self._refuse(op, "draws random numbers, so map needs a seed. Write map(f, seed=7)")
        if op.attrs.get("seed2"):
            self._refuse(op, "has its own seed. Pass the seed to map instead, as in map(f, seed=7)")
        self.lowering.generator(op)

    def _folded(self, op: Operation) -> Operation | None:
        """Replaces an operation on constants with a constant."""
        is_constant = all(tensor.op.definition.role is Role.CONSTANT for tensor in op.inputs)
        if not op.inputs or not is_constant or len(op.outputs) != 1 or op.definition.is_stateful:
            return None
        (output,) = op.outputs
        value = fold(output)
        if value is None:
            if op.kernel is None:
                return None
            value = as_array(op.kernel(*[tensor.op.attrs["value"] for tensor in op.inputs]))
        return super().create_op(
            "Const",
            [],
            [output.dtype],
            output_shapes=[TensorShape(value.shape)],
            attrs={"value": value, "dtype": output.dtype},
        )

    def _check_kernel(self, op: Operation) -> None:
        if not self.lowering.is_by_numpy(op):
            try:
                self.lowering.kernel(op, [])
            except UnimplementedError:
                pass
            else:
                return
        types = ", ".join(tensor.dtype.name for tensor in op.inputs)
        self._refuse(
            op,
            f"does not run in the engine for {types}. Use one of the operations in "
            "https://github.com/headrace/headrace/blob/main/docs/reference/operations.md",
        )

    def _refuse(self, op: Operation, why: str) -> NoReturn:
        location = find_location()
        raise ValueError(
            f"{self._name}: {location + ': ' if location else ''}the operation {op.type} {why}, or "
            "remove @headrace.native."
        )


_ROLES: Final = (Role.COMPUTED, Role.CONSTANT)
# Kernel options that are off for TensorFlow 1. There, image decoders return TensorFlow's pixels and
# support fewer files, and decompression stops after the first stream.
_PIPELINE_OPTIONS: Final = {
    "DecodeAndCropJpeg": "for_pipeline",
    "DecodeBmp": "for_pipeline",
    "DecodeGif": "for_pipeline",
    "DecodeImage": "for_pipeline",
    "DecodeJpeg": "for_pipeline",
    "DecodePng": "for_pipeline",
    "DecodeCompressed": "reads_whole",
}
