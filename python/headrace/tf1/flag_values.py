"""absl flags, with the interface of `tf.flags` in TensorFlow 1.15.

Programs for versions before TensorFlow 1.5 also work, although they use different argument names
and `FLAGS.__flags`.
"""

import sys
from collections.abc import Callable, Iterator, Sequence
from functools import wraps
from itertools import takewhile
from typing import Any, Final, TypeVar, cast

from headrace.core.optional_dependencies import missing_absl

if missing := missing_absl():
    raise ModuleNotFoundError(f"tf.flags: {missing}", name="absl")

from absl import flags as _absl
from absl.flags import *  # noqa: F403

_Define = TypeVar("_Define", bound=Callable[..., Any])
# The attributes that are not passed on to the flags.
_OWN: Final = frozenset({"__class__", "__dict__", "__doc__", "_parse_flags"})
_HELP: Final = frozenset({"-help", "--help", "-helpfull", "--helpfull"})
_OLD_NAMES: Final = {"flag_name": "name", "default_value": "default", "docstring": "help"}

# Flags defined by the functions below belong to the module that calls them.
_absl.disclaim_key_flags()


class _Shown:
    """A flag, for programs written for versions before TensorFlow 1.5 that print its value."""

    def __init__(self, flag: "_absl.Flag[Any]") -> None:
        self._flag = flag

    def __getattr__(self, name: str) -> Any:
        return getattr(self._flag, name)

    def __str__(self) -> str:
        return str(self._flag.value)


class ProcessFlags:
    """The flags of the process as attributes. `sys.argv` is parsed when the first flag is read.

    Call it to parse another command line.

    Args:
        values: The flags.
    """

    def __init__(self, values: _absl.FlagValues) -> None:
        self.__dict__.update({"__wrapped": values, "__flags": values.__dict__["__flags"]})

    def __getattribute__(self, name: str) -> Any:
        if name in _OWN:
            return super().__getattribute__(name)
        values = self.__dict__["__wrapped"]
        if not values.is_parsed() and (name == "__flags" or name in values):
            self(sys.argv)
        if name == "__flags":
            return {key: _Shown(flag) for key, flag in self.__dict__["__flags"].items()}
        return getattr(values, name)

    def __setattr__(self, name: str, value: object) -> None:
        setattr(self.__dict__["__wrapped"], name, value)

    def __delattr__(self, name: str) -> None:
        delattr(self.__dict__["__wrapped"], name)

    def __call__(self, argv: Sequence[str], known_only: bool = False) -> list[str]:
        """Parses a command line and returns the arguments that are not flags. See absl.

        Raises:
            SystemExit: If "--help" is given.
        """
        values = self.__dict__["__wrapped"]
        if "help" not in values and _HELP.intersection(takewhile(lambda word: word != "--", argv)):
            print(f"USAGE: {argv[0]} [flags]\n{values.get_help()}")
            sys.exit(1)
        return cast(list[str], values(argv, known_only=known_only))

    def _parse_flags(self, args: Sequence[str] | None = None) -> None:
        # Programs from before TensorFlow 1.5 call this.
        self(sys.argv if args is None else [sys.argv[0], *args], known_only=True)

    def __getitem__(self, name: str) -> "_absl.Flag[Any]":
        return cast("_absl.Flag[Any]", self.__dict__["__wrapped"][name])

    def __contains__(self, name: str) -> bool:
        return name in self.__dict__["__wrapped"]

    def __iter__(self) -> Iterator[str]:
        return iter(self.__dict__["__wrapped"])

    def __len__(self) -> int:
        return len(self.__dict__["__wrapped"])

    def __dir__(self) -> list[str]:
        return dir(self.__dict__["__wrapped"])


def _takes_old_names(define: _Define) -> _Define:
    """Returns a function that also accepts the argument names from before TensorFlow 1.5."""

    @wraps(define)
    def wrapped(*args: Any, **kwargs: Any) -> Any:
        return define(*args, **{_OLD_NAMES.get(key, key): value for key, value in kwargs.items()})

    return cast(_Define, wrapped)


DEFINE_string = _takes_old_names(_absl.DEFINE_string)
DEFINE_boolean = DEFINE_bool = _takes_old_names(_absl.DEFINE_boolean)
DEFINE_float = _takes_old_names(_absl.DEFINE_float)
DEFINE_integer = _takes_old_names(_absl.DEFINE_integer)
# For mypy, the object has the type of the flag's value.
FLAGS = ProcessFlags(_absl.FLAGS)  # type: ignore[assignment]
