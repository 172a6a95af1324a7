"""Names from before TensorFlow 1.0 that 1.15 no longer has, with the old arguments.

With `tf.compat.install(before_1_0=True)`, they take precedence over the names of 1.15.

Source: TensorFlow 0.12.
"""

import threading
from collections.abc import Mapping, Sequence
from typing import Any, Final

import numpy as np

from headrace.core import dtypes
from headrace.graph import GraphKeys, Operation, Tensor, TensorLike
from headrace.tf1 import ops
from headrace.tf1.adapters import array, nn, records
from headrace.tf1.adapters import image as images
from headrace.tf1.adapters.math import matmul
from headrace.tf1.events import FileWriter
from headrace.tf1.ops.summary.histogram import histogram
from headrace.tf1.ops.summary.image import image
from headrace.tf1.ops.summary.merge import merge, merge_all
from headrace.tf1.ops.summary.scalar import scalar

__all__ = [
    "OVERLAYS",
    "SparseTensor",
    "batch_matmul",
    "concat",
    "histogram_summary",
    "image_summary",
    "initialize_all_variables",
    "merge_all_summaries",
    "merge_summary",
    "pack",
    "parse_example",
    "parse_single_example",
    "resize_images",
    "reverse",
    "scalar_summary",
    "select",
    "sigmoid_cross_entropy_with_logits",
    "softmax_cross_entropy_with_logits",
    "sparse_softmax_cross_entropy_with_logits",
    "sparse_split",
    "split",
    "unpack",
]


def pack(values: TensorLike, axis: int = 0, name: str = "pack") -> Tensor:
    """Stacks tensors. This is the old name of `stack`."""
    return ops.stack(values, axis, name)


def unpack(
    value: TensorLike, num: int | None = None, axis: int = 0, name: str = "unpack"
) -> list[Tensor]:
    """Splits a tensor into slices. This is the old name of `unstack`."""
    return ops.unstack(value, num, axis, name)


def concat(concat_dim: Any, values: Any, name: str = "concat") -> Tensor:
    """Concatenates tensors. The axis is the first argument, but the new order also works."""
    if isinstance(concat_dim, (list, tuple)):
        concat_dim, values = values, concat_dim
    if isinstance(concat_dim, (int, np.integer)) and isinstance(values, (list, tuple)):
        return array.concat(concat_dim, values, name)
    return ops.concat(values, concat_dim, name)


def split(split_dim: int, num_split: int, value: TensorLike, name: str = "split") -> list[Tensor]:
    """Splits a tensor into equal parts along an axis, which is the first argument."""
    return ops.split(value, num_split, split_dim, name=name)


def sparse_split(
    split_dim: int, num_split: int, sp_input: ops.SparseTensor, name: str | None = None
) -> list[ops.SparseTensor]:
    """Splits a sparse tensor along an axis, which is the first argument."""
    return ops.sparse_split(sp_input, num_split, split_dim, name)


def reverse(tensor: TensorLike, dims: Any, name: str | None = None) -> Tensor:
    """Reverses the axes for which `dims` is True. Axis numbers also work."""
    flags = ops.convert_to_tensor(dims)
    if flags.dtype != dtypes.bool:
        return ops.reverse(tensor, flags, name)
    return ops.reverse(tensor, ops.reshape(ops.where(flags), [-1]), name)


def select(condition: TensorLike, t: TensorLike, e: TensorLike, name: str | None = None) -> Tensor:
    """Selects elements by a condition. The old name of `where` with three arguments."""
    return ops.where(condition, t, e, name)


def batch_matmul(
    x: TensorLike, y: TensorLike, adj_x: bool = False, adj_y: bool = False, name: str | None = None
) -> Tensor:
    """Multiplies batches of matrices. The old name of `matmul` for batches."""
    return matmul(x, y, adjoint_a=bool(adj_x), adjoint_b=bool(adj_y), name=name)


def scalar_summary(
    tags: Any, values: TensorLike, collections: Sequence[str] | None = None, name: object = None
) -> Tensor:
    """Adds a scalar summary. The old name of `summary.scalar`. Several tags require a vector."""
    if isinstance(tags, (str, bytes)):
        return scalar(_text(tags), values, collections)
    numbers = ops.unstack(values, len(tags))
    each = [scalar(_text(tag), v, []) for tag, v in zip(tags, numbers, strict=True)]
    return merge(each, [GraphKeys.SUMMARIES] if collections is None else collections)


def histogram_summary(
    tag: str | bytes,
    values: TensorLike,
    collections: Sequence[str] | None = None,
    name: object = None,
) -> Tensor:
    """Adds a histogram summary. The old name of `summary.histogram`."""
    return histogram(_text(tag), values, collections)


def image_summary(
    tag: str | bytes,
    tensor: TensorLike,
    max_images: int = 3,
    collections: Sequence[str] | None = None,
    name: object = None,
) -> Tensor:
    """Adds an image summary. The old name of `summary.image`."""
    return image(_text(tag), tensor, max_images, collections)


def initialize_all_variables() -> Operation:
    """Adds an initializer of global and local variables.

    Until TensorFlow 0.7, all variables were global, including the epoch counters of `num_epochs`,
    and this was the only initializer that programs ran.
    """
    return ops.variables_initializer([*ops.global_variables(), *ops.local_variables()])


def merge_summary(
    inputs: Sequence[Tensor], collections: Sequence[str] | None = None, name: str | None = None
) -> Tensor:
    """Merges summaries. The old name of `summary.merge`."""
    return merge(inputs, collections, name)


def merge_all_summaries(key: str = GraphKeys.SUMMARIES) -> Tensor | None:
    """Merges all summaries. The old name of `summary.merge_all`."""
    return merge_all(key)


def resize_images(images_: TensorLike, *args: Any, **kwargs: Any) -> Tensor:
    """Calls `image.resize_images`. The new height and width may be passed as two arguments."""
    if len(args) > 1 and all(isinstance(arg, (int, np.integer)) for arg in args[:2]):
        args = (list(args[:2]), *args[2:])
    elif "new_height" in kwargs:
        kwargs["size"] = [kwargs.pop("new_height"), kwargs.pop("new_width")]
    return images.resize_images(images_, *args, **kwargs)


def parse_example(serialized: TensorLike, *args: Any, **kwargs: Any) -> dict[str, Any]:
    """Calls `parse_example`. Keys, types and shapes may be lists, as before 0.7."""
    return _parse(records.parse_example, serialized, *args, **kwargs)


def parse_single_example(serialized: TensorLike, *args: Any, **kwargs: Any) -> dict[str, Any]:
    """Calls `parse_single_example`. Keys, types and shapes may be lists, as before 0.7."""
    return _parse(records.parse_single_example, serialized, *args, **kwargs)


def _parse(parse: Any, serialized: TensorLike, *args: Any, **kwargs: Any) -> dict[str, Any]:
    if not kwargs.keys() & {"dense_keys", "sparse_keys"}:
        features_found: dict[str, Any] = parse(serialized, *args, **kwargs)
        return features_found
    sparse = zip(kwargs.pop("sparse_keys", []), kwargs.pop("sparse_types", []), strict=True)
    features: dict[str, Any] = {key: ops.VarLenFeature(dtype) for key, dtype in sparse}
    keys, types = kwargs.pop("dense_keys", []), kwargs.pop("dense_types", [])
    shapes = kwargs.pop("dense_shapes", None) or [[]] * len(keys)
    defaults = kwargs.pop("dense_defaults", None) or {}
    for key, dtype, shape in zip(keys, types, shapes, strict=True):
        features[key] = ops.FixedLenFeature(shape, dtype, defaults.get(key))
    return _parse(parse, serialized, features, kwargs.pop("name", None), kwargs.pop("names", None))


class _AnySparseTensor(type):
    """A metaclass that treats every sparse tensor as an instance of the old class."""

    def __instancecheck__(cls, instance: object) -> bool:
        return isinstance(instance, ops.SparseTensor)


class SparseTensor(ops.SparseTensor, metaclass=_AnySparseTensor):
    """A sparse tensor whose third argument is named `shape`."""

    def __init__(self, indices: TensorLike, values: TensorLike, shape: TensorLike) -> None:
        super().__init__(indices, values, shape)


def _text(tag: str | bytes) -> str:
    return tag.decode() if isinstance(tag, bytes) else tag


# The old names in each TensorFlow module, by the module's name after `tf.`.
def softmax_cross_entropy_with_logits(
    logits: TensorLike, labels: TensorLike, dim: int = -1, name: str | None = None
) -> Tensor:
    """Returns the cross entropy of the softmax. The logits come first."""
    return nn.softmax_cross_entropy_with_logits(labels=labels, logits=logits, dim=dim, name=name)


def sparse_softmax_cross_entropy_with_logits(
    logits: TensorLike, labels: TensorLike, name: str | None = None
) -> Tensor:
    """Returns the cross entropy of the softmax, given class numbers. The logits come first."""
    return nn.sparse_softmax_cross_entropy_with_logits(labels=labels, logits=logits, name=name)


def sigmoid_cross_entropy_with_logits(
    logits: TensorLike, targets: TensorLike, name: str | None = None
) -> Tensor:
    """Returns the cross entropy of the sigmoid. The logits come first."""
    return nn.sigmoid_cross_entropy_with_logits(labels=targets, logits=logits, name=name)


OVERLAYS: Final[Mapping[str, Mapping[str, Any]]] = {
    "": {
        "SparseTensor": SparseTensor,
        "batch_matmul": batch_matmul,
        "complex_abs": ops.abs,
        "concat": concat,
        "concat_v2": ops.concat,
        "histogram_summary": histogram_summary,
        "image_summary": image_summary,
        "initialize_all_variables": initialize_all_variables,
        "inv": ops.reciprocal,
        "listdiff": ops.setdiff1d,
        "merge_all_summaries": merge_all_summaries,
        "merge_summary": merge_summary,
        "mul": ops.multiply,
        "neg": ops.negative,
        "pack": pack,
        "parse_example": parse_example,
        "parse_single_example": parse_single_example,
        "reverse": reverse,
        "scalar_summary": scalar_summary,
        "select": select,
        "sparse_split": sparse_split,
        "split": split,
        "sub": ops.subtract,
        "unpack": unpack,
    },
    "nn": {
        "sigmoid_cross_entropy_with_logits": sigmoid_cross_entropy_with_logits,
        "softmax_cross_entropy_with_logits": softmax_cross_entropy_with_logits,
        "sparse_softmax_cross_entropy_with_logits": sparse_softmax_cross_entropy_with_logits,
    },
    "image": {
        "per_image_whitening": ops.per_image_standardization,
        "random_crop": ops.random_crop,
        "resize_images": resize_images,
    },
    # TensorFlow exposed this module, and programs import `threading` from it.
    "train": {"SummaryWriter": FileWriter, "threading": threading},
}
