"""Divides native functions into segments, to process all rows of a block in a few calls.

Operations with a batch rule are converted to operations on all rows, and form segments that run
once per block. The segments between them contain the remaining operations and run once per row. If
rows are large, an operation stays in such a loop even if it has a rule. The values of one row are
then still in the processor's cache when the next operation reads them, and intermediate values,
such as a decoded photograph, exist for only one row at a time.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Final

import numpy as np

from headrace.core import engine
from headrace.graph import Graph, Operation, Tensor
from headrace.ops.array.placeholder import placeholder
from headrace.ops.framework.batching import BlockInput, batched_shape
from headrace.pipeline.native_functions.trace import Trace

__all__ = ["Segments", "segments_of"]

# Larger rows are computed one by one.
_MAX_ROW_BYTES: Final = 32 << 10


@dataclass(frozen=True)
class Segments:
    """The segments of a function, in order. The arguments are numbered before the results.

    Attributes:
        parts: The segments. Empty if it is better to run the whole function for each row.
        results: The numbers of the result values.
    """

    parts: list[engine.Segment]
    results: list[int]


def segments_of(trace: Trace, feeds: Iterable[Tensor], results: Iterable[Tensor]) -> Segments:
    """Divides a function into segments.

    Args:
        trace: The function.
        feeds: The arguments that the function needs.
        results: The results to compute.
    """
    division = _Division(trace, list(feeds), list(results))
    for op in trace.operations():
        division.add(op)
    return division.segments()


class _Division:
    """Assigns a function's operations to segments. Even segments run once per block."""

    def __init__(self, trace: Trace, feeds: list[Tensor], results: list[Tensor]) -> None:
        self._trace = trace
        self._feeds = feeds
        self._results = results
        # Tensors in the graph for blocks: all rows of a tensor, or a copy of a tensor that all rows
        # share.
        self._graph = Graph()
        self._blocks: dict[Tensor, Tensor] = {}
        self._ops: dict[int, list[Operation]] = {}
        # The segment of each tensor that differs between rows.
        self._segment_of = dict.fromkeys(feeds, 0)
        # The tensors whose rows differ in shape.
        self._uneven = {
            tensor for name, tensor in trace.arguments.items() if trace.input_specs[name].is_ragged
        }

    def add(self, op: Operation) -> None:
        """Adds an operation to the first segment that can contain it."""
        outputs = self._over_blocks(op)
        is_looped = outputs is None
        first = max(self._segment_of.get(tensor, 0) for tensor in op.inputs)
        segment = first if first % 2 == is_looped else first + 1
        self._ops.setdefault(segment, []).append(op)
        self._segment_of |= dict.fromkeys(op.outputs, segment)
        if outputs is None:
            self._uneven |= {tensor for tensor in op.outputs if _row_bytes(tensor) is None}
        else:
            self._blocks |= zip(op.outputs, outputs, strict=True)

    def segments(self) -> Segments:
        """Returns the segments, or an empty list if all operations run for each row."""
        if all(segment % 2 for segment in self._ops):
            return Segments([], list(range(len(self._results))))
        constants = [tensor for tensor in self._results if tensor not in self._segment_of]
        if constants:
            # Constants are repeated for each row.
            segment = max(self._ops) // 2 * 2 + 1
            self._ops.setdefault(segment, [])
            self._segment_of |= dict.fromkeys(constants, segment)
        numbers = {tensor: number for number, tensor in enumerate(self._feeds)}
        parts = []
        for segment in sorted(self._ops):
            feeds, fetches = self._borders(segment)
            parts.append(
                engine.Segment(
                    program=self._program(segment, feeds, fetches),
                    inputs=[numbers[t] for t in feeds],
                    is_looped=segment % 2 == 1,
                )
            )
            numbers |= {tensor: len(numbers) + number for number, tensor in enumerate(fetches)}
        return Segments(parts, [numbers[tensor] for tensor in self._results])

    def _borders(self, segment: int) -> tuple[list[Tensor], list[Tensor]]:
        """Returns a segment's inputs from earlier segments, and its outputs for later ones."""
        ops = self._ops[segment]
        read = dict.fromkeys(tensor for op in ops for tensor in op.inputs)
        feeds = [tensor for tensor in read if self._segment_of.get(tensor, segment) < segment]
        feeds += [t for t in read if t in self._feeds and t not in feeds]
        later = {
            t
            for other, ops in self._ops.items()
            if other > segment
            for op in ops
            for t in op.inputs
        }
        fetched = dict.fromkeys([t for op in ops for t in op.outputs if t in later])
        fetched |= dict.fromkeys(
            t for t in self._results if self._segment_of[t] == segment and t not in self._feeds
        )
        return feeds, list(fetched)

    def _program(self, segment: int, feeds: list[Tensor], fetches: list[Tensor]) -> engine.Program:
        if segment % 2:
            return self._trace.graph.lowering.lower(fetches, [], feeds)
        blocks = [[self._block(tensor) for tensor in tensors] for tensors in (fetches, feeds)]
        return self._trace.graph.lowering.lower(blocks[0], [], blocks[1])

    def _over_blocks(self, op: Operation) -> Sequence[Tensor] | None:
        """Adds an operation to the graph for blocks. Returns None if it must run for each row."""
        rule = op.definition.batch_rule
        rows = [tensor for tensor in op.inputs if tensor in self._segment_of]
        if rule is None or any(tensor in self._uneven for tensor in rows):
            return None
        if any((_row_bytes(tensor) or 0) > _MAX_ROW_BYTES for tensor in (*rows, *op.outputs)):
            return None
        with self._graph.as_default():
            inputs = [BlockInput(self._block(t), t, t in self._segment_of) for t in op.inputs]
            outputs: Sequence[Tensor] | None = rule(op, inputs)
        return outputs

    def _block(self, tensor: Tensor) -> Tensor:
        if tensor not in self._blocks:
            with self._graph.as_default():
                if tensor in self._segment_of:
                    inputs = [placeholder(tensor.dtype, batched_shape(tensor.shape))]
                    self._blocks[tensor] = inputs[0]
                else:
                    self._copy(tensor.op)
        return self._blocks[tensor]

    def _copy(self, op: Operation) -> None:
        copy = self._graph.create_op(
            op.type,
            [self._block(tensor) for tensor in op.inputs],
            [tensor.dtype for tensor in op.outputs],
            output_shapes=[tensor.shape for tensor in op.outputs],
            attrs=dict(op.attrs),
            kernel=op.kernel,
        )
        self._blocks |= zip(op.outputs, copy.outputs, strict=True)


def _row_bytes(tensor: Tensor) -> int | None:
    """Returns the size of a row in bytes, or None. Strings are assumed to be short."""
    count = tensor.shape.num_elements()
    if tensor.dtype.name == "string" and count is not None:
        return count
    return None if count is None else count * np.dtype(tensor.dtype.as_numpy_dtype).itemsize
