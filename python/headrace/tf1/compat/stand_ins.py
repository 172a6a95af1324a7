"""Stand-ins for TensorFlow names that headrace lacks: they can be imported, but not used.

Programs often import their model's modules at the top of the file that also builds the input. With
stand-ins for these names, the input runs, and the error occurs where the model starts.
"""

import functools
import numbers
from collections.abc import Callable
from types import FunctionType
from typing import Any, Final, NoReturn

import numpy as np

from headrace.graph import Tensor
from headrace.tf1.missing import remedy_for_path

__all__ = ["BINARY_OPERATORS", "StandIn"]

# Decorators that do not change the results of a function. `RegisterGradient` and similar ones
# register functions that only training would use.
_PASS_THROUGH: Final = frozenset(
    [
        *("NoGradient", "NotDifferentiable", "RegisterGradient", "RegisterShape"),
        *("add_arg_scope", "deprecated", "deprecated_alias", "deprecated_arg_values"),
        *("deprecated_args", "do_not_convert", "do_not_doc_inheritable"),
        *("do_not_generate_docs", "estimator_export", "for_subclass_implementers"),
        *("keras_export", "must_use_result_or_fatal", "no_automatic_dependency_tracking"),
        *("no_gradient", "register_keras_serializable", "should_use_result", "tf_export"),
    ]
)
# These decorators change a function, so it can be defined but not called.
_REPLACING: Final = frozenset(["Defun", "custom_gradient", "defun", "function", "recompute_grad"])

# Attributes by which code recognizes arrays, tensors, sessions and fetches. A stand-in is none of
# these.
_PROTOCOLS: Final = frozenset(["_as_control_input", "_as_graph_element", "_asdict", "_fields"])

# A comparison with one of these reads a value, so it counts as a use. A comparison with a class, a
# dtype or a function does not, because no name that headrace has is equal to one that it lacks.
_VALUES: Final = (str, bytes, numbers.Number, np.generic, np.ndarray, Tensor, list, tuple, dict)


class StandIn:
    """A TensorFlow name that headrace lacks: a class, function, constant or module.

    You can import a stand-in, pass it on, compare it with other classes, derive a class from it,
    and use it to annotate arguments and to decorate functions (decorators such as `deprecated`
    return the functions unchanged). The attributes of a stand-in are also stand-ins. Any other use
    raises NotImplementedError.

    Args:
        root: The name under which headrace is installed.
        path: The path below the root, such as "train.AdamOptimizer".
    """

    def __init__(self, root: str, path: str) -> None:
        module, _, self.__name__ = f"{root}.{path}".rpartition(".")
        self.__module__ = module
        self.__qualname__ = self.__name__
        self.__doc__ = f"headrace does not have {root}.{path}. {remedy_for_path(path)}"
        self._root = root
        self._path = path

    @property
    def full_name(self) -> str:
        """The full name, as a program writes it."""
        return f"{self._root}.{self._path}"

    def refuse(self) -> NoReturn:
        """Raises NotImplementedError with a message that suggests a replacement."""
        remedy = remedy_for_path(self._path)
        raise NotImplementedError(
            f"{self.full_name}: headrace does not have it, because it runs only the input of "
            f"TensorFlow 1 programs. {remedy}"
        )

    def use(self, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
        """Raises NotImplementedError for a call that does not decorate a function."""
        self.refuse()

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        """Decorates a function, or raises NotImplementedError."""
        name = self.__name__
        decorated: Any = args[0] if len(args) == 1 and not kwargs else None
        is_direct = isinstance(decorated, (FunctionType, type))
        if name in _PASS_THROUGH:
            return decorated if is_direct else _unchanged
        if name in _REPLACING:
            return self._replaced(decorated) if is_direct else self._replaced
        return self.use(args, kwargs)

    def _replaced(self, function: Callable[..., Any]) -> Callable[..., Any]:
        """Returns a function that counts as a use of this name when it is called."""

        @functools.wraps(function)
        def call(*args: Any, **kwargs: Any) -> Any:
            return self.use(args, kwargs)

        return call

    @functools.cached_property
    def base(self) -> type[Any]:
        """The base class for the program's classes that derive from this name."""
        stand_in = self

        def new(cls: type, *args: object, **kwargs: object) -> NoReturn:
            stand_in.refuse()

        return type(self.__name__, (_Base,), {"__new__": new, "__module__": self.__module__})

    def __mro_entries__(self, bases: tuple[object, ...]) -> tuple[type, ...]:
        return (self.base,)

    def __instancecheck__(self, instance: object) -> bool:
        return isinstance(instance, self.base)

    def __subclasscheck__(self, subclass: type) -> bool:
        return issubclass(subclass, self.base)

    def __getattr__(self, name: str) -> Any:
        is_internal = self._path.startswith(("contrib.", "python."))
        if name in _PROTOCOLS or name[:2] == "__" or (name[0] == "_" and not is_internal):
            raise AttributeError(f"{self!r} has no attribute {name!r}")
        value = type(self)(self._root, f"{self._path}.{name}")
        vars(self)[name] = value
        return value

    def __eq__(self, other: object) -> bool:
        if isinstance(other, _VALUES):
            self.refuse()
        return self is other

    def __hash__(self) -> int:
        return object.__hash__(self)

    def __copy__(self) -> "StandIn":
        return self

    def __deepcopy__(self, memo: dict[int, object]) -> "StandIn":
        return self

    def __repr__(self) -> str:
        return f"<stand-in for {self.full_name}, which headrace does not have>"


class _Base:
    """The base class of a program's classes whose original base class headrace lacks."""

    def __init_subclass__(cls, **kwargs: object) -> None:
        """Accepts any arguments."""


def _unchanged(function: Any) -> Any:
    return function


def _refuse(stand_in: StandIn, *args: object) -> NoReturn:
    stand_in.refuse()


BINARY_OPERATORS: Final = (
    *("add", "sub", "mul", "truediv", "floordiv", "mod", "pow", "matmul"),
    *("and", "or", "xor"),
)
_operators = (*BINARY_OPERATORS, "lshift", "rshift")
for _method in (
    *("abs", "array", "bool", "bytes", "complex", "contains", "delitem", "enter", "exit", "float"),
    *("fspath", "ge", "getitem", "gt", "index", "int", "invert", "iter", "le", "len", "lt", "neg"),
    *("next", "pos", "reversed", "round", "setitem", *_operators),
    *(f"r{_operator}" for _operator in _operators),
):
    setattr(StandIn, f"__{_method}__", _refuse)
