"""`tf.contrib.framework.nest`: structures of lists, tuples and dicts.

A structure is a list, tuple, named tuple or dict of structures. Anything else is a leaf. The leaves
of a dict are in the order of its sorted keys.

Source: `tf.contrib.framework.nest` in TensorFlow 1.15.
"""

from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any

from headrace.tf1.namespace import namespace

__all__ = [
    "assert_same_structure",
    "assert_shallow_structure",
    "flatten",
    "flatten_dict_items",
    "flatten_up_to",
    "flatten_with_joined_string_paths",
    "is_nested",
    "is_sequence",
    "map_structure",
    "map_structure_up_to",
    "pack_sequence_as",
    "yield_flattened_up_to",
]


def is_nested(seq: object) -> bool:
    """Returns whether a value is a list, tuple or dict, and not a leaf."""
    return isinstance(seq, (Sequence, Mapping)) and not isinstance(seq, (str, bytes, bytearray))


is_sequence = is_nested


def flatten(structure: Any, expand_composites: bool = False) -> list[Any]:
    """Returns the leaves of a structure in order.

    Args:
        structure: The structure. If it is a leaf, the result is a list that contains the leaf.
        expand_composites: Accepted for compatibility, but not used.

    Raises:
        TypeError: If the keys of a dict cannot be sorted.
    """
    if not is_nested(structure):
        return [structure]
    return [leaf for item in _items(structure) for leaf in flatten(item)]


def pack_sequence_as(structure: Any, flat_sequence: Any, expand_composites: bool = False) -> Any:
    """Returns a structure of the same form with the given leaves.

    Args:
        structure: A structure of the required form.
        flat_sequence: The leaves, in the order of `flatten`.
        expand_composites: Accepted for compatibility, but not used.

    Raises:
        TypeError: If `flat_sequence` is a leaf.
        ValueError: If the number of leaves does not match the form.
    """
    if not is_nested(flat_sequence):
        raise TypeError(f"flat_sequence must be a sequence, got {type(flat_sequence).__name__}.")
    num_leaves = len(flatten(structure))
    if num_leaves != len(flat_sequence):
        raise ValueError(
            f"Could not pack sequence. Structure had {num_leaves} elements, but flat_sequence had "
            f"{len(flat_sequence)} elements.  Structure: {structure}, flat_sequence: "
            f"{flat_sequence}."
        )
    return _pack(structure, iter(flat_sequence))


def map_structure(func: Callable[..., Any], *structure: Any, **kwargs: Any) -> Any:
    """Calls a function for each leaf, or for corresponding leaves of several structures.

    Args:
        func: The function to call with one leaf from each structure.
        *structure: Structures of the same form.
        **kwargs: `check_types`: whether the types of lists, tuples and dicts must be the same.

    Returns:
        The results of the function, in the form of the first structure.

    Raises:
        TypeError: If `func` is not a function, or types differ.
        ValueError: If no structure is given, or the forms differ.
    """
    if not callable(func):
        raise TypeError(f"func must be callable, got: {func}")
    if not structure:
        raise ValueError("Must provide at least one structure")
    check_types = kwargs.pop("check_types", True)
    kwargs.pop("expand_composites", None)
    if kwargs:
        raise ValueError(f"Only valid keyword arguments are `check_types`, not: {list(kwargs)}")
    for other in structure[1:]:
        assert_same_structure(structure[0], other, check_types)
    leaves = zip(*map(flatten, structure), strict=True)
    return _pack(structure[0], iter([func(*each) for each in leaves]))


def assert_same_structure(
    nest1: Any, nest2: Any, check_types: bool = True, expand_composites: bool = False
) -> None:
    """Checks that two structures have the same form.

    Args:
        nest1: The first structure.
        nest2: The second structure.
        check_types: Whether the types of lists, tuples and dicts must be the same.
        expand_composites: Accepted for compatibility, but not used.

    Raises:
        TypeError: If types differ.
        ValueError: If forms differ.
    """
    if is_nested(nest1) != is_nested(nest2):
        raise ValueError(
            "The two structures don't have the same nested structure.\n\n"
            f"First structure: {nest1}\n\nSecond structure: {nest2}"
        )
    if not is_nested(nest1):
        return
    if check_types and not _are_of_one_type(nest1, nest2):
        raise TypeError(
            "The two structures don't have the same sequence type. First structure has type "
            f"{type(nest1)}, while second structure has type {type(nest2)}."
        )
    if isinstance(nest1, Mapping) and isinstance(nest2, Mapping) and set(nest1) != set(nest2):
        raise ValueError(
            "The two dictionaries don't have the same set of keys. First structure has keys "
            f"{list(nest1)}, while second structure has keys {list(nest2)}."
        )
    first, second = list(_items(nest1)), list(_items(nest2))
    if len(first) != len(second):
        raise ValueError(
            "The two structures don't have the same number of elements. First structure: "
            f"{nest1}. Second structure: {nest2}"
        )
    for one, other in zip(first, second, strict=True):
        assert_same_structure(one, other, check_types)


def assert_shallow_structure(
    shallow_tree: Any, input_tree: Any, check_types: bool = True, expand_composites: bool = False
) -> None:
    """Checks that a structure has the form of another one, or is nested more deeply.

    Args:
        shallow_tree: A structure of the required form.
        input_tree: The structure that can be nested more deeply.
        check_types: Whether the types of lists, tuples and dicts must be the same.
        expand_composites: Accepted for compatibility, but not used.

    Raises:
        TypeError: If `input_tree` has a leaf where `shallow_tree` has a structure, or types differ.
        ValueError: If the numbers of items, or the keys, differ.
    """
    if not is_nested(shallow_tree):
        return
    if not is_nested(input_tree):
        raise TypeError(
            "If shallow structure is a sequence, input must also be a sequence. Input has type: "
            f"{type(input_tree)}."
        )
    if check_types and not _are_of_one_type(shallow_tree, input_tree):
        raise TypeError(
            "The two structures don't have the same sequence type. Input structure has type "
            f"{type(input_tree)}, while shallow structure has type {type(shallow_tree)}."
        )
    if len(input_tree) != len(shallow_tree):
        raise ValueError(
            "The two structures don't have the same sequence length. Input structure has length "
            f"{len(input_tree)}, while shallow structure has length {len(shallow_tree)}."
        )
    if isinstance(shallow_tree, Mapping) and set(shallow_tree) != set(input_tree):
        raise ValueError(
            "The two structures don't have the same keys. Input structure has keys "
            f"{list(input_tree)}, while shallow structure has keys {list(shallow_tree)}."
        )
    for shallow, deep in zip(_items(shallow_tree), _items(input_tree), strict=True):
        assert_shallow_structure(shallow, deep, check_types)


def flatten_up_to(
    shallow_tree: Any, input_tree: Any, check_types: bool = True, expand_composites: bool = False
) -> list[Any]:
    """Returns the parts of a structure at the leaves of another one."""
    assert_shallow_structure(shallow_tree, input_tree, check_types)
    return list(_flatten_up_to(shallow_tree, input_tree))


def yield_flattened_up_to(shallow_tree: Any, input_tree: Any) -> Iterator[Any]:
    """Yields the parts that `flatten_up_to` returns."""
    yield from flatten_up_to(shallow_tree, input_tree)


def map_structure_up_to(
    shallow_tree: Any, func: Callable[..., Any], *inputs: Any, **kwargs: Any
) -> Any:
    """Calls a function with the parts of structures at the leaves of another one.

    Args:
        shallow_tree: A structure of the required form.
        func: The function.
        *inputs: Structures that can be nested more deeply.
        **kwargs: See `map_structure`.

    Raises:
        ValueError: If no inputs are given, or forms differ.
    """
    if not inputs:
        raise ValueError("Cannot map over no sequences")
    check_types = kwargs.get("check_types", True)
    parts = [flatten_up_to(shallow_tree, item, check_types) for item in inputs]
    return pack_sequence_as(shallow_tree, [func(*each) for each in zip(*parts, strict=True)])


def flatten_dict_items(dictionary: Mapping[Any, Any]) -> dict[Any, Any]:
    """Returns a dict that maps each leaf of a key to the corresponding leaf of its value.

    Raises:
        TypeError: If the argument is not a dict.
        ValueError: If a key occurs twice, or a key and its value have different forms.
    """
    if not isinstance(dictionary, Mapping):
        raise TypeError("input must be a dictionary")
    flat: dict[Any, Any] = {}
    for key, value in dictionary.items():
        if is_nested(key) and is_nested(value):
            assert_same_structure(key, value, check_types=False)
        elif is_nested(key):
            raise ValueError(f"Could not flatten dictionary. Key was {key}, value was {value}.")
        pairs = zip(flatten(key), flatten(value), strict=True) if is_nested(key) else [(key, value)]
        for name, leaf in pairs:
            if name in flat:
                raise ValueError(f"Could not flatten dictionary: key {name} is not unique.")
            flat[name] = leaf
    return flat


def flatten_with_joined_string_paths(
    structure: Any, separator: str = "/", expand_composites: bool = False
) -> list[tuple[str, Any]]:
    """Returns the leaves in order, each with its path, such as "a/0/b".

    Args:
        structure: The structure.
        separator: The text between the parts of a path.
        expand_composites: Accepted for compatibility, but not used.
    """
    return [(separator.join(map(str, path)), leaf) for path, leaf in _with_paths(structure, ())]


def _with_paths(structure: Any, path: tuple[Any, ...]) -> Iterator[tuple[tuple[Any, ...], Any]]:
    if not is_nested(structure):
        yield path, structure
        return
    names = sorted(structure) if isinstance(structure, Mapping) else _names(structure)
    for name, item in zip(names, _items(structure), strict=True):
        yield from _with_paths(item, (*path, name))


def _names(structure: Sequence[Any]) -> Sequence[Any]:
    return getattr(structure, "_fields", range(len(structure)))


def _items(structure: Any) -> Iterator[Any]:
    """Yields the items of a structure in order, one level deep."""
    if isinstance(structure, Mapping):
        try:
            keys = sorted(structure)
        except TypeError:
            raise TypeError("nest only supports dicts with sortable keys.") from None
        return (structure[key] for key in keys)
    return iter(structure)


def _pack(structure: Any, leaves: Iterator[Any]) -> Any:
    if not is_nested(structure):
        return next(leaves)
    items = [_pack(item, leaves) for item in _items(structure)]
    if isinstance(structure, Mapping):
        by_key = dict(zip(sorted(structure), items, strict=True))
        return type(structure)((key, by_key[key]) for key in structure)  # type: ignore[call-arg]
    return type(structure)(*items) if hasattr(structure, "_fields") else type(structure)(items)


def _flatten_up_to(shallow: Any, value: Any) -> Iterator[Any]:
    if not is_nested(shallow):
        yield value
        return
    for part, item in zip(_items(shallow), _items(value), strict=True):
        yield from _flatten_up_to(part, item)


def _are_of_one_type(first: Any, second: Any) -> bool:
    if isinstance(first, Mapping) and isinstance(second, Mapping):
        return True
    if hasattr(first, "_fields") and hasattr(second, "_fields"):
        names = type(first).__name__ == type(second).__name__
        return names and bool(first._fields == second._fields)
    return type(first) is type(second)


if not TYPE_CHECKING:  # Hidden from mypy, so that mypy still reports unknown names.
    __getattr__, __dir__ = namespace(__name__, __all__)
