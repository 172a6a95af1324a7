"""`clips(audio=...)`: sound that belongs to the frames of a clip."""

import json
import struct
import threading
from fractions import Fraction
from pathlib import Path

import numpy as np
import pytest
from tests.pipeline.video.written_sound import counted, part_of, write_sound
from tests.pipeline.video.written_videos import av, change, find_box, numbers_of, write_video

import headrace as hr
from headrace.core import errors
from headrace.pipeline.video.audio_track import read_audio

RATE = 12_000
LENGTHS = (40, 5, 23, 31)
SEED = 7


@pytest.fixture(scope="module")
def paths(tmp_path_factory):
    """Videos of several lengths, with B-frames. Their sound is a little shorter."""
    directory = tmp_path_factory.mktemp("videos")
    return [
        write_sound(
            directory / f"{index}.mov", samples_of(length), RATE, "pcm_s16le", num_frames=length
        )
        for index, length in enumerate(LENGTHS)
    ]


def samples_of(num_frames):
    return counted(num_frames * RATE // 30 - 100)


def starts(examples):
    """Returns the numbers of the first frames."""
    return [numbers_of(example["video"][:1])[0] for example in examples]


class TestAlignment:
    @pytest.mark.parametrize("at", ["random", "uniform"])
    def test_sound_starts_with_the_first_frame(self, paths, at):
        seed = SEED if at == "random" else None
        pipe = hr.videos(paths).clips("video", 3, 2, count=5, at=at, seed=seed, audio=RATE)
        examples = list(pipe)
        for row, (example, start) in enumerate(zip(examples, starts(examples), strict=True)):
            track = samples_of(LENGTHS[row // 5])
            expected = part_of(track, start * RATE // 30, 6 * RATE // 30)
            np.testing.assert_array_equal(example["audio"], expected)

    def test_sound_after_the_last_frame_is_silent(self, paths):
        [example] = hr.videos(paths[1]).clips("video", 4, 2, at="uniform", audio=RATE)
        assert example["is_pad"].tolist() == [False, False, False, True]
        assert example["audio"].shape == (3200, 1)
        assert example["audio"][1899] > 0
        assert not example["audio"][1900:].any()

    def test_delayed_sound_starts_later(self, tmp_path):
        path = write_sound(tmp_path / "a.mkv", counted(RATE), RATE, "flac", 0.25)
        [example] = hr.videos(path).clips("video", 10, 1, at=0.2, audio=RATE)
        np.testing.assert_array_equal(
            example["audio"], part_of(counted(RATE), -RATE // 20, RATE // 3)
        )

    def test_sound_of_a_video_with_an_edit_list_is_that_of_the_shown_frames(self, tmp_path):
        path = write_sound(tmp_path / "a.mp4", counted(RATE), RATE, "flac", num_frames=30)
        data = Path(path).read_bytes()
        edits, _ = find_box(data, b"moov", b"trak", b"edts", b"elst")
        header, _ = find_box(data, b"moov", b"trak", b"mdia", b"mdhd")
        (timescale,) = struct.unpack_from(">I", data, header + 12)
        (before,) = struct.unpack_from(">I", data, edits + 12)
        # Frame 12 is shown first. The sound is not delayed.
        change(path, edits + 12, struct.pack(">I", before + timescale * 12 // 30))
        [example] = hr.videos(path).clips("video", 3, 2, at=0.1, audio=RATE)
        assert numbers_of(example["video"]) == [15, 17, 19]
        np.testing.assert_array_equal(example["audio"], counted(RATE)[1200:3600])

    def test_sound_of_a_variable_frame_rate_ends_when_the_next_frame_starts(self, tmp_path):
        times = np.cumsum([0, *np.random.default_rng(1).integers(20, 90, 29)]).tolist()
        path = write_sound(tmp_path / "a.mkv", counted(2 * RATE), RATE, "flac", times=times)
        pipe = hr.videos(path).clips("video", 3, 2, count=12, at="uniform", audio=RATE)
        examples = list(pipe)
        for example, start in zip(examples, starts(examples), strict=True):
            # The last clip ends one frame after the video, at an unknown time.
            end = times[start + 6] if start + 6 < len(times) else None
            begin = times[start] * RATE // 1000
            length = len(example["audio"]) if end is None else end * RATE // 1000 - begin
            expected = part_of(counted(2 * RATE), begin, length)
            np.testing.assert_array_equal(example["audio"], expected)
        assert len({len(example["audio"]) for example in examples}) > 1


def remove_default_duration(path):
    """Replaces the element with the duration of a frame in a Matroska file by an unknown one."""
    offset = Path(path).read_bytes().index(b"\x23\xe3\x83")
    change(path, offset, b"\x23\xe3\x84")


class TestLength:
    @pytest.mark.parametrize("name", ["a.mp4", "a.mkv", "without durations.mkv"])
    @pytest.mark.parametrize("rate", [30, 25, Fraction(30_000, 1001), Fraction(24_000, 1001)])
    def test_length_depends_only_on_the_frame_rate(self, tmp_path, name, rate):
        lengths = set()
        # A rate cannot be determined from a few rounded times.
        for num_frames in (15 if "without" in name else 3, 30, 47):
            path = write_sound(
                tmp_path / f"{num_frames}{name}",
                counted(RATE),
                RATE,
                "flac",
                num_frames=num_frames,
                frame_rate=rate,
            )
            if "without" in name:
                remove_default_duration(path)
            pipe = hr.videos(path).clips("video", 4, 4, count=5, seed=SEED, audio=44_100)
            lengths |= {len(example["audio"]) for example in pipe}
        assert lengths == {round(16 * 44_100 / rate)}

    def test_clips_of_equal_frame_rates_are_batched(self, paths):
        pipe = hr.videos(paths).clips("video", 4, 2, seed=SEED, audio=16_000, audio_channels=2)
        assert pipe.spec["audio"] == hr.Spec(np.dtype(np.float32), (None, 2))
        [batch] = pipe.batch(4)
        assert batch["audio"].shape == (4, 4267, 2)

    def test_number_of_channels_is_unknown_unless_it_is_set(self, paths):
        pipe = hr.videos(paths).clips("video", seed=SEED, audio=RATE)
        assert pipe.spec["audio"] == hr.Spec(np.dtype(np.float32), (None, None))

    def test_one_frame_without_a_duration_is_an_error(self, tmp_path):
        path = write_sound(tmp_path / "a.mkv", counted(RATE), RATE, "flac", times=[0], num_frames=1)
        remove_default_duration(path)
        pipe = hr.videos(path).clips("video", 2, 1, at="uniform", audio=RATE)
        text = r"a\.mkv: the video has one frame without a duration"
        with pytest.raises(errors.InvalidArgumentError, match=text):
            list(pipe)


PIPES = {
    "one": lambda p: hr.videos(p).shuffle(seed=1).clips("video", 3, 2, seed=SEED, audio=8000),
    "several": lambda p: (
        hr.videos(p).clips("video", 3, 2, count=3, seed=SEED, audio=8000).shuffle(window=4, seed=1)
    ),
    "repeated": lambda p: (
        hr.arrays({"video": p * 3, "path": p * 3})
        .shuffle(seed=2)
        .clips("video", 3, 2, seed=SEED, audio=8000, audio_channels=1)
    ),
}


@pytest.mark.parametrize("kind", PIPES)
def test_sound_does_not_depend_on_threads_or_memory(paths, items_of, kind):
    ways = ({}, {"num_threads": 1}, {"num_threads": 4, "memory_bytes": 500_000})
    items_of(PIPES[kind](paths), ways)


@pytest.mark.parametrize("kind", PIPES)
def test_sound_continues_after_any_batch(paths, kind):
    pipe = PIPES[kind](paths).batch(2)
    with iter(pipe) as batches:
        states = [json.dumps(batches.state())]
        everything = []
        for batch in batches:
            everything.append(batch)
            states.append(json.dumps(batches.state()))
    for step, state in enumerate(states):
        with pipe.resume(json.loads(state)) as rest:
            for batch, expected in zip(rest, everything[step:], strict=True):
                np.testing.assert_array_equal(batch["audio"], expected["audio"])
                np.testing.assert_array_equal(batch["video"], expected["video"])


@pytest.mark.parametrize("kind", PIPES)
def test_ranks_divide_the_sound(paths, kind):
    pipe = PIPES[kind](paths)
    shares = [list(pipe.shard(rank, 3)) for rank in range(3)]
    mixed = [share[i] for i in range(len(shares[0])) for share in shares if i < len(share)]
    for example, expected in zip(mixed, pipe, strict=True):
        np.testing.assert_array_equal(example["audio"], expected["audio"])


def test_sound_counts_towards_memory_bytes(paths, monkeypatch):
    used, has_begun = [], threading.Event()
    pipe = hr.videos([paths[0]] * 2).clips("video", 2, 1, at=0.0, size=(24, 32), audio=1_000_000)

    def read(*arguments):
        assert has_begun.wait(60)
        sounds = read_audio(*arguments)
        used.append(batches.metrics()["headrace_memory_bytes"])
        return sounds

    monkeypatch.setattr("headrace.pipeline.stages.clip_reader.read_audio", read)
    with iter(pipe) as batches:
        has_begun.set()
        sizes = [example["audio"].nbytes for example in batches]
    assert min(used) >= max(sizes) > 200_000


class TestErrors:
    def test_videos_without_sound_are_skipped(self, paths, tmp_path):
        silent = write_video(tmp_path / "silent.mp4", 20)
        pipe = hr.videos([paths[0], silent, paths[2]]).clips("video", 3, 2, seed=1, audio=RATE)
        text = r"silent\.mp4: the video has no audio track, which clips\(audio=\.\.\.\) needs"
        with pytest.raises(errors.InvalidArgumentError, match=text):
            list(pipe)
        batches = iter(pipe.skip_errors(1))
        assert [Path(example["path"]).stem for example in batches] == ["0", "2"]
        [skipped] = batches.skipped
        assert "silent.mp4: the video has no audio track" in skipped.reason

    def test_damaged_sound_names_the_file_and_the_time(self, tmp_path):
        path = write_sound(tmp_path / "a.mp4", counted(4 * RATE), RATE, "flac", num_frames=90)
        with av.open(path) as container:
            packets = [packet for packet in container.demux(audio=0) if packet.pts]
        packet = next(packet for packet in packets if packet.pts >= 2.05 * RATE)
        change(path, packet.pos + packet.size // 2, bytes(10))
        pipe = hr.videos(path).clips("video", 3, 2, at=2.0, audio=RATE)
        text = r"a\.mp4: the sound at 2\.\d+ s cannot be decoded: .*\. Copy the file again"
        with pytest.raises(errors.DataLossError, match=text):
            list(pipe)
        [example] = hr.videos(path).clips("video", 3, 2, at=0.5, audio=RATE)
        np.testing.assert_array_equal(example["audio"], counted(4 * RATE)[6000:8400])

    @pytest.mark.parametrize(
        ("arguments", "text"),
        [
            ({"audio": 0}, "audio is 0, expected an int of at least 1"),
            ({"audio": True}, "audio is True, expected an int"),
            ({"audio": 2_000_000}, "audio is 2000000, expected a sample rate of at most 1000000"),
            ({"audio": 16_000, "audio_channels": 6}, "audio_channels is 6, expected 1 or 2"),
            ({"audio_channels": 1}, "audio_channels is 1, but no sound is read"),
            (
                {"audio": 16_000, "decoder": "torchcodec"},
                "audio is 16000, but decoder='torchcodec' cannot read sound",
            ),
        ],
    )
    def test_arguments_are_checked(self, arguments, text):
        with pytest.raises(ValueError, match=rf"clips: {text}"):
            hr.videos("*.mp4").clips("video", **arguments)

    def test_component_must_be_new(self):
        pipe = hr.videos("*.mp4").rename(path="audio")
        text = r"there is already a component 'audio'\. .* rename\(audio='previous_audio'\)"
        with pytest.raises(ValueError, match=text):
            pipe.clips("video", audio=16_000)


def test_sound_is_part_of_the_description():
    pipe = hr.videos("*.mp4").clips("video", seed=1, audio=16_000)
    assert "audio=16000" in repr(pipe)
    assert "audio" not in repr(hr.videos("*.mp4").clips("video", seed=1))
