"""Flags with several values, in ranges, and with conditions."""

from collections.abc import Callable
from typing import Any

from tensorflow_comparison.table import case

_DEFINE: dict[str, Callable[[Any, Any], None]] = {
    "strings": lambda f, v: f.DEFINE_multi_string("a", "x", "", flag_values=v),
    "integers": lambda f, v: f.DEFINE_multi_integer("a", [3, "4"], "", 1, flag_values=v),
    "floats": lambda f, v: f.DEFINE_multi_float("a", 3, "", 0.5, 7, flag_values=v),
    "choices": lambda f, v: f.DEFINE_multi_enum("a", None, ["x", "y"], "", flag_values=v),
    "spaces": lambda f, v: f.DEFINE_spaceseplist("a", "x  y", "", True, flag_values=v),
    "integer": lambda f, v: f.DEFINE_integer("a", 3, "", 1, 5, flag_values=v),
    "float": lambda f, v: f.DEFINE_float("a", 3, "", 0.5, flag_values=v),
    "old names": lambda f, v: f.DEFINE_string(
        flag_name="a", default_value="x", docstring="", flag_values=v
    ),
}
_LINES: list[list[str]] = [[], ["--a=2", "--a", "4"], ["--a=x"], ["--a=0"], ["--a=y,p q", "rest"]]


def values_of(tf: Any) -> Any:
    """Returns an empty set of flags."""
    return tf.flags.FlagValues()


@case(*[(kind, line) for kind in _DEFINE for line in _LINES])
def flags_of_a_kind(tf: Any, kind: str, line: list[str]) -> Any:
    """Parses a command line."""
    values = values_of(tf)
    _DEFINE[kind](tf.flags, values)
    rest = values(["program", *line])
    return values["a"].default, values["a"].value, rest, list(values)


_CONDITIONS: dict[str, Callable[[Any, Any], Any]] = {
    "required": lambda f, v: f.mark_flag_as_required("a", v),
    "all required": lambda f, v: f.mark_flags_as_required(["a", "b"], v),
    "exclusive": lambda f, v: f.mark_flags_as_mutual_exclusive(["a", "b"], False, v),
    "one of": lambda f, v: f.mark_flags_as_mutual_exclusive(["a", "b"], True, v),
    "one bool": lambda f, v: f.mark_bool_flags_as_mutual_exclusive(["c", "d"], True, v),
    "no bool": lambda f, v: f.mark_bool_flags_as_mutual_exclusive(["a", "c"], True, v),
    "validator": lambda f, v: f.register_validator("a", lambda a: a == 1, "not 1", v),
    "of both": lambda f, v: f.register_multi_flags_validator(
        ["a", "b"], lambda both: both["a"] == both["b"], "differ", v
    ),
}


@case(
    *[
        (what, line)
        for what in _CONDITIONS
        for line in ([], ["--a=1"], ["--a=1", "--b=1"], ["--b=2", "--c"], ["--c", "--d"])
    ]
)
def conditions_on_flags(tf: Any, what: str, line: list[str]) -> Any:
    """Parses a command line, then sets a flag."""
    flags, values = tf.flags, values_of(tf)
    for name in "ab":
        flags.DEFINE_integer(name, None, "", flag_values=values)
    for name in "cd":
        flags.DEFINE_bool(name, False, "", flag_values=values)
    try:
        _CONDITIONS[what](flags, values)
        values(["program", *line])
        values.a = 7
    except flags.Error as error:
        return type(error).__name__, str(error)
    return values.a, values.b, values.c, values.d
