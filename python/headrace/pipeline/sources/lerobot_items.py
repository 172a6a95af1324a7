"""Completes the items of a LeRobot data set: video frames, tasks and types."""

from collections.abc import Mapping
from functools import cached_property
from typing import Any, Final, Protocol

import numpy as np
import numpy.typing as npt

from headrace.core.errors import DataLossError, InvalidArgumentError, NotFoundError, OpError
from headrace.pipeline.sources.lerobot_metadata import DataSet, LeRobotFeature
from headrace.pipeline.values.types import Spec
from headrace.pipeline.video.frames import frames

__all__ = ["EPISODE", "INDEX", "OWN", "ItemReader", "spec_of_item"]

# Further components of a frame, whose values windows don't change.
INDEX: Final = ".index"
EPISODE: Final = ".episode_index"
_TASKS: Final = {"task_index": ".task_index", "subtask_index": ".subtask_index"}
# The column of each of these components.
OWN: Final = {
    INDEX: "index",
    EPISODE: "episode_index",
    **{component: column for column, component in _TASKS.items()},
}


def spec_of_item(feature: LeRobotFeature, length: int | None, is_raw: bool) -> Spec:
    """Returns the type and shape of a feature in an item.

    Args:
        feature: The feature.
        length: The number of frames in the feature's window, or None if it has no window.
        is_raw: Whether images have their channels last.
    """
    if not feature.is_video and not feature.is_image:
        spec = feature.spec
        if not isinstance(spec.dtype, type) and spec.dtype.kind == "f":
            spec = Spec(np.dtype(np.float32), spec.shape)
        return spec if length is None else spec.batched(length)
    height, width, channels = feature.shape
    dtype = np.dtype(np.uint8 if is_raw else np.float32)
    spec = Spec(dtype, (height, width, channels) if is_raw else (channels, height, width))
    # LeRobot removes the axis of a single frame of a video, but not of an image.
    is_single = length is None or (length == 1 and feature.is_video)
    return spec if is_single else spec.batched(length)


class DescribedSource(Protocol):
    """A source with metadata."""

    @property
    def paths(self) -> tuple[str, ...]:
        """The directory of the data set."""

    @property
    def data_set(self) -> DataSet:
        """The metadata of the data set."""


class ItemReader:
    """Replaces frame times with the frames themselves, and adds the text of each task.

    Attributes:
        source: The source of the tables. Its metadata is read when it is needed.
        is_raw: Whether images are uint8 with their channels last.
        tolerance_s: The maximum distance between a time and its frame, in seconds.
    """

    def __init__(self, source: DescribedSource, is_raw: bool, tolerance_s: float) -> None:
        self.source = source
        self.is_raw = is_raw
        self.tolerance_s = tolerance_s
        self.__qualname__ = repr(source.paths[0])

    @property
    def data_set(self) -> DataSet:
        """The metadata of the data set."""
        return self.source.data_set

    @cached_property
    def _row_of(self) -> dict[int, int]:
        """The row of each episode in the metadata."""
        numbers = self.data_set.episodes.numbers.tolist()
        return {number: row for row, number in enumerate(numbers)}

    def __call__(self, example: Mapping[str, Any]) -> dict[str, Any]:
        """Returns an item, given the values of its tables."""
        row = self._row(example)
        item: dict[str, Any] = {}
        for name, value in example.items():
            if name in OWN:
                continue
            feature = self.data_set.features.get(name)
            if feature is None:
                item[name] = value  # A mark of padding.
            elif feature.is_video:
                item[name] = self._frames(feature, row, np.asarray(value, np.float64), example)
            elif feature.is_image:
                item[name] = self._image(feature, value, example)
            elif feature.spec.dtype in (np.dtype(np.float64), np.dtype(np.float16)):
                item[name] = np.asarray(value).astype(np.float32)[()]
            else:
                item[name] = value
        for column, (name, texts) in self.data_set.texts.items():
            number = int(example[_TASKS[column]])
            if number not in texts:
                raise DataLossError(
                    None,
                    None,
                    f"{self._place(example)}: {column} is {number}, but meta/{name}s.parquet has "
                    "no such row. Copy the data set again.",
                )
            item[name] = texts[number]
        return item

    def _row(self, example: Mapping[str, Any]) -> int:
        """Returns the row of the example's episode, after checking that tables fit together."""
        row = self._row_of.get(int(example[EPISODE]))
        episodes = self.data_set.episodes
        if row is None:
            fault = "meta/episodes has no such episode"
        elif not episodes.firsts[row] <= example[INDEX] < episodes.ends[row]:
            fault = (
                f"meta/episodes lists frames {episodes.firsts[row]} to {episodes.ends[row] - 1} "
                "for this episode"
            )
        else:
            return row
        raise DataLossError(
            None, None, f"{self._place(example)}, but {fault}. Copy the data set again."
        )

    def _frames(
        self,
        feature: LeRobotFeature,
        row: int,
        times: npt.NDArray[np.float64],
        example: Mapping[str, Any],
    ) -> npt.NDArray[Any]:
        episodes = self.data_set.episodes
        path, start = episodes.videos[feature.name][row], episodes.starts[feature.name][row]
        try:
            read = frames(path, times=start + times.reshape(-1), tolerance=self.tolerance_s)
        except (DataLossError, InvalidArgumentError, NotFoundError) as error:
            raise self._of_frame(error, feature, example) from error
        if read.shape[1:] != feature.shape:
            raise InvalidArgumentError(
                None,
                None,
                f"{path}: the frames have the shape {read.shape[1:]}, expected {feature.shape} "
                f"according to meta/info.json ({feature.name!r}, {self._place(example)}). Correct "
                "the file.",
            )
        images = self._converted(read)
        return images[0] if len(images) == 1 else images

    def _of_frame(
        self, error: OpError, feature: LeRobotFeature, example: Mapping[str, Any]
    ) -> OpError:
        """Returns an error about a video with the names of the episode and the frame."""
        text = f"{error.message} This is {feature.name!r} of {self._place(example)}."
        if isinstance(error, InvalidArgumentError) and "tolerance" in text:
            text += " If the times are only rounded, pass a larger tolerance_s."
        return type(error)(None, None, text)

    def _image(
        self, feature: LeRobotFeature, image: npt.NDArray[np.uint8], example: Mapping[str, Any]
    ) -> npt.NDArray[Any]:
        if image.shape[-3:] != feature.shape:
            raise InvalidArgumentError(
                None,
                None,
                f"{self._place(example)}: the image {feature.name!r} has the shape "
                f"{image.shape[-3:]}, expected {feature.shape} according to meta/info.json. "
                "Correct the file.",
            )
        return self._converted(image)

    def _converted(self, images: npt.NDArray[np.uint8]) -> npt.NDArray[Any]:
        """Returns images as float32 from 0 to 1 with their channels first, unless raw."""
        if self.is_raw:
            return images
        channels_first = np.moveaxis(images, -1, -3)
        output = np.empty(channels_first.shape, np.float32)
        return np.divide(channels_first, np.float32(255), out=output)

    def _place(self, example: Mapping[str, Any]) -> str:
        number, index = int(example[EPISODE]), int(example[INDEX])
        row = self._row_of.get(number)
        frame = "" if row is None else f"frame {index - self.data_set.episodes.firsts[row]} "
        return f"{self.data_set.root}: {frame}of episode {number} (index {index})"
