"""JSON values: Python objects in functions and batches, and text in the engine."""

import json
from collections.abc import Mapping
from typing import Any

import numpy as np

__all__ = ["is_object", "json_text", "json_value"]


def json_value(text: Any) -> Any:
    """Parses JSON text. For an array or a list of texts, returns a list of values.

    An empty text becomes None. It is used as padding in batches.
    """
    if isinstance(text, np.ndarray):
        text = text.tolist()
    if isinstance(text, list):
        return [json_value(item) for item in text]
    return json.loads(text) if text else None


def json_text(where: str, name: str, value: Any) -> bytes:
    """Returns an object as JSON text.

    Args:
        where: The stage and its function, for messages.
        name: The name of the component.
        value: The object that the function returned.

    Raises:
        TypeError: If JSON cannot represent the object.
        ValueError: If the object contains itself.
    """
    try:
        _check_keys(value)
        text = json.dumps(value, ensure_ascii=False, separators=(",", ":"), default=_plain)
    except (TypeError, RecursionError) as error:
        raise TypeError(
            f"{where}: the component {name!r} is hr.Json, but its value is not valid JSON: "
            f"{error}. Use dicts with str keys, lists, str, numbers, bool and None."
        ) from error
    try:
        return text.encode()
    except UnicodeEncodeError:  # The text contains half of a surrogate pair.
        return json.dumps(value, separators=(",", ":"), default=_plain).encode()


def is_object(value: Any) -> bool:
    """Returns whether a value is a dict or a list that contains one. Arrays cannot hold these."""
    if isinstance(value, (list, tuple)):
        return any(map(is_object, value))
    return isinstance(value, Mapping)


def _check_keys(value: Any) -> None:
    """Rejects dict keys that JSON would change: all keys except strings."""
    if isinstance(value, dict):
        for key, item in value.items():
            if not isinstance(key, str):
                raise TypeError(f"the key {key!r} is not a string")
            _check_keys(item)
    elif isinstance(value, (list, tuple)):
        for item in value:
            _check_keys(item)


def _plain(value: Any) -> Any:
    if isinstance(value, np.ndarray) and value.dtype.kind in "biufOU":
        return value.tolist()
    if isinstance(value, (np.bool_, np.integer, np.floating)):
        return value.item()
    raise TypeError(f"{type(value).__name__} cannot be converted to JSON")
