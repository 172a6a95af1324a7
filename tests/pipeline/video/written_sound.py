"""Videos with sound whose samples are known."""

from fractions import Fraction

import numpy as np
from tests.pipeline.video.written_videos import av, boxes, picture

# Counted samples begin again after this many. It is prime, so that packets differ.
PERIOD = 30_011
_FORMATS = {"alac": "s16p", "flac": "s16", "libmp3lame": "fltp"}


def counted(count, num_channels=1):
    """Returns samples that count up: float32, (count, channels). 16-bit integers represent them."""
    numbers = np.arange(count)[:, None] + 1000 * np.arange(num_channels)
    return (numbers % PERIOD / 32768).astype(np.float32)


def chirp(count, rate, num_channels=1):
    """Returns a tone that rises: float32, (count, channels). Each part differs from all others."""
    time = np.arange(count)[:, None] / rate
    loudness = 0.4 / (1 + np.arange(num_channels))
    return (np.sin(2 * np.pi * (200 * time + 150 * time**2)) * loudness).astype(np.float32)


def write_sound(
    path,
    samples,
    rate,
    codec,
    start=0.0,
    num_frames=30,
    frame_rate=30,
    times=None,
    movflags=None,
    options=None,
    video_options=None,
):
    """Writes a video of numbered pictures with sound, which begins at `start` in seconds.

    `times` are those of the pictures, in milliseconds.
    """
    path = str(path)
    is_webm = path.endswith(".webm")
    with av.open(path, "w", options={"movflags": movflags} if movflags else {}) as container:
        video = container.add_stream("libvpx-vp9" if is_webm else "libx264", rate=frame_rate)
        video.height, video.width, _ = picture(0).shape
        video.pix_fmt = "yuv420p"
        video.options = {"deadline": "realtime"} if is_webm else {"bf": "2", "g": "12"}
        video.options |= video_options or {}
        base = 1 / Fraction(frame_rate) if times is None else Fraction(1, 1000)
        video.codec_context.time_base = video.time_base = base
        layout = {1: "mono", 2: "stereo", 6: "5.1"}[samples.shape[1]]
        sound = container.add_stream(codec, rate=rate, layout=layout)
        sound.options = options or {}
        if codec in _FORMATS:
            sound.format = _FORMATS[codec]
        for number in range(num_frames):
            frame = av.VideoFrame.from_ndarray(picture(number), format="rgb24")
            frame.pts, frame.time_base = number if times is None else times[number], base
            container.mux(video.encode(frame))
        container.mux(video.encode(None))
        for frame in _audio_frames(samples, rate, layout, sound, start):
            container.mux(sound.encode(frame))
        container.mux(sound.encode(None))
    return path


def _audio_frames(samples, rate, layout, sound, start):
    # The encoder was opened with the first picture.
    size, kind = sound.codec_context.frame_size or 1024, sound.codec_context.format
    values = samples
    if kind.name.startswith("s16"):
        values = np.round(samples * 32768).astype(np.int16)
    for first in range(0, len(samples), size):
        part = values[first : first + size]
        planes = part.T if kind.is_planar else part.reshape(1, -1)
        frame = av.AudioFrame.from_ndarray(np.ascontiguousarray(planes), kind.name, layout)
        frame.sample_rate, frame.time_base = rate, Fraction(1, rate)
        frame.pts = first + round(start * rate)
        yield frame


def decoded_sound(path):
    """Returns the number of the track's first sample, and the track as FFmpeg decodes it."""
    parts, convert = [], av.AudioResampler("flt")
    with av.open(str(path)) as container:
        rate = container.streams.audio[0].codec_context.sample_rate
        for frame in container.decode(audio=0):
            if not parts:
                first = round(frame.pts * frame.time_base * rate)
            (floats,) = convert.resample(frame)
            parts.append(floats.to_ndarray().reshape(-1, frame.layout.nb_channels))
    return first, np.concatenate(parts)


def part_of(track, start, length):
    """Returns a part of a track, with silence outside of the track."""
    part = np.zeros((length, track.shape[1]), np.float32)
    begin, end = max(start, 0), min(start + length, len(track))
    if begin < end:
        part[begin - start : end - start] = track[begin:end]
    return part


def edits_of_sound(data):
    """Returns where the box `elst` of the audio track of an MP4 file begins, after its header."""
    (movie,) = ((start + 8, end) for kind, start, end in boxes(data) if kind == b"moov")
    for kind, start, end in boxes(data, *movie):
        if kind == b"trak" and b"soun" in data[start:end]:
            return start + data[start:end].index(b"elst") + 4
    raise ValueError("there is no audio track")
