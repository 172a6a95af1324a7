"""Traced runs: the start, end and outputs of each operation.

Source: `RunOptions.trace_level` and `RunMetadata.step_stats` in TensorFlow 1.15.
"""

from collections.abc import Callable, Iterable, Sequence
from typing import Any, Final

import numpy as np

from headrace.core import engine
from headrace.graph import Graph, Operation
from headrace.graph.node_defs import make_graph_def
from headrace.protos import TensorShapeProto
from headrace.tf1.protos import NodeExecStats, NodeOutput, RunMetadata, TensorDescription
from headrace.tf1.session.devices import CPU
from headrace.tf1.session.options import RunOptions
from headrace.tf1.session.traces.cost_graph import make_cost_graph

__all__ = ["Tracing", "begin_tracing"]


class Tracing:
    """The trace of one run, whose program is compiled only for this run and not optimized.

    Args:
        options: The options that request the trace.
        run_metadata: The message that receives the trace.
        has_costs: Whether the message also receives the cost of each operation.

    Attributes:
        trace: The native trace, which collects start, end and outputs of native operations.
    """

    def __init__(self, options: RunOptions, run_metadata: RunMetadata, has_costs: bool) -> None:
        self.trace: Final = engine.Trace()
        self._options = options
        self._run_metadata = run_metadata
        self._has_costs = has_costs
        self._functions: list[engine.Span] = []

    def timed(
        self, name: str, function: Callable[..., Sequence[np.ndarray[Any, Any]]], codes: list[int]
    ) -> Callable[..., Sequence[np.ndarray[Any, Any]]]:
        """Returns a traced version of a Python function.

        Args:
            name: The name of the function's operation.
            function: A function that returns an array for each output.
            codes: The type codes of the outputs.
        """

        def call(*inputs: Any) -> Sequence[np.ndarray[Any, Any]]:
            begin = self.trace.now()
            results = function(*inputs)
            outputs = [
                engine.SpanOutput(code, result.shape, result.nbytes)
                for code, result in zip(codes, results, strict=True)
            ]
            self._functions.append(engine.Span(name, begin, self.trace.now(), outputs))
            return results

        return call

    def tell(self, graph: Graph, ops: Iterable[Operation]) -> None:
        """Fills the metadata after the run.

        Args:
            graph: The graph.
            ops: The operations that the run needed.
        """
        # Operations are listed in the order in which they started.
        spans = sorted(self.trace.take() + self._functions, key=lambda span: span.begin)
        if self._has_costs:
            costs = {span.name: span for span in spans}
            self._run_metadata.cost_graph.CopyFrom(make_cost_graph(ops, costs))
        if self._options.trace_level:
            nodes = [_node(graph, span) for span in spans]
            self._run_metadata.step_stats.dev_stats.add(device=CPU.name, node_stats=nodes)
        if self._options.output_partition_graphs:
            ordered = sorted(ops, key=lambda op: op._id)
            self._run_metadata.partition_graphs.append(make_graph_def(ordered))


def begin_tracing(
    options: RunOptions | None, run_metadata: object, has_costs: bool
) -> Tracing | None:
    """Clears the metadata of a run and returns its trace, or None if no trace was requested.

    Args:
        options: The options of the run.
        run_metadata: The argument that the program passed.
        has_costs: Whether the metadata also receives the cost of each operation.

    Raises:
        TypeError: If `run_metadata` is not a `RunMetadata`.
    """
    if not isinstance(run_metadata, RunMetadata):
        raise TypeError(
            f"run_metadata has type {type(run_metadata).__name__}, expected tf.RunMetadata."
        )
    run_metadata.Clear()
    run_options = RunOptions() if options is None else options
    if not (run_options.trace_level or run_options.output_partition_graphs or has_costs):
        return None
    return Tracing(run_options, run_metadata, has_costs)


def _node(graph: Graph, span: engine.Span) -> NodeExecStats:
    op = graph.get_operation_by_name(span.name)
    inputs = [tensor.op.name if tensor.value_index == 0 else tensor.name for tensor in op.inputs]
    inputs += [f"^{control.name}" for control in op.control_inputs]
    return NodeExecStats(
        node_name=span.name,
        all_start_micros=span.begin,
        op_end_rel_micros=span.end - span.begin,
        all_end_rel_micros=span.end - span.begin,
        scheduled_micros=span.begin,
        timeline_label=f"{span.name} = {op.type}({', '.join(inputs)})",
        output=[_output(slot, output) for slot, output in enumerate(span.outputs)],
    )


def _output(slot: int, output: engine.SpanOutput) -> NodeOutput:
    dims = [TensorShapeProto.Dim(size=size) for size in output.shape]
    tensor = TensorDescription(dtype=output.code, shape=TensorShapeProto(dim=dims))
    tensor.allocation_description.requested_bytes = output.num_bytes
    tensor.allocation_description.allocated_bytes = output.num_bytes
    tensor.allocation_description.allocator_name = "cpu"
    return NodeOutput(slot=slot, tensor_description=tensor)
