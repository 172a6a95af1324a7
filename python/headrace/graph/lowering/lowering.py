"""Compiles graph operations to a native program: kernel calls in topological order."""

import threading
import weakref
from collections.abc import Callable, Container, Iterable, Sequence
from typing import Any, Final, Protocol, TypeAlias

import numpy as np
import numpy.typing as npt

from headrace.core import engine, errors
from headrace.core.dtypes import DType
from headrace.core.shapes import TensorShape
from headrace.graph import KernelKind, Operation, Role, Tensor
from headrace.graph.lowering.feeding import as_array
from headrace.graph.lowering.resources import Resource, Resources
from headrace.ops.framework.folding import is_small

__all__ = ["Lowering"]

# An operation's object: one resource, or several of which each run selects one.
_Operand: TypeAlias = Resource | list[Resource]

# A node's gate: the nodes that it waits for, and its conditions. Each condition is a bool scalar
# and the value for which the node runs, with the outermost branch first.
_Gate: TypeAlias = tuple[list[int], list[tuple[int, bool]]]


class Tracing(Protocol):
    """The trace of one run.

    Attributes:
        trace: Collects the times of native operations.
    """

    @property
    def trace(self) -> engine.Trace: ...

    def timed(
        self, name: str, function: Callable[..., Sequence[np.ndarray[Any, Any]]], codes: list[int]
    ) -> Callable[..., Sequence[np.ndarray[Any, Any]]]:
        """Wraps a Python function so that it is traced under its operation's name."""
        ...


class Lowering:
    """Compiles the programs of one session. Safe to use from several threads.

    Each operation's kernel is created once and shared by all programs. Kernels are kept even if
    programs are dropped, but each operation of the graph has at most one kernel.

    Args:
        rewrites: Whether programs may be rewritten. Rewrites affect only time and memory. Every
            rewrite checks this flag, or the same flag in the engine's `ProgramBuilder`.
            `tests/tf1/lowering/test_rewrites.py` compares programs with and without rewrites.
    """

    def __init__(self, resources: Resources, rewrites: bool) -> None:
        self.rewrites: Final = rewrites
        self._resources = resources
        self._lock = threading.Lock()
        # Guarded by the lock.
        self._kernels: dict[Operation, engine.Kernel] = {}
        # The key is the loop's operation and the inputs of its body from outside the loop.
        self._loops: dict[tuple[Operation, tuple[Tensor, ...]], engine.Kernel] = {}

    def lower(
        self,
        fetches: Sequence[Tensor],
        targets: Sequence[Operation],
        feeds: Sequence[Tensor],
        tracing: Tracing | None = None,
        done: frozenset[Operation] = frozenset(),
    ) -> engine.Program:
        """Returns a program that accepts `feeds`, runs `targets` and returns `fetches`.

        If `tracing` is set, runs record the time span of each operation. Operations in `done` are
        skipped, and their outputs are fed.

        Raises:
            OpError: If a resource cannot be created.
            UnimplementedError: If an operation has no kernel, or is not allowed in any run.
        """
        ops = list(self.needed_ops(fetches, targets, feeds, done))
        _check_can_run(ops)
        assembly = _Assembly(self, feeds, tracing)
        for op in ops:
            assembly.add(op)
        return assembly.build(fetches)

    @staticmethod
    def needed_ops(
        fetches: Sequence[Tensor],
        targets: Sequence[Operation],
        feeds: Sequence[Tensor],
        done: frozenset[Operation] = frozenset(),
    ) -> Iterable[Operation]:
        """Yields the operations that a run needs, except those in `done`, each after its inputs."""
        fed = set(feeds)
        ops_to_visit = [tensor.op for tensor in fetches if tensor not in fed]
        return _topological_order([*ops_to_visit, *targets], fed, done)

    def resource(self, op: Operation) -> _Operand:
        """Returns the session's resource for an operation, or a list of them for a selection."""
        if op.definition.role is Role.SELECTION:
            return [self._resources.get(tensor.op) for tensor in op.inputs[1:]]
        return self._resources.get(op)

    def generator(self, op: Operation) -> engine.RandomGenerator:
        """Returns the session's random generator for an operation."""
        return self._resources.generator(op)

    def is_by_numpy(self, op: Operation) -> bool:
        """Returns whether programs compute an operation with its NumPy kernel."""
        computed = op.definition.computed_by(op)
        is_always = computed in (KernelKind.BY_NUMPY, KernelKind.BY_NUMPY_IN_SESSIONS)
        return is_always or (computed is KernelKind.BY_EITHER and not self.rewrites)

    def label(self, op: Operation) -> str:
        """Returns the name of an operation for error messages."""
        return op.name

    def kernel(self, op: Operation, resources: list[_Operand]) -> engine.Kernel:
        """Returns the kernel of an operation."""
        with self._lock:
            kernel = self._kernels.get(op)
        if kernel is None:
            new_kernel = _make_kernel(op, resources, self.is_by_numpy(op))
            with self._lock:
                kernel = self._kernels.setdefault(op, new_kernel)
        return kernel

    def loop_kernel(self, op: Operation, captured: tuple[Tensor, ...]) -> engine.Kernel:
        """Returns the kernel of an operation that runs a loop.

        Args:
            op: The operation.
            captured: The tensors from outside the loop whose values are fed to the loop's program.
        """
        with self._lock:
            kernel = self._loops.get((op, captured))
        if kernel is None:
            new_kernel = self._make_loop(op, captured)
            with self._lock:
                kernel = self._loops.setdefault((op, captured), new_kernel)
        return kernel

    def _make_loop(self, op: Operation, captured: tuple[Tensor, ...]) -> engine.Kernel:
        loop = op.repeats
        assert loop is not None
        feeds = [*loop.carried, *loop.rows, *captured]
        if loop.is_each:
            results = zip(loop.results, op.attrs["is_joined"], strict=True)
            return engine.ProgramBuilder.each(
                self.lower(loop.results, [], feeds),
                len(loop.rows),
                [(_code(tensor), _sizes(tensor), joins) for tensor, joins in results],
            )
        condition = None if loop.condition is None else self.lower([loop.condition], [], feeds)
        body = self.lower(loop.results, [], feeds)
        collected = loop.results[len(loop.carried) :]
        return engine.ProgramBuilder.repeated(
            loop.name,
            condition,
            body,
            num_carried=len(loop.carried),
            num_sequences=len(loop.rows),
            collected=[(_code(tensor), _sizes(tensor)) for tensor in collected],
            is_reversed=bool(op.attrs.get("reverse")),
            begins_with_carried=bool(op.attrs.get("skip_first")),
            is_pure=bool(op.attrs.get("is_pure")) and self.rewrites,
            max_threads=op.attrs["parallel_iterations"],
        )


class _Assembly:
    """A program that is being built.

    Attributes:
        slots: The slot for each tensor's value during a run.
    """

    def __init__(
        self, lowering: Lowering, feeds: Sequence[Tensor], tracing: Tracing | None
    ) -> None:
        self._lowering = lowering
        self._tracing = tracing
        trace = None if tracing is None else tracing.trace
        self._builder = engine.ProgramBuilder(lowering.rewrites, trace)
        self.slots = {tensor: self._builder.feed(_code(tensor)) for tensor in feeds}
        self._nodes: dict[Operation, int] = {}
        # The tensors whose value is the same in every run.
        self._constants: dict[Tensor, np.ndarray[Any, Any]] = {}

    def add(self, op: Operation) -> None:
        """Adds an operation whose inputs have been added already, unless it needs no node."""
        role = op.definition.role
        if role.is_resource:
            self._lowering.resource(op)
            return
        if role is Role.SELECTION:
            return
        gate = self._gate(op)
        values = None if any(gate) else self._fold(op)
        if values is not None:
            for tensor, value in zip(op.outputs, values, strict=True):
                self._add_constant(tensor, value)
            return
        if role is Role.MERGE:
            if_false, if_true, predicate = (self.slots[tensor] for tensor in op.inputs)
            node, slot = self._builder.merge(
                op.name, predicate, (if_false, if_true), engine.Gate(*gate)
            )
        elif role is Role.LOOP:
            node, slot = self._add_loop(op, gate)
        else:
            node, slot = self._add_call(op, gate)
        self._nodes[op] = node
        for offset, tensor in enumerate(op.outputs):
            self.slots.setdefault(tensor, slot + offset)

    def _gate(self, op: Operation) -> _Gate:
        controls = [self._nodes[control] for control in op.control_inputs if control in self._nodes]
        path = [] if op.branch is None else op.branch.path
        return controls, [(self.slots[branch.predicate], branch.is_taken_if) for branch in path]

    def _add_call(self, op: Operation, gate: _Gate) -> tuple[int, int]:
        inputs: list[int] = []
        resources: list[_Operand] = []
        if op.definition.role is Role.CONSTANT:
            # A constant with control inputs becomes a node that waits for them and passes its value
            # on.
            value = as_array(op.attrs["value"], op.outputs[0].dtype)
            inputs.append(self._builder.constant(value, _code(op.outputs[0])))
        for index, tensor in enumerate(op.inputs):
            if tensor.dtype.name == "resource" or tensor.op.definition.role is Role.BARRIER:
                if tensor.op.definition.role is Role.SELECTION:
                    inputs.insert(0, self.slots[tensor.op.inputs[0]])
                resources.append(self._lowering.resource(tensor.op))
            elif index == 0 and op.definition.takes_variable:
                # The output of an assignment is the variable after the assignment.
                if tensor.op in self._nodes:
                    gate[0].append(self._nodes[tensor.op])
                resources.append(self._lowering.resource(_variable_of(tensor)))
            elif _is_variable(tensor) and tensor not in self.slots:
                inputs.append(self._read(op.name, tensor.op, gate))
            else:
                inputs.append(self.slots[tensor])
        if op.definition.is_random:
            resources.append(self._lowering.generator(op))
        if op.definition.kept is not None:
            resources.append(self._lowering.resource(op))
        if self._tracing is not None and self._lowering.is_by_numpy(op):
            codes = [_code(tensor) for tensor in op.outputs]
            function = self._tracing.timed(op.name, _NumpyKernel(op), codes)
            kernel = engine.ProgramBuilder.function(function, codes)
        else:
            kernel = self._lowering.kernel(op, resources)
        return self._add_node(op, kernel, inputs, gate)

    def _add_loop(self, op: Operation, gate: _Gate) -> tuple[int, int]:
        loop = op.repeats
        assert loop is not None
        num_own = len(loop.carried) + len(loop.rows)
        inputs = [
            self._read(op.name, tensor.op, gate)
            if _is_variable(tensor) and tensor not in self.slots
            else self.slots[tensor]
            for tensor in op.inputs[:num_own]
        ]
        captured = []
        for inside, outside in zip(loop.captured, op.inputs[num_own:], strict=True):
            # The body uses resources itself, and reads variables again in each iteration.
            if outside in self.slots:
                captured.append(inside)
                inputs.append(self.slots[outside])
        kernel = self._lowering.loop_kernel(op, tuple(captured))
        return self._add_node(op, kernel, inputs, gate)

    def _add_node(
        self, op: Operation, kernel: engine.Kernel, inputs: list[int], gate: _Gate
    ) -> tuple[int, int]:
        name, num_outputs = self._lowering.label(op), len(op.outputs)
        return self._builder.node(name, kernel, inputs, num_outputs, engine.Gate(*gate))

    def build(self, fetches: Sequence[Tensor]) -> engine.Program:
        """Returns the program that computes the values of `fetches`."""
        for tensor in fetches:
            if _is_variable(tensor) and tensor not in self.slots:
                # The variable is read after all changes in this run, except those on branches,
                # which may not run.
                done = [node for op, node in self._nodes.items() if op.branch is None]
                gate: _Gate = done, []
                self.slots[tensor] = self._read(tensor.op.name, tensor.op, gate)
        return self._builder.build([self.slots[tensor] for tensor in fetches])

    def _read(self, reader: str, variable: Operation, gate: _Gate) -> int:
        """Adds a read of a variable for operation `reader`, after the same gate."""
        kernel = self._lowering.kernel(variable, [self._lowering.resource(variable)])
        # A trace attributes this time to the variable.
        name = reader if self._tracing is None else variable.name
        _, slot = self._builder.node(name, kernel, [], 1, engine.Gate(*gate))
        return slot

    def _add_constant(self, tensor: Tensor, value: np.ndarray[Any, Any]) -> None:
        if tensor not in self.slots:
            self._constants[tensor] = value
            try:
                self.slots[tensor] = self._builder.constant(value, _code(tensor))
            except engine.EngineError as error:
                engine.raise_op_error(error)

    def _fold(self, op: Operation) -> list[np.ndarray[Any, Any]] | None:
        """Computes an operation on constants now, so that a loop that contains it needs no Python.

        Returns: The outputs, or None if they differ between runs, are not known to be small, or
            cannot be computed. In the last case, the run raises the error.
        """
        definition = op.definition
        if definition.role is Role.CONSTANT:
            return [as_array(op.attrs["value"], op.outputs[0].dtype)]
        is_pure = self._lowering.rewrites and op.inputs and not definition.is_stateful
        is_pure = is_pure and definition.computed_by(op) is not KernelKind.BY_ENGINE
        is_pure = is_pure and all(map(is_small, op.outputs))
        if not is_pure or any(tensor not in self._constants for tensor in op.inputs):
            return None
        try:
            return _NumpyKernel(op)(*[self._constants[tensor] for tensor in op.inputs])
        except Exception:
            return None


def _check_can_run(ops: Sequence[Operation]) -> None:
    for op in reversed(ops):
        refusal = op.definition.refusal
        if refusal is not None:
            raise errors.UnimplementedError(None, op, refusal(ops))


def _make_kernel(op: Operation, operands: Sequence[_Operand], is_by_numpy: bool) -> engine.Kernel:
    resources: list[Resource] = []
    for index, operand in enumerate(operands):
        if isinstance(operand, list):
            before, after = operands[:index], operands[index + 1 :]
            choices = [[*before, choice, *after] for choice in operand]
            kernels = [_make_kernel(op, choice, is_by_numpy) for choice in choices]
            return engine.ProgramBuilder.select(kernels)
        resources.append(operand)
    if is_by_numpy:
        codes = [_code(tensor) for tensor in op.outputs]
        return engine.ProgramBuilder.function(_NumpyKernel(op), codes)
    if op.definition.role is Role.CONSTANT:
        kernel = engine.ProgramBuilder.kernel("Identity", {}, [])
        assert kernel is not None
        return kernel
    attrs: dict[str, object] = {"name": op.name}
    attrs |= {name: _attr(value) for name, value in op.attrs.items() if value is not None}
    try:
        kernel = engine.ProgramBuilder.kernel(op.type, attrs, resources)
    except engine.EngineError as error:
        code, message, _, cause = error.args
        engine.raise_op_error(engine.EngineError(code, message, op.name, cause), op.graph)
    if kernel is None:
        text = f"operation '{op.name}': there is no kernel for operations of type {op.type}"
        raise errors.UnimplementedError(None, op, text)
    return kernel


class _NumpyKernel:
    """Calls an operation's NumPy kernel, and converts its results for the engine."""

    def __init__(self, op: Operation) -> None:
        kernel = op.kernel
        assert kernel is not None
        # The engine holds this object, so the garbage collector cannot see its references. A user's
        # function may refer to the session, so only the graph keeps the function alive.
        is_users = bool(op.attrs.get("python_function"))
        self._find: Callable[[], Callable[..., Any] | None] = (
            weakref.ref(kernel) if is_users else lambda: kernel
        )
        self._dtypes = [tensor.dtype for tensor in op.outputs]

    def __call__(self, *inputs: npt.NDArray[Any]) -> list[np.ndarray[Any, Any]]:
        function = self._find()
        if function is None:
            raise errors.CancelledError(
                None,
                None,
                "the graph that this function belongs to no longer exists. Keep a reference "
                "to the graph",
            )
        results = function(*inputs)
        if len(self._dtypes) == 1 and not isinstance(results, tuple):
            results = (results,)
        elif not self._dtypes:
            results = ()
        return [
            as_array(result, dtype) for result, dtype in zip(results, self._dtypes, strict=True)
        ]


def _is_variable(tensor: Tensor) -> bool:
    return tensor.op.definition.role is Role.VARIABLE


def _variable_of(tensor: Tensor) -> Operation:
    while not _is_variable(tensor):
        tensor = tensor.op.inputs[0]
    return tensor.op


def _attr(value: object) -> object:
    """Converts an attribute to the form that the native builder accepts."""
    if isinstance(value, DType):
        return ("dtype", value.base_dtype.as_datatype_enum)
    if isinstance(value, TensorShape):
        return ("shape", None if value.rank is None else value.as_list())
    if isinstance(value, (list, tuple)):
        return [_attr(item) for item in value]
    return value


def _code(tensor: Tensor) -> int:
    return int(tensor.dtype.base_dtype.as_datatype_enum)


def _sizes(tensor: Tensor) -> list[int | None] | None:
    return None if tensor.shape.rank is None else tensor.shape.as_list()


def _is_fed(op: Operation, fed: Container[Tensor]) -> bool:
    """Returns whether an operation is a fed placeholder. Nothing waits for those."""
    return op.definition.is_placeholder and op.outputs[0] in fed


def _topological_order(
    ops: Iterable[Operation], fed: Container[Tensor], done: Iterable[Operation]
) -> Iterable[Operation]:
    """Yields `ops` and all operations they need, each after its inputs, except fed ones."""
    is_done = dict.fromkeys(done, True)
    stack = list(ops)[::-1]
    while stack:
        op = stack[-1]
        if is_done.get(op):
            stack.pop()
        elif op in is_done:
            stack.pop()
            is_done[op] = True
            yield op
        else:
            is_done[op] = False
            needs = [tensor.op for tensor in op.inputs if tensor not in fed]
            # The loop as a whole waits for every outside operation that its body waits for.
            inside = [control for control in op.control_inputs if control.loop is op.loop]
            needs += [control for control in inside if not _is_fed(control, fed)]
            path = [] if op.branch is None else op.branch.path
            needs += [branch.predicate.op for branch in path if branch.predicate not in fed]
            stack += [need for need in reversed(needs) if need not in is_done]
