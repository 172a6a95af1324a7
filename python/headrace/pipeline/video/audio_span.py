"""The samples that belong to frames of a video."""

from dataclasses import dataclass

from headrace.pipeline.video.video_file import VideoFile

__all__ = ["AudioSpan", "audio_span"]


@dataclass(frozen=True)
class AudioSpan:
    """A part of an audio track.

    Attributes:
        start: The first sample, counted from time 0 of the file. May be negative.
        length: The number of samples.
    """

    start: int
    length: int


def audio_span(video: VideoFile, first: int, num_frames: int, sample_rate: int) -> AudioSpan:
    """Returns the sound of some frames, from the start of the first to the end of the last.

    If the frame rate is constant, the length depends only on the frame rate, the number of frames
    and the sample rate.

    Args:
        video: The video.
        first: The number of the first frame.
        num_frames: The number of frames, which may be more than there are.
        sample_rate: The sample rate of the sound.
    """
    start = round(video.start_of(first) * sample_rate)
    if video.frame_rate is not None:
        return AudioSpan(start, round(num_frames * sample_rate / video.frame_rate))
    end = round(video.start_of(first + num_frames) * sample_rate)
    return AudioSpan(start, end - start)
