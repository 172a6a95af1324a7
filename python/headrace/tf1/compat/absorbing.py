"""Models that can be built but not run: `install(training="absorb")`.

Calling a layer, a loss or an optimizer returns an `Absorbed` object. The object can replace a
tensor, a layer, an optimizer or any other part of a model: you can call it, use it in a `with`
statement, unpack it and calculate with it. As a tensor, it is the output of an operation of type
"Absorbed", which no session runs. A run that needs such an operation fails with a report, so a
program never receives made-up numbers.
"""

import dis
import itertools
import re
import sys
from abc import ABCMeta
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager, nullcontext
from functools import cached_property
from types import FrameType
from typing import Any, Final, NoReturn
from weakref import WeakKeyDictionary

from headrace.core import dtypes
from headrace.core.dtypes import DType, as_dtype
from headrace.core.errors import UnimplementedError
from headrace.core.shapes import ShapeLike, TensorShape, as_shape, unknown_shape
from headrace.graph import (
    Graph,
    GraphKeys,
    Operation,
    Tensor,
    define,
    get_default_graph,
)
from headrace.graph.lowering.lowering import Lowering
from headrace.graph.origin import find_location
from headrace.ops.framework.conversion import register_tensor_conversion_function
from headrace.tf1 import ops
from headrace.tf1.adapters.variables import Variable, get_variable, variable_scope
from headrace.tf1.compat.absorbed_shapes import infer_shape, static_shape
from headrace.tf1.compat.stand_ins import BINARY_OPERATORS, StandIn
from headrace.tf1.saver import Saver

__all__ = ["REPLACEMENTS", "Absorbed", "stand_in"]

# Names that prepare input or act outside the graph are rejected in this mode, too.
_REFUSED: Final = re.compile(
    r"(compat|config|data|debugging|experimental|gfile|graph_util|image|io|lite|logging|lookup"
    r"|profiler|python_io|queue|ragged|saved_model|sets|strings|sysconfig|test|user_ops|xla"
    r"|contrib\.(bigtable|cloud|data|ffmpeg|hadoop|image|lite|lookup|predictor|saved_model"
    r"|session_bundle|tensorrt|text|tfprof|util)"
    r"|python\.(client|data|debug|lib|platform|saved_model|tools|util))\."
    r"|(load|enable|disable)_|py_function|\w*Accumulator|Ragged"
)
# Calls whose result should be a trained model or a file.
_ACTIONS: Final = frozenset(
    [
        *("evaluate", "evaluate_generator", "evaluate_once", "evaluate_repeatedly"),
        *("evaluation_loop", "export_saved_model", "export_savedmodel", "fit", "fit_generator"),
        *("numpy", "predict", "predict_generator", "predict_on_batch", "restore", "save"),
        *("save_weights", "test_on_batch", "train", "train_and_evaluate", "train_on_batch"),
    ]
)
_MOST_LISTED: Final = 30
# The order of the calls.
_numbers: Final = itertools.count()


def stand_in(root: str, path: str) -> StandIn:
    """Returns the stand-in for a path. If the path belongs to a model, calls are absorbed."""
    return (StandIn if _REFUSED.match(path) else _Absorbing)(root, path)


class _Absorbing(StandIn):
    """A name whose calls are absorbed."""

    def use(self, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
        """Absorbs a call."""
        special = _SPECIAL.get(self.__name__)
        if special is not None:
            return special(self.full_name, args, kwargs)
        if self.__name__ in _ACTIONS:
            _refuse_action(_Call(self.full_name, args, kwargs))
        return self.base(*args, **kwargs)

    @cached_property
    def base(self) -> type[Any]:
        """The class of the objects that calls return, and the base of the program's subclasses."""
        full_name, path = self.full_name, self._path

        def new(cls: type, *args: Any, **kwargs: Any) -> Any:
            result: Any = object.__new__(cls)
            shape = infer_shape(path, args, kwargs)
            vars(result)["_absorbed"] = _Call(full_name, args, kwargs, shape=shape, path=path)
            return result

        return type(self.__name__, (Absorbed,), {"__new__": new, "__module__": self.__module__})


class _Call:
    """An absorbed call, or a part of its result.

    Attributes:
        name: The function's name in the program. "" for a part.
        path: The path after `tensorflow.`. "" for a method.
        args: The arguments.
        kwargs: The keyword arguments.
        shape: The static shape of the result as a tensor.
        dtype: The dtype of the result as a tensor, unless another one is requested.
        label: The name of its operations.
    """

    def __init__(
        self,
        name: str,
        args: Sequence[Any] = (),
        kwargs: Mapping[str, Any] | None = None,
        *,
        parent: "_Call | None" = None,
        shape: TensorShape | None = None,
        dtype: DType | None = None,
        path: str = "",
        label: str = "",
    ) -> None:
        self.name = name
        self.path = path
        self.args, self.kwargs = args, kwargs or {}
        self.parent = parent
        self.shape = unknown_shape() if shape is None else shape
        self.label = re.sub(r"\W", "", label or name.rpartition(".")[2]) or "part"
        self._where = find_location()
        self._number = next(_numbers)
        self._inputs = list(_leaves([args, self.kwargs]))
        self.graph: Graph | None = next(filter(None, map(_graph_of, self._all_inputs())), None)
        self.dtype = dtype or self._usual_dtype()
        self._tensors: list[Tensor] = []
        if self.graph is not None:
            self.tensor()

    def part(self, label: str) -> "_Call":
        """Returns an attribute or element of the result."""
        return _Call("", parent=self, label=label, dtype=self.dtype)

    def tensor(self, dtype: DType | None = None) -> Tensor:
        """Returns the result as a tensor of the default graph, or of its inputs' graph."""
        graph = self.graph or get_default_graph()
        dtype = dtype or self.dtype
        for tensor in self._tensors:
            if tensor.graph is graph and tensor.dtype == dtype:
                return tensor
        of_inputs = map(_tensor_of, self._all_inputs())
        inputs = [tensor for tensor in of_inputs if tensor is not None and tensor.graph is graph]
        attrs = {"call": self.name, "where": self._where, "number": self._number}
        with nullcontext() if inputs else graph.control_dependencies(None):
            op = graph.create_op(
                "Absorbed",
                inputs,
                [dtype],
                output_shapes=[self.shape],
                name=self.label,
                attrs=attrs,
            )
        graph.prevent_feeding(op.outputs[0])
        self._tensors.append(op.outputs[0])
        return op.outputs[0]

    def _all_inputs(self) -> list[Any]:
        return self._inputs if self.parent is None else [self.parent, *self._inputs]

    def _usual_dtype(self) -> DType:
        requested = self.kwargs.get("dtype")
        if isinstance(requested, (DType, str)):
            return as_dtype(requested)
        types = [getattr(item, "dtype", None) for item in self._inputs]
        floats = (kind for kind in types if isinstance(kind, DType) and kind.is_floating)
        return next(floats, dtypes.float32).base_dtype


class Absorbed:
    """The result of an absorbed call, a part of a result, or an instance of a program's class."""

    # Turns `ndarray + absorbed` into `absorbed.__radd__(ndarray)`.
    __array_priority__ = 100

    _absorbed: _Call

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        pass  # Accepts any arguments that the program's classes pass on.

    @staticmethod
    def of(call: _Call) -> "Absorbed":
        """Returns the result of a call."""
        result = object.__new__(Absorbed)
        vars(result)["_absorbed"] = call
        return result

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        """Absorbs a call of a layer, an initializer or a method."""
        call = self._absorbed
        name = _named(call)
        special = _SPECIAL.get(call.label)
        if not call.name and special is not None:
            return special(name, args, kwargs)
        if not call.name and call.label in _ACTIONS:
            _refuse_action(_Call(name, args, kwargs, parent=call))
        shape = unknown_shape()
        if call.path:
            merged = {**call.kwargs, **kwargs}
            shape = infer_shape(call.path, [*args, *call.args], merged)
        return Absorbed.of(_Call(name, args, kwargs, parent=call, shape=shape))

    def __getattr__(self, name: str) -> "Absorbed":
        if name.startswith("_"):
            raise AttributeError(f"{type(self).__name__!r} object has no attribute {name!r}")
        return Absorbed.of(self._absorbed.part(name))

    def __getitem__(self, key: Any) -> Any:
        items = vars(self).setdefault("_items", {})
        if isinstance(key, str):
            return items[key] if key in items else Absorbed.of(self._absorbed.part(key))
        if self._absorbed.shape.rank is None:
            return Absorbed.of(self._absorbed.part("item"))
        return self._absorbed.tensor()[key]

    def __setitem__(self, key: Any, value: object) -> None:
        vars(self).setdefault("_items", {})[key] = value

    def __contains__(self, key: object) -> bool:
        return key in vars(self).get("_items", {})

    def __iter__(self) -> Iterator["Absorbed"]:
        count = _num_targets(sys._getframe(1))
        return iter([Absorbed.of(self._absorbed.part(f"item{n}")) for n in range(count)])

    def __enter__(self) -> "Absorbed":
        return self

    def __exit__(self, *error: object) -> None:
        pass

    @property
    def op(self) -> Operation:
        """The operation whose output is the result."""
        return self._absorbed.tensor().op

    @property
    def graph(self) -> Any:
        """The graph of the tensor that represents the result."""
        return self._absorbed.tensor().graph

    @property
    def name(self) -> str:
        """The name of the tensor that represents the result."""
        return self._absorbed.tensor().name

    @property
    def dtype(self) -> DType:
        """The type of the tensor that represents the result."""
        return self._absorbed.dtype

    @property
    def shape(self) -> TensorShape:
        """The static shape."""
        return self._absorbed.shape

    def get_shape(self) -> TensorShape:
        """Returns the static shape."""
        return self._absorbed.shape

    def set_shape(self, shape: ShapeLike) -> None:
        """Merges a shape into the static shape."""
        self._absorbed.shape = self._absorbed.shape.merge_with(as_shape(shape))

    def eval(self, feed_dict: Any = None, session: Any = None) -> Any:
        """Raises the error for a run that needs the model."""
        return self._absorbed.tensor().eval(feed_dict, session)

    def run(self, *args: Any, **kwargs: Any) -> Any:
        """Raises the error for a run that needs the model."""
        _refuse_action(self._absorbed)

    def _as_graph_element(self) -> Tensor:
        return self._absorbed.tensor()

    def __copy__(self) -> "Absorbed":
        return self

    def __deepcopy__(self, memo: dict[int, object]) -> "Absorbed":
        return self

    def __array__(self, *_args: object, **_kwargs: object) -> NoReturn:
        self._has_no_value("array")

    def __bool__(self) -> bool:
        return True

    def _has_no_value(self, kind: str) -> NoReturn:
        raise TypeError(f"{kind} of {self!r}: this is part of the model and has no value.")

    def __repr__(self) -> str:
        return f"<absorbed {_named(self._absorbed)}>"


def _named(call: _Call) -> str:
    if call.name or call.parent is None:
        return call.name
    return f"{_named(call.parent)}.{call.label}"


def _leaves(value: Any) -> Iterator[Any]:
    """Yields the tensors among the arguments of a call."""
    if isinstance(value, Mapping):
        value = list(value.values())
    if isinstance(value, (list, tuple)):
        for item in value:
            yield from _leaves(item)
    elif isinstance(value, (Tensor, Operation, Absorbed, ops.Variable)):
        yield value._absorbed if isinstance(value, Absorbed) else value


def _graph_of(value: Any) -> Any:
    return value.graph


def _tensor_of(value: Any) -> Tensor | None:
    """Returns an input of an absorbed operation, or None if it has no value, like a queue."""
    if isinstance(value, _Call):
        return value.tensor()
    if isinstance(value, Operation):
        return value.outputs[0] if value.outputs else None
    return value if isinstance(value, Tensor) else value._as_graph_element()


def _num_targets(frame: FrameType) -> int:
    """Returns the number of targets if a frame is unpacking a value, otherwise 1."""
    code, place = frame.f_code.co_code, frame.f_lasti
    is_unpacking = dis.opname[code[place]] in ("UNPACK_SEQUENCE", "UNPACK_EX")
    return code[place + 1] if is_unpacking else 1


def _refuse_action(call: _Call) -> NoReturn:
    op = call.tensor().op
    needed = list(Lowering.needed_ops(op.outputs, [], []))
    raise UnimplementedError(None, op, _report(needed))


def _report(needed: Sequence[Operation]) -> str:
    """Returns the error message for a run that needs parts of the model."""
    dependent: set[Operation] = set()
    sources: dict[str, None] = {}
    for op in needed:
        outside = [tensor for tensor in op.inputs if tensor.op not in dependent]
        if op.type != "Absorbed" and len(outside) == len(op.inputs):
            continue
        dependent.add(op)
        sources |= dict.fromkeys(tensor.name for tensor in outside if _is_input(tensor))
    absorbed = [op for op in needed if op.type == "Absorbed"]
    absorbed.sort(key=lambda op: op.attrs["number"])
    calls = dict.fromkeys(
        f"  {op.attrs['where']}: {op.attrs['call']}" for op in absorbed if op.attrs["call"]
    )
    lines = list(calls)[:_MOST_LISTED]
    if len(calls) > len(lines):
        lines.append(f"  and {len(calls) - len(lines)} more")
    step = (
        f"Fetch the model's inputs instead: sess.run({list(sources)}). Then take the step with the "
    )
    step = f"{step}arrays. " if sources else ""
    return "\n".join(
        [
            "this run needs the model, which headrace builds as placeholders and does not "
            "execute. Replace these calls with PyTorch, JAX or NumPy:",
            *lines,
            f"{step}For a complete loop, see the page 'Old programs' in headrace's documentation.",
        ]
    )


def _is_input(tensor: Tensor) -> bool:
    """Returns whether a tensor comes from a queue, a reader or a placeholder."""
    needed = Lowering.needed_ops([tensor], [], [])
    return any(
        op.definition.is_placeholder or op.definition.queue_input is not None for op in needed
    )


def _gradients(name: str, args: tuple[Any, ...], kwargs: dict[str, Any]) -> list[Absorbed]:
    """Absorbs `tf.gradients`. Returns one result for each variable."""
    targets = kwargs.get("xs", kwargs.get("sources", args[1] if len(args) > 1 else []))
    targets = targets if isinstance(targets, (list, tuple)) else [targets]
    return [_gradient(name, args, kwargs, target) for target in targets]


def _compute_gradients(
    name: str, args: tuple[Any, ...], kwargs: dict[str, Any]
) -> list[tuple[Absorbed, Any]]:
    """Absorbs `Optimizer.compute_gradients`. Returns a pair for each variable, at least one."""
    listed = kwargs.get("var_list", args[1] if len(args) > 1 else None)
    variables = list(listed or ops.trainable_variables())
    variables = variables or [Absorbed.of(_Call("", args, label="variable"))]
    return [(_gradient(name, args, kwargs, variable), variable) for variable in variables]


def _gradient(name: str, args: tuple[Any, ...], kwargs: dict[str, Any], variable: Any) -> Absorbed:
    return Absorbed.of(_Call(name, args, kwargs, shape=static_shape(variable)))


def _ctc_decoder(
    name: str, args: tuple[Any, ...], kwargs: dict[str, Any]
) -> tuple[list[ops.SparseTensor], Absorbed]:
    """Absorbs a decoder from `tf.nn.ctc_*`. Returns one sparse sequence for each path."""
    call = _Call(name, args, kwargs)
    parts: dict[str, list[int | None]] = {
        "indices": [None, 2],
        "values": [None],
        "dense_shape": [2],
    }

    def path() -> ops.SparseTensor:
        tensors = [
            _Call("", label=label, parent=call, shape=TensorShape(sizes), dtype=dtypes.int64)
            for label, sizes in parts.items()
        ]
        return ops.SparseTensor(*(part.tensor() for part in tensors))

    count = 1 if name.endswith("greedy_decoder") else kwargs.get("top_paths", 1)
    return [path() for _ in range(count)], Absorbed.of(call.part("log_probabilities"))


# Calls that return lists.
_SPECIAL: Final[dict[str, Callable[..., Any]]] = {
    "compute_gradients": _compute_gradients,
    "ctc_beam_search_decoder": _ctc_decoder,
    "ctc_beam_search_decoder_v2": _ctc_decoder,
    "ctc_greedy_decoder": _ctc_decoder,
    "gradient": _gradients,
    "gradients": _gradients,
    "hessians": _gradients,
}


def _is_absorbed(value: Any) -> bool:
    """Returns whether a value depends on an absorbed call."""
    if isinstance(value, (list, tuple)):
        return any(map(_is_absorbed, value))
    if not isinstance(value, Tensor):
        return isinstance(value, Absorbed)
    return any(op.type == "Absorbed" for op in Lowering.needed_ops([value], [], []))


def _get_variable(name: str, *args: Any, **kwargs: Any) -> Any:
    """Calls `tf.get_variable`. Absorbs a variable that is partitioned or has an absorbed value."""
    initializer = kwargs.get("initializer", args[2] if len(args) > _INITIALIZER else None)
    if initializer is None:
        initializer = ops.get_variable_scope().initializer
    is_changed = _is_in_changing_scope() or any(kwargs.get(key) for key in _CHANGES)
    if not (is_changed or _is_absorbed(initializer)):
        return get_variable(name, *args, **kwargs)
    shape = as_shape(kwargs.get("shape", args[0] if args else None))
    return Absorbed.of(_Call("tensorflow.get_variable", (initializer,), shape=shape, label=name))


_INITIALIZER: Final = 2
# Arguments that cause variables to be partitioned or created by custom functions.
_CHANGES: Final = ("partitioner", "custom_getter")
# Each graph's scopes that were opened with one of these arguments.
_changing_scopes: Final[WeakKeyDictionary[Graph, set[str]]] = WeakKeyDictionary()


@contextmanager
def _variable_scope(*args: Any, **kwargs: Any) -> Iterator[ops.VariableScope]:
    """Calls `tf.variable_scope`. With a partitioner or a getter, its variables are absorbed."""
    changes = [kwargs.pop(key, None) for key in _CHANGES]
    with variable_scope(*args, **kwargs) as scope:
        if any(changes):
            _changing_scopes.setdefault(get_default_graph(), set()).add(scope.name)
        yield scope


def _is_in_changing_scope() -> bool:
    path = f"{ops.get_variable_scope().name}/"
    scopes = _changing_scopes.get(get_default_graph(), set())
    return any(not scope or path.startswith(f"{scope}/") for scope in scopes)


class _Meta(ABCMeta):
    """The metaclass of classes whose instances include absorbed objects."""

    real: type[Any]

    def __instancecheck__(cls, instance: object) -> bool:
        return isinstance(instance, cls.real)


def _sometimes(real: type[Any], name: str, is_absorbed: Callable[..., bool]) -> type[Any]:
    """Returns a class whose instances are another class's instances and some absorbed objects."""

    def new(cls: type, *args: Any, **kwargs: Any) -> Any:
        if is_absorbed(*args, **kwargs):
            shape = static_shape(args[0]) if args else None
            return Absorbed.of(_Call(name, args, kwargs, shape=shape))
        return real(*args, **kwargs)

    return _Meta(real.__name__, (real,), {"__new__": new, "real": real, "__doc__": real.__doc__})


def _has_absorbed_value(*args: Any, **kwargs: Any) -> bool:
    return _is_absorbed(kwargs.get("initial_value", args[0] if args else None))


def _has_nothing_to_save(*args: Any, **kwargs: Any) -> bool:
    listed = kwargs.get("var_list", args[0] if args else None)
    if listed is None:
        graph = get_default_graph()
        is_built = any(op.type == "Absorbed" for op in graph.get_operations())
        return is_built and not graph.get_collection(GraphKeys.GLOBAL_VARIABLES)
    return _is_absorbed(list(listed.values()) if isinstance(listed, Mapping) else listed)


def _add_n(inputs: Any, name: str | None = None) -> Any:
    """Calls `tf.add_n`. Absorbs a sum over an absorbed value or an empty list."""
    if isinstance(inputs, Absorbed) or (isinstance(inputs, (list, tuple)) and not inputs):
        return Absorbed.of(_Call("tensorflow.add_n", (inputs,), shape=TensorShape([])))
    return ops.add_n(inputs, name)


# Replacements for headrace's own objects, by `id`.
REPLACEMENTS: Final[Mapping[int, Any]] = {
    id(Saver): _sometimes(Saver, "tensorflow.train.Saver", _has_nothing_to_save),
    id(Variable): _sometimes(Variable, "tensorflow.Variable", _has_absorbed_value),
    id(get_variable): _get_variable,
    id(ops.add_n): _add_n,
    id(variable_scope): _variable_scope,
}


def _convert(
    value: Absorbed, dtype: DType | None = None, name: str | None = None, as_ref: bool = False
) -> Tensor:
    return value._absorbed.tensor(None if dtype is None else dtype.base_dtype)


def _refuse_value(kind: str) -> None:
    """Makes absorbed results raise an error when they are converted to a Python value."""

    def convert(self: Absorbed) -> NoReturn:
        self._has_no_value(kind)

    setattr(Absorbed, f"__{kind}__", convert)


def _forward_operator(method: str) -> None:
    """Gives absorbed results an operator. If the other operand is a tensor, its dtype is kept."""

    def operator(self: Absorbed, *others: Any) -> Any:
        kind = next((other.dtype for other in others if isinstance(other, Tensor)), None)
        return getattr(_convert(self, kind), method)(*others)

    operator.__name__ = method
    setattr(Absorbed, method, operator)


for _name in (
    *(*BINARY_OPERATORS, *(f"r{_operator}" for _operator in BINARY_OPERATORS)),
    *("lt", "le", "gt", "ge", "invert", "neg", "abs"),
):
    _forward_operator(f"__{_name}__")

for _name in ("len", "int", "float", "index"):
    _refuse_value(_name)

register_tensor_conversion_function(Absorbed, _convert, 50)

define("Absorbed", is_stateful=True, is_own=True, refusal=_report)
