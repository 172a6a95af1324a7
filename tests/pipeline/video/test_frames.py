import struct
import threading
from pathlib import Path

import numpy as np
import pytest
from tests.pipeline.video.written_videos import (
    av,
    change,
    decoded_in_order,
    find_box,
    numbers_of,
    picture,
    write_video,
)

from headrace.core.errors import (
    DataLossError,
    InvalidArgumentError,
    NotFoundError,
    OutOfRangeError,
)
from headrace.pipeline.video.frames import frames
from headrace.pipeline.video.video_file import open_video

OPEN_GOP = {"bf": "3", "g": "12", "x264-params": "open-gop=1:b-pyramid=normal:scenecut=0"}
KINDS = {
    "B-frames": {"options": {"bf": "3", "g": "20"}},
    "open GOPs": {"options": OPEN_GOP},
    "one keyframe": {"options": {"g": "1000", "x264-params": "scenecut=0"}},
    "no B-frames": {"options": {"bf": "0", "g": "7"}},
    "only keyframes": {"options": {"g": "1"}},
    "intra refresh": {"options": {"g": "10", "x264-params": "intra-refresh=1:bframes=0"}},
    "variable frame rate": {"times": [n * 33 + n * n % 17 for n in range(60)]},
    "fragments": {"movflags": "frag_keyframe+empty_moov", "options": {"bf": "2", "g": "9"}},
    "fragments with a base": {"movflags": "frag_keyframe+empty_moov+default_base_moof"},
    "tables at the front": {"movflags": "faststart"},
    "AV1": {"codec": "libsvtav1", "options": {"g": "2", "preset": "12"}},
    "MPEG-4": {"codec": "mpeg4", "options": {"bf": "2", "g": "10"}},
    "VP9": {"codec": "libvpx-vp9", "options": {"deadline": "realtime", "g": "11"}},
    "HEVC": {"codec": "libx265", "options": {"x265-params": "log-level=none:keyint=10:bframes=3"}},
    "JPEG": {"codec": "mjpeg"},
    "Matroska": {"suffix": ".mkv", "options": OPEN_GOP},
    "Matroska with AV1": {"suffix": ".mkv", "codec": "libsvtav1", "options": {"preset": "12"}},
    "WebM with VP9": {
        "suffix": ".webm",
        "codec": "libvpx-vp9",
        "options": {"deadline": "realtime"},
    },
    "WebM with VP8": {
        "suffix": ".webm",
        "codec": "libvpx",
        "options": {"auto-alt-ref": "1", "lag-in-frames": "16", "g": "25"},
    },
}


def written(directory, kind, count=60):
    """Writes a video of a kind."""
    arguments = dict(KINDS[kind])
    codec = arguments.get("codec", "libx264")
    if codec not in av.codecs_available:
        pytest.skip(f"this build of PyAV has no {codec}")
    path = directory / f"a{arguments.pop('suffix', '.mp4')}"
    return write_video(path, count, **arguments)


@pytest.mark.parametrize("kind", KINDS)
def test_each_decoded_frame_contains_its_number(tmp_path, kind):
    path = written(tmp_path, kind)
    times, expected = decoded_in_order(path)
    video = open_video(path)
    assert len(video) == len(times) == 60
    np.testing.assert_allclose([video.seconds(n) for n in range(60)], times, atol=1e-9)
    assert numbers_of(frames(path, indices=range(60))) == list(range(60))
    np.testing.assert_array_equal(frames(path, indices=range(60)), expected)


@pytest.mark.parametrize("kind", KINDS)
def test_random_access_matches_sequential_decoding(tmp_path, kind):
    path = written(tmp_path, kind)
    _, expected = decoded_in_order(path)
    rng = np.random.default_rng(1)
    for _ in range(12):
        indices = rng.integers(0, 60, rng.integers(1, 5))
        np.testing.assert_array_equal(frames(path, indices=indices), np.stack(expected)[indices])
    for index in range(60):
        np.testing.assert_array_equal(frames(path, indices=[index])[0], expected[index])


def test_contents_in_memory_are_read_like_a_file(tmp_path):
    path = written(tmp_path, "B-frames")
    assert numbers_of(frames(Path(path).read_bytes(), indices=[40, 3])) == [40, 3]


def test_quicktime_files_are_read(tmp_path):
    path = write_video(tmp_path / "a.mov", 60, options=OPEN_GOP)
    assert numbers_of(frames(path, indices=[59, 0, 13])) == [59, 0, 13]


def test_frames_at_times_are_the_nearest_within_the_tolerance(tmp_path):
    path = written(tmp_path, "variable frame rate")
    times, _ = decoded_in_order(path)
    picked = [50, 3, 3]
    near = [times[index] + 4e-5 for index in picked]
    assert numbers_of(frames(path, times=near)) == picked
    text = r"a\.mp4: the frame at 0\.010000 s was requested, but the nearest frame is at 0\.000000"
    with pytest.raises(InvalidArgumentError, match=text):
        frames(path, times=[0.010], tolerance=0.001)


def test_frame_shown_at_a_time_starts_before_that_time(tmp_path):
    video = open_video(written(tmp_path, "B-frames"))
    assert [video.shown_at(n / 30) for n in range(60)] == list(range(60))
    assert [video.shown_at((n + 0.99) / 30) for n in range(60)] == list(range(60))
    with pytest.raises(
        OutOfRangeError, match=r"the frame at 2 s was requested, but .* ends at 2 s"
    ):
        video.shown_at(2.0)


def test_frames_are_scaled(tmp_path):
    path = written(tmp_path, "B-frames")
    scaled = frames(path, indices=[5, 21], size=(24, 96))
    assert scaled.shape == (2, 24, 96, 3)
    assert numbers_of(scaled) == [5, 21]


def test_empty_selection_has_the_size_of_the_video(tmp_path):
    path = written(tmp_path, "B-frames")
    assert frames(path, indices=[]).shape == (0, 48, 64, 3)


@pytest.mark.parametrize(
    ("turns", "matrix"), [(1, (0, 1, -1, 0)), (2, (-1, 0, 0, -1)), (3, (0, -1, 1, 0))]
)
def test_rotated_videos_are_upright(tmp_path, turns, matrix):
    path = written(tmp_path, "B-frames")
    start, _ = find_box(Path(path).read_bytes(), b"moov", b"trak", b"tkhd")
    a, b, c, d = (number << 16 for number in matrix)
    change(path, start + 40, struct.pack(">5i", a, b, 0, c, d))
    with av.open(path) as container:
        first = next(container.decode(video=0))
    assert first.rotation % 360 == -90 * turns % 360
    expected = np.rot90(first.to_ndarray(format="rgb24"), -turns)
    np.testing.assert_array_equal(frames(path, indices=[0])[0], expected)
    size = (30, 20)
    assert frames(path, indices=[0], size=size).shape == (1, *size, 3)


def test_mirrored_videos_are_rejected(tmp_path):
    path = written(tmp_path, "B-frames")
    start, _ = find_box(Path(path).read_bytes(), b"moov", b"trak", b"tkhd")
    change(path, start + 40, struct.pack(">i", -1 << 16))
    with pytest.raises(InvalidArgumentError, match=r"a\.mp4: the video track is transformed by"):
        frames(path, indices=[0])


def test_frames_outside_the_edit_list_are_not_shown(tmp_path):
    path = written(tmp_path, "no B-frames")
    data = Path(path).read_bytes()
    start, _ = find_box(data, b"moov", b"trak", b"edts", b"elst")
    timescale = struct.unpack_from(
        ">I", data, find_box(data, b"moov", b"trak", b"mdia", b"mdhd")[0] + 12
    )[0]
    change(path, start + 8, struct.pack(">II", 1000, timescale // 3))
    times, expected = decoded_in_order(path)
    assert numbers_of(frames(path, indices=range(30))) == list(range(10, 40))
    assert len(open_video(path)) == len(times) == 30
    np.testing.assert_array_equal(frames(path, indices=[0, 29]), [expected[0], expected[29]])


def test_threads_read_the_same_file_at_the_same_time(tmp_path):
    path = written(tmp_path, "open GOPs")
    results = {}

    def read(seed):
        indices = np.random.default_rng(seed).permutation(60)
        results[seed] = numbers_of(frames(path, indices=indices)) == indices.tolist()

    threads = [threading.Thread(target=read, args=(seed,)) for seed in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(60)
    assert results == dict.fromkeys(range(4), True)


def test_changed_file_is_read_again(tmp_path):
    path = write_video(tmp_path / "a.mp4", 10)
    assert len(open_video(path)) == 10
    write_video(path, 12)
    assert len(open_video(path)) == 12


def test_error_names_the_damaged_frame(tmp_path):
    path = written(tmp_path, "no B-frames")
    native = open_video(path).native
    sample = native.read_samples(10, 11)[0]
    offset = Path(path).read_bytes().index(sample)
    change(path, offset + 4, bytes(len(sample) - 4))
    assert numbers_of(frames(path, indices=[9])) == [9]
    with pytest.raises(
        DataLossError, match=r"a\.mp4: frame 10 \(at 0\.33\d* s\) cannot be decoded"
    ):
        frames(path, indices=[12])
    assert numbers_of(frames(path, indices=[14])) == [14]


def test_frames_before_the_end_of_a_truncated_file_are_read(tmp_path):
    path = written(tmp_path, "tables at the front")
    data = Path(path).read_bytes()
    Path(path).write_bytes(data[:-100])
    assert numbers_of(frames(path, indices=[0, 1])) == [0, 1]
    with pytest.raises(
        DataLossError, match=r"a\.mp4: frame \d+ ends at byte \d+, past the end of the file"
    ):
        frames(path, indices=[59])


def test_truncated_tables_are_rejected(tmp_path):
    path = written(tmp_path, "B-frames")
    data = Path(path).read_bytes()
    Path(path).write_bytes(data[:-100])
    with pytest.raises(DataLossError, match=r"a\.mp4: the 'moov' box at byte \d+ ends at byte"):
        frames(path, indices=[0])


def test_error_for_a_wrong_box_size_names_the_box(tmp_path):
    path = written(tmp_path, "B-frames")
    start, _ = find_box(
        Path(path).read_bytes(), b"moov", b"trak", b"mdia", b"minf", b"stbl", b"stts"
    )
    change(path, start + 4, struct.pack(">I", 1 << 20))
    with pytest.raises(
        DataLossError, match=r"a\.mp4: the 'stts' box at byte \d+ has \d+ bytes, which are too few"
    ):
        frames(path, indices=[0])


def test_unsupported_formats_are_rejected(tmp_path):
    (tmp_path / "b.mp4").write_bytes(b"RIFF....AVI LIST")
    with pytest.raises(
        InvalidArgumentError, match=r"b\.mp4: the file starts like neither MP4, MOV"
    ):
        frames(str(tmp_path / "b.mp4"), indices=[0])
    with pytest.raises(NotFoundError, match=r"c\.mp4"):
        frames(str(tmp_path / "c.mp4"), indices=[0])


def test_missing_frame_is_rejected(tmp_path):
    path = write_video(tmp_path / "a.mp4", 5)
    for index in (-1, 5):
        with pytest.raises(
            OutOfRangeError, match=rf"frame {index} was requested, but the video has 5 frames"
        ):
            frames(path, indices=[index])


def test_indices_and_times_are_mutually_exclusive(tmp_path):
    path = write_video(tmp_path / "a.mp4", 5)
    for arguments in ({}, {"indices": [0], "times": [0.0]}):
        with pytest.raises(TypeError, match="both or neither"):
            frames(path, **arguments)


def test_pictures_contain_their_frame_numbers():
    assert numbers_of([picture(number) for number in (0, 1, 2047, 4095)]) == [0, 1, 2047, 4095]


def test_decoding_starts_before_keyframes_that_refresh_only_part_of_the_picture(tmp_path):
    path = written(tmp_path, "intra refresh", 240)
    _, expected = decoded_in_order(path)
    for index in range(210, 240):
        np.testing.assert_array_equal(frames(path, indices=[index])[0], expected[index])
