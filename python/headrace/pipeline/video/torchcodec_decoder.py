"""Decodes frames of a video with torchcodec."""

from collections.abc import Callable, Collection
from typing import Any, Final

import numpy as np

from headrace.core.errors import DataLossError, InvalidArgumentError
from headrace.core.optional_dependencies import missing_torchcodec
from headrace.io import storage
from headrace.pipeline.video.decoder import Picture
from headrace.pipeline.video.video_file import VideoFile

__all__ = ["check_installed", "decode"]

# The maximum difference in seconds between the time of a frame in the file's tables and the time
# that torchcodec returns. Frames are further apart.
_TOLERANCE: Final = 1e-5


def check_installed(where: str) -> None:
    """Raises ModuleNotFoundError if torchcodec is not installed.

    Args:
        where: The function or stage that decodes.
    """
    if missing := missing_torchcodec():
        raise ModuleNotFoundError(f"{where}: {missing}.")


def decode(
    video: VideoFile,
    numbers: Collection[int],
    size: tuple[int, int] | None,
    store: Callable[[int, Picture], None],
) -> None:
    """Decodes frames, each once, and passes each to `store` with its number.

    The time of each frame is compared with the file's tables. Unlike PyAV, torchcodec doesn't
    report damaged pictures that FFmpeg conceals.

    Args:
        video: The video.
        numbers: The numbers of the frames.
        size: The height and width to scale frames to, or None to keep their size.
        store: Receives a frame's number and its picture.

    Raises:
        DataLossError: If a frame cannot be decoded.
        InvalidArgumentError: If torchcodec finds frames that differ from the file's tables.
    """
    if not numbers:
        return
    decoder = _opened(video, size)
    if len(decoder) != len(video):
        raise _different(video, f"{len(decoder)} frames, expected {len(video)}")
    indices = sorted(set(numbers))
    try:
        frames = decoder.get_frames_at(indices)
    except (RuntimeError, IndexError) as error:
        raise DataLossError(
            None,
            None,
            f"{video.name}: one of the frames {indices[0]} to {indices[-1]} cannot be decoded: "
            f"{error}. Copy the file again, or skip it.",
        ) from error
    height, width = size or video.frame_size
    for index, time, picture in zip(
        indices, frames.pts_seconds.tolist(), frames.data.numpy(), strict=True
    ):
        if abs(time - video.seconds(index)) > _TOLERANCE:
            raise _different(
                video, f"frame {index} at {time:.6f} s, expected it at {video.seconds(index):.6f} s"
            )
        if picture.shape != (height, width, 3):
            raise _different(
                video, f"frames of the size {picture.shape[:2]}, expected {height, width}"
            )
        store(index, np.ascontiguousarray(picture))


def _opened(video: VideoFile, size: tuple[int, int] | None) -> Any:
    from torchcodec.decoders import VideoDecoder  # noqa: PLC0415 (an optional dependency)
    from torchcodec.transforms import Resize  # noqa: PLC0415 (an optional dependency)

    source = video.source
    if isinstance(source, str):
        if storage.is_remote(source):
            raise InvalidArgumentError(
                None,
                None,
                f"{video.name}: torchcodec cannot read remote files. Use decoder='pyav'.",
            )
        source = storage.local_path(source)
    transforms = [] if size is None else [Resize(size)]
    try:
        return VideoDecoder(
            source, dimension_order="NHWC", num_ffmpeg_threads=1, transforms=transforms
        )
    except (RuntimeError, ValueError) as error:
        raise DataLossError(
            None, None, f"{video.name}: torchcodec cannot open this video: {error}. Skip it."
        ) from error


def _different(video: VideoFile, what: str) -> InvalidArgumentError:
    return InvalidArgumentError(
        None, None, f"{video.name}: torchcodec finds {what}. Use decoder='pyav' for this file."
    )
