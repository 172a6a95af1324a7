"""The features of a TFDS data set, read from `features.json`.

Source: `feature.proto` and the feature classes of TensorFlow Datasets 4.9.
"""

import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, Final, NamedTuple

import numpy as np

from headrace.core.errors import InvalidArgumentError
from headrace.pipeline.values.types import ElementType, Spec

__all__ = ["FeatureSet", "StoredFeature", "features_of"]

# A dimension of unknown size is None.
_Shape = tuple[int | None, ...]
# The maximum number of axes in nested lists; see `Ragged`.
_MOST_AXES: Final = 3
_CONTAINERS: Final = ("FeaturesDict", "Translation")
_SEQUENCES: Final = ("Sequence", "Dataset", "Video", "TranslationVariableLanguages")
_TENSORS: Final = ("Tensor", "Scalar", "ClassLabel", "Text", "BBoxFeature", "BBox", "Audio")
_IMAGES: Final = ("Image", "LabeledImage")


@dataclass(frozen=True)
class StoredFeature:
    """A feature without inner features.

    Attributes:
        path: The names of the enclosing features, followed by the feature's own name.
        dtype: The type of the elements.
        sequences: The length of each enclosing sequence, outermost first. None for a varying
            length.
        inner: The shape within the sequences.
        encoding: "none", "bytes" or "zlib".
        pixels: For an image, the type of its pixels.
        dataset: The path of the nested data set that contains the feature, if any.
        num_classes: For a class label, the number of classes.
        is_optional: Whether an example may lack the feature.
    """

    path: tuple[str, ...]
    dtype: ElementType
    sequences: _Shape = ()
    inner: _Shape = ()
    encoding: str = "none"
    pixels: np.dtype[Any] | None = None
    dataset: tuple[str, ...] | None = None
    num_classes: int | None = None
    is_optional: bool = False

    @property
    def name(self) -> str:
        """The name of the feature's component."""
        return ".".join(self.path)

    @property
    def key(self) -> str:
        """The feature's name in an `Example`."""
        return "/".join(self.path)

    @property
    def is_encoded(self) -> bool:
        """Whether the values are stored as the bytes of an array."""
        return self.encoding != "none"

    @property
    def num_lengths(self) -> int:
        """The number of lists that store the lengths of inner sequences."""
        return max(len(self.sequences) - 1, 0)

    @property
    def has_sizes(self) -> bool:
        """Whether the shape of each array is stored."""
        return self.is_encoded and self.inner.count(None) > 1

    @property
    def default(self) -> Any:
        """The value that TFDS returns if an example lacks the feature, or None if required."""
        if not self.is_optional or self.sequences or None in self.inner:
            return None
        match self.dtype:
            case np.dtype(kind="b"):
                return 0
            case np.dtype(kind="f") as dtype:
                return np.finfo(dtype).min
            case np.dtype() as dtype:
                return np.iinfo(dtype).min
        return b""

    def step(self) -> "StoredFeature":
        """Returns the feature of one step of the nested data set."""
        depth = len(self.dataset or ())
        return replace(self, path=self.path[depth:] or self.path[-1:], sequences=self.sequences[1:])

    def spec(self, is_decoded: bool = False) -> Spec:
        """Returns the spec of the feature's component.

        Args:
            is_decoded: Whether the pixels of images are returned.

        Raises:
            InvalidArgumentError: If components don't support its shape.
        """
        is_pixels = is_decoded and self.pixels is not None
        shape = (*self.sequences, *(self.pixels_shape if is_pixels else self.stored_shape))
        dtype = self.pixels if is_pixels and self.pixels is not None else self.dtype
        if len(self.sequences) > 1:
            return self._nested(dtype, shape, is_pixels)
        if self.sequences and self.is_encoded and None in self.inner:
            raise self._unsupported("a sequence of arrays of different shapes")
        if not self.is_encoded and not is_pixels and shape.count(None) > 1:
            raise self._unsupported("an array with several unknown dimensions")
        is_list = shape == (None,) and not self.is_encoded
        return Spec(dtype, shape, is_ragged=is_list)

    @property
    def stored_shape(self) -> _Shape:
        """The shape of one item before images are decoded."""
        return () if self.pixels is not None else self.inner

    @property
    def pixels_shape(self) -> _Shape:
        """The shape of one image."""
        return self.inner

    def _nested(self, dtype: ElementType, shape: _Shape, is_pixels: bool) -> Spec:
        inner = self.stored_shape
        if is_pixels:
            raise self._unsupported("images in a sequence of sequences, which cannot be decoded")
        if self.is_encoded or None in inner or 0 in inner:
            raise self._unsupported("arrays of unknown size in a sequence of sequences")
        if len(shape) > _MOST_AXES:
            raise self._unsupported(f"a nested list with {len(shape)} axes, more than {_MOST_AXES}")
        return Spec(dtype, (None,) * len(shape), is_ragged=True)

    def _unsupported(self, what: str) -> InvalidArgumentError:
        remedy = "" if self.dataset is None else ", or read one step at a time with steps=True"
        return InvalidArgumentError(
            None,
            None,
            f"tfds: the feature {self.name!r} is {what}, which is not supported. Read the files "
            f"with tfrecords and parse the other features{remedy}.",
        )


class FeatureSet(NamedTuple):
    """The features of a data set.

    Attributes:
        features: The features without inner features, in order.
        datasets: The paths of nested data sets, such as the steps of an episode.
    """

    features: tuple[StoredFeature, ...]
    datasets: tuple[tuple[str, ...], ...]


def features_of(where: str, content: Any) -> FeatureSet:
    """Returns the features that `features.json` describes.

    Args:
        where: The path of that file, for messages.
        content: The contents of the file.

    Raises:
        InvalidArgumentError: If the contents are invalid, or contain an unsupported feature.
    """
    reader = _Reader(where)
    try:
        features = tuple(reader.leaves(content, (), (), None))
    except (KeyError, TypeError, ValueError, AttributeError) as error:
        raise InvalidArgumentError(
            None,
            None,
            f"{where}: the features are not as TFDS writes them ({error!r}). Prepare the data set "
            "again.",
        ) from error
    datasets = dict.fromkeys(f.dataset for f in features if f.dataset is not None)
    return FeatureSet(features, tuple(datasets))


class _Reader:
    """Reads the description of features."""

    def __init__(self, where: str) -> None:
        self._where = where

    def leaves(
        self,
        node: Mapping[str, Any],
        path: tuple[str, ...],
        sequences: _Shape,
        dataset: tuple[str, ...] | None,
    ) -> Iterator[StoredFeature]:
        """Yields the features in a description that have no inner features.

        Args:
            node: The description.
            path: The names of the enclosing features.
            sequences: The lengths of the sequences around it.
            dataset: The path of the nested data set around it, if any.
        """
        kind, content = _class_and_content(node)
        if kind in _CONTAINERS:
            for name, inner in _members(kind, content):
                yield from self.leaves(inner, (*path, name), sequences, dataset)
        elif not path:
            raise self._unsupported(path, f"a {kind} at the top", "Expected a FeaturesDict.")
        elif kind in _SEQUENCES:
            inner, length = _items(kind, content)
            if kind == "Dataset" and not sequences and dataset is None:
                dataset = path
            yield from self.leaves(inner, path, (*sequences, length), dataset)
        elif kind in _IMAGES:
            shape = _shape(content, (None, None, 3))
            pixels = np.dtype(content.get("dtype") or "uint8")
            if pixels.name not in ("uint8", "uint16", "float32") or shape[-1] == 2:
                raise self._unsupported(path, f"an image of {pixels.name} with shape {shape}")
            yield StoredFeature(path, bytes, sequences, shape, pixels=pixels, dataset=dataset)
        elif kind in _TENSORS:
            yield self._tensor(kind, content, path, sequences, dataset)
        else:
            raise self._unsupported(path, f"a {kind}")

    def _tensor(
        self,
        kind: str,
        content: Mapping[str, Any],
        path: tuple[str, ...],
        sequences: _Shape,
        dataset: tuple[str, ...] | None,
    ) -> StoredFeature:
        feature = StoredFeature(path, bytes, sequences, dataset=dataset)
        match kind:
            case "ClassLabel":
                count = content.get("numClasses", content.get("num_classes"))
                number = None if count is None else int(count)
                return replace(feature, dtype=np.dtype(np.int64), num_classes=number)
            case "Text":
                if "use_encoder" in content:
                    raise self._unsupported(path, "a text encoded as integers by an old TFDS")
                return replace(feature, is_optional=bool(content.get("optional")))
            case "BBoxFeature" | "BBox":
                return replace(feature, dtype=np.dtype(np.float32), inner=(4,))
        is_audio = kind == "Audio"
        if is_audio and content.get("lazyDecode", content.get("lazy_decode")):
            # The bytes of the sound file.
            return feature
        return replace(
            feature,
            dtype=self._dtype(path, content.get("dtype") or ("int64" if is_audio else "")),
            inner=_shape(content, (None,) if is_audio else ()),
            encoding=str(content.get("encoding") or "none").lower(),
            is_optional=bool(content.get("optional")),
        )

    def _dtype(self, path: tuple[str, ...], name: str) -> ElementType:
        if name in ("string", "object", "str"):
            return bytes
        try:
            dtype = np.dtype(name)
        except TypeError:
            dtype = None
        if dtype is None or dtype.kind not in "biuf" or dtype.itemsize > 8:
            raise self._unsupported(path, f"a tensor of {name}")
        return dtype

    def _unsupported(
        self, path: tuple[str, ...], what: str, remedy: str = ""
    ) -> InvalidArgumentError:
        remedy = remedy or "Read the files with tfrecords and parse the other features."
        return InvalidArgumentError(
            None,
            None,
            f"{self._where}: the feature {'.'.join(path)!r} is {what}, which is not supported. "
            f"{remedy}",
        )


def _class_and_content(node: Mapping[str, Any]) -> tuple[str, Mapping[str, Any]]:
    """Returns the name of a feature's class, and the feature's description.

    Older versions of TFDS write `type` and `content` instead of a message.
    """
    if "type" in node:
        content = node["content"]
        content = json.loads(content) if isinstance(content, str) else content
        return str(node["type"]).rpartition(".")[2], content
    kind = str(node["pythonClassName"]).rpartition(".")[2]
    others = ("pythonClassName", "description", "valueRange")
    message: Any = next((value for name, value in node.items() if name not in others), {})
    return kind, json.loads(message["json"]) if "json" in message else message


def _members(kind: str, content: Mapping[str, Any]) -> Iterator[tuple[str, Mapping[str, Any]]]:
    """Yields the features in a container."""
    if kind == "Translation":
        for language in sorted(content["languages"]):
            yield language, {"pythonClassName": "Text", "text": {}}
        return
    features = content.get("features", content)
    # A feature of an old description may itself be named "features".
    yield from (content if "type" in features else features).items()


def _items(kind: str, content: Mapping[str, Any]) -> tuple[Mapping[str, Any], int | None]:
    """Returns the feature in a sequence, and the sequence's length; None if it varies."""
    if kind == "TranslationVariableLanguages":
        text = {"pythonClassName": "Text", "text": {}}
        pair = {"features": {"language": text, "translation": text}}
        return {"pythonClassName": "FeaturesDict", "featuresDict": pair}, None
    if kind == "Video":
        shape = _shape(content, (None, None, None, 3))
        image = {**content, "shape": list(shape[1:])}
        return {"pythonClassName": "Image", "image": image}, shape[0]
    # A message omits the length if it is 0. -1 means that the length varies.
    length = content.get("length", 0)
    varies = length is None or int(length) == -1
    return content["feature"], None if varies else int(length)


def _shape(content: Mapping[str, Any], default: _Shape) -> _Shape:
    shape = content.get("shape")
    if isinstance(shape, Mapping):
        shape = shape.get("dimensions", ())
    if shape is None or (not shape and default != ()):
        return default
    sizes: Sequence[Any] = shape
    return tuple(None if size is None or int(size) < 0 else int(size) for size in sizes)
