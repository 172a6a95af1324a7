"""The values of flags: what a command line sets, and what they must be.

Source: `tf.flags` of TensorFlow 1.15, which is `absl.flags`; here without flag files.
"""

import sys
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final

__all__ = [
    "FLAGS",
    "DuplicateFlagError",
    "Error",
    "Flag",
    "FlagValues",
    "IllegalFlagValueError",
    "UnrecognizedFlagError",
    "ValidationError",
    "Validator",
]


class Error(Exception):
    """An error in a flag."""


class DuplicateFlagError(Error):
    """Two flags have the same name."""


class IllegalFlagValueError(Error):
    """A flag cannot have this value."""


class ValidationError(Error):
    """What a validator raises: a flag cannot have the value that it has."""


class UnrecognizedFlagError(Error, AttributeError):
    """There is no flag of this name."""


@dataclass
class Flag:
    """A flag.

    Attributes:
        name: What comes after "--".
        default: Its value if it is not set.
        help: What it is for.
        parse: Converts a string to its value; raises ValueError.
        is_bool: Whether "--name" alone sets it, and "--noname" unsets it.
        is_multi: Whether its values on a command line make a list.
        value: The value it has.
        present: How often a command line has set it.
    """

    name: str
    default: Any
    help: str | None
    parse: Callable[[Any], Any]
    is_bool: bool = False
    is_multi: bool = False
    value: Any = None
    present: int = 0

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

    def read(self, word: object) -> None:
        """Sets the value to what a command line says; to the end of the list if it is one."""
        before = self.value if self.is_multi and self.present else []
        self.set(word)
        if before:
            self.value = [*before, *self.value]
        self.present += 1


@dataclass(frozen=True)
class Validator:
    """A condition that the values of flags must meet.

    Attributes:
        names: The flags.
        check: Takes their values by name; returns whether they meet it, or raises ValidationError.
        message: What is said if they do not.
        is_single: Whether it is about one flag.
    """

    names: tuple[str, ...]
    check: Callable[[dict[str, Any]], object]
    message: str
    is_single: bool

    def failure(self, flags: Mapping[str, Flag]) -> str | None:
        """Returns what is wrong with the values of some flags; None if nothing is."""
        values = {name: flags[name].value for name in self.names}
        message = self.message
        try:
            if self.check(values):
                return None
        except ValidationError as error:
            message = str(error)
        named = ", ".join(f"{name}={value}" for name, value in values.items())
        return f"flag --{named}: {message}" if self.is_single else f"flags {named}: {message}"


class FlagValues:
    """All flags, as attributes. `sys.argv` is parsed when the first one is read.

    Calling it parses another command line.
    """

    def __init__(self) -> None:
        # Programs look into `FLAGS.__dict__["__flags"]`, and list them with `FLAGS.__flags`.
        self.__dict__["_flags"] = self.__dict__["__flags"] = {}
        self.__dict__["_is_read"] = False
        self.__dict__["_validators"] = []

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
        self._check(self._validators)
        return rest

    def add_validator(self, validator: Validator) -> None:
        """Adds a condition; it is checked when a command line is read, or a flag of it is set."""
        for name in validator.names:
            self[name]
        self._validators.append(validator)

    def _check(self, validators: Iterable[Validator]) -> None:
        failures = [validator.failure(self._flags) for validator in validators]
        if any(failures):
            raise IllegalFlagValueError("\n".join(filter(None, failures)))

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
            flag.read(False)
        elif equals:
            flag.read(text)
        elif flag.is_bool:
            flag.read(True)
        else:
            value = next(words, None)
            if value is None:
                raise Error(f"Missing value for flag --{name}")
            flag.read(value)
        return True

    def _help(self) -> str:
        lines = [
            f"  --{f.name}: {f.help}\n    (default: {f.default!r})" for f in self._flags.values()
        ]
        return "\n".join([f"USAGE: {sys.argv[0]} [flags]", *lines])

    def is_parsed(self) -> bool:
        """Whether a command line was parsed."""
        return bool(self._is_read)

    def flag_values_dict(self) -> dict[str, Any]:
        """Returns the value of each flag by its name."""
        return {name: flag.value for name, flag in self._flags.items()}

    def get_flag_value(self, name: str, default: Any) -> Any:
        """Returns the value of a flag; the default if it has none."""
        value = getattr(self, name)
        return default if value is None else value

    def set_default(self, name: str, value: object) -> None:
        """Changes the default of a flag, and its value unless a command line has set that.

        Raises:
            IllegalFlagValueError: If it cannot have that value.
            UnrecognizedFlagError: If there is no such flag.
        """
        flag = self[name]
        kept = flag.value
        flag.set(value)
        flag.default = flag.value
        if flag.present:
            flag.value = kept

    def mark_as_parsed(self) -> None:
        """Lets flags be read without a command line, with their defaults."""
        self.__dict__["_is_read"] = True

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
        flag = self[name]
        kept = flag.value
        flag.set(value)
        try:
            self._check(one for one in self._validators if name in one.names)
        except IllegalFlagValueError:
            flag.value = kept
            raise

    def __delattr__(self, name: str) -> None:
        if name not in self._flags:
            raise AttributeError(name)
        del self._flags[name]
        self._validators[:] = [one for one in self._validators if name not in one.names]

    def __getitem__(self, name: str) -> Flag:
        if name not in self._flags:
            raise UnrecognizedFlagError(f"Unknown command line flag '{name}'")
        flag: Flag = self._flags[name]
        return flag

    def __contains__(self, name: str) -> bool:
        return name in self._flags

    def __iter__(self) -> Iterator[str]:
        return iter(self._flags)

    def __len__(self) -> int:
        return len(self._flags)

    def __dir__(self) -> list[str]:
        return sorted(self._flags)


FLAGS: Final = FlagValues()
