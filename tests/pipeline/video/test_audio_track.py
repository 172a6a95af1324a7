"""Parts of audio tracks: the samples of the whole track, silence, and errors."""

import struct
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from tests.pipeline.video.written_sound import (
    chirp,
    counted,
    decoded_sound,
    edits_of_sound,
    part_of,
    write_sound,
)
from tests.pipeline.video.written_videos import av, change, write_video

from headrace.core.errors import DataLossError, InvalidArgumentError
from headrace.pipeline.video import audio_track
from headrace.pipeline.video.audio_span import AudioSpan
from headrace.pipeline.video.audio_track import read_audio
from headrace.pipeline.video.video_file import open_video

FRAGMENTS = "frag_keyframe+delay_moov"
# PCM in Matroska has the rounded times of packets of 1024 samples.
LOSSLESS = {
    "PCM in MOV": ("a.mov", "pcm_s16le", None),
    "PCM in Matroska": ("a.mkv", "pcm_s16le", None),
    "FLAC in Matroska": ("a.mkv", "flac", None),
    "FLAC in MP4": ("a.mp4", "flac", None),
    "FLAC in fragments": ("a.mp4", "flac", FRAGMENTS),
    "ALAC in MOV": ("a.mov", "alac", None),
}
LOSSY = {
    "AAC in MP4": ("a.mp4", "aac", None),
    "AAC in fragments": ("a.mp4", "aac", FRAGMENTS),
    "AAC in Matroska": ("a.mkv", "aac", None),
    "Opus in WebM": ("a.webm", "libopus", None),
    "Opus in Matroska": ("a.mkv", "libopus", None),
    "Opus in MP4": ("a.mp4", "libopus", None),
    "MP3 in MP4": ("a.mp4", "libmp3lame", None),
}


def spans(seed, last, count=12):
    """Returns random parts from before the track to `last`."""
    rng = np.random.default_rng(seed)
    starts, lengths = rng.integers(-3000, last, count), rng.integers(1, 20_000, count)
    return [AudioSpan(int(s), int(n)) for s, n in zip(starts, lengths, strict=True)]


def read(path, parts, rate, num_channels=None):
    return read_audio(open_video(path), parts, rate, num_channels)


@pytest.mark.parametrize(("start", "rate"), [(0.0, 44_100), (0.35, 48_000)])
@pytest.mark.parametrize("kind", LOSSLESS)
def test_lossless_sound_is_exact(tmp_path, kind, start, rate):
    name, codec, movflags = LOSSLESS[kind]
    samples = counted(rate + 777, 2)
    path = write_sound(tmp_path / name, samples, rate, codec, start, movflags=movflags)
    track = np.concatenate([np.zeros((round(start * rate), 2), np.float32), samples])
    parts = spans(1, len(track) + 5000, 6)
    for part, sound in zip(parts, read(path, parts, rate), strict=True):
        np.testing.assert_array_equal(sound, part_of(track, part.start, part.length))
        (alone,) = read(path, [part], rate)
        np.testing.assert_array_equal(alone, sound)


@pytest.mark.parametrize("kind", LOSSY)
def test_partial_reads_match_the_decoded_track(tmp_path, kind):
    name, codec, movflags = LOSSY[kind]
    samples = chirp(2 * 48_000 + 777, 48_000, 2)
    path = write_sound(tmp_path / name, samples, 48_000, codec, movflags=movflags)
    first, track = decoded_sound(path)
    for part in spans(2, len(track) - 20_000):
        (sound,) = read(path, [part], 48_000)
        np.testing.assert_array_equal(sound, part_of(track, part.start - first, part.length))


@pytest.mark.parametrize("start", [0.0, 0.35])
@pytest.mark.parametrize("kind", LOSSY)
def test_padding_of_encoders_is_removed(tmp_path, kind, start):
    name, codec, movflags = LOSSY[kind]
    samples = chirp(2 * 48_000, 48_000)
    path = write_sound(tmp_path / name, samples, 48_000, codec, start, movflags=movflags)
    (sound,) = read(path, [AudioSpan(round((start + 1) * 48_000), 4800)], 48_000)
    products = np.correlate(samples[47_000:53_800, 0], sound[:, 0], "valid")
    # Matroska stores times in milliseconds, and FFmpeg rounds the delay in an edit list to them.
    is_rounded = start > 0 or name.endswith(("mkv", "webm"))
    assert abs(int(np.argmax(products)) - 1000) <= (48 if is_rounded else 0)


def test_aac_after_the_first_minute_is_exact_without_noise(tmp_path, monkeypatch):
    samples = chirp(3 * 44_100, 44_100, 2)
    path = write_sound(tmp_path / "a.mp4", samples, 44_100, "aac", options={"aac_pns": "0"})
    first, track = decoded_sound(path)
    monkeypatch.setattr(audio_track, "_FROM_START_SECONDS", 0)
    for part in spans(3, len(track) - 20_000, 40):
        (sound,) = read(path, [part], 44_100)
        np.testing.assert_array_equal(sound, part_of(track, part.start - first, part.length))


@pytest.mark.parametrize("from_start", [0, 60])
def test_noise_in_aac_is_always_the_same(tmp_path, monkeypatch, from_start):
    noise = np.random.default_rng(1).normal(0, 0.1, (96_000, 1)).astype(np.float32)
    path = write_sound(tmp_path / "a.mp4", noise, 48_000, "aac")
    monkeypatch.setattr(audio_track, "_FROM_START_SECONDS", from_start)
    parts = [AudioSpan(start, 9600) for start in (50_000, 20_000, 70_000)]
    together = read(path, parts, 48_000)
    for part, sound in zip(parts, together, strict=True):
        np.testing.assert_array_equal(read(path, [part], 48_000)[0], sound)


@pytest.mark.parametrize(("rate", "new_rate"), [(48_000, 16_000), (44_100, 16_000), (8000, 44_100)])
def test_resampled_parts_are_those_of_the_resampled_track(tmp_path, rate, new_rate):
    time = np.arange(2 * rate) / rate
    samples = (0.5 * np.sin(2 * np.pi * 440 * time)).astype(np.float32)[:, None]
    path = write_sound(tmp_path / "a.mov", samples, rate, "pcm_s16le")
    (track,) = read(path, [AudioSpan(0, 2 * new_rate)], new_rate)
    ideal = 0.5 * np.sin(2 * np.pi * 440 * np.arange(2 * new_rate) / new_rate)
    np.testing.assert_allclose(track[500:-500, 0], ideal[500:-500], atol=1e-4)
    parts = [AudioSpan(abs(part.start), part.length // 2) for part in spans(4, new_rate)]
    for part, sound in zip(parts, read(path, parts, new_rate), strict=True):
        np.testing.assert_array_equal(sound, track[part.start : part.start + part.length])


@pytest.mark.parametrize("codec", ["pcm_s16le", "aac"])
def test_channels_are_mixed(tmp_path, codec):
    samples = chirp(48_000, 48_000, 2)
    path = write_sound(tmp_path / "a.mov", samples, 48_000, codec)
    part = AudioSpan(10_000, 5000)
    ((both,), (mono,)) = (read(path, [part], 48_000, number) for number in (2, 1))
    np.testing.assert_array_equal(both, read(path, [part], 48_000)[0])
    np.testing.assert_allclose(mono[:, 0], both.mean(axis=1), atol=1e-6)


def test_mono_sound_becomes_stereo(tmp_path):
    path = write_sound(tmp_path / "a.mkv", chirp(48_000, 48_000), 48_000, "pcm_s16le")
    (sound,) = read(path, [AudioSpan(10_000, 5000)], 48_000, 2)
    assert np.abs(sound).max() > 0.2
    np.testing.assert_array_equal(sound[:, 0], sound[:, 1])


@pytest.mark.parametrize("name", ["a.mov", "a.mkv"])
def test_surround_sound_is_mixed(tmp_path, name):
    samples = np.repeat(chirp(48_000, 48_000), 6, axis=1)
    path = write_sound(tmp_path / name, samples, 48_000, "pcm_s16le")
    part = AudioSpan(10_000, 5000)
    (surround,), (mono,) = read(path, [part], 48_000), read(path, [part], 48_000, 1)
    assert surround.shape == (5000, 6)
    np.testing.assert_allclose(mono[:, 0], surround[:, 0], atol=1e-4)


def test_contents_in_memory_have_the_same_sound(tmp_path):
    path = write_sound(tmp_path / "a.mp4", counted(48_000), 48_000, "flac")
    (sound,) = read(Path(path).read_bytes(), [AudioSpan(700, 9)], 48_000)
    np.testing.assert_array_equal(sound, counted(48_000)[700:709])


class TestEdits:
    @pytest.mark.parametrize("codec", ["pcm_s16le", "flac", "aac"])
    @pytest.mark.parametrize("first", [1024, 10_000])
    def test_sound_before_the_edit_is_left_out(self, tmp_path, codec, first):
        path = tmp_path / ("a.mov" if codec == "pcm_s16le" else "a.mp4")
        samples = counted(96_000) if codec != "aac" else chirp(96_000, 48_000)
        write_sound(path, samples, 48_000, codec)
        (track,) = read(str(path), [AudioSpan(0, 96_000)], 48_000)
        data = path.read_bytes()
        edits = edits_of_sound(data)
        (before,) = struct.unpack_from(">i", data, edits + 12)
        change(path, edits + 12, struct.pack(">i", before + first))
        for start in (0, 40_000):
            (sound,) = read(str(path), [AudioSpan(start, 5000)], 48_000)
            # The decoder starts anew at the edit.
            np.testing.assert_array_equal(sound, track[start + first :][:5000])

    def test_joined_parts_are_rejected(self, tmp_path):
        path = write_sound(tmp_path / "a.mov", counted(96_000), 48_000, "pcm_s16le", 0.5)
        edits = edits_of_sound(Path(path).read_bytes())
        two = struct.pack(">IIiIIiI", 2, 500, 0, 1 << 16, 500, 50_000, 1 << 16)
        change(path, edits + 4, two)
        with pytest.raises(InvalidArgumentError, match=r"a\.mov: the edit list of the audio track"):
            read(path, [AudioSpan(0, 10)], 48_000)


class TestErrors:
    def test_video_without_sound_is_an_error(self, tmp_path):
        path = write_video(tmp_path / "a.mp4", 5)
        with pytest.raises(InvalidArgumentError, match=r"a\.mp4: the video has no audio track"):
            read(path, [AudioSpan(0, 10)], 48_000)

    @pytest.mark.parametrize("name", ["a.mp4", "a.mkv"])
    def test_damaged_sound_is_an_error_that_names_the_time(self, tmp_path, name):
        path = write_sound(tmp_path / name, chirp(96_000, 48_000), 48_000, "flac")
        with av.open(path) as container:
            packets = list(container.demux(audio=0))
        # Each packet has 4608 samples.
        change(path, packets[10].pos + 500, bytes(20))
        assert len(read(path, [AudioSpan(0, 40_000)], 48_000)[0]) == 40_000
        text = rf"{name}: the sound at 0\.96 s cannot be decoded: .*\. Copy the file again"
        with pytest.raises(DataLossError, match=text):
            read(path, [AudioSpan(0, 50_000)], 48_000)

    @pytest.mark.parametrize(
        ("name", "codec", "movflags"),
        [
            ("a.mp4", "aac", "faststart"),
            ("a.mp4", "aac", FRAGMENTS),
            ("a.mkv", "flac", None),
            ("a.mkv", "pcm_s16le", None),
            ("a.webm", "libopus", None),
        ],
    )
    def test_sound_that_is_cut_short_is_not_silence(self, tmp_path, name, codec, movflags):
        options = {"g": "5"}
        path = tmp_path / name
        samples = chirp(96_000, 48_000)
        write_sound(path, samples, 48_000, codec, movflags=movflags, video_options=options)
        data = path.read_bytes()
        num_opened = 0
        for num_bytes in range(len(data) // 2, len(data) * 9 // 10, len(data) // 20):
            path.write_bytes(data[:num_bytes])
            try:
                video = open_video(str(path))
            except DataLossError:
                continue  # The tables are cut, too.
            num_opened += 1
            with pytest.raises(DataLossError, match=rf"{name}: .* (is cut short|is missing)"):
                read_audio(video, [AudioSpan(95_000, 900)], 48_000, None)
        assert num_opened >= 4

    def test_first_frame_at_another_time_is_an_error(self, tmp_path):
        path = write_sound(tmp_path / "a.mp4", counted(9000), 48_000, "flac")
        video = open_video(path)
        later = replace(video, times=video.times + video.native.timescale)
        with pytest.raises(
            InvalidArgumentError, match=r"a\.mp4: FFmpeg shows the first frame at 0"
        ):
            read_audio(later, [AudioSpan(0, 10)], 48_000, None)

    def test_sound_after_the_requested_time_is_an_error(self, tmp_path, monkeypatch):
        path = write_sound(tmp_path / "a.mp4", counted(96_000), 48_000, "flac")
        monkeypatch.setattr(audio_track, "_PREROLL_SECONDS", -0.5)
        with pytest.raises(InvalidArgumentError, match=r"FFmpeg sought the sound at 0\.5 s"):
            read(path, [AudioSpan(24_000, 10)], 48_000)

    def test_file_that_ffmpeg_cannot_open_is_an_error(self, tmp_path):
        path = write_sound(tmp_path / "a.mp4", counted(9000), 48_000, "flac")
        video = open_video(path)
        Path(path).write_bytes(b"nothing")
        with pytest.raises(DataLossError, match=r"a\.mp4: FFmpeg cannot open the file"):
            read_audio(video, [AudioSpan(0, 10)], 48_000, None)
