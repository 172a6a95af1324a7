"""Static shapes for the layers that `install(training="absorb")` absorbs.

Programs use their layers' shapes while they build the graph: for example, the next layer's weights
depend on `net.get_shape().as_list()`. The rules here cover the common layers. The shape is unknown
if a layer has no rule, or its rule does not support the arguments.

Source: `tf.nn`, `tf.layers`, `tf.keras.layers` and `tf.contrib.layers` in TensorFlow 1.15.
"""

import re
from collections.abc import Callable, Mapping, Sequence
from typing import Any, Final

import numpy as np

from headrace.core.shapes import TensorShape, as_shape, unknown_shape

__all__ = ["infer_shape", "static_shape"]

# Sizes. None for unknown ones.
_Sizes = list[int | None]

_INPUTS: Final = ("inputs", "input", "x", "value", "tensor", "features", "logits")
_CHANNELS_FIRST: Final = ("NCHW", "NCDHW", "NCW", "channels_first")


def infer_shape(path: str, args: Sequence[Any], kwargs: Mapping[str, Any]) -> TensorShape:
    """Infers the shape of the result of a layer, loss, initializer or regularizer.

    Args:
        path: The name after `tensorflow.`. If it names a layer class, the shape is that of calling
            the layer: `args` starts with the inputs, followed by the arguments of the class.
        args: The arguments.
        kwargs: The keyword arguments.
    """
    rest = dict(kwargs)
    key = next((name for name in _INPUTS if name in rest and not args), None)
    args = [rest.pop(key), *args] if key else args
    module, _, name = path.rpartition(".")
    name = name.lower().replace("_", "")
    try:
        if module.endswith(("losses", "loss_ops")) or name.endswith(("loss", "regularizer")):
            return TensorShape([None] if module.startswith("nn") else [])
        if name.endswith("initializer"):
            return as_shape(rest.get("shape", args[0]))
        rule = _rule_for(module, name)
        return unknown_shape() if rule is None else TensorShape(rule(*args, **rest))
    except (AttributeError, IndexError, TypeError, ValueError):
        return unknown_shape()


def static_shape(value: object) -> TensorShape:
    """Returns the shape of a tensor, array or nested list. Any other value has an unknown shape."""
    shape = getattr(value, "shape", None)
    if isinstance(shape, TensorShape):
        return shape
    return TensorShape(np.shape(value)) if isinstance(value, np.ndarray) else unknown_shape()


def _rule_for(module: str, name: str) -> Callable[..., _Sizes] | None:
    if re.search(r"\bnn$|nn_ops$|nn_impl$", module):
        return _NN_RULES.get(name)
    rules = _SCOPED_RULES if module.startswith("contrib.") else _LAYER_RULES
    return rules.get(name)


def _same(x: Any, *_: object, **__: object) -> _Sizes:
    return _sizes(x)


def _dense(x: Any, units: Any = None, *_: object, num_outputs: Any = None, **__: object) -> _Sizes:
    return [*_sizes(x)[:-1], units if num_outputs is None else num_outputs]


def _flatten(x: Any, *_: object, **__: object) -> _Sizes:
    first, *others = _sizes(x)
    return [first, _product(others)]


def _embedding(x: Any, _: Any = None, size: Any = None, *__: object, **options: Any) -> _Sizes:
    return [*_sizes(x), options.get("output_dim", options.get("embed_dim", size))]


def _conv(
    x: Any,
    filters: Any = None,
    kernel_size: Any = None,
    strides: Any = 1,
    padding: Any = None,
    *_: object,
    **options: object,
) -> _Sizes:
    filters = options.get("num_outputs", filters)
    return _slide(
        x, filters, kernel_size, options.get("stride", strides), padding or "valid", options
    )


def _scoped_conv(x: Any, *args: Any, **options: object) -> _Sizes:
    """Like `_conv`, but an `arg_scope` may set strides and padding, so the sizes are unknown."""
    channels = options.get("num_outputs", args[0] if args else None)
    return _slide(x, channels, None, None, "same", options)


def _pool(
    x: Any,
    pool_size: Any = 2,
    strides: Any = None,
    padding: Any = "valid",
    *_: object,
    **options: object,
) -> _Sizes:
    strides = pool_size if strides is None else strides
    return _slide(x, _channels(x, options), pool_size, strides, padding, options)


def _scoped_pool(x: Any, *_: object, **options: object) -> _Sizes:
    return _slide(x, _channels(x, options), None, None, "same", options)


def _pool_all(x: Any, *_: object, **options: object) -> _Sizes:
    return [_sizes(x)[0], _channels(x, options)]


def _transposed(x: Any, filters: Any = None, *_: object, **options: object) -> _Sizes:
    filters = options.get("num_outputs", filters)
    return _slide(x, filters, None, None, "same", options)


def _nn_conv(
    x: Any,
    kernel: Any = None,
    strides: Any = None,
    padding: Any = "SAME",
    *_: object,
    **options: object,
) -> _Sizes:
    *size, _inputs, channels = _sizes(options.get("filter", options.get("filters", kernel)))
    return _slide(x, channels, size, _inner(strides, options), padding, options)


def _nn_depthwise(
    x: Any,
    kernel: Any = None,
    strides: Any = None,
    padding: Any = "SAME",
    *_: object,
    **options: object,
) -> _Sizes:
    sizes = _sizes(options.get("filter", kernel))
    size, channels = sizes[:-2], _product(sizes[-2:])
    return _slide(x, channels, size, _inner(strides, options), padding, options)


def _nn_separable(
    x: Any,
    depthwise: Any,
    pointwise: Any,
    strides: Any,
    padding: Any,
    *_: object,
    **options: object,
) -> _Sizes:
    channels = _sizes(pointwise)[-1]
    size = _sizes(depthwise)[:-2]
    return _slide(x, channels, size, _inner(strides, options), padding, options)


def _nn_atrous(
    x: Any, kernel: Any, rate: Any, padding: Any, *_: object, **options: object
) -> _Sizes:
    strides: Any = 1 if padding == "SAME" else None
    return _slide(x, _sizes(kernel)[-1], None, strides, padding, options)


def _nn_transposed(x: Any, kernel: Any, output_shape: Any, *_: object, **__: object) -> _Sizes:
    if not isinstance(output_shape, (list, tuple)):
        return [None] * len(_sizes(x))
    return [size if isinstance(size, int) else None for size in output_shape]


def _nn_pool(
    x: Any,
    ksize: Any = None,
    strides: Any = None,
    padding: Any = "SAME",
    *_: object,
    **options: object,
) -> _Sizes:
    kernel, steps = _inner(ksize, options), _inner(strides, options)
    return _slide(x, _channels(x, options), kernel, steps, padding, options)


def _nn_embedding(params: Any, ids: Any, *_: object, **__: object) -> _Sizes:
    return [*_sizes(ids), *_sizes(params)[1:]]


def _nn_product(x: Any, weights: Any, *_: object, **__: object) -> _Sizes:
    return [*_sizes(x)[:-1], _sizes(weights)[-1]]


def _slide(
    x: Any, channels: Any, kernel: Any, strides: Any, padding: Any, options: Mapping[str, Any]
) -> _Sizes:
    """Returns the sizes after sliding a window over images, or None if an argument is unknown."""
    sizes = _sizes(x)
    is_first = options.get("data_format") in _CHANNELS_FIRST
    inner = sizes[2:] if is_first else sizes[1:-1]
    kernels, steps = _each(kernel, len(inner)), _each(strides, len(inner))
    is_same = str(padding).lower() == "same"
    dilated = options.get("dilation_rate", options.get("rate", 1)) not in (1, (1, 1), [1, 1])
    if dilated and not is_same:
        kernels = [None] * len(inner)
    outputs = [_slid(*window, is_same) for window in zip(inner, kernels, steps, strict=True)]
    return [sizes[0], channels, *outputs] if is_first else [sizes[0], *outputs, channels]


def _slid(size: int | None, kernel: int | None, stride: int | None, is_same: bool) -> int | None:
    if size is None or stride is None or (kernel is None and not is_same):
        return None
    return -(-(size if is_same else size - (kernel or 1) + 1) // stride)


def _each(value: Any, count: int) -> _Sizes:
    """Returns one size for each image dimension. A single size applies to all of them."""
    if isinstance(value, (list, tuple)):
        return [size if isinstance(size, int) else None for size in value]
    return [value if isinstance(value, int) else None] * count


def _inner(value: Any, options: Mapping[str, Any]) -> Any:
    """Selects the image dimensions from a batch's sizes."""
    if not isinstance(value, (list, tuple)) or len(value) < _SMALLEST_RANK:
        return value
    return value[2:] if options.get("data_format") in _CHANNELS_FIRST else value[1:-1]


def _channels(x: Any, options: Mapping[str, Any]) -> int | None:
    return _sizes(x)[1 if options.get("data_format") in _CHANNELS_FIRST else -1]


def _sizes(value: Any) -> _Sizes:
    return list(static_shape(value).as_list())


def _product(sizes: Sequence[int | None]) -> int | None:
    product = 1
    for size in sizes:
        if size is None:
            return None
        product *= size
    return product


# For a batch of sequences.
_SMALLEST_RANK: Final = 3

_NN_RULES: Final[dict[str, Callable[..., _Sizes]]] = {
    **dict.fromkeys(
        (
            *("batchnormalization", "biasadd", "dropout", "localresponsenormalization", "lrn"),
            "swish",
        ),
        _same,
    ),
    **dict.fromkeys(("conv1d", "conv2d", "conv3d", "convolution"), _nn_conv),
    **dict.fromkeys(("depthwiseconv2d", "depthwiseconv2dnative"), _nn_depthwise),
    **dict.fromkeys(
        ("avgpool", "avgpool2d", "avgpool3d", "maxpool", "maxpool2d", "maxpool3d"), _nn_pool
    ),
    **dict.fromkeys(("conv2dtranspose", "conv3dtranspose"), _nn_transposed),
    **dict.fromkeys(("xwplusb", "relulayer"), _nn_product),
    "atrousconv2d": _nn_atrous,
    "embeddinglookup": _nn_embedding,
    "separableconv2d": _nn_separable,
}

_LAYER_RULES: Final[dict[str, Callable[..., _Sizes]]] = {
    **dict.fromkeys(
        (
            *("activation", "batchnorm", "batchnormalization", "biasadd", "dropout", "groupnorm"),
            *("instancenorm", "layernorm", "layernormalization", "leakyrelu", "prelu", "relu"),
            *("softmax", "unitnorm"),
        ),
        _same,
    ),
    **dict.fromkeys(("dense", "fullyconnected", "linear"), _dense),
    **dict.fromkeys(("conv1d", "conv2d", "conv3d", "separableconv2d"), _conv),
    **dict.fromkeys(("conv2dtranspose", "conv3dtranspose"), _transposed),
    **dict.fromkeys(
        (
            *("averagepooling1d", "averagepooling2d", "averagepooling3d"),
            *("maxpooling1d", "maxpooling2d", "maxpooling3d"),
        ),
        _pool,
    ),
    **dict.fromkeys(("globalaveragepooling2d", "globalmaxpooling2d"), _pool_all),
    **dict.fromkeys(("embedding", "embedsequence"), _embedding),
    "flatten": _flatten,
}

_SCOPED_RULES: Final[dict[str, Callable[..., _Sizes]]] = {
    **_LAYER_RULES,
    **dict.fromkeys(
        ("conv2d", "conv3d", "convolution", "convolution2d", "separableconv2d"), _scoped_conv
    ),
    **dict.fromkeys(("avgpool2d", "avgpool3d", "maxpool2d", "maxpool3d"), _scoped_pool),
}
