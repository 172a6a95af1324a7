"""Applies a function to each element of a list."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from typing import Any, NamedTuple

from headrace.core.shapes import TensorShape, unknown_shape
from headrace.graph import Loop, Role, Tensor, TensorLike, define, get_default_graph, name_scope
from headrace.ops.array.placeholder import placeholder
from headrace.ops.framework.conversion import convert_to_tensor

__all__ = ["each"]


class _Leaf(NamedTuple):
    """A result of the function.

    Attributes:
        name: Its name in a dict or named tuple; "" if it has none.
        value: A tensor, or a value that can be converted to one.
        is_list: Whether its type is joined by default.
    """

    name: str
    value: Any
    is_list: bool


def each(
    function: Callable[..., Any],
    elements: TensorLike | Mapping[str, TensorLike],
    join: bool | str | Iterable[str] | None = None,
    name: str | None = None,
) -> Any:
    """Applies a function to each element of a list, inside a native function.

    The elements are the rows of the first axis: for example, the files of a list of images, or the
    boxes of an array of shape (boxes, 4). Like a native function, `function` is called only once,
    with a symbolic tensor. It may use other tensors of the surrounding function. If it draws random
    numbers, each element gets different ones.

    Results are stacked along a new first axis, so they must have the same shape. For images, resize
    or crop them in the function. Results of different lengths, such as tokens from `tokenize`, can
    be joined along their first axis instead, as with `batch(ragged="offsets")`. To find out which
    rows belong to which element, return the number of rows as another result:
    `hr.ops.shape(rows)[0]`.

    A component is one array, so it cannot be a list of arrays with different heights and widths. To
    keep images of different sizes, return the flattened values and the shapes: `{"values":
    hr.ops.reshape(image, [-1]), "shape": hr.ops.shape(image)}` with `join="values"`.

    Args:
        function: A function that accepts one element and returns a tensor, or a tuple, named tuple
            or dict of tensors.
        elements: A list, (elements, ...), of numbers or strings. Or a dict of lists of the same
            length, in which case `function` receives a dict with one element of each.
        join: The results to join along their first axis: True for all results, or the names of some
            results of a dict or named tuple. By default, only `pixel_values` of `patches` are
            joined.
        name: Name of the operation.

    Returns:
        The combined results, in the same structure as the results of `function`.

    Raises:
        InvalidArgumentError: When run, if lists differ in length, if results have different shapes
            (the message contains both shapes and both element numbers), or if a list is empty and
            the shape of a stacked result is unknown. Every error message contains the element
            number.
        TypeError: If `function` is not callable, or returns nothing.
        ValueError: If `elements` is a scalar or an empty dict, or `each` is called outside a native
            function. Also if a name in `join` is not a result, or the rank of a result to join is 0
            or unknown.

    Examples:
        >>> @hr.native
        ... def shrink(example):
        ...     def one(image):
        ...         return hr.ops.resize(hr.ops.decode_image(image, channels=3), [2, 2])
        ...
        ...     return {"images": hr.ops.each(one, example["images"])}
        >>> png = hr.native(lambda e: {"png": hr.ops.encode_png(e["x"])})
        >>> files = [png({"x": np.zeros((size, 4, 3), np.uint8)})["png"] for size in (3, 4, 5)]
        >>> shrink({"images": files})["images"].shape
        (3, 2, 2, 3)
        >>> @hr.native
        ... def keep_sizes(example):
        ...     def one(file):
        ...         image = hr.ops.decode_image(file, channels=3)
        ...         return {"values": hr.ops.reshape(image, [-1]), "shape": hr.ops.shape(image)}
        ...
        ...     return hr.ops.each(one, example["images"], join="values")
        >>> kept = keep_sizes({"images": files})
        >>> kept["values"].shape, kept["shape"].tolist()
        ((144,), [[3, 4, 3], [4, 4, 3], [5, 4, 3]])
    """
    if not callable(function):
        raise TypeError(f"each: got {function!r}, expected a function of one element.")
    graph = get_default_graph()
    if not graph.is_native:
        raise ValueError("each: works only in native functions. Use tf.map_fn in other graphs.")
    if isinstance(elements, Mapping) and not elements:
        raise ValueError("each: got an empty dict, expected at least one list.")
    names = list(elements) if isinstance(elements, Mapping) else None
    values = list(elements.values()) if isinstance(elements, Mapping) else [elements]
    with name_scope(name, "each") as scope:
        lists = [convert_to_tensor(value, name="elements") for value in values]
        for tensor in lists:
            if tensor.shape.rank == 0:
                raise ValueError(
                    f"each: got a scalar of type {tensor.dtype.name}, expected a list. Call the "
                    "function itself for a single value."
                )
        loop = Loop(scope[:-1], graph.current_loop, is_each=True)
        with graph.in_loop(loop):
            loop.rows = [placeholder(tensor.dtype, _row(tensor)) for tensor in lists]
            argument = loop.rows[0] if names is None else dict(zip(names, loop.rows, strict=True))
            returned = function(argument)
            leaves = list(_leaves(returned))
            loop.results = [convert_to_tensor(leaf.value) for leaf in leaves]
        if not leaves:
            raise TypeError(f"each: the function returned {returned!r}, expected tensors.")
        loop.captured = _captured(loop)
        is_joined = _joined(leaves, join)
        count = None if lists[0].shape.rank is None else lists[0].shape.as_list()[0]
        shapes = [
            _combined(leaf.name, tensor, count, joins)
            for leaf, tensor, joins in zip(leaves, loop.results, is_joined, strict=True)
        ]
        op = graph.create_op(
            "Each",
            [*lists, *loop.captured],
            [tensor.dtype for tensor in loop.results],
            output_shapes=shapes,
            name=scope,
            attrs={"is_joined": is_joined},
            repeats=loop,
        )
    outputs = iter(op.outputs)
    return _replaced(returned, lambda _: next(outputs))


def _row(tensor: Tensor) -> TensorShape:
    rank = tensor.shape.rank
    return unknown_shape() if rank is None else TensorShape(tensor.shape.as_list()[1:])


def _leaves(structure: Any, name: str = "", is_list: bool = False) -> Iterator[_Leaf]:
    """Yields the results in a structure of dicts and tuples."""
    if isinstance(structure, Mapping):
        for key, value in structure.items():
            yield from _leaves(value, key)
    elif isinstance(structure, tuple):
        names = getattr(structure, "_fields", [name] * len(structure))
        lists = getattr(structure, "joined_by_each", ())
        for key, value in zip(names, structure, strict=True):
            yield from _leaves(value, key, key in lists)
    else:
        yield _Leaf(name, structure, is_list)


def _joined(leaves: list[_Leaf], join: bool | str | Iterable[str] | None) -> list[bool]:
    """Returns whether each result is joined rather than stacked."""
    if join is None:
        return [leaf.is_list for leaf in leaves]
    if isinstance(join, bool):
        return [join] * len(leaves)
    requested = [join] if isinstance(join, str) else list(join)
    names = [leaf.name for leaf in leaves]
    for name in requested:
        if name not in names:
            text = ", ".join(map(repr, filter(None, names))) or "none that has a name"
            raise ValueError(f"each: join contains {name!r}, but the results are {text}.")
    return [name in requested for name in names]


def _combined(name: str, tensor: Tensor, count: int | None, is_joined: bool) -> TensorShape:
    """Returns the shape of the results of `count` elements, given the result of one."""
    if is_joined and not tensor.shape.rank:
        what = f"result {name!r}" if name else "result"
        raise ValueError(
            f"each: the {what} has no axis along which to join it. Leave it out of join."
            if tensor.shape.rank == 0
            else f"each: the number of axes of the {what} is unknown, so it cannot be joined. Set "
            "its shape with ensure_shape."
        )
    if tensor.shape.rank is None:
        return unknown_shape()
    sizes = tensor.shape.as_list()
    return TensorShape([None, *sizes[1:]] if is_joined else [count, *sizes])


def _replaced(structure: Any, convert: Callable[[Any], Any]) -> Any:
    """Returns a structure in which each value is replaced with the result of a function."""
    if isinstance(structure, Mapping):
        return {key: _replaced(value, convert) for key, value in structure.items()}
    if isinstance(structure, tuple):
        items = [_replaced(value, convert) for value in structure]
        return type(structure)(*items) if hasattr(structure, "_fields") else tuple(items)
    return convert(structure)


def _captured(loop: Loop) -> list[Tensor]:
    """Returns the tensors from outside that the loop reads."""
    captured: dict[Tensor, None] = {}
    seen = set()
    stack = list(loop.results)
    while stack:
        tensor = stack.pop()
        if tensor.op.loop is not loop:
            captured[tensor] = None
        elif tensor.op not in seen:
            seen.add(tensor.op)
            stack += tensor.op.inputs
    return list(captured)


define("Each", role=Role.LOOP)
