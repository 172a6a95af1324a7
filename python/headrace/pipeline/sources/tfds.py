"""`tfds`: examples of TFDS and RLDS data sets."""

import json
import os
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any, ClassVar, Final, cast

import numpy as np
import numpy.typing as npt

from headrace.core import engine
from headrace.core.errors import InvalidArgumentError, NotFoundError
from headrace.io import storage
from headrace.pipeline.sources.class_folder import folder_path
from headrace.pipeline.sources.file_source import InferredSource, SourcePlan
from headrace.pipeline.sources.tfds_features import FeatureSet, StoredFeature, features_of
from headrace.pipeline.sources.tfds_splits import SelectedShard, select, splits_of
from headrace.pipeline.stages.split import RecordPart
from headrace.pipeline.stages.stage import Effect, Planning, Stage, Step, named
from headrace.pipeline.values.types import Spec, Specs, engine_code

__all__ = ["SplitSlice", "Steps", "Tfds", "tfds"]

_INFO: Final = "dataset_info.json"
_FEATURES: Final = "features.json"
_EPISODE: Final = "episode_id"


@dataclass(frozen=True)
class _Layout:
    """The components of an example or a step, and how the records store them.

    Attributes:
        features: The stored features, in order.
        names: The name of each component.
        decoded: The names of the images to decode.
        dataset: The path of the nested data set whose elements become examples, if any.
    """

    features: tuple[StoredFeature, ...]
    names: tuple[str, ...]
    decoded: frozenset[str]
    dataset: tuple[str, ...] | None

    def is_of_steps(self, feature: StoredFeature) -> bool:
        """Returns whether a feature has a value for each step."""
        return self.dataset is not None and feature.dataset == self.dataset

    def specs(self) -> Specs:
        """Returns the components.

        Raises:
            InvalidArgumentError: If components don't support a feature.
        """
        specs = {
            name: (feature.step() if self.is_of_steps(feature) else feature).spec(
                name in self.decoded
            )
            for name, feature in zip(self.names, self.features, strict=True)
        }
        return specs if self.dataset is None else {**specs, _EPISODE: Spec(np.dtype(np.int64), ())}

    def stages(self, firsts: Sequence[int] | None) -> tuple[engine.Stage, engine.Stage]:
        """Returns the stages that parse records and restore their features.

        Args:
            firsts: The number of the first episode of each file, if episodes are split into steps.
        """
        lists: dict[str, int] = {}
        dense: dict[str, tuple[StoredFeature, tuple[int, ...], int]] = {}
        for feature in self.features:
            code = engine_code(bytes if feature.is_encoded else _stored_type(feature.dtype))
            int64 = engine_code(np.dtype(np.int64))
            values, *others = _keys(feature)
            shape = feature.stored_shape if not feature.is_encoded else ()
            whole = (*feature.sequences, *shape)
            if self.is_of_steps(feature) or feature.num_lengths or None in whole:
                lists[values] = code
                lists.update(dict.fromkeys(others, int64))
                continue
            dense[values] = feature, tuple(size for size in whole if size is not None), code
            for sizes in others:
                dense[sizes] = feature, (len(feature.inner),), int64
        columns = [*lists, *dense]
        attrs = {
            "sparse_keys": list(lists),
            "sparse_types": [("dtype", code) for code in lists.values()],
            "dense_keys": list(dense),
            "dense_types": [("dtype", code) for _, _, code in dense.values()],
            "dense_shapes": [("shape", list(shape)) for _, shape, _ in dense.values()],
        }
        defaults = [
            (_default(feature, shape, key), code) for key, (feature, shape, code) in dense.items()
        ]
        seen = engine.SeenComponents("tfds")
        restored = [
            self._stored(name, feature, columns)
            for name, feature in zip(self.names, self.features, strict=True)
        ]
        return (
            engine.Stage.parse(attrs, defaults, 0, [], [], seen),
            engine.Stage.restore(restored, firsts),
        )

    def _stored(
        self, name: str, feature: StoredFeature, columns: Sequence[str]
    ) -> engine.StoredFeature:
        values, *others = map(columns.index, _keys(feature))
        return engine.StoredFeature(
            name,
            values,
            others if feature.num_lengths else [],
            others[0] if feature.has_sizes else None,
            engine_code(feature.dtype),
            (*feature.sequences, *feature.stored_shape),
            len(feature.sequences),
            feature.encoding,  # type: ignore[arg-type]
            self.is_of_steps(feature),
        )

    def decoding(self) -> engine.Stage | None:
        """Returns the stage that decodes images, or None if no images are decoded."""
        images = []
        for column, (name, stored) in enumerate(zip(self.names, self.features, strict=True)):
            feature = stored.step() if self.is_of_steps(stored) else stored
            if name in self.decoded and feature.pixels is not None:
                code = engine_code(feature.pixels)
                images.append((name, column, feature.pixels_shape, code, bool(feature.sequences)))
        return engine.Stage.decode_images(images) if images else None


@dataclass(frozen=True)
class Tfds(InferredSource):
    """The examples of some splits, or their records if a later step splits them.

    Attributes:
        paths: The directory of one version of the data set.
        split: The user's split.
        decode: The images to decode.
        steps: Whether a later step splits the records into steps.
    """

    is_scanned: ClassVar = True
    is_kept_for_shuffle: ClassVar = False
    numbers_lines: ClassVar = False
    piece: ClassVar = "file"

    paths: tuple[str, ...]
    split: str | None = None
    decode: tuple[str, ...] = named(())
    steps: bool = named(False)

    @property
    def name(self) -> str:
        """The source's name in messages."""
        return "tfds"

    @property
    def spec(self) -> None:
        """None, because `features.json` describes the components."""
        return None

    @property
    def classes(self) -> tuple[str, ...] | None:
        """The class names, if exactly one feature is a class label and its names are stored."""
        return _classes(self.paths[0], self._feature_set)

    @cached_property
    def shards(self) -> list[SelectedShard]:
        """The files with selected records.

        Raises:
            OpError: If the data set cannot be read.
            ValueError: If the split does not exist.
        """
        where = self._path(_INFO)
        info = _read(self.paths[0], _INFO)
        _check_format(where, info)
        splits = splits_of(where, info)
        if not splits:
            raise InvalidArgumentError(
                None, None, f"{where}: there are no splits. Prepare the data set again."
            )
        if self.split is None and len(splits) > 1:
            names = ", ".join(repr(shards.name) for shards in splits)
            raise ValueError(
                f"tfds: split is None, but {self.paths[0]} has several: {names}. Choose one."
            )
        return select(splits, splits[0].name if self.split is None else self.split)

    @cached_property
    def layout(self) -> "_Layout":
        """The components, and how the records store them.

        Raises:
            OpError: If `features.json` cannot be read, or describes an unsupported feature.
            ValueError: If an argument does not fit the features.
        """
        return _layout(self._feature_set, self.decode, self.steps)

    @cached_property
    def _feature_set(self) -> FeatureSet:
        return features_of(self._path(_FEATURES), _read(self.paths[0], _FEATURES))

    def inferred(self) -> Specs:
        """Returns the components of an example, or the record if a later step splits it."""
        # The split and the file format are checked first.
        specs = self.layout.specs() if self.shards else {}
        return {"record": Spec(bytes, ())} if self.steps else specs

    def described(self) -> str:
        """Describes how the components are inferred."""
        return f"the components are the features that {_FEATURES} describes"

    def counts(self) -> list[int]:
        """Returns the number of examples in each file, as listed in `dataset_info.json`."""
        return [shard.length for shard in self.shards]

    def file_names(self) -> list[str]:
        """Returns the files with selected records, in order."""
        return [self._path(shard.file) for shard in self.shards]

    def records(self) -> engine.Plan:
        """Returns a plan that reads the raw records."""
        return engine.Plan.counted_tfrecords(self._files(), self.counts(), self._path(_INFO))

    def planned(self, specs: Specs, add_python_worker: Callable[[Any], int]) -> SourcePlan:
        """Returns a plan that reads the files one after the other."""
        stages: list[engine.Stage] = []
        if not self.steps:
            decoding = self.layout.decoding()
            stages = [*self.layout.stages(None), *([] if decoding is None else [decoding])]
        files = self._files()
        return SourcePlan(self.records(), files, stages, len(files))

    def _files(self) -> list[bytes]:
        return list(map(os.fsencode, self.file_names()))

    def _path(self, name: str) -> str:
        return os.path.join(self.paths[0], name)


@dataclass(frozen=True)
class SplitSlice(RecordPart):
    """The examples of a slice such as "train[:10%]".

    Attributes:
        slice: The slice, as text.
        source: The source that the stage follows.
    """

    slice: str
    source: Tfds = field(compare=False, repr=False)

    def keeps(
        self, records: npt.NDArray[np.int64], files: npt.NDArray[np.int64]
    ) -> npt.NDArray[np.bool_]:
        """Returns whether each record belongs to the slice."""
        bounds = np.asarray([(shard.first, shard.end) for shard in self.source.shards])[files]
        is_kept: npt.NDArray[np.bool_] = (bounds[:, 0] <= records) & (records < bounds[:, 1])
        return is_kept

    def plan_into(self, planning: Planning) -> None:
        """Adds this step to a plan."""
        shards = cast("Tfds", planning.chain[0]).shards
        planning.later(engine.Stage.keep_records([(shard.first, shard.end) for shard in shards]))
        planning.finish_rows()


@dataclass(frozen=True)
class Steps(Step):
    """Splits the records of episodes into steps.

    Attributes:
        source: The source that the stage follows.
    """

    source: Tfds = field(compare=False, repr=False)

    effect: ClassVar = Effect.EXPANDS
    needs_values: ClassVar = True
    added_axes: ClassVar = 0

    def specs_after(self, specs: Specs) -> Specs:
        """Returns the components of a step."""
        return self.source.layout.specs()

    def names_after(self, names: tuple[str, ...] | None) -> None:
        """Returns None, because `features.json` describes the components."""

    def length_after(self, length: float) -> None:
        """Returns None, because episodes have any number of steps."""

    def plan_into(self, planning: Planning) -> None:
        """Adds this step to a plan."""
        source = cast("Tfds", planning.chain[0])
        for stage in source.layout.stages([shard.position for shard in source.shards]):
            planning.later(stage)
        planning.finish_rows()
        if (decoding := source.layout.decoding()) is not None:
            planning.later(decoding)


def tfds(
    path: str | os.PathLike[str],
    split: str | None = None,
    decode: Iterable[str] = (),
    steps: bool = False,
) -> tuple[Stage, ...]:
    """Reads a TFDS or RLDS data set, without TensorFlow.

    Each example has one component per feature. The names of nested features are joined by dots, as
    in `objects.bbox`. Types and shapes are the same as in TFDS, with these exceptions: images are
    the bytes of their files unless you list them in `decode`, and sequences within sequences become
    nested lists. Texts are `bytes`, as in TFDS. A feature of type float64 has the precision of
    float32, because TFDS stores it that way. `Pipeline.classes` returns the class names if exactly
    one feature is a class label.

    Every checksum is verified. If the number of records in a file differs from `dataset_info.json`,
    an error names the file.

    Args:
        path: The directory of one version of the data set, which contains `dataset_info.json`, such
            as "tensorflow_datasets/mnist/3.0.1". It can also be a storage URL.
        split: The split to read, such as "train". Slices and sums work as in TFDS: "train[:10%]",
            "train[100:200]", "train[:2shard]", "train+test", "all". If None, the data set must have
            only one split.
        decode: The images to decode to pixels: "image" for all images, or the names of some
            components. The frames of a video are images, and so are the images of a sequence, which
            must all have the same shape.
        steps: If True, each example is one step of an episode. The components are named after the
            step's features, such as `observation.image`. The component `episode_id` is the position
            of the episode in `split`, as an int64. Other features of the episode are repeated for
            each of its steps. If an episode feature has the same name as a step feature, or as
            `episode_id`, its name becomes `episode.NAME`.

    Raises:
        TypeError: If an argument has the wrong type. All other errors are raised when the iteration
            starts, or when you request the length or the components.
        ValueError: If the split does not exist, `decode` names something other than an image, or
            `steps` is True but the examples have no steps.
        NotFoundError: If the directory or one of its files does not exist.
        InvalidArgumentError: If a feature or the file format is not supported.

    Source: TensorFlow Datasets 4.9, https://www.tensorflow.org/datasets
    """
    directory = folder_path("tfds", path)
    if split is not None and not isinstance(split, str):
        raise TypeError(f"tfds: split is {split!r}, expected a string such as 'train', or None.")
    images = (decode,) if isinstance(decode, str) else tuple(decode)
    source = Tfds((directory,), split, images, bool(steps))
    chain: list[Stage] = [source]
    if split is not None and "[" in split:
        chain.append(SplitSlice(split, source))
    if steps:
        chain.append(Steps(source))
    return tuple(chain)


def _read(directory: str, name: str) -> Any:
    path = os.path.join(directory, name)
    try:
        with storage.open_file(path) as file:
            content = file.read()
    except NotFoundError as error:
        raise NotFoundError(
            None,
            None,
            f"tfds: {directory}: there is no {name}, expected the directory of one version of a "
            f"data set, such as mnist/3.0.1.{_versions(directory)}",
        ) from error
    try:
        return json.loads(content)
    except ValueError as error:
        raise InvalidArgumentError(
            None, None, f"{path}: the file is not valid JSON ({error}). Copy the data set again."
        ) from error


def _versions(directory: str) -> str:
    """Names the directories in a directory that a user passed by mistake."""
    if not storage.can_be_listed(directory) or not storage.is_directory(directory):
        return " Check the path."
    inside = [entry.path for entry in storage.entries(directory) if entry.is_directory]
    names = [path.rstrip("/").rpartition("/")[2] for path in inside]
    return f" Choose one of {', '.join(map(repr, names))}." if names else " Check the path."


def _check_format(where: str, info: Any) -> None:
    file_format = info.get("fileFormat", "tfrecord") if isinstance(info, dict) else None
    if file_format != "tfrecord":
        raise InvalidArgumentError(
            None,
            None,
            f"{where}: the files have the format {file_format!r}, expected 'tfrecord'. Convert "
            "them with `tfds convert_format --out_file_format=tfrecord`.",
        )


def _layout(feature_set: FeatureSet, decode: tuple[str, ...], steps: bool) -> _Layout:
    """Returns the components that the user requests."""
    features, datasets = feature_set
    dataset = _dataset(datasets) if steps else None
    is_of_steps = [dataset is not None and feature.dataset == dataset for feature in features]
    pairs = list(zip(features, is_of_steps, strict=True))
    taken = {feature.step().name for feature, is_step in pairs if is_step}
    if _EPISODE in taken:
        raise InvalidArgumentError(
            None,
            None,
            f"tfds: the steps have a feature {_EPISODE!r}, which is the name of the component that "
            "steps=True adds. Read episodes with steps=False.",
        )
    if dataset is not None:
        taken.add(_EPISODE)
    names = tuple(
        feature.step().name
        if is_step
        else f"episode.{feature.name}"
        if feature.name in taken
        else feature.name
        for feature, is_step in pairs
    )
    repeated = next((name for name in names if names.count(name) > 1), None)
    if repeated is not None:
        raise InvalidArgumentError(
            None,
            None,
            f"tfds: two features have the name {repeated!r} after dots join the names. Read the "
            "files with tfrecords and parse the features.",
        )
    images = [name for name, f in zip(names, features, strict=True) if f.pixels is not None]
    for name in decode:
        if name != "image" and name not in images:
            expected = (
                "'image' for all images" if images else "no name, because there are no images"
            )
            listed = "".join(f", or {image!r}" for image in images)
            raise ValueError(f"tfds: decode contains {name!r}, expected {expected}{listed}.")
    decoded = frozenset(images if "image" in decode else decode)
    return _Layout(features, names, decoded, dataset)


def _dataset(datasets: Sequence[tuple[str, ...]]) -> tuple[str, ...]:
    if not datasets:
        raise ValueError(
            "tfds: steps is True, but no feature is a Dataset of steps. Read the data set with "
            "steps=False."
        )
    if len(datasets) > 1 and ("steps",) not in datasets:
        names = ", ".join(".".join(path) for path in datasets)
        raise ValueError(
            f"tfds: steps is True, but several features are a Dataset: {names}. Read the data set "
            "with steps=False."
        )
    return datasets[0] if len(datasets) == 1 else ("steps",)


def _classes(directory: str, feature_set: FeatureSet) -> tuple[str, ...] | None:
    """Returns the names of the classes, if there is one class label and its names are stored."""
    labels = [f for f in feature_set.features if f.num_classes is not None]
    if len(labels) != 1:
        return None
    name = "-".join(part.replace("/", ".") for part in labels[0].path)
    path = os.path.join(directory, f"{name}.labels.txt")
    if not storage.exists(path):
        return None
    with storage.open_file(path) as file:
        lines = file.read().decode().split("\n")
    return tuple(line.strip() for line in lines if line.strip())


def _keys(feature: StoredFeature) -> list[str]:
    """Returns the names of the lists in an `Example`: the values, and their lengths or shapes."""
    if feature.num_lengths:
        lengths = (f"{feature.key}/ragged_row_lengths_{n}" for n in range(feature.num_lengths))
        return [f"{feature.key}/ragged_flat_values", *lengths]
    if feature.has_sizes:
        return [f"{feature.key}/value", f"{feature.key}/shape"]
    return [feature.key]


def _stored_type(dtype: Any) -> Any:
    """Returns the type in which an `Example` stores elements."""
    if dtype is bytes:
        return bytes
    return np.dtype(np.float32 if dtype.kind == "f" else np.int64)


def _default(feature: StoredFeature, shape: tuple[int, ...], key: str) -> npt.NDArray[Any]:
    """Returns the value for missing features, or an empty array if the feature is required."""
    is_text = feature.dtype is bytes or feature.is_encoded
    kind: Any = object if is_text else _stored_type(feature.dtype)
    if feature.default is None or key != feature.key or feature.is_encoded:
        return np.zeros(0, np.int64 if key.endswith("/shape") and feature.has_sizes else kind)
    return np.full(shape, feature.default, kind)
