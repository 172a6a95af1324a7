"""`tf.flags`: values that the command line may set.

Source: `tf.flags` of TensorFlow 1.15, which is `absl.flags`; here without flag files.
"""

from collections.abc import Callable, Iterable, Sequence
from functools import wraps
from typing import TYPE_CHECKING, Any, Final, TypeVar, cast

from headrace.tf1.flag_validators import (
    mark_bool_flags_as_mutual_exclusive,
    mark_flag_as_required,
    mark_flags_as_mutual_exclusive,
    mark_flags_as_required,
    multi_flags_validator,
    register_multi_flags_validator,
    register_validator,
    validator,
)
from headrace.tf1.flag_values import (
    FLAGS,
    DuplicateFlagError,
    Error,
    FlagValues,
    IllegalFlagValueError,
    UnrecognizedFlagError,
    ValidationError,
)
from headrace.tf1.flag_values import (
    Flag as _Flag,
)
from headrace.tf1.namespace import namespace

__all__ = [
    "FLAGS",
    "DEFINE_bool",
    "DEFINE_boolean",
    "DEFINE_enum",
    "DEFINE_float",
    "DEFINE_integer",
    "DEFINE_list",
    "DEFINE_multi_enum",
    "DEFINE_multi_float",
    "DEFINE_multi_integer",
    "DEFINE_multi_string",
    "DEFINE_spaceseplist",
    "DEFINE_string",
    "DuplicateFlagError",
    "Error",
    "FlagValues",
    "IllegalFlagValueError",
    "UnrecognizedFlagError",
    "ValidationError",
    "mark_bool_flags_as_mutual_exclusive",
    "mark_flag_as_required",
    "mark_flags_as_mutual_exclusive",
    "mark_flags_as_required",
    "multi_flags_validator",
    "register_multi_flags_validator",
    "register_validator",
    "validator",
]

_F = TypeVar("_F", bound=Callable[..., None])
_OLD_NAMES: Final = {"flag_name": "name", "default_value": "default", "docstring": "help"}


def _takes_old_names(define: _F) -> _F:
    """Lets a function take its arguments by the names that they had before TensorFlow 1.5."""

    @wraps(define)
    def wrapped(*args: Any, **kwargs: Any) -> None:
        define(*args, **{_OLD_NAMES.get(key, key): value for key, value in kwargs.items()})

    return cast(_F, wrapped)


def _define(
    name: str,
    default: object,
    help: str | None,
    parse: Callable[[Any], Any],
    flag_values: FlagValues,
    is_bool: bool = False,
    is_multi: bool = False,
    short_name: str | None = None,
) -> None:
    if name in flag_values:
        raise DuplicateFlagError(
            f"The flag '{name}' is defined twice. Description from first occurrence: "
            f"{flag_values[name].help}"
        )
    flag = _Flag(name, default, help, parse, is_bool, is_multi)
    flag.set(default)
    flag.default = flag.value
    for key in (name, short_name):
        if key is not None:
            flag_values.__dict__["_flags"][key] = flag


@_takes_old_names
def DEFINE_string(
    name: str,
    default: str | None,
    help: str | None = None,
    flag_values: FlagValues = FLAGS,
    short_name: str | None = None,
) -> None:
    """Defines a flag whose value is a string.

    Args:
        name: What comes after "--", and the attribute of `FLAGS`.
        default: The value if the command line does not set it.
        help: What it is for.
        flag_values: Where it belongs.
        short_name: Another name, of one letter.

    Raises:
        DuplicateFlagError: If there is one of that name.
        IllegalFlagValueError: If it cannot have the default.
    """
    _define(name, default, help, str, flag_values, short_name=short_name)


@_takes_old_names
def DEFINE_integer(
    name: str,
    default: int | None,
    help: str | None = None,
    lower_bound: int | None = None,
    upper_bound: int | None = None,
    flag_values: FlagValues = FLAGS,
    short_name: str | None = None,
) -> None:
    """Defines a flag whose value is an int in a range; see `DEFINE_string`."""
    parse = _within(_integer, lower_bound, upper_bound)
    _define(name, default, help, parse, flag_values, short_name=short_name)


@_takes_old_names
def DEFINE_float(
    name: str,
    default: float | None,
    help: str | None = None,
    lower_bound: float | None = None,
    upper_bound: float | None = None,
    flag_values: FlagValues = FLAGS,
    short_name: str | None = None,
) -> None:
    """Defines a flag whose value is a float in a range; see `DEFINE_string`."""
    parse = _within(float, lower_bound, upper_bound)
    _define(name, default, help, parse, flag_values, short_name=short_name)


@_takes_old_names
def DEFINE_boolean(
    name: str,
    default: bool | int | str | None,
    help: str | None = None,
    flag_values: FlagValues = FLAGS,
    short_name: str | None = None,
) -> None:
    """Defines a flag whose value is a bool: "--name", "--noname", "--name=true".

    See `DEFINE_string`.
    """
    _define(name, default, help, _boolean, flag_values, is_bool=True, short_name=short_name)


DEFINE_bool: Final = DEFINE_boolean


def DEFINE_enum(
    name: str,
    default: str | None,
    enum_values: Sequence[str],
    help: str | None = None,
    flag_values: FlagValues = FLAGS,
    case_sensitive: bool = True,
) -> None:
    """Defines a flag whose value is one of several strings; see `DEFINE_string`."""
    _define(name, default, help, _one_of(enum_values, case_sensitive), flag_values)


def DEFINE_list(
    name: str,
    default: str | Iterable[str] | None,
    help: str | None = None,
    flag_values: FlagValues = FLAGS,
) -> None:
    """Defines a flag whose value is a list of strings, separated by commas."""
    _define(name, default, help, _texts, flag_values)


def DEFINE_spaceseplist(
    name: str,
    default: str | Iterable[str] | None,
    help: str | None = None,
    comma_compat: bool = False,
    flag_values: FlagValues = FLAGS,
) -> None:
    """Defines a flag whose value is a list of strings, separated by spaces.

    With `comma_compat` commas separate them too.
    """

    def parse(value: str | Iterable[str]) -> list[str]:
        if isinstance(value, str):
            return (value.replace(",", " ") if comma_compat else value).split()
        return list(value)

    _define(name, default, help, parse, flag_values)


def DEFINE_multi_string(
    name: str,
    default: str | Iterable[str] | None,
    help: str | None = None,
    flag_values: FlagValues = FLAGS,
) -> None:
    """Defines a flag that may be given several times: its value is a list of strings."""
    _define(name, default, help, _several(str), flag_values, is_multi=True)


def DEFINE_multi_integer(
    name: str,
    default: int | str | Iterable[int | str] | None,
    help: str | None = None,
    lower_bound: int | None = None,
    upper_bound: int | None = None,
    flag_values: FlagValues = FLAGS,
) -> None:
    """Defines a flag that may be given several times: its value is a list of ints in a range."""
    parse = _several(_within(_integer, lower_bound, upper_bound))
    _define(name, default, help, parse, flag_values, is_multi=True)


def DEFINE_multi_float(
    name: str,
    default: float | str | Iterable[float | str] | None,
    help: str | None = None,
    lower_bound: float | None = None,
    upper_bound: float | None = None,
    flag_values: FlagValues = FLAGS,
) -> None:
    """Defines a flag that may be given several times: its value is a list of floats in a range."""
    parse = _several(_within(float, lower_bound, upper_bound))
    _define(name, default, help, parse, flag_values, is_multi=True)


def DEFINE_multi_enum(
    name: str,
    default: str | Iterable[str] | None,
    enum_values: Sequence[str],
    help: str | None = None,
    flag_values: FlagValues = FLAGS,
    case_sensitive: bool = True,
) -> None:
    """Defines a flag that may be given several times: its value is a list of some strings."""
    parse = _several(_one_of(enum_values, case_sensitive))
    _define(name, default, help, parse, flag_values, is_multi=True)


def _several(parse: Callable[[Any], Any]) -> Callable[[Any], list[Any]]:
    """A parser for a list of values, or for the only one."""

    def parse_all(values: Any) -> list[Any]:
        is_one = isinstance(values, str) or not isinstance(values, Iterable)
        return [parse(value) for value in ([values] if is_one else values)]

    return parse_all


def _one_of(choices: Sequence[str], case_sensitive: bool) -> Callable[[str], str]:
    def parse(text: str) -> str:
        wanted = text if case_sensitive else text.lower()
        for choice in choices:
            if wanted == (choice if case_sensitive else choice.lower()):
                return choice
        raise ValueError(f"value should be one of <{'|'.join(choices)}>")

    return parse


def _within(
    parse: Callable[[Any], Any], lowest: float | None, highest: float | None
) -> Callable[[Any], Any]:
    """A parser that refuses what is out of a range."""
    what = "an integer" if parse is _integer else "a number"
    if lowest is not None and highest is not None:
        wanted = f"{what} in the range [{lowest}, {highest}]"
    elif lowest in (0, 1) and what == "an integer":
        wanted = "a non-negative integer" if lowest == 0 else "a positive integer"
    elif highest in (-1, 0) and what == "an integer":
        wanted = "a negative integer" if highest == -1 else "a non-positive integer"
    elif lowest is not None:
        wanted = f"{what} >= {lowest}"
    else:
        wanted = f"{what} <= {highest}"

    def parse_within(value: Any) -> Any:
        parsed = parse(value)
        if (lowest is not None and parsed < lowest) or (highest is not None and parsed > highest):
            raise ValueError(f"{parsed} is not {wanted}")
        return parsed

    return parse_within


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
