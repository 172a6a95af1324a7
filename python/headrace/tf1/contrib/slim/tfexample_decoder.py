"""`slim.tfexample_decoder`: decodes items from `tf.train.Example` records.

Source: `tf.contrib.slim.tfexample_decoder` in TensorFlow 1.15.
"""

from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Any

from headrace.core import dtypes
from headrace.core.dtypes import DTypeLike
from headrace.ops.records.features import FixedLenFeature
from headrace.ops.sparse.tensor import SparseTensor as _Sparse
from headrace.tf1 import ops
from headrace.tf1.adapters.control import cond
from headrace.tf1.adapters.image import decode_image
from headrace.tf1.adapters.records import decode_raw, parse_single_example
from headrace.tf1.contrib.slim.data_decoder import DataDecoder
from headrace.tf1.namespace import namespace
from headrace.tf1.ops.lookup import LookupInterface
from headrace.tf1.ops.sparse.to_dense import sparse_tensor_to_dense

__all__ = [
    "BackupHandler",
    "BoundingBox",
    "Image",
    "ItemHandler",
    "ItemHandlerCallback",
    "LookupTensor",
    "SparseTensor",
    "TFExampleDecoder",
    "Tensor",
]


class ItemHandler(ABC):
    """The base class of handlers, which convert features to an item.

    Args:
        keys: The name of a feature, or a list of names.
    """

    def __init__(self, keys: str | Sequence[str]) -> None:
        self._keys = [keys] if isinstance(keys, str) else list(keys)

    @property
    def keys(self) -> list[str]:
        """The names of the features."""
        return list(self._keys)

    @abstractmethod
    def tensors_to_item(self, keys_to_tensors: Mapping[str, Any]) -> Any:
        """Returns the item.

        Args:
            keys_to_tensors: The tensors of the features.
        """


class ItemHandlerCallback(ItemHandler):
    """A handler that calls a function.

    Args:
        keys: Names of features.
        func: A function that accepts a dict of the tensors and returns the item.
    """

    def __init__(self, keys: str | Sequence[str], func: Callable[[Mapping[str, Any]], Any]) -> None:
        super().__init__(keys)
        self._func = func

    def tensors_to_item(self, keys_to_tensors: Mapping[str, Any]) -> Any:
        """Returns the function's result."""
        return self._func(keys_to_tensors)


class BoundingBox(ItemHandler):
    """A handler for bounding boxes, with one feature per side.

    Args:
        keys: The names of the sides. Defaults to "ymin", "xmin", "ymax" and "xmax".
        prefix: The text before each name.

    Raises:
        ValueError: If the number of keys is not four.
    """

    def __init__(self, keys: Sequence[str] | None = None, prefix: str = "") -> None:
        sides = list(keys) if keys is not None else ["ymin", "xmin", "ymax", "xmax"]
        if len(sides) != 4:
            raise ValueError(f"BoundingBox expects 4 keys but got {len(sides)}")
        super().__init__([f"{prefix}{side}" for side in sides])

    def tensors_to_item(self, keys_to_tensors: Mapping[str, Any]) -> Any:
        """Returns float32 boxes, (n, 4), with the sides in the order of the keys."""
        sides = [keys_to_tensors[key] for key in self._keys]
        values = [side.values if isinstance(side, _Sparse) else side for side in sides]
        return ops.transpose(ops.stack(values))


class Tensor(ItemHandler):
    """A handler for a feature that becomes a dense tensor.

    Args:
        tensor_key: Name of the feature.
        shape_keys: The names of the features that contain the shape.
        shape: The shape.
        default_value: The value of missing elements of a sparse feature.

    Raises:
        ValueError: If both `shape_keys` and `shape` are given.
    """

    def __init__(
        self,
        tensor_key: str,
        shape_keys: str | Sequence[str] | None = None,
        shape: Sequence[int] | None = None,
        default_value: Any = 0,
    ) -> None:
        if shape_keys and shape is not None:
            raise ValueError("Cannot specify both shape_keys and shape parameters.")
        self._shape_keys: list[str] = (
            [shape_keys] if isinstance(shape_keys, str) else list(shape_keys or [])
        )
        super().__init__([tensor_key, *self._shape_keys])
        self._tensor_key = tensor_key
        self._shape = shape
        self._default_value = default_value

    def tensors_to_item(self, keys_to_tensors: Mapping[str, Any]) -> Any:
        """Returns the tensor."""
        tensor = _dense(keys_to_tensors[self._tensor_key], self._default_value)
        shape: Any = self._shape
        if self._shape_keys:
            sizes = [_dense(keys_to_tensors[key], 0) for key in self._shape_keys]
            shape = ops.reshape(ops.stack(sizes), [-1])
        return tensor if shape is None else ops.reshape(tensor, shape)


class LookupTensor(Tensor):
    """A handler that looks up a feature's values in a table.

    Args:
        tensor_key: See `Tensor`.
        table: The table, from `tf.contrib.lookup`.
        shape_keys: See `Tensor`.
        shape: See `Tensor`.
        default_value: The value of missing elements of a sparse feature, which is also looked up.
    """

    def __init__(
        self,
        tensor_key: str,
        table: LookupInterface,
        shape_keys: str | Sequence[str] | None = None,
        shape: Sequence[int] | None = None,
        default_value: Any = "",
    ) -> None:
        super().__init__(tensor_key, shape_keys, shape, default_value)
        self._table = table

    def tensors_to_item(self, keys_to_tensors: Mapping[str, Any]) -> Any:
        """Returns the values from the table."""
        return self._table.lookup(super().tensors_to_item(keys_to_tensors))


class BackupHandler(ItemHandler):
    """A handler that uses another handler, or a backup handler if the item is empty.

    Args:
        handler: The first handler.
        backup: The backup handler.

    Raises:
        ValueError: If an argument is not a handler.
    """

    def __init__(self, handler: ItemHandler, backup: ItemHandler) -> None:
        for what, each in (("Primary", handler), ("Backup", backup)):
            if not isinstance(each, ItemHandler):
                raise ValueError(f"{what} handler is of type {type(each)} instead of ItemHandler")
        self._handler, self._backup = handler, backup
        super().__init__([*handler.keys, *backup.keys])

    def tensors_to_item(self, keys_to_tensors: Mapping[str, Any]) -> Any:
        """Returns the item. The items of both handlers must have the same type."""
        item = self._handler.tensors_to_item(keys_to_tensors)
        return cond(
            ops.equal(ops.reduce_prod(ops.shape(item)), 0),
            lambda: self._backup.tensors_to_item(keys_to_tensors),
            lambda: item,
        )


class SparseTensor(ItemHandler):
    """A handler for a sparse tensor from two features.

    Args:
        indices_key: Name of the feature that contains the indices. Defaults to "indices".
        values_key: Name of the feature that contains the values. Defaults to "values".
        shape: The shape.
        densify: Whether the item is converted to a dense tensor.
        default_value: The value of missing elements in a dense tensor.
    """

    def __init__(
        self,
        indices_key: str | None = None,
        values_key: str | None = None,
        shape: Sequence[int] | None = None,
        densify: bool = False,
        default_value: Any = 0,
    ) -> None:
        super().__init__([indices_key or "indices", values_key or "values"])
        self._shape = shape
        self._densify = densify
        self._default_value = default_value

    def tensors_to_item(self, keys_to_tensors: Mapping[str, Any]) -> Any:
        """Returns the tensor."""
        indices, values = (keys_to_tensors[key] for key in self._keys)
        indices = ops.expand_dims(indices.values, 1)
        shape: Any = self._shape
        if shape is None:
            shape = values.dense_shape
        indices = ops.cast(indices, dtypes.int64)
        tensor = _Sparse(indices, values.values, ops.cast(shape, dtypes.int64))
        return sparse_tensor_to_dense(tensor, self._default_value) if self._densify else tensor


class Image(ItemHandler):
    """A handler that decodes an image.

    Args:
        image_key: The name of the feature with the image bytes. Defaults to "image/encoded".
        format_key: The name of the feature with the format. Defaults to "image/format". If the
            format is "raw" or "RAW", the image is not decoded.
        shape: The shape of the image, required for "raw".
        channels: The number of channels.
        dtype: The type of the image.
        repeated: Must be False.
        dct_method: See `tf.image.decode_jpeg`.

    Raises:
        ValueError: If `repeated` is True.
    """

    def __init__(
        self,
        image_key: str | None = None,
        format_key: str | None = None,
        shape: Sequence[int] | None = None,
        channels: int = 3,
        dtype: DTypeLike = dtypes.uint8,
        repeated: bool = False,
        dct_method: str = "",
    ) -> None:
        if repeated:
            raise ValueError(
                "tfexample_decoder.Image: repeated=True is not supported. Decode each image "
                "with an ItemHandlerCallback."
            )
        self._image_key = image_key or "image/encoded"
        self._format_key = format_key or "image/format"
        super().__init__([self._image_key, self._format_key])
        self._shape = shape
        self._channels = channels
        self._dtype = dtypes.as_dtype(dtype)
        self._dct_method = dct_method

    def tensors_to_item(self, keys_to_tensors: Mapping[str, Any]) -> Any:
        """Returns the image, (height, width, channels)."""
        content = keys_to_tensors[self._image_key]
        if self._shape is None:
            return self._decoded(content)
        shape: Any = list(self._shape)
        form = keys_to_tensors[self._format_key]
        return cond(
            ops.logical_or(ops.equal(form, "raw"), ops.equal(form, "RAW")),
            lambda: ops.reshape(decode_raw(content, self._dtype), shape),
            lambda: ops.reshape(self._decoded(content), shape),
        )

    def _decoded(self, content: Any) -> Any:
        if self._dtype == dtypes.uint8:
            # This operation decodes all formats, not only JPEG.
            image = ops.decode_jpeg(content, self._channels, dct_method=self._dct_method)
        else:
            image = decode_image(content, self._channels, self._dtype)
        image.set_shape([None, None, self._channels or None])
        return image


class TFExampleDecoder(DataDecoder):
    """Decodes `tf.train.Example` records to items.

    Args:
        keys_to_features: The features, as for `tf.parse_single_example`.
        items_to_handlers: The handler of each item.
    """

    def __init__(
        self, keys_to_features: Mapping[str, Any], items_to_handlers: Mapping[str, ItemHandler]
    ) -> None:
        self._keys_to_features = dict(keys_to_features)
        self._items_to_handlers = dict(items_to_handlers)

    def list_items(self) -> list[str]:
        """Returns the names of the items."""
        return list(self._items_to_handlers)

    def decode(self, serialized_example: Any, items: Sequence[str] | None = None) -> list[Any]:
        """Returns the items of a record.

        Args:
            serialized_example: The record, a string scalar.
            items: Names of the items. Defaults to all items.
        """
        example = parse_single_example(serialized_example, self._keys_to_features)
        for key in sorted(self._keys_to_features):
            feature = self._keys_to_features[key]
            if isinstance(feature, FixedLenFeature):
                shape: Any = feature.shape
                example[key] = ops.reshape(example[key], shape)
        handlers = [self._items_to_handlers[item] for item in items or self.list_items()]
        return [
            handler.tensors_to_item({key: example[key] for key in handler.keys})
            for handler in handlers
        ]


def _dense(tensor: Any, default_value: Any) -> Any:
    if not isinstance(tensor, _Sparse):
        return tensor
    if tensor.dtype == dtypes.string and not isinstance(default_value, (str, bytes)):
        default_value = ""
    return sparse_tensor_to_dense(tensor, default_value)


if not TYPE_CHECKING:  # Hidden from mypy, so that mypy still reports unknown names.
    __getattr__, __dir__ = namespace(__name__, __all__)
