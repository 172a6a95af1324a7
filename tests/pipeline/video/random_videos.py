"""Random videos whose frames show their numbers, and random reads of them."""

import struct
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from fractions import Fraction
from pathlib import Path
from random import Random
from typing import Any

import numpy as np
from tests.pipeline.video.written_videos import av, change, find_box, numbers_of_many, write_video

import headrace as hr
from headrace.pipeline.video.frames import frames
from headrace.pipeline.video.video_file import open_video

MATRICES = ((1, 0, 0, 1), (0, 1, -1, 0), (-1, 0, 0, -1), (0, -1, 1, 0))
"""The matrices of rotations by 0, 90, 180 and 270 degrees clockwise."""
RATE = 30


@dataclass
class Checks:
    """The number of checked frames, and the failures.

    Attributes:
        num_frames: The number of checked frames, by kind of video.
        failures: Descriptions of wrong frames, with the seed of their video.
    """

    num_frames: dict[str, int] = field(default_factory=dict)
    failures: list[str] = field(default_factory=list)


def _h264(random: Random) -> dict[str, Any]:
    parameters = ["scenecut=0", f"open-gop={random.randrange(2)}"]
    parameters.append(f"b-pyramid={random.choice(['none', 'strict', 'normal'])}")
    options = {"bf": str(random.randrange(6)), "g": str(random.choice([1, 2, 7, 12, 30, 250]))}
    options |= {"refs": str(random.randint(1, 6)), "x264-params": ":".join(parameters)}
    options["preset"] = random.choice(["ultrafast", "veryfast", "medium"])
    return {"options": options}


def _open_gops(random: Random) -> dict[str, Any]:
    parameters = "open-gop=1:b-pyramid=normal:scenecut=0"
    options = {"bf": str(random.randint(2, 5)), "g": str(random.randint(8, 40))}
    return {"options": {**options, "x264-params": parameters}}


def _intra_refresh(random: Random) -> dict[str, Any]:
    parameters = "intra-refresh=1:bframes=0:scenecut=0"
    return {"options": {"g": str(random.randint(8, 40)), "x264-params": parameters}}


def _hevc(random: Random) -> dict[str, Any]:
    parameters = f"log-level=none:keyint={random.randint(2, 40)}:bframes={random.randrange(5)}"
    parameters += f":open-gop={random.randrange(2)}:scenecut=0"
    return {"codec": "libx265", "options": {"x265-params": parameters, "preset": "ultrafast"}}


def _av1(random: Random) -> dict[str, Any]:
    return {"codec": "libsvtav1", "options": {"g": "2", "preset": "12"}}


def _vp9(random: Random) -> dict[str, Any]:
    options = {"deadline": "realtime", "cpu-used": "8", "g": str(random.randint(2, 40))}
    if random.random() < 0.5:
        options |= {"auto-alt-ref": "1", "lag-in-frames": "16", "deadline": "good"}
    return {"codec": "libvpx-vp9", "options": options}


def _mpeg4(random: Random) -> dict[str, Any]:
    options = {"bf": str(random.randrange(3)), "g": str(random.randint(2, 40)), "q": "3"}
    return {"codec": "mpeg4", "options": options}


CODECS: dict[str, Callable[[Random], dict[str, Any]]] = {
    "H.264": _h264,
    "H.264 with open GOPs": _open_gops,
    "H.264 with intra refresh": _intra_refresh,
    "HEVC": _hevc,
    "AV1 with a keyframe every 2 frames": _av1,
    "VP9": _vp9,
    "MPEG-4": _mpeg4,
}
CONTAINERS: dict[str, tuple[str, str | None]] = {
    "MP4": (".mp4", None),
    "MP4 with tables at the front": (".mp4", "faststart"),
    "fragmented MP4": (".mp4", "frag_keyframe+empty_moov+default_base_moof"),
    "MOV": (".mov", None),
    "Matroska": (".mkv", None),
}


@dataclass(frozen=True)
class Video:
    """A video file.

    Attributes:
        path: The file.
        kind: The kind of video.
        numbers: The number that each of its frames shows.
        num_turns: The number of clockwise rotations by 90 degrees that players apply.
    """

    path: str
    kind: str
    numbers: list[int]
    num_turns: int


def random_video(seed: int, directory: Path) -> Video | None:
    """Writes a random video. Returns None if PyAV has no encoder for it."""
    random = Random(seed)
    codec, container = random.choice(list(CODECS)), random.choice(list(CONTAINERS))
    suffix, movflags = CONTAINERS[container]
    arguments = CODECS[codec](random)
    if arguments.get("codec", "libx264") not in av.codecs_available:
        return None
    if container == "MOV" and codec.startswith(("AV1", "VP9")):
        suffix, container = ".mp4", "MP4"  # FFmpeg doesn't write them to MOV files.
    kind, count, turns, times = f"{codec} in {container}", random.randint(20, 400), 0, None
    changes = random.choice(["", "", "times", "edits", "rotation"])
    if changes == "times" and "MPEG-4" not in codec:
        kind += ", variable frame rate"
        times = np.cumsum([random.randint(1, 90) for _ in range(count)]).tolist()
    path = write_video(directory / f"a{suffix}", count, times=times, movflags=movflags, **arguments)
    numbers = list(range(count))
    is_plain = container in ("MP4", "MP4 with tables at the front", "MOV") and times is None
    if is_plain and changes == "edits":
        kind += ", edit list"
        numbers = _cut(path, random, count)
    if is_plain and changes == "rotation":
        kind += ", rotated"
        turns = random.randrange(1, 4)
        turn(path, turns)
    return Video(path, kind, numbers, turns)


def _cut(path: str, random: Random, count: int) -> list[int]:
    """Shows only a part of a video, by its edit list. Returns the numbers that are shown."""
    data = Path(path).read_bytes()
    track = (b"moov", b"trak")
    header, _ = find_box(data, *track, b"mdia", b"mdhd")
    (timescale,) = struct.unpack_from(">I", data, header + 12)
    edits, _ = find_box(data, *track, b"edts", b"elst")
    (begin,) = struct.unpack_from(">I", data, edits + 12)
    # Three frames take 100 units of the movie.
    length = 3 * random.randint(1, count // 3)
    first = random.randint(0, count - length)
    start = begin + Fraction(first * timescale, RATE)
    change(path, edits + 8, struct.pack(">II", length * 100 // 3, int(start)))
    return list(range(first, first + length))


def turn(path: str, num_turns: int) -> None:
    """Sets how often players turn a video clockwise by 90 degrees."""
    start, _ = find_box(Path(path).read_bytes(), b"moov", b"trak", b"tkhd")
    a, b, c, d = (number << 16 for number in MATRICES[num_turns])
    change(path, start + 40, struct.pack(">5i", a, b, 0, c, d))


def check(seed: int, directory: Path, checks: Checks, num_reads: int = 20) -> None:
    """Writes a random video, reads frames of it in many ways, and checks their numbers."""
    video = random_video(seed, directory)
    if video is None:
        return
    random = Random(-seed - 1)
    reads = _reads(video, random, num_reads)
    number = 0
    while True:
        try:
            expected, pictures = next(reads)
        except StopIteration:
            break
        except Exception as error:
            checks.failures.append(f"seed {seed}, read {number}, {video.kind}: {error!r}")
            break
        shown = numbers_of_many(np.rot90(pictures, video.num_turns, (1, 2)))
        checks.num_frames[video.kind] = checks.num_frames.get(video.kind, 0) + len(shown)
        wrong = [pair for pair in zip(expected, shown, strict=True) if pair[0] != pair[1]]
        checks.failures += [
            f"seed {seed}, read {number}, {video.kind}: got frame {found}, expected {frame}"
            for frame, found in wrong
        ]
        number += 1


def _reads(video: Video, random: Random, count: int) -> Iterator[tuple[list[int], Any]]:
    """Yields the numbers that are expected, and pictures."""
    path, last = video.path, len(video.numbers) - 1
    file = open_video(path)
    assert len(file) == len(video.numbers), f"{len(file)} frames, expected {len(video.numbers)}"
    for _ in range(count):
        indices = [random.randint(0, last) for _ in range(random.randint(1, 150))]
        by_time = random.random() < 0.3
        how: dict[str, Any] = {"indices": indices}
        if by_time:
            how = {"times": [file.seconds(index) for index in indices]}
        yield [video.numbers[index] for index in indices], frames(path, **how)
        length, every = random.randint(1, 32), random.randint(1, 6)
        num_clips = random.randint(1, 8)
        pipe = hr.arrays({"video": [path] * random.randint(1, 3)})
        starts = np.arange(num_clips) * max(last - (length - 1) * every, 0) // max(num_clips - 1, 1)
        steps = np.arange(length) * every
        for row, example in enumerate(
            pipe.clips("video", length, every, count=num_clips, at="uniform")
        ):
            indices = np.minimum(starts[row % num_clips] + steps, last).tolist()
            yield [video.numbers[index] for index in indices], example["video"]


def remove(directory: Path) -> None:
    """Removes the files of a video."""
    for path in directory.iterdir():
        path.unlink()
