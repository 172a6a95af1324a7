"""Writes data sets in the layout of TensorFlow Datasets, which need not be installed.

A feature is a dict, as in `features.json`. An example is a nested dict of values. The value of a
sequence is a list of items, and the value of an encoded image is its bytes.

Source: `example_serializer.py`, `features/*.py` and `naming.py` of TensorFlow Datasets 4.9.
"""

import json
import zlib
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from headrace.io.records import TFRecordWriter
from headrace.protos import Example

__all__ = [
    "dataset",
    "features_dict",
    "image",
    "label",
    "sequence",
    "serialized",
    "tensor",
    "text",
    "write_data_set",
]

_PREFIX = "tensorflow_datasets.core.features."


def _node(module: str, kind: str, field: str, content: Any, **more: Any) -> dict[str, Any]:
    return {"pythonClassName": f"{_PREFIX}{module}.{kind}", field: content, **more}


def _shape(shape: Sequence[int | None]) -> dict[str, Any]:
    sizes = [str(-1 if size is None else size) for size in shape]
    return {"dimensions": sizes} if sizes else {}


def features_dict(features: Mapping[str, Any]) -> dict[str, Any]:
    """Features with names."""
    return _node("features_dict", "FeaturesDict", "featuresDict", {"features": dict(features)})


def tensor(
    dtype: str, shape: Sequence[int | None] = (), encoding: str = "none", **more: Any
) -> dict[str, Any]:
    """An array."""
    content = {"shape": _shape(shape), "dtype": dtype, "encoding": encoding, **more}
    return _node("tensor_feature", "Tensor", "tensor", content)


def text() -> dict[str, Any]:
    """A text."""
    return _node("text_feature", "Text", "text", {})


def label(num_classes: int) -> dict[str, Any]:
    """A class label."""
    return _node(
        "class_label_feature", "ClassLabel", "classLabel", {"numClasses": str(num_classes)}
    )


def image(shape: Sequence[int | None] = (None, None, 3), dtype: str = "uint8") -> dict[str, Any]:
    """An image."""
    content = {"shape": _shape(shape), "dtype": dtype, "encodingFormat": "png"}
    return _node("image_feature", "Image", "image", content)


def sequence(feature: Mapping[str, Any], length: int | None = None) -> dict[str, Any]:
    """A list of items."""
    content = {"feature": dict(feature), "length": str(-1 if length is None else length)}
    return _node("sequence_feature", "Sequence", "sequence", content)


def dataset(feature: Mapping[str, Any]) -> dict[str, Any]:
    """The steps of an episode."""
    content = {"feature": dict(feature), "length": "-1"}
    return _node("dataset_feature", "Dataset", "sequence", content)


def write_data_set(
    directory: Path,
    features: Mapping[str, Any],
    splits: Mapping[str, Sequence[Sequence[Mapping[str, Any]]]],
    name: str = "toy",
    **info: Any,
) -> Path:
    """Writes a data set, and returns its directory.

    Args:
        directory: The directory to write.
        features: The features, by name.
        splits: For each split, the examples of each file.
        name: The name of the data set.
        info: More entries of `dataset_info.json`.
    """
    directory.mkdir(parents=True, exist_ok=True)
    node = features_dict(features)
    (directory / "features.json").write_text(json.dumps(node, indent=4, sort_keys=True))
    described = []
    for split, shards in splits.items():
        lengths = [str(len(examples)) for examples in shards]
        described.append({"name": split, "shardLengths": lengths, "numBytes": "0"})
        for index, examples in enumerate(shards):
            path = directory / f"{name}-{split}.tfrecord-{index:05}-of-{len(shards):05}"
            with TFRecordWriter(path) as writer:
                for example in examples:
                    writer.write(serialized(features, example))
    content = {"name": name, "version": "1.0.0", "splits": described, **info}
    (directory / "dataset_info.json").write_text(json.dumps(content))
    return directory


def serialized(features: Mapping[str, Any], example: Mapping[str, Any]) -> bytes:
    """Returns an `Example` as TFDS writes it."""
    message = Example()
    for key, values in _lists(features_dict(features), example, "", 0):
        feature = message.features.feature[key]
        if values.dtype == object:
            feature.bytes_list.value.extend(values.tolist())
        elif values.dtype.kind == "f":
            feature.float_list.value.extend(values.astype(np.float32).tolist())
        else:
            feature.int64_list.value.extend(values.astype(np.int64).tolist())
    return message.SerializeToString()


def _lists(node: Any, value: Any, key: str, depth: int) -> Iterator[tuple[str, Any]]:
    """Yields the lists that store a value below `depth` sequences."""
    kind = node["pythonClassName"].rpartition(".")[2]
    if kind == "FeaturesDict":
        for name, inner in node["featuresDict"]["features"].items():
            # A sequence of dicts is stored as one list for each name.
            part = _map(lambda item, name=name: item[name], value, depth)
            yield from _lists(inner, part, f"{key}/{name}" if key else name, depth)
    elif kind in ("Sequence", "Dataset"):
        yield from _lists(node["sequence"]["feature"], value, key, depth + 1)
    else:
        yield from _leaf(kind, node, value, key, depth)


def _map(function: Any, value: Any, depth: int) -> Any:
    return [_map(function, item, depth - 1) for item in value] if depth else function(value)


def _leaf(kind: str, node: Any, value: Any, key: str, depth: int) -> Iterator[tuple[str, Any]]:
    items, lengths = [value], []
    for _ in range(depth):
        lengths.append(np.array([len(item) for item in items], np.int64))
        items = [inner for item in items for inner in item]
    content = node.get("tensor", {})
    dtype = content.get("dtype", "string")
    if kind == "ClassLabel":
        dtype = "int64"
    encoding = content.get("encoding", "none")
    dims = content.get("shape", {}).get("dimensions", [])
    if encoding != "none":
        arrays = [np.asarray(item, dtype) for item in items]
        raw = [array.tobytes() for array in arrays]
        packed = [zlib.compress(one) for one in raw] if encoding == "zlib" else raw
        if dims.count("-1") > 1:
            sizes = [size for array in arrays for size in array.shape]
            yield f"{key}/shape", np.array(sizes, np.int64)
            key = f"{key}/value"
        yield key, _strings(packed)
        return
    if dtype == "string":
        texts = [item.encode() if isinstance(item, str) else item for item in items]
        flat = _strings([one for item in texts for one in ([item] if not dims else item)])
    else:
        parts = [np.asarray(item, dtype).ravel() for item in items]
        flat = np.concatenate(parts) if parts else np.zeros(0, dtype)
        flat = flat.view(np.int64) if dtype == "uint64" else flat
    if depth < 2:
        yield key, flat
        return
    yield f"{key}/ragged_flat_values", flat
    for number, inner in enumerate(lengths[1:]):
        yield f"{key}/ragged_row_lengths_{number}", inner


def _strings(values: Sequence[bytes]) -> Any:
    array = np.empty(len(values), object)
    array[:] = values
    return array
