"""`tf.flags`: values that the command line may set.

Source: `tf.flags` of TensorFlow 1.15, which is `absl.flags`; here without flag files, validators
and flags of several values.
"""

import sys
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final

from headrace.tf1.namespace import namespace

__all__ = [
    "FLAGS",
    "DEFINE_bool",
    "DEFINE_boolean",
    "DEFINE_enum",
    "DEFINE_float",
    "DEFINE_integer",
    "DEFINE_list",
    "DEFINE_string",
    "DuplicateFlagError",
    "Error",
    "IllegalFlagValueError",
    "UnrecognizedFlagError",
    "mark_flag_as_required",
]


class Error(Exception):
    """An error in a flag."""


class DuplicateFlagError(Error):
    """Two flags have the same name."""


class IllegalFlagValueError(Error):
    """A flag cannot have this value."""


class UnrecognizedFlagError(Error, AttributeError):
    """There is no flag of this name."""


@dataclass
class _Flag:
    """A flag.

    Attributes:
        name: What comes after "--".
        default: Its value if it is not set.
        help: What it is for.
        parse: Converts a string to its value; raises ValueError.
        is_bool: Whether "--name" alone sets it, and "--noname" unsets it.
        required: Whether it must be given.
        value: The value it has.
    """

    name: str
    default: Any
    help: str | None
    parse: Callable[[Any], Any]
    is_bool: bool = False
    required: bool = False
    value: Any = None

    def __str__(self) -> str:
        # Programs from before TensorFlow 1.5 print what `FLAGS.__flags` has: values, then.
        return str(self.value)

    def set(self, value: object) -> None:
        """Sets the value, given as a string or as such."""
        try:
            self.value = None if value is None else self.parse(value)
        except (TypeError, ValueError) as error:
            raise IllegalFlagValueError(
                f"flag --{self.name}={value}: {error}. Expected: {self.help or 'another value'}"
            ) from None


class FlagValues:
    """All flags, as attributes. `sys.argv` is parsed when the first one is read.

    Calling it parses another command line.
    """

    def __init__(self) -> None:
        # Programs look into `FLAGS.__dict__["__flags"]`, and list them with `FLAGS.__flags`.
        self.__dict__["_flags"] = self.__dict__["__flags"] = {}
        self.__dict__["_is_read"] = False

    def __call__(self, argv: Sequence[str], known_only: bool = False) -> list[str]:
        """Parses a command line and returns the arguments that are not flags.

        Args:
            argv: The command line: the program's name first; no flags follow after "--".
            known_only: Whether flags that are not defined are returned with the other arguments.

        Raises:
            IllegalFlagValueError: If a flag cannot have the value given, or a required one is not
                given.
            UnrecognizedFlagError: If there is no such flag, unless `known_only`.
            SystemExit: After "--help".
        """
        rest, words = list(argv[:1]), iter(argv[1:])
        for word in words:
            if word == "--":
                rest += words
            elif not word.startswith("-") or word == "-":
                rest.append(word)
            elif not self._read(word, words):
                if not known_only:
                    raise UnrecognizedFlagError(f"Unknown command line flag '{word.lstrip('-')}'")
                rest.append(word)
        self.__dict__["_is_read"] = True
        for flag in self._flags.values():
            if flag.required and flag.value is None:
                raise IllegalFlagValueError(f"flag --{flag.name}=None: it must have a value")
        return rest

    def _read(self, word: str, words: Iterator[str]) -> bool:
        """Parses one flag; returns False if there is none of that name."""
        name, equals, text = word.lstrip("-").partition("=")
        if name in ("help", "helpfull") and name not in self._flags:
            print(self._help())
            sys.exit(1)
        flag = self._flags.get(name)
        if flag is None:
            flag = self._flags.get(name.removeprefix("no"))
            if flag is None or not flag.is_bool or equals or not name.startswith("no"):
                return False
            flag.set(False)
        elif equals:
            flag.set(text)
        elif flag.is_bool:
            flag.set(True)
        else:
            value = next(words, None)
            if value is None:
                raise Error(f"Missing value for flag --{name}")
            flag.set(value)
        return True

    def _help(self) -> str:
        lines = [f"  --{f.name}: {f.help}\n    (default: {f.default!r})" for f in self]
        return "\n".join([f"USAGE: {sys.argv[0]} [flags]", *lines])

    def is_parsed(self) -> bool:
        """Whether a command line was parsed."""
        return bool(self._is_read)

    def flag_values_dict(self) -> dict[str, Any]:
        """Returns the value of each flag by its name."""
        return {flag.name: flag.value for flag in self}

    def _parse_flags(self, args: Sequence[str] | None = None) -> None:
        # Programs from before TensorFlow 1.5 call this.
        self(sys.argv if args is None else [sys.argv[0], *args], known_only=True)

    def __getattribute__(self, name: str) -> Any:
        if name == "__flags" and not self._is_read:
            self(sys.argv)
        return super().__getattribute__(name)

    def __getattr__(self, name: str) -> Any:
        if name not in self._flags:
            raise AttributeError(name)
        if not self._is_read:
            self(sys.argv)
        return self._flags[name].value

    def __setattr__(self, name: str, value: object) -> None:
        self[name].set(value)

    def __getitem__(self, name: str) -> _Flag:
        if name not in self._flags:
            raise UnrecognizedFlagError(f"Unknown command line flag '{name}'")
        flag: _Flag = self._flags[name]
        return flag

    def __contains__(self, name: str) -> bool:
        return name in self._flags

    def __iter__(self) -> Iterator[_Flag]:
        return iter(self._flags.values())

    def __len__(self) -> int:
        return len(self._flags)

    def __dir__(self) -> list[str]:
        return sorted(self._flags)


FLAGS: Final = FlagValues()


def _define(
    name: str,
    default: object,
    help: str | None,
    parse: Callable[[Any], Any],
    flag_values: FlagValues,
    is_bool: bool = False,
) -> None:
    if name in flag_values:
        raise DuplicateFlagError(
            f"The flag '{name}' is defined twice. Description from first occurrence: "
            f"{flag_values[name].help}"
        )
    flag = _Flag(name, default, help, parse, is_bool)
    flag.set(default)
    flag_values.__dict__["_flags"][name] = flag


def DEFINE_string(
    name: str, default: str | None, help: str | None = None, flag_values: FlagValues = FLAGS
) -> None:
    """Defines a flag whose value is a string.

    Args:
        name: What comes after "--", and the attribute of `FLAGS`.
        default: The value if the command line does not set it.
        help: What it is for.
        flag_values: Where it belongs.

    Raises:
        DuplicateFlagError: If there is one of that name.
        IllegalFlagValueError: If it cannot have the default.
    """
    _define(name, default, help, str, flag_values)


def DEFINE_integer(
    name: str, default: int | None, help: str | None = None, flag_values: FlagValues = FLAGS
) -> None:
    """Defines a flag whose value is an int; see `DEFINE_string`."""
    _define(name, default, help, _integer, flag_values)


def DEFINE_float(
    name: str, default: float | None, help: str | None = None, flag_values: FlagValues = FLAGS
) -> None:
    """Defines a flag whose value is a float; see `DEFINE_string`."""
    _define(name, default, help, float, flag_values)


def DEFINE_boolean(
    name: str,
    default: bool | int | str | None,
    help: str | None = None,
    flag_values: FlagValues = FLAGS,
) -> None:
    """Defines a flag whose value is a bool: "--name", "--noname", "--name=true".

    See `DEFINE_string`.
    """
    _define(name, default, help, _boolean, flag_values, is_bool=True)


DEFINE_bool: Final = DEFINE_boolean


def DEFINE_enum(
    name: str,
    default: str | None,
    enum_values: Sequence[str],
    help: str | None = None,
    flag_values: FlagValues = FLAGS,
) -> None:
    """Defines a flag whose value is one of several strings; see `DEFINE_string`."""

    def parse(text: str) -> str:
        if text not in enum_values:
            raise ValueError(f"value should be one of <{'|'.join(enum_values)}>")
        return text

    _define(name, default, help, parse, flag_values)


def DEFINE_list(
    name: str,
    default: str | Iterable[str] | None,
    help: str | None = None,
    flag_values: FlagValues = FLAGS,
) -> None:
    """Defines a flag whose value is a list of strings, separated by commas."""
    _define(name, default, help, _texts, flag_values)


def mark_flag_as_required(flag_name: str, flag_values: FlagValues = FLAGS) -> None:
    """Makes a flag required: a command line without it is an error.

    Args:
        flag_name: The flag.
        flag_values: Where it belongs.

    Raises:
        UnrecognizedFlagError: If there is none of that name.
    """
    flag_values[flag_name].required = True


def _integer(value: str | float) -> int:
    if not isinstance(value, str):
        if int(value) != value:
            raise ValueError(f"{value} is no int")
        return int(value)
    return int(value, 16 if value[:2] == "0x" else 8 if value[:2] == "0o" else 10)


def _boolean(value: object) -> bool:
    texts = {"true": True, "t": True, "1": True, "false": False, "f": False, "0": False}
    found = texts.get(str(value).lower())
    if found is None:
        raise ValueError("Non-boolean argument to boolean flag")
    return found


def _texts(value: str | Iterable[str]) -> list[str]:
    if isinstance(value, str):
        return [text.strip() for text in value.split(",")] if value else []
    return list(value)


if not TYPE_CHECKING:  # For mypy a wrong name is an error.
    __getattr__, __dir__ = namespace(__name__, __all__)
