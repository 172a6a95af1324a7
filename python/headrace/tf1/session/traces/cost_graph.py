"""Per-operation costs of a run: `RunMetadata.cost_graph`.

Source: `GraphOptions.build_cost_model` and `cost_graph.proto` in TensorFlow 1.15.
"""

from collections.abc import Iterable, Mapping

from headrace.core import engine
from headrace.graph import Operation, Tensor
from headrace.protos import TensorShapeProto
from headrace.tf1.protos import CostGraphDef
from headrace.tf1.session.devices import CPU

__all__ = ["make_cost_graph"]

# Means that an output does not share memory with an input.
_NO_ALIAS = -1


def make_cost_graph(ops: Iterable[Operation], spans: Mapping[str, engine.Span]) -> CostGraphDef:
    """Returns a node for each operation, in the order in which the operations were created.

    Args:
        ops: The operations of the run.
        spans: The span of each timed operation, by name.
    """
    graph = CostGraphDef()
    ordered = sorted(ops, key=lambda op: op._id)
    numbers = {op: number for number, op in enumerate(ordered)}
    for op in ordered:
        span = spans.get(op.name)
        micros = 0 if span is None else span.end - span.begin
        node = graph.node.add(name=op.name, device=CPU.name, id=numbers[op], compute_cost=micros)
        for tensor in op.inputs:
            if tensor.op in numbers:
                node.input_info.add(
                    preceding_node=numbers[tensor.op], preceding_port=tensor.value_index
                )
        node.control_input.extend(numbers[item] for item in op.control_inputs if item in numbers)
        outputs = span.outputs if span is not None else []
        for output in outputs or map(_known_output, op.outputs):
            dims = [TensorShapeProto.Dim(size=dim) for dim in output.shape]
            node.output_info.add(
                size=output.num_bytes,
                alias_input_port=_NO_ALIAS,
                shape=TensorShapeProto(dim=dims),
                dtype=output.code,
            )
    return graph


def _known_output(tensor: Tensor) -> engine.SpanOutput:
    """Returns the dtype, static shape and size of an untraced output. An unknown size is 0."""
    dtype, shape = tensor.dtype.base_dtype, tensor.shape
    dims = [] if shape.rank is None else [-1 if dim is None else dim for dim in shape.as_list()]
    num_bytes = (shape.num_elements() or 0) * dtype.size
    return engine.SpanOutput(dtype.as_datatype_enum, dims, num_bytes)
