"""`lerobot`: frames, and windows of frames, from robot data sets in LeRobot's format."""

import math
import os
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Any, ClassVar, Final, Literal, TypeAlias, cast

import numpy as np
import numpy.typing as npt

from headrace.core import engine
from headrace.core.errors import DataLossError, NotFoundError
from headrace.core.processors import num_cores
from headrace.io import storage
from headrace.pipeline.functions.python_functions import PythonWorker
from headrace.pipeline.functions.spec_probe import ProbeCalls
from headrace.pipeline.functions.worker_holder import WorkerHolder
from headrace.pipeline.sources.class_folder import folder_path
from headrace.pipeline.sources.column_options import Component, native
from headrace.pipeline.sources.file_source import InferredSource, SourcePlan
from headrace.pipeline.sources.lerobot_items import (
    EPISODE,
    OWN,
    ItemReader,
    ItemWorker,
    spec_of_item,
)
from headrace.pipeline.sources.lerobot_metadata import (
    DataSet,
    Episodes,
    LeRobotFeature,
    check_known,
    read_data_set,
    read_stats,
)
from headrace.pipeline.stages.function_step import FunctionStep
from headrace.pipeline.stages.stage import Effect, Planning, Stage, Step, named
from headrace.pipeline.stages.windows import Offsets, Windows
from headrace.pipeline.values.types import Spec, Specs, engine_code
from headrace.pipeline.video.decoder import check_installed

__all__ = ["DecodeImages", "FrameWindows", "Items", "LeRobot", "lerobot"]

# For each feature, offsets in seconds (float) or frames (int).
Window: TypeAlias = Mapping[str, Iterable[float]]

_EPISODE_INDEX: Final = "episode_index"


@dataclass(frozen=True)
class LeRobot(InferredSource):
    """The tables of a LeRobot data set. For each video, they contain the times of its frames.

    Attributes:
        paths: The directory of the data set.
        episodes: The numbers of the episodes to read, or None for all.
        features: The features to read, or None for all.
    """

    is_scanned: ClassVar = True
    is_kept_for_shuffle: ClassVar = True
    numbers_lines: ClassVar = False
    classes: ClassVar = None
    piece: ClassVar = "row group"

    paths: tuple[str, ...]
    episodes: tuple[int, ...] | None = named(None)
    features: tuple[str, ...] | None = named(None)

    @property
    def name(self) -> str:
        """The source's name in messages."""
        return "lerobot"

    @property
    def spec(self) -> None:
        """None, because `meta/info.json` describes the components."""
        return None

    @property
    def stored_stats(self) -> dict[str, dict[str, npt.NDArray[Any]]]:
        """The statistics of each feature, from `meta/stats.json`."""
        return read_stats(self.paths[0])

    @cached_property
    def data_set(self) -> DataSet:
        """The metadata of the whole data set."""
        return read_data_set(self.paths[0], self.features)

    @cached_property
    def chosen(self) -> Episodes:
        """The episodes to read.

        Raises:
            ValueError: If an episode does not exist.
        """
        episodes = self.data_set.episodes
        if self.episodes is None:
            return episodes
        wanted = set(self.episodes)
        numbers = episodes.numbers.tolist()
        if unknown := sorted(wanted.difference(numbers)):
            raise ValueError(
                f"lerobot: episodes contains {unknown[0]}, but {self.paths[0]} has "
                f"{len(numbers)} episodes, numbered from {min(numbers, default=0)} to "
                f"{max(numbers, default=0)}."
            )
        return episodes.selected([row for row, number in enumerate(numbers) if number in wanted])

    @property
    def outputs(self) -> dict[str, LeRobotFeature]:
        """The features of an item."""
        features = self.data_set.features
        names = features if self.features is None else self.features
        return {name: features[name] for name in features if name in names}

    def inferred(self) -> Specs:
        """Returns the columns of the tables, and the additional components of each frame."""
        texts = self.data_set.texts
        return {
            **{name: feature.spec for name, feature in self.outputs.items()},
            **{
                name: Spec(np.dtype(np.int64), ())
                for name, column in OWN.items()
                if column in texts or not column.endswith("task_index")
            },
        }

    def described(self) -> str:
        """Describes how the components are inferred."""
        return "the components are the features that meta/info.json describes"

    def counts(self) -> list[int]:
        """Returns the number of frames to read from each table, from `meta/episodes`."""
        return list(self.chosen.lengths_of_tables().values())

    def column(self, name: str) -> npt.NDArray[Any] | None:
        """Returns the numbers of the episodes of all frames, or None for other components."""
        if name not in (_EPISODE_INDEX, EPISODE):
            return None
        return np.repeat(self.chosen.numbers, self.chosen.ends - self.chosen.firsts)

    def records(self) -> None:
        """Returns None, because each file stores the positions of its rows."""

    def num_pieces(self) -> list[int]:
        """Returns the number of row groups in each table that contain frames to read."""
        with engine.op_errors():
            return [
                engine.parquet_rows([path], [], self._conditions(), []).num_pieces
                for path in self._tables()
            ]

    def file_names(self) -> list[str]:
        """Returns the tables, and then the videos."""
        videos = [path for paths in self.chosen.videos.values() for path in paths]
        return list(dict.fromkeys([*self.chosen.tables, *videos]))

    def planned(self, specs: Specs, add_python_worker: Callable[[Any], int]) -> SourcePlan:
        """Returns a plan that reads row groups of the tables."""
        tables = self._tables()
        self._check_files(tables)
        columns = [
            Component(OWN[name], specs[name])
            if name in OWN
            else Component(self.data_set.features[name].column, specs[name])
            for name in specs
        ]
        distinct = {component.name: component for component in columns}
        order = [list(distinct).index(component.name) for component in columns]
        if not tables:
            return SourcePlan(engine.Plan.concat([]), tables)
        with engine.op_errors():
            rows = engine.parquet_rows(
                tables, list(map(native, distinct.values())), self._conditions(), []
            )
        stages = [engine.Stage.select(order)]
        files = list(map(os.fsencode, self.file_names()))
        return SourcePlan(rows.plan, files, stages, rows.num_pieces, part="columns")

    def _tables(self) -> list[bytes]:
        return list(map(os.fsencode, self.chosen.lengths_of_tables()))

    def _conditions(self) -> list[engine.Condition]:
        if self.episodes is None:
            return []
        column = Component(
            _EPISODE_INDEX, Spec(np.dtype(np.int64), ()), is_inferred=True, has_mask=True
        )
        return [engine.Condition(native(column), "in", self.chosen.numbers.tolist())]

    def _check_files(self, tables: Sequence[bytes]) -> None:
        """Raises an error if a file is missing, or a table has the wrong number of frames."""
        lengths = self.data_set.episodes.lengths_of_tables()
        with engine.op_errors():
            counts = engine.parquet_counts(tables)
        for path, count in zip(map(os.fsdecode, tables), counts, strict=True):
            if count != lengths[path]:
                raise DataLossError(
                    None,
                    None,
                    f"lerobot: {path}: the file has {count:,} rows, but meta/episodes lists "
                    f"{lengths[path]:,} frames. Copy the data set again.",
                )
        for name, paths in self.chosen.videos.items():
            for row, path in enumerate(paths):
                if not storage.is_remote(path) and not os.path.exists(path):
                    raise NotFoundError(
                        None,
                        None,
                        f"lerobot: {path}: no such file, but meta/episodes lists it for {name!r} "
                        f"of episode {self.chosen.numbers[row]}. Copy the data set again.",
                    )


@dataclass(frozen=True)
class FrameWindows(Windows):
    """Windows whose offsets may be seconds.

    Attributes:
        tolerance_s: The maximum distance between an offset and its frame, in seconds.
        source: The source that the stage follows.
    """

    tolerance_s: float = named(1e-4)
    source: LeRobot = field(kw_only=True, compare=False, repr=False)

    @property
    def name(self) -> str:
        """The stage's name in messages."""
        return "windows"

    @cached_property
    def resolved(self) -> Windows:
        """The windows with offsets in frames.

        Raises:
            ValueError: If a feature does not exist, or no frame is close enough to an offset.
        """
        fps, outputs = self.source.data_set.fps, self.source.outputs
        pairs = cast("tuple[tuple[str, Offsets], ...]", self.length)
        check_known("window", [name for name, _ in pairs], outputs)
        frames = tuple((name, self._frames(name, offsets, fps)) for name, offsets in pairs)
        return Windows(frames, self.stride, self.within, self.pad, self.episodes)

    def _frames(self, name: str, offsets: Sequence[float], fps: float) -> Offsets:
        numbers = []
        for offset in offsets:
            if isinstance(offset, int):
                numbers.append(offset)
                continue
            number = round(offset * fps)
            if abs(offset * fps - number) / fps > self.tolerance_s:
                raise ValueError(
                    f"lerobot: the window of {name!r} contains {offset} s, but at {fps} frames per "
                    f"second the nearest frame is at {number / fps:g} s. Pass a multiple of "
                    f"1/{fps:g} s, an int for a number of frames, or a larger tolerance_s."
                )
            numbers.append(number)
        return tuple(numbers)

    def specs_after(self, specs: Specs) -> Specs:
        """Returns the components with an axis for the frames of a window."""
        return self.resolved.specs_after(specs)

    def names_after(self, names: tuple[str, ...] | None) -> None:
        """Returns None, because `meta/info.json` describes the components."""

    def keeps_component(self, name: str) -> bool:
        """Returns whether a component has no window."""
        return self.resolved.keeps_component(name)

    def length_after(self, length: float) -> float:
        """Returns the number of frames, because each starts a window."""
        return length

    def plan_into(self, planning: Planning) -> None:
        """Adds this step to a plan."""
        self.resolved.plan_into(planning)


@dataclass(frozen=True)
class DecodeImages(Step):
    """Decodes the images in the tables of a LeRobot data set.

    Attributes:
        source: The source of the tables.
    """

    source: LeRobot = field(compare=False, repr=False)

    effect: ClassVar = Effect.EACH
    needs_values: ClassVar = True
    added_axes: ClassVar = 0

    def specs_after(self, specs: Specs) -> Specs:
        """Returns the components with pixels instead of image files."""
        pixels = {
            name: Spec(
                np.dtype(np.uint8), (*(specs[name].shape or ()), None, None, feature.shape[2])
            )
            for name, feature in self.source.outputs.items()
            if feature.is_image
        }
        return {**specs, **pixels}

    def names_after(self, names: tuple[str, ...] | None) -> tuple[str, ...] | None:
        """Returns the same names."""
        return names

    def keeps_component(self, name: str) -> bool:
        """Returns whether a component is not an image."""
        return name not in self.source.outputs or not self.source.outputs[name].is_image

    def length_after(self, length: float) -> float:
        """Returns the number of frames."""
        return length

    def plan_into(self, planning: Planning) -> None:
        """Adds this step to a plan."""
        code = engine_code(np.dtype(np.uint8))
        images = [
            (name, index, (None, None, self.source.outputs[name].shape[2]), code, bool(spec.shape))
            for index, (name, spec) in enumerate(planning.before.items())
            if not self.keeps_component(name)
        ]
        if images:
            planning.later(engine.Stage.decode_images(images))


@dataclass(frozen=True)
class Items(FunctionStep):
    """Turns table rows into items: reads video frames, and adds the text of each task.

    Python returns images as uint8, and the engine converts them to floats.

    Attributes:
        source: The source of the rows.
        windows: The windows before the stage, if any.
        raw: Whether images are uint8 with their channels last.
        tolerance_s: The maximum distance between a time and its frame, in seconds.
        seed: None, because nothing is drawn.
        num_threads: The number of threads that decode.
        num_processes: 0, because threads decode.
        holder: Unused.
    """

    source: LeRobot = field(compare=False, repr=False)
    windows: FrameWindows | None = field(compare=False, repr=False)
    raw: bool = named(False)
    tolerance_s: float = named(1e-4)
    seed: int | None = field(default=None, compare=False, repr=False)
    num_threads: int = field(default_factory=num_cores, compare=False, repr=False)
    num_processes: int = field(default=0, compare=False, repr=False)
    holder: WorkerHolder = field(default_factory=WorkerHolder, compare=False, repr=False)

    effect: ClassVar = Effect.EACH
    use: ClassVar[Literal["map", "filter", "flat_map"]] = "map"
    works_in_groups: ClassVar[bool] = True

    @property
    def name(self) -> str:
        """The stage's name in messages."""
        return "lerobot_items"

    @property
    def reads_late(self) -> bool:
        """True, because only the frames of the items that remain are decoded."""
        return True

    @cached_property
    def function(self) -> ItemReader:  # type: ignore[override]
        """Completes an item."""
        return ItemReader(self.source, self.tolerance_s)

    @property
    def _lengths(self) -> dict[str, int]:
        """The number of frames in each window."""
        if self.windows is None:
            return {}
        pairs = cast("tuple[tuple[str, Offsets], ...]", self.windows.length)
        return {name: len(offsets) for name, offsets in pairs}

    def specs_after(self, specs: Specs) -> Specs:
        """Returns the components of an item."""
        outputs, lengths = self.source.outputs, self._lengths
        items = {
            name: spec_of_item(outputs[name], lengths.get(name), self.raw)
            if name in outputs
            else spec
            for name, spec in specs.items()
            if name not in OWN
        }
        texts = (text for text, _ in self.source.data_set.texts.values())
        return {**items, **{text: Spec(str, ()) for text in texts}}

    def names_after(self, names: tuple[str, ...] | None) -> None:
        """Returns None, because `meta/info.json` describes the components."""

    def keeps_component(self, name: str) -> bool:
        """Returns whether a component has its value in the tables."""
        outputs = self.source.outputs
        return name in outputs and outputs[name].spec == spec_of_item(outputs[name], None, True)

    def length_after(self, length: float) -> float:
        """Returns the number of items."""
        return length

    def worker(
        self, first: ProbeCalls, before: Specs, after: Specs, is_batched: bool
    ) -> PythonWorker:
        """Returns the worker that completes items."""
        pixels = replace(self, raw=True).specs_after(before)
        return ItemWorker(
            self.function, first, None, before, pixels, False, self.num_threads, self.name
        )

    def prepare(self, worker: PythonWorker, indexes: engine.IndexFiles) -> None:
        """Passes the index files to the worker."""
        if isinstance(worker, ItemWorker):
            worker.indexes = indexes

    def plan_into(self, planning: Planning) -> None:
        """Adds this step to a plan."""
        source = cast("LeRobot", planning.chain[0])  # It may refer to a specific commit.
        if source.data_set.episodes.videos:
            check_installed("lerobot")
        step = self if source is self.source else replace(self, source=source)
        planning.call(step)
        images = [
            index
            for index, name in enumerate(step.specs_after(planning.before))
            if name in source.outputs and source.outputs[name].has_pixels
        ]
        if images and not self.raw:
            planning.later(engine.Stage.float_images(images))


def lerobot(
    path: str | os.PathLike[str],
    window: Window | None = None,
    raw: bool = False,
    episodes: Iterable[int] | None = None,
    features: Iterable[str] | None = None,
    tolerance_s: float = 1e-4,
) -> tuple[Stage, ...]:
    """Reads a robot data set in LeRobot's format v3, without converting it.

    Each example is one frame, with the components that `LeRobotDataset` returns: one for each
    feature, and the text of its `task`. Floats are float32 and integers int64. Images and frames of
    videos are float32 with the channels first, between 0 and 1. `Pipeline.stored_stats` returns the
    statistics of each feature, for normalization.

    With `window`, a feature has the values of several frames around each frame, on a new first
    axis. Frames outside the episode repeat its first or last frame. The component `NAME_is_pad`
    (bool, (frames,)) marks them. As in LeRobot, a window of one video frame adds no axis.

    A full shuffle keeps the tables in memory, but not the videos. Only frames that are needed are
    decoded, in threads. Each is found by its time in the video's tables, which are kept in an index
    file, `NAME.hrindex` (see `options`). Frames of neighbouring items are decoded together, each
    once.

    Args:
        path: The directory of the data set, which contains `meta/info.json`. It can also be a
            storage URL, such as "hf://datasets/lerobot/pusht".
        window: For each feature, the frames to read as offsets from the current frame. Floats are
            seconds and ints are frames: `{"observation.state": [-0.1, 0.0], "action": range(50)}`.
            Other features have the value of the current frame.
        raw: If True, images are uint8 with the channels last, between 0 and 255.
        episodes: The numbers of the episodes to read, in any order, or None for all. Examples are
            in the order of the data set.
        features: The features to read, or None for all. Videos of other cameras are not decoded.
        tolerance_s: The maximum distance in seconds between an offset or a frame's time, and the
            nearest frame.

    Raises:
        TypeError: If an argument has the wrong type. All other errors are raised when the iteration
            starts, or when you request the length or the components, and name the file.
        ValueError: If `window` or `features` names a feature that does not exist, there is no such
            episode, or no frame is close enough to an offset.
        NotFoundError: If a file does not exist.
        InvalidArgumentError: If the format or a feature is not supported. Data sets of version 2
            must be converted with LeRobot.
        DataLossError: If the files are inconsistent, or a frame is damaged.

    Source: `LeRobotDataset` of https://github.com/huggingface/lerobot
    """
    directory = folder_path("lerobot", path)
    if isinstance(tolerance_s, bool) or not isinstance(tolerance_s, (int, float)):
        raise TypeError(f"lerobot: tolerance_s is {tolerance_s!r}, expected a number of seconds.")
    source = LeRobot((directory,), _episodes(episodes), _features(features))
    windows = None
    if window is not None:
        windows = FrameWindows(
            _window(window), 1, EPISODE, "repeat", tolerance_s=tolerance_s, source=source
        )
    decoded = DecodeImages(source), Items(source, windows, bool(raw), tolerance_s)
    return (source, *decoded) if windows is None else (source, windows, *decoded)


def _window(window: object) -> tuple[tuple[str, Any], ...]:
    """Returns the offsets of each feature as plain data.

    Raises:
        TypeError: If they are not numbers by the names of features.
        ValueError: If there are no offsets.
    """
    example = '{"action": range(50), "observation.state": [-0.1, 0.0]}'
    if not isinstance(window, Mapping) or not all(isinstance(name, str) for name in window):
        raise TypeError(f"lerobot: window is {window!r}, expected a dict such as {example}.")
    if not window:
        raise ValueError(f"lerobot: window is empty, expected a dict such as {example}, or None.")
    pairs = []
    for name, offsets in window.items():
        is_iterable = isinstance(offsets, Iterable) and not isinstance(offsets, (str, bytes))
        numbers = [_offset(name, offset) for offset in offsets] if is_iterable else None
        if numbers is None:
            raise TypeError(
                f"lerobot: the window of {name!r} is {offsets!r}, expected a list of offsets such "
                "as [-0.1, 0.0] in seconds, or range(50) in frames."
            )
        if not numbers:
            raise ValueError(f"lerobot: the window of {name!r} is empty, expected offsets.")
        pairs.append((name, offsets if isinstance(offsets, range) else tuple(numbers)))
    return tuple(pairs)


def _offset(name: str, offset: object) -> int | float:
    if isinstance(offset, (int, np.integer)) and not isinstance(offset, bool):
        return int(offset)
    if isinstance(offset, (float, np.floating)) and math.isfinite(offset):
        return float(offset)
    raise TypeError(
        f"lerobot: the window of {name!r} contains {offset!r}, expected ints (frames) or floats "
        "(seconds)."
    )


def _episodes(episodes: object) -> tuple[int, ...] | None:
    if episodes is None:
        return None
    numbers: list[Any] = list(episodes) if isinstance(episodes, Iterable) else [None]
    if not all(isinstance(n, (int, np.integer)) and not isinstance(n, bool) for n in numbers):
        raise TypeError(f"lerobot: episodes is {episodes!r}, expected a list of ints, or None.")
    if not numbers:
        raise ValueError("lerobot: episodes is empty, expected at least one number, or None.")
    return tuple(sorted({int(number) for number in numbers}))


def _features(features: object) -> tuple[str, ...] | None:
    if features is None:
        return None
    is_list = isinstance(features, Iterable) and not isinstance(features, (str, bytes))
    names = tuple(cast("Iterable[Any]", features)) if is_list else (None,)
    if not all(isinstance(name, str) for name in names):
        raise TypeError(f"lerobot: features is {features!r}, expected a list of names, or None.")
    if not names:
        raise ValueError("lerobot: features is empty, expected at least one name, or None.")
    return names
