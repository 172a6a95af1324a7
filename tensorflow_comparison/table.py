"""The table of programs.

A program is a function that receives the module `tf`. It builds a graph and returns the fetches, or
values that it fetched itself. The outcome is its result or error, in a form that can be compared
between processes.
"""

import importlib
import pickle
import pkgutil
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import numpy as np

Program = Callable[..., Any]

# Starts a number that is compared approximately; the number of digits and a space follow.
NEARLY = "~"


@dataclass(frozen=True)
class Case:
    """A program with its arguments.

    Attributes:
        name: A unique name, made of the module, the function and the number of the arguments.
        program: Called with `tf`, the arguments, and its own directory if `with_files`.
        arguments: The arguments of this case.
        with_files: Whether it needs a directory.
        digits: Floats may differ by up to one in this digit; None if they must be equal.
    """

    name: str
    program: Program
    arguments: tuple[Any, ...]
    with_files: bool
    digits: int | None


_cases: dict[str, Case] = {}
_generated: dict[str, list[Sequence[Any]]] = {}


def case(
    *arguments: Sequence[Any], with_files: bool = False, digits: int | None = None
) -> Callable[[Program], Program]:
    """Adds a program to the table, once per tuple of arguments, or once if there are none."""

    def add(program: Program) -> Program:
        add_cases(program, arguments or [()], with_files, digits)
        return program

    return add


def add_cases(
    program: Program,
    arguments: Sequence[Sequence[Any]],
    with_files: bool = False,
    digits: int | None = None,
) -> None:
    """Adds a program with several tuples of arguments."""
    family = program.__module__.rpartition(".")[2]
    for number, values in enumerate(arguments):
        suffix = f"[{number}]" if len(arguments) > 1 else ""
        name = f"{family}.{program.__name__}{suffix}"
        if name in _cases:
            raise ValueError(f"there are two cases named {name}")
        _cases[name] = Case(name, program, tuple(values), with_files, digits)


def generated(
    key: str, with_files: bool = False, digits: int | None = None
) -> Callable[[Program], Program]:
    """Adds a program with the arguments that `tensorflow_comparison.generate` makes for a key."""

    def add(program: Program) -> Program:
        add_cases(program, _generated[key], with_files, digits)
        return program

    return add


def all_cases(generated_arguments: Path) -> dict[str, Case]:
    """Returns every case, by name.

    Args:
        generated_arguments: A file that `tensorflow_comparison.generate.write` wrote.
    """
    from tensorflow_comparison import cases  # noqa: PLC0415

    _generated.update(pickle.loads(generated_arguments.read_bytes()))
    for module in pkgutil.iter_modules(cases.__path__):
        importlib.import_module(f"{cases.__name__}.{module.name}")
    return dict(_cases)


def outcome_of(case: Case, tf: Any) -> Any:
    """Runs a case in a new graph, and returns its outcome as lists and strings."""
    with TemporaryDirectory() as directory, tf.Graph().as_default():
        arguments = [*case.arguments, Path(directory)] if case.with_files else case.arguments
        try:
            return _Describer(tf, case.digits).outcome(case.program(tf, *arguments))
        except Exception as error:
            return ["error", _class_name(tf, error)]


class _Describer:
    """Describes results of programs."""

    def __init__(self, tf: Any, digits: int | None) -> None:
        self._tf = tf
        self._digits = digits
        self._fetchable = (tf.Tensor, tf.Operation, tf.SparseTensor, tf.Variable)

    def outcome(self, result: Any) -> Any:
        """Describes a result. Initializes variables and fetches tensors."""
        tf = self._tf
        fetches = [leaf for leaf in _leaves(result) if isinstance(leaf, self._fetchable)]
        if not fetches:
            return self._structure(result, iter(()))
        statics = [self._static(fetch) for fetch in fetches]
        with tf.Session(config=tf.ConfigProto(operation_timeout_in_ms=20_000)) as session:
            session.run([tf.global_variables_initializer(), tf.local_variables_initializer()])
            values = session.run(fetches)
        pairs = zip(statics, values, strict=True)
        return self._structure(result, iter([[s, self._value(v)] for s, v in pairs]))

    def _structure(self, value: Any, fetched: Iterator[Any]) -> Any:
        if isinstance(value, dict):
            return {str(key): self._structure(item, fetched) for key, item in value.items()}
        if isinstance(value, (list, tuple)) and not _is_sparse_value(value):
            return [type(value).__name__, *(self._structure(item, fetched) for item in value)]
        return next(fetched) if isinstance(value, self._fetchable) else self._value(value)

    def _static(self, fetch: Any) -> Any:
        """Returns the static properties of a tensor."""
        if isinstance(fetch, self._tf.Operation):
            return "operation"
        shape = fetch.get_shape()
        dims = None if shape.ndims is None else [dim.value for dim in shape.dims]
        return [fetch.dtype.base_dtype.name, dims]

    def _value(self, value: Any) -> Any:
        """Returns a value's type, shape and elements."""
        if _is_sparse_value(value):
            return ["sparse", *(self._value(part) for part in value)]
        if isinstance(value, (np.ndarray, np.generic)):
            array = np.asarray(value)
            return [array.dtype.name, list(array.shape), [self._text(item) for item in array.flat]]
        return [type(value).__name__, repr(value)]

    def _text(self, item: Any) -> str:
        number = item.item() if isinstance(item, np.generic) else item
        if self._digits is not None and isinstance(number, float):
            return f"{NEARLY}{self._digits} {number!r}"
        return repr(number)


def _leaves(value: Any) -> Iterator[Any]:
    if isinstance(value, dict):
        for item in value.values():
            yield from _leaves(item)
    elif isinstance(value, (list, tuple)):
        for item in value:
            yield from _leaves(item)
    else:
        yield value


def _is_sparse_value(value: Any) -> bool:
    return type(value).__name__ == "SparseTensorValue"


def _class_name(tf: Any, error: Exception) -> str:
    """Returns the class that a user would catch, in `tf.errors` if possible, or else in Python."""
    if isinstance(error, tf.errors.OpError):
        return f"tf.errors.{tf.errors.exception_type_from_error_code(error.error_code).__name__}"
    for kind in type(error).__mro__:
        if kind.__module__ == "builtins":
            return kind.__name__
    return type(error).__name__
