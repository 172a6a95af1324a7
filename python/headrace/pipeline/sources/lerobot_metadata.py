"""The metadata of a LeRobot data set: features, episodes, tasks and statistics."""

import json
import os
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from difflib import get_close_matches
from typing import Any, Final, NamedTuple, NoReturn

import numpy as np
import numpy.typing as npt

from headrace.core import engine
from headrace.core.errors import DataLossError, InvalidArgumentError, NotFoundError
from headrace.io import storage
from headrace.pipeline.paths.paths import find_files
from headrace.pipeline.sources.parquet_columns import read_columns
from headrace.pipeline.values.types import Spec

__all__ = [
    "REQUIRED",
    "DataSet",
    "Episodes",
    "LeRobotFeature",
    "check_known",
    "read_data_set",
    "read_stats",
    "refuse",
]

_INFO: Final = "meta/info.json"
_STATS: Final = "meta/stats.json"
_EPISODES: Final = "meta/episodes/**/*.parquet"
_VERSION: Final = "v3."
_VIDEO: Final = "video"
_IMAGE: Final = "image"
_NUMBERS: Final = (
    *("float16", "float32", "float64", "bool"),
    *("int8", "int16", "int32", "int64", "uint8", "uint16", "uint32"),
)
# Each index of a text, with the file of its texts and the component for the text.
_TEXTS: Final = {"task_index": "task", "subtask_index": "subtask"}
# Columns that every data set has.
REQUIRED: Final = ("timestamp", "episode_index", "index", "task_index")


class LeRobotFeature(NamedTuple):
    """A feature of a data set.

    Attributes:
        name: The name of the feature.
        dtype: The type, as named in `info.json`.
        shape: The shape of a frame's value. It is empty for single values. Images have their
            channels last.
    """

    name: str
    dtype: str
    shape: tuple[int, ...]

    @property
    def is_video(self) -> bool:
        """Whether the values are video frames."""
        return self.dtype == _VIDEO

    @property
    def is_image(self) -> bool:
        """Whether the values are image files in a table."""
        return self.dtype == _IMAGE

    @property
    def has_pixels(self) -> bool:
        """Whether the values are video frames or images."""
        return self.is_video or self.is_image

    @property
    def column(self) -> str:
        """The column of the tables that contains the values. For videos, it contains times."""
        if self.is_video:
            return "timestamp"
        return f"{self.name}.bytes" if self.is_image else self.name

    @property
    def spec(self) -> Spec:
        """The type and shape of the column."""
        if self.is_video:
            return Spec(np.dtype(np.float32), ())
        if self.is_image:
            return Spec(bytes, ())
        if self.dtype == "string":
            return Spec(str, self.shape)
        dtype = np.dtype(self.dtype)
        return Spec(dtype if dtype.kind in "fb" else np.dtype(np.int64), self.shape)


class Episodes(NamedTuple):
    """The episodes of a data set, in the order of their frames.

    Attributes:
        numbers: The number of each episode. int64, (episodes,).
        firsts: The index of each episode's first frame. int64, (episodes,).
        ends: The index after each episode's last frame. int64, (episodes,).
        tables: The path of the table with each episode's frames.
        videos: For each camera, the path of the video with each episode's frames.
        starts: For each camera, the time in that video at which each episode starts. float64,
            (episodes,).
    """

    numbers: npt.NDArray[np.int64]
    firsts: npt.NDArray[np.int64]
    ends: npt.NDArray[np.int64]
    tables: list[str]
    videos: dict[str, list[str]]
    starts: dict[str, npt.NDArray[np.float64]]

    def selected(self, rows: Sequence[int]) -> "Episodes":
        """Returns some of the episodes."""
        return Episodes(
            self.numbers[rows],
            self.firsts[rows],
            self.ends[rows],
            [self.tables[row] for row in rows],
            {name: [paths[row] for row in rows] for name, paths in self.videos.items()},
            {name: starts[rows] for name, starts in self.starts.items()},
        )

    def lengths_of_tables(self) -> dict[str, int]:
        """Returns the number of frames in each table, in order."""
        lengths: dict[str, int] = {}
        for path, length in zip(self.tables, (self.ends - self.firsts).tolist(), strict=True):
            lengths[path] = lengths.get(path, 0) + length
        return lengths


@dataclass(frozen=True)
class DataSet:
    """The metadata of a data set.

    Attributes:
        root: The directory of the data set.
        fps: The number of frames per second.
        features: The features, in order, by name.
        episodes: All episodes.
        texts: For each feature that numbers texts, the component for the text and the texts by
            number.
    """

    root: str
    fps: float
    features: dict[str, LeRobotFeature]
    episodes: Episodes
    texts: dict[str, tuple[str, dict[int, str]]]


def refuse(text: str) -> NoReturn:
    """Raises the error for an unsupported data set.

    Raises:
        InvalidArgumentError: Always.
    """
    raise InvalidArgumentError(None, None, f"lerobot: {text}")


def read_data_set(root: str, chosen: Sequence[str] | None) -> DataSet:
    """Reads the metadata of a data set.

    Args:
        root: The directory.
        chosen: The features that are needed, or None for all.

    Raises:
        OpError: If a file cannot be read or describes something that is not supported.
        ValueError: If a chosen feature does not exist.
    """
    where = f"{root}/{_INFO}"
    info = _json(where, "expected the directory of a LeRobot data set. Check the path.")
    _check_version(root, where, info)
    fps, listed = info.get("fps"), info.get("features")
    if isinstance(fps, bool) or not isinstance(fps, (int, float)) or not fps > 0:
        refuse(f"{where}: fps is {fps!r}, expected a number above 0. Correct the file.")
    if not isinstance(listed, Mapping):
        refuse(f"{where}: features is {listed!r}, expected an object. Copy the data set again.")
    missing = [name for name in REQUIRED if name not in listed]
    if missing:
        refuse(f"{where}: there is no feature {missing[0]!r}. Record the data set again.")
    check_known("features", chosen or (), listed)
    features = {
        name: _feature(where, name, feature)
        for name, feature in listed.items()
        if chosen is None or name in chosen or name in REQUIRED
    }
    cameras = [feature.name for feature in features.values() if feature.is_video]
    episodes = _episodes(root, info, cameras)
    texts = {
        index: (text, _texts(root, f"meta/{text}s.parquet", index))
        for index, text in _TEXTS.items()
        if index in listed and (index in REQUIRED or storage.exists(f"{root}/meta/{text}s.parquet"))
    }
    return DataSet(root, fps, features, episodes, texts)


def check_known(where: str, names: Iterable[str], known: Iterable[str]) -> None:
    """Raises ValueError if a name is not a feature name.

    Args:
        where: The argument that contains the names.
        names: The names.
        known: The names of all features.
    """
    for name in names:
        if name not in (there := list(known)):
            near = get_close_matches(name, there, 1)
            hint = f" Did you mean {near[0]!r}?" if near else ""
            raise ValueError(
                f"lerobot: {where} contains {name!r}, expected one of the features "
                f"{', '.join(map(repr, there))}.{hint}"
            )


def read_stats(root: str) -> dict[str, dict[str, npt.NDArray[Any]]]:
    """Returns the statistics of each feature, as arrays by name.

    Raises:
        OpError: If `meta/stats.json` cannot be read.
    """
    where = f"{root}/{_STATS}"
    content = _json(where, "so the data set has no statistics. Compute them with LeRobot.")
    return {
        name: {key: np.asarray(value) for key, value in stats.items()}
        for name, stats in content.items()
    }


def _json(path: str, words: str) -> Any:
    try:
        with storage.open_file(path) as file:
            content = json.loads(file.read())
    except NotFoundError as error:
        raise NotFoundError(None, None, f"lerobot: {path}: no such file, {words}") from error
    except ValueError as error:
        raise DataLossError(
            None,
            None,
            f"lerobot: {path}: the file is not valid JSON ({error}). Copy the file again.",
        ) from error
    if not isinstance(content, dict):
        refuse(f"{path}: the file contains no JSON object. Copy the data set again.")
    return content


def _check_version(root: str, where: str, info: Mapping[str, Any]) -> None:
    version = info.get("codebase_version")
    if not str(version).startswith(_VERSION):
        is_old = str(version).startswith(("v1", "v2"))
        remedy = (
            "Convert the data set with LeRobot: `python -m lerobot.datasets.v30."
            "convert_dataset_v21_to_v30 --repo-id=NAME --root=DIRECTORY --push-to-hub=false`."
            if is_old
            else "Update headrace."
        )
        refuse(f"{where}: the format of {root} is {version!r}, expected 'v3.0'. {remedy}")


def _feature(where: str, name: str, feature: Any) -> LeRobotFeature:
    dtype = feature.get("dtype") if isinstance(feature, Mapping) else None
    shape = feature.get("shape") if isinstance(feature, Mapping) else None
    if dtype not in (*_NUMBERS, "string", _VIDEO, _IMAGE):
        refuse(
            f"{where}: the feature {name!r} has the dtype {dtype!r}, expected one of "
            f"{', '.join(_NUMBERS)}, string, video or image. Read the other features: list them in "
            "features=[...]."
        )
    if not isinstance(shape, list) or not all(isinstance(n, int) and n > 0 for n in shape):
        refuse(f"{where}: the feature {name!r} has the shape {shape!r}, expected a list of sizes.")
    sizes = tuple(shape)
    if dtype in (_VIDEO, _IMAGE):
        names = feature.get("names")
        is_first = (isinstance(names, list) and str(names[0]).startswith("channel")) or (
            names is None and sizes[-1] not in (1, 3, 4)
        )
        sizes = (*sizes[1:], sizes[0]) if is_first else sizes
        if len(sizes) != 3 or sizes[2] not in ((3,) if dtype == _VIDEO else (1, 3, 4)):
            refuse(
                f"{where}: the feature {name!r} has the shape {shape} and the names {names}, "
                f"expected height, width and channels of a colour {dtype}. Read the other "
                "features: list them in features=[...]."
            )
    elif sizes == (1,):
        sizes = ()
    return LeRobotFeature(name, dtype, sizes)


def _episodes(root: str, info: Mapping[str, Any], cameras: Sequence[str]) -> Episodes:
    paths = find_files("lerobot", [f"{root}/{_EPISODES}"])
    integers = ["episode_index", "dataset_from_index", "dataset_to_index"]
    places = ["data", *(f"videos/{camera}" for camera in cameras)]
    integers += [f"{place}/{kind}_index" for place in places for kind in ("chunk", "file")]
    starts = [f"videos/{camera}/from_timestamp" for camera in cameras]
    types = {**dict.fromkeys(integers, int), **dict.fromkeys(starts, np.float64)}
    columns = read_columns("lerobot", paths, types)
    order = np.argsort(columns["dataset_from_index"], kind="stable")
    columns = {name: column[order] for name, column in columns.items()}
    numbers, firsts, ends = (columns[name] for name in integers[:3])
    where = f"{root}/meta/episodes"
    gaps = np.flatnonzero(firsts != np.concatenate([[0], ends[:-1]]))
    empty = np.flatnonzero(ends <= firsts)
    wrong = [*gaps, *empty]
    if wrong or len(np.unique(numbers)) < len(numbers):
        which = f"episode {numbers[wrong[0]]}" if wrong else "an episode that is listed twice"
        raise DataLossError(
            None,
            None,
            f"lerobot: {where}: {which} does not follow the episode before it "
            "(dataset_from_index). Copy the data set again.",
        )

    def paths_of(place: str, key: str, **words: str) -> list[str]:
        pattern: Any = info.get(key)
        chunks, files = columns[f"{place}/chunk_index"], columns[f"{place}/file_index"]
        try:
            return [
                f"{root}/{pattern.format(chunk_index=chunk, file_index=file, **words)}"
                for chunk, file in zip(chunks.tolist(), files.tolist(), strict=True)
            ]
        except (AttributeError, KeyError, IndexError, ValueError):
            refuse(f"{root}/{_INFO}: {key} is {pattern!r}, expected the pattern of a path.")

    tables = paths_of("data", "data_path")
    if len(list(_runs(tables))) > len(set(tables)):
        refuse(f"{where}: the episodes of a table are not next to each other. Write it again.")
    return Episodes(
        numbers,
        firsts,
        ends,
        tables,
        {one: paths_of(f"videos/{one}", "video_path", video_key=one) for one in cameras},
        {one: columns[f"videos/{one}/from_timestamp"] for one in cameras},
    )


def _runs(values: Sequence[str]) -> Iterator[str]:
    last = None
    for value in values:
        if value != last:
            yield value
        last = value


def _texts(root: str, name: str, index: str) -> dict[int, str]:
    """Returns texts by number. The texts are the index of a table that pandas has written."""
    path = f"{root}/{name}"
    with engine.op_errors():
        there = engine.parquet_columns(os.fsencode(path), None)
    others = [column.name for column in there if column.name != index]
    if len(others) != 1 or len(there) != 2:
        names = ", ".join(repr(column.name) for column in there)
        refuse(f"{path}: the columns are {names}, expected {index!r} and a column of texts.")
    columns = read_columns("lerobot", [os.fsencode(path)], {index: int, others[0]: str})
    return dict(zip(columns[index].tolist(), columns[others[0]].tolist(), strict=True))
