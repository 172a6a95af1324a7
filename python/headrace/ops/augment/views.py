"""Several random views of one image, for self-supervised learning."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import TypeAlias

from headrace.graph import Tensor
from headrace.ops.array.join import stack

__all__ = ["views"]

# A function of the image, alone or with the number of its views.
_View: TypeAlias = "Callable[[Tensor], Tensor] | tuple[Callable[[Tensor], Tensor], int]"


def views(image: Tensor, functions: Mapping[str, _View]) -> dict[str, Tensor]:
    """Returns several views of an image, each with its own random numbers.

    Args:
        image: The image that the functions receive, usually pixels or the bytes of a file.
        functions: For each result, a function that returns a view. For several views, a pair of the
            function and the number of views.

    Returns:
        A dict with the same names as `functions`. Each value is a view. Several views from one
        function are stacked: (number, ...).

    Raises:
        TypeError: If a function is not callable.
        ValueError: If there are no functions, a number is not positive, or the views of one
            function have different shapes.

    Source: "Unsupervised Learning of Visual Features by Contrasting Cluster Assignments"
    (arXiv:2006.09882), which uses two large and several small views.

    Examples:
        >>> @hr.native
        ... def crops(example):
        ...     def crop(size, scale):
        ...         return lambda image: hr.ops.random_resized_crop(image, size, scale)
        ...
        ...     functions = {"large": (crop(8, (0.4, 1.0)), 2), "small": (crop(4, (0.1, 0.4)), 3)}
        ...     return hr.ops.views(example["image"], functions)
        >>> photos = hr.arrays({"image": np.zeros((1, 16, 16, 3), np.uint8)})
        >>> example = next(iter(photos.map(crops, seed=1)))
        >>> example["large"].shape, example["small"].shape
        ((2, 8, 8, 3), (3, 4, 4, 3))
    """
    if not functions:
        raise ValueError("views: there are no functions, expected at least one.")
    return {name: _views(name, image, view) for name, view in functions.items()}


def _views(name: str, image: Tensor, view: _View) -> Tensor:
    function, count = view if isinstance(view, tuple) else (view, None)
    if not callable(function):
        raise TypeError(f"views: {name!r} is {function!r}, expected a function of the image.")
    if count is None:
        return function(image)
    if not isinstance(count, int) or count < 1:
        raise ValueError(f"views: {name!r} has {count!r} views, expected a positive integer.")
    return stack([function(image) for _ in range(count)])
