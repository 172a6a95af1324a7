"""Reads frames of a video file into an array."""

from collections.abc import Callable, Collection
from typing import TypeAlias

import numpy as np
import numpy.typing as npt

from headrace.core.errors import InvalidArgumentError
from headrace.pipeline.video.decoder import Picture, check_installed, decode
from headrace.pipeline.video.video_file import VideoFile, open_video

__all__ = ["frames", "read_into"]

# Decodes frames of a video; see `decoder.decode`.
Decode: TypeAlias = Callable[
    [VideoFile, Collection[int], tuple[int, int] | None, Callable[[int, Picture], None]], None
]


def frames(
    video: str | bytes,
    *,
    indices: npt.ArrayLike | None = None,
    times: npt.ArrayLike | None = None,
    tolerance: float = 1e-4,
    size: tuple[int, int] | None = None,
) -> npt.NDArray[np.uint8]:
    """Reads frames of a video file. Each frame is decoded once, even if it is listed twice.

    Pass either `indices` or `times`. Several threads can call this function at the same time.
    The tables of the most recent files are kept for the next call.

    Args:
        video: The path of the file, or its contents.
        indices: The numbers of the frames in the order in which players show them, from 0.
        times: The times of the frames in seconds from the start.
        tolerance: The maximum distance between a time and the nearest frame, in seconds.
        size: The height and width to scale frames to, or None to keep their size.

    Returns:
        The frames in the requested order: uint8, (n, height, width, 3), RGB, 0-255.

    Raises:
        DataLossError: If the file or a frame is damaged.
        InvalidArgumentError: If the format or the codec is not supported, frames differ in size and
            `size` is None, or no frame is close enough to a time.
        ModuleNotFoundError: If PyAV is not installed. `pip install headrace[video]` installs it.
        OutOfRangeError: If a frame does not exist.
    """
    check_installed("video")
    file = open_video(video)
    if times is not None and indices is None:
        numbers = file.nearest(times, tolerance)
    elif indices is not None and times is None:
        numbers = file.checked(indices)
    else:
        raise TypeError("video: got both or neither of indices and times, expected one of them.")
    (output,) = read_into(file, [numbers], size)
    return output


def read_into(
    video: VideoFile,
    groups: "list[npt.NDArray[np.int64]]",
    size: tuple[int, int] | None,
    decode: Decode = decode,
) -> list[npt.NDArray[np.uint8]]:
    """Reads groups of frames. Each frame is decoded once, even if it is in several groups.

    Args:
        video: The video.
        groups: The numbers of the frames of each group.
        size: See `frames`.
        decode: Decodes the frames.

    Returns:
        An array for each group: uint8, (n, height, width, 3).
    """
    places: dict[int, list[tuple[int, int]]] = {}
    for group, numbers in enumerate(groups):
        for position, number in enumerate(numbers.tolist()):
            places.setdefault(number, []).append((group, position))
    outputs: list[npt.NDArray[np.uint8]] = []

    def store(number: int, picture: Picture) -> None:
        if not outputs:
            outputs.extend(np.empty((len(group), *picture.shape), np.uint8) for group in groups)
        if outputs[0].shape[1:] != picture.shape:
            raise InvalidArgumentError(
                None,
                None,
                f"{video.name}: frame {number} has the size {picture.shape[:2]}, but other frames "
                f"have {outputs[0].shape[1:3]}. Pass size=(height, width) to scale all of them.",
            )
        for group, position in places[number]:
            outputs[group][position] = picture

    decode(video, places, size, store)
    if not outputs:
        shape = (0, *(size or video.frame_size), 3)
        outputs = [np.empty(shape, np.uint8) for _ in groups]
    return outputs
