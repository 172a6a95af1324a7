"""Conditions on flags: what must be given, and which values go together.

Source: `absl.flags` as TensorFlow 1.15 has it in `tf.flags`.
"""

import warnings
from collections.abc import Callable, Iterable
from typing import Any, TypeVar

from headrace.tf1.flag_values import FLAGS, FlagValues, ValidationError, Validator

__all__ = [
    "mark_bool_flags_as_mutual_exclusive",
    "mark_flag_as_required",
    "mark_flags_as_mutual_exclusive",
    "mark_flags_as_required",
    "multi_flags_validator",
    "register_multi_flags_validator",
    "register_validator",
    "validator",
]

_Check = TypeVar("_Check", bound=Callable[[Any], object])


def register_validator(
    flag_name: str,
    checker: Callable[[Any], object],
    message: str = "Flag validation failed",
    flag_values: FlagValues = FLAGS,
) -> None:
    """Adds a condition on a flag. It is checked when a command line is read, or the flag is set.

    Args:
        flag_name: The flag.
        checker: Takes its value; returns whether it is right, or raises `ValidationError`.
        message: What is said if it is not.
        flag_values: Where the flag belongs.

    Raises:
        UnrecognizedFlagError: If there is none of that name.
    """
    check = lambda values: checker(values[flag_name])  # noqa: E731
    flag_values.add_validator(Validator((flag_name,), check, message, is_single=True))


def validator(
    flag_name: str, message: str = "Flag validation failed", flag_values: FlagValues = FLAGS
) -> Callable[[_Check], _Check]:
    """Returns a decorator that makes a function the condition on a flag.

    Arguments are those of `register_validator`.
    """

    def decorate(checker: _Check) -> _Check:
        register_validator(flag_name, checker, message, flag_values)
        return checker

    return decorate


def register_multi_flags_validator(
    flag_names: Iterable[str],
    multi_flags_checker: Callable[[dict[str, Any]], object],
    message: str = "Flags validation failed",
    flag_values: FlagValues = FLAGS,
) -> None:
    """Adds a condition on several flags; as `register_validator`, with a dict of their values."""
    names = tuple(flag_names)
    flag_values.add_validator(Validator(names, multi_flags_checker, message, is_single=False))


def multi_flags_validator(
    flag_names: Iterable[str],
    message: str = "Flag validation failed",
    flag_values: FlagValues = FLAGS,
) -> Callable[[_Check], _Check]:
    """Returns a decorator that makes a function the condition on several flags.

    Arguments are those of `register_multi_flags_validator`.
    """

    def decorate(checker: _Check) -> _Check:
        register_multi_flags_validator(flag_names, checker, message, flag_values)
        return checker

    return decorate


def mark_flag_as_required(flag_name: str, flag_values: FlagValues = FLAGS) -> None:
    """Makes a flag required: a command line without it is an error.

    Args:
        flag_name: The flag.
        flag_values: Where it belongs.

    Raises:
        UnrecognizedFlagError: If there is none of that name.
    """
    if flag_values[flag_name].default is not None:
        warnings.warn(
            f"Flag --{flag_name} has a non-None default value; therefore, mark_flag_as_required "
            "will pass even if flag is not specified in the command line!",
            RuntimeWarning,
            stacklevel=2,
        )
    message = f"Flag --{flag_name} must have a value other than None."
    register_validator(flag_name, lambda value: value is not None, message, flag_values)


def mark_flags_as_required(flag_names: Iterable[str], flag_values: FlagValues = FLAGS) -> None:
    """Makes several flags required; see `mark_flag_as_required`."""
    for name in flag_names:
        mark_flag_as_required(name, flag_values)


def mark_flags_as_mutual_exclusive(
    flag_names: Iterable[str], required: bool = False, flag_values: FlagValues = FLAGS
) -> None:
    """Lets at most one of several flags have a value that is not None.

    Args:
        flag_names: The flags.
        required: Whether one of them must have one.
        flag_values: Where they belong.

    Raises:
        UnrecognizedFlagError: If there is none of a name.
    """
    names = list(flag_names)
    for name in names:
        if flag_values[name].default is not None:
            warnings.warn(
                f"Flag --{name} has a non-None default value. That does not make sense with "
                "mark_flags_as_mutual_exclusive, which checks whether the listed flags have a "
                "value other than None.",
                RuntimeWarning,
                stacklevel=2,
            )
    words = f"{_number(required)} one of ({', '.join(names)}) must have a value other than None."
    _allow_one(names, lambda value: value is not None, required, words, flag_values)


def mark_bool_flags_as_mutual_exclusive(
    flag_names: Iterable[str], required: bool = False, flag_values: FlagValues = FLAGS
) -> None:
    """Lets at most one of several bool flags be true.

    Args:
        flag_names: The flags.
        required: Whether one of them must be.
        flag_values: Where they belong.

    Raises:
        UnrecognizedFlagError: If there is none of a name.
        ValidationError: If one of them is no bool.
    """
    names = list(flag_names)
    for name in names:
        if not flag_values[name].is_bool:
            raise ValidationError(
                f"Flag --{name} is not Boolean, which is required for flags used in "
                "mark_bool_flags_as_mutual_exclusive."
            )
    words = f"{_number(required)} one of ({', '.join(names)}) must be True."
    _allow_one(names, bool, required, words, flag_values)


def _number(required: bool) -> str:
    return "Exactly" if required else "At most"


def _allow_one(
    names: list[str],
    counts: Callable[[Any], bool],
    required: bool,
    words: str,
    flag_values: FlagValues,
) -> None:
    def check(values: dict[str, Any]) -> bool:
        number = sum(map(counts, values.values()))
        return number == 1 or (number == 0 and not required)

    register_multi_flags_validator(names, check, words, flag_values)
