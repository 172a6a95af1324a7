"""Hyperparameters: named values with fixed types, set from a command line or a file.

Source: `tf.contrib.training.HParams` in TensorFlow 1.15.
"""

from __future__ import annotations

import json
import numbers
import re
from collections.abc import Mapping
from typing import Any, Final, NoReturn

__all__ = ["HParams", "parse_values"]

# One assignment in a line: `name=value` or `name=[value,value]`, with the comma after it.
_ASSIGNMENT: Final = re.compile(
    r"(?P<name>[A-Za-z][\w.]*)\s*=\s*(?:\[(?P<list>[^\]]*)\]|(?P<value>[^,\[]*))\s*(?:,\s*|$)"
)
_BOOLS: Final = {"true": True, "True": True, "false": False, "False": False}


class HParams:
    """Hyperparameters, which are available as attributes.

    Later values must have the same type, and a list can only be replaced with a list.

    Args:
        hparam_def: Not supported.
        model_structure: Any value; see `get_model_structure`.
        **kwargs: The hyperparameters.

    Raises:
        ValueError: If a hyperparameter has the name of a method, or a list is empty.
    """

    def __init__(
        self, hparam_def: None = None, model_structure: object = None, **kwargs: Any
    ) -> None:
        if hparam_def is not None:
            raise ValueError(
                "HParams: hparam_def is not supported. Pass the hyperparameters by name."
            )
        self._hparam_types: dict[str, tuple[type, bool]] = {}
        self._model_structure = model_structure
        for name, value in kwargs.items():
            self.add_hparam(name, value)

    def add_hparam(self, name: str, value: Any) -> None:
        """Adds a hyperparameter.

        Args:
            name: The name.
            value: The value, or a list of values of the same type.

        Raises:
            ValueError: If the name is already used or is the name of a method, or the list is
                empty.
        """
        if getattr(self, name, None) is not None:
            raise ValueError(f"Hyperparameter name is reserved: {name}")
        is_list = isinstance(value, (list, tuple))
        if is_list and not value:
            raise ValueError(f"Multi-valued hyperparameters cannot be empty: {name}")
        self._hparam_types[name] = type(value[0] if is_list else value), is_list
        setattr(self, name, value)

    def set_hparam(self, name: str, value: Any) -> None:
        """Replaces the value of a hyperparameter.

        Args:
            name: The name.
            value: A value of the same type. Ints are converted to floats if necessary. A list must
                be replaced with a list.

        Raises:
            KeyError: If the name does not exist.
            ValueError: If the value has the wrong type, or only one of the old and the new value is
                a list.
        """
        kind, is_list = self._hparam_types[name]
        if isinstance(value, list) != is_list:
            text = "Must pass a list for multi-valued parameter: {}."
            if not is_list:
                text = "Must not pass a list for single-valued parameter: {}"
            raise ValueError(text.format(name))
        new = [_cast(name, kind, item) for item in value] if is_list else _cast(name, kind, value)
        setattr(self, name, new)

    def del_hparam(self, name: str) -> None:
        """Removes a hyperparameter. Does nothing if the name does not exist."""
        if name in self._hparam_types:
            delattr(self, name)
            del self._hparam_types[name]

    def parse(self, values: str) -> HParams:
        """Replaces values with the values in a line such as `rate=0.1,layers=[3,4],name=a`.

        Args:
            values: The line.

        Returns:
            This object.

        Raises:
            ValueError: If the line is malformed or has an unknown name, or a value has the wrong
                type.
        """
        types = {name: kind for name, (kind, _) in self._hparam_types.items()}
        return self.override_from_dict(parse_values(values, types))

    def override_from_dict(self, values_dict: Mapping[str, Any]) -> HParams:
        """Replaces values with the values in a dict; see `set_hparam`.

        Returns:
            This object.
        """
        for name, value in values_dict.items():
            self.set_hparam(name, value)
        return self

    def set_model_structure(self, model_structure: object) -> None:
        """Sets the result of `get_model_structure`."""
        self._model_structure = model_structure

    def get_model_structure(self) -> object:
        """Returns the `model_structure` passed to the constructor or to `set_model_structure`."""
        return self._model_structure

    def to_json(
        self,
        indent: int | str | None = None,
        separators: tuple[str, str] | None = None,
        sort_keys: bool = False,
    ) -> str:
        """Returns the hyperparameters as JSON, without callables.

        Args:
            indent: See `json.dumps`.
            separators: See `json.dumps`.
            sort_keys: See `json.dumps`.
        """
        plain = _without_callables(self.values())
        return json.dumps(plain, indent=indent, separators=separators, sort_keys=sort_keys)

    def parse_json(self, values_json: str) -> HParams:
        """Replaces values with the values in a JSON object; see `set_hparam`.

        Returns:
            This object.
        """
        return self.override_from_dict(json.loads(values_json))

    def values(self) -> dict[str, Any]:
        """Returns the hyperparameters by name, in a new dict."""
        return {name: getattr(self, name) for name in self._hparam_types}

    def get(self, key: str, default: Any = None) -> Any:
        """Returns a hyperparameter, or `default` if the name does not exist.

        Raises:
            ValueError: If the hyperparameter and the default have different types.
        """
        if key not in self._hparam_types:
            return default
        kind, is_list = self._hparam_types[key]
        if default is not None:
            shown = f"list<{kind}>" if is_list else str(kind)
            text = f"Hparam '{key}' of type '{shown}' is incompatible with default={default}"
            if isinstance(default, list) != is_list:
                raise ValueError(text)
            try:
                for value in default if is_list else [default]:
                    _cast(key, kind, value)
            except ValueError as error:
                raise ValueError(f"{text}. {error}") from None
        return getattr(self, key)

    def __contains__(self, key: str) -> bool:
        return key in self._hparam_types

    def __str__(self) -> str:
        return str(sorted(self.values().items()))

    def __repr__(self) -> str:
        return f"{type(self).__name__}({self})"


def parse_values(
    values: str, type_map: Mapping[str, type], ignore_unknown: bool = False
) -> dict[str, Any]:
    """Parses a line such as `rate=0.1,layers=[3,4],name=a`.

    Args:
        values: The line.
        type_map: The type of each name.
        ignore_unknown: If True, names without a type are ignored. If False, they are an error.

    Returns:
        The values by name. Values in brackets are lists.

    Raises:
        ValueError: If the line is malformed, a name occurs twice or has no type, or a value has the
            wrong type.
    """
    results: dict[str, Any] = {}
    position = 0
    while position < len(values):
        match = _ASSIGNMENT.match(values, position)
        if match is None:
            raise ValueError(f"Malformed hyperparameter value: {values[position:]}")
        position, name = match.end(), match["name"]
        kind = type_map.get(name)
        if kind is None and ignore_unknown:
            continue
        if kind is None:
            raise ValueError(f"Unknown hyperparameter type for {name}")
        if name in results:
            raise ValueError(f"Multiple assignments to variable '{name}' in {values}")
        if match["list"] is None:
            results[name] = _parsed(name, kind, match["value"].strip(), values)
        else:
            items = [item.strip() for item in re.split(r"[,\n]", match["list"])]
            results[name] = [_parsed(name, kind, item, values) for item in items if item]
    return results


def _parsed(name: str, kind: type, text: str, values: str) -> Any:
    try:
        if kind is bool:
            return _BOOLS[text] if text in _BOOLS else bool(int(text))
        return kind(text)
    except (TypeError, ValueError):
        raise ValueError(
            f"Could not parse hparam '{name}' of type '{kind.__name__}' with value '{text}' in "
            f"{values}"
        ) from None


def _cast(name: str, kind: type, value: Any) -> Any:
    """Converts a value to a type if it fits."""

    def fail() -> NoReturn:
        raise ValueError(f"Could not cast hparam '{name}' of type '{kind}' from value {value!r}")

    if kind is type(None) or value is None:
        return value
    for group in (numbers.Integral, numbers.Number):
        if issubclass(kind, group) and not isinstance(value, group):
            fail()
    for exact in (bool, (str, bytes)):
        if issubclass(kind, exact) != isinstance(value, exact):
            fail()
    return kind(value)


def _without_callables(value: Any) -> Any:
    if isinstance(value, dict):
        return {key: _without_callables(item) for key, item in value.items() if not callable(item)}
    if isinstance(value, list):
        return [_without_callables(item) for item in value if not callable(item)]
    return value
