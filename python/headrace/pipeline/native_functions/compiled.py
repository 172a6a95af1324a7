"""A traced function compiled to the engine's programs."""

from __future__ import annotations

import os
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Final

from headrace.core import engine
from headrace.core.digests import sha256
from headrace.graph import Tensor
from headrace.graph.lowering.feeding import as_array
from headrace.pipeline.functions.native_function import TracedFunction
from headrace.pipeline.native_functions.segments import Segments, segments_of
from headrace.pipeline.native_functions.trace import Trace
from headrace.pipeline.values.column_conversion import decoded

__all__ = ["CompiledFunction", "compiled"]

# A call outside a pipeline never waits.
_PATIENCE_SECS: Final = 3600.0
# The number of hexadecimal digits in a digest.
_DIGEST_LETTERS: Final = 32


@dataclass(frozen=True)
class CompiledFunction(TracedFunction):
    """A traced function with its programs.

    Attributes:
        trace: The function's operations.
        feeds: The arguments that the function needs, by component.
        computed: The results that are not arguments.
        program: The program that computes these results for one row.
        segments: The programs that compute these results for the rows of a block.
    """

    trace: Trace
    feeds: dict[str, Tensor]
    computed: dict[str, Tensor]
    program: engine.Program
    segments: Segments

    def stage(self, is_batched: bool) -> engine.Stage:
        """Returns the stage that calls the function for each row; see `TracedFunction.stage`."""
        if self.trace.use == "filter":
            return engine.Stage.filter_native(self._function(is_batched))
        columns = [self._column(name) for name in self.trace.results]
        if self.trace.use == "flat_map":
            return engine.Stage.flat_map_native(self._function(is_batched), columns)
        if not self.computed:
            return engine.Stage.select([number for number, _ in columns])
        return engine.Stage.map_native(self._function(is_batched), columns)

    def call(self, values: Mapping[str, Any]) -> Any:
        """Returns the results for one example of NumPy values that has the traced components.

        Raises:
            OpError: If an operation fails.
        """
        feeds = [as_array(values[name], tensor.dtype) for name, tensor in self.feeds.items()]
        cancellation = engine.Cancellation(lambda names: None, _PATIENCE_SECS)
        try:
            fetched = engine.call_functions(self.program.run(feeds, cancellation))
        except engine.EngineError as error:
            engine.raise_op_error(error)
        outputs = dict(zip(self.computed, fetched, strict=True))
        results = {
            name: outputs[name] if name in outputs else values[self._argument(name)]
            for name in self.trace.results
        }
        shown = {
            name: decoded(value) if self.specs[name].dtype is str else value
            for name, value in results.items()
        }
        return shown[""] if list(shown) == [""] else shown

    def _function(self, is_batched: bool) -> engine.NativeFunction:
        columns = list(self.trace.arguments)
        return engine.NativeFunction(
            name=self.trace.name,
            inputs=[columns.index(name) for name in self.feeds],
            program=self.program,
            segments=[] if is_batched else self.segments.parts,
            results=self.segments.results,
            is_batched=is_batched,
            is_random=self.trace.graph.lowering.is_random,
        )

    def _column(self, name: str) -> tuple[int, bool]:
        """Returns the number of a result, and whether it is an input column."""
        if name in self.computed:
            return list(self.computed).index(name), False
        return list(self.trace.arguments).index(self._argument(name)), True

    def _argument(self, result: str) -> str:
        """Returns the name of the argument that is returned as this result."""
        tensor = self.trace.results[result]
        return next(name for name, other in self.trace.arguments.items() if other is tensor)


def compiled(trace: Trace) -> CompiledFunction:
    """Compiles a traced function to programs."""
    arguments = list(trace.arguments.values())
    computed = {
        name: tensor
        for name, tensor in trace.results.items()
        if trace.use == "filter" or not any(tensor is other for other in arguments)
    }
    results = list(computed.values())
    read = {tensor for op in trace.operations() for tensor in op.inputs}.union(results)
    feeds = {name: tensor for name, tensor in trace.arguments.items() if tensor in read}
    program = trace.graph.lowering.lower(results, [], list(feeds.values()))
    segments = segments_of(trace, feeds.values(), results)
    return CompiledFunction(
        trace.specs, _contents(trace), trace, feeds, computed, program, segments
    )


def _contents(trace: Trace) -> tuple[tuple[str, str], ...]:
    """Returns the names and digests of the files that operations depend on."""
    attributes = [op.attrs for op in trace.graph.get_operations() if op.definition.has_content]
    digests = (
        (
            os.fsdecode(os.path.basename(attrs["path"])),
            sha256(attrs["content"]).hexdigest()[:_DIGEST_LETTERS],
        )
        for attrs in attributes
    )
    return tuple(dict.fromkeys(digests))
