"""Decoding of sound files: WAV compared with NumPy, other formats with their WAV source.

The files in `files/` are 0.6 s of tones, 8,000 samples a second, two channels: `tone.wav` by SoX,
`tone.flac` by flac (blocks of 576 samples), `tone.mp3` by LAME (24 kbit/s), `tone.ogg` by FFmpeg
with libvorbis (pages of 60 ms), `tone.opus` by opusenc.

`vorbis-N.ogg` has N channels of noise with silent stretches, written by libsndfile with libvorbis
at its lowest quality, which couples the channels in several steps. `vorbis.npz` has every 25th
sample as libvorbis decodes them, with the channels in FFmpeg's order.
"""

import io
import struct
import wave
from pathlib import Path

import numpy as np
import pytest
from tests.ops.audio.ogg_pages import at_position

import headrace as hr

FILES = Path(__file__).with_name("files")
NAMES = ("tone.wav", "tone.flac", "tone.mp3", "tone.ogg")
ERRORS = (hr.errors.DataLossError, hr.errors.InvalidArgumentError)


def file(name: str) -> bytes:
    return (FILES / name).read_bytes()


def decoded(contents: bytes, **options) -> np.ndarray:
    function = hr.native(lambda example: {"x": hr.ops.decode_audio(example["data"], **options)})
    return function({"data": contents})["x"]


def sliced(contents: bytes, start: int, length: int, **options) -> np.ndarray:
    def cut(example):
        part = hr.ops.audio_slice(example["data"], example["start"], example["length"], **options)
        return {"x": part}

    return hr.native(cut)({"data": contents, "start": start, "length": length})["x"]


def header(contents: bytes) -> tuple[int, int]:
    def read(example):
        return {
            "rate": hr.ops.audio_sample_rate(example["data"]),
            "count": hr.ops.audio_num_samples(example["data"]),
        }

    result = hr.native(read)({"data": contents})
    return int(result["rate"]), int(result["count"])


def original() -> np.ndarray:
    with wave.open(io.BytesIO(file("tone.wav"))) as source:
        data = source.readframes(source.getnframes())
    return np.frombuffer(data, "<i2").reshape(-1, 2).astype(np.float32) / 32768


def written(samples: np.ndarray, bits: int, rate: int = 8000) -> bytes:
    """Returns integers as a WAV file."""
    output = io.BytesIO()
    with wave.open(output, "wb") as target:
        target.setnchannels(samples.shape[1])
        target.setsampwidth(bits // 8)
        target.setframerate(rate)
        shifted = (samples + 128 if bits == 8 else samples).astype("<i4")
        pieces = shifted.reshape(-1, 1).view(np.uint8)[:, : bits // 8]
        target.writeframes(pieces.tobytes())
    return output.getvalue()


@pytest.mark.parametrize("bits", [8, 16, 24, 32])
@pytest.mark.parametrize("channels", [1, 2, 5])
def test_wav_file_decodes_to_the_written_integers(bits, channels):
    top = 1 << (bits - 1)
    samples = np.random.default_rng(bits).integers(-top, top, (50, channels))
    contents = written(samples, bits)
    expected = (samples / top).astype(np.float32)
    np.testing.assert_array_equal(decoded(contents, mono=False), expected)
    mean = expected.astype(np.float64).mean(1)
    np.testing.assert_allclose(decoded(contents), mean, atol=1e-6)
    np.testing.assert_array_equal(sliced(contents, 7, 40, mono=False), expected[7:47])
    assert header(contents) == (8000, 50)


@pytest.mark.parametrize("dtype", ["<f4", "<f8"])
@pytest.mark.parametrize("is_extensible", [False, True])
def test_wav_file_decodes_to_the_written_floats(dtype, is_extensible):
    samples = np.random.default_rng(1).normal(size=(9, 2)).astype(dtype)
    size = samples.dtype.itemsize
    kind = 0xFFFE if is_extensible else 3
    layout = struct.pack("<HHIIHH", kind, 2, 44100, 88200 * size, 2 * size, 8 * size)
    if is_extensible:
        tail = b"\x00\x00\x00\x00\x10\x00\x80\x00\x00\xaa\x00\x38\x9b\x71"
        layout += struct.pack("<HHIH", 22, 8 * size, 3, 3) + tail
    data = samples.tobytes()
    body = b"WAVEfmt " + struct.pack("<I", len(layout)) + layout
    body += b"LIST\x03\0\0\0abc\0" + b"data" + struct.pack("<I", len(data)) + data
    contents = b"RIFF" + struct.pack("<I", len(body)) + body
    np.testing.assert_array_equal(decoded(contents, mono=False), samples.astype(np.float32))
    assert header(contents) == (44100, 9)


def test_sound_without_samples_is_empty():
    contents = written(np.zeros((0, 2), int), 16)
    assert decoded(contents).shape == (0,)
    assert decoded(contents, mono=False).shape == (0, 2)


def test_flac_decodes_to_its_original_samples():
    np.testing.assert_array_equal(decoded(file("tone.flac"), mono=False), original())


@pytest.mark.parametrize(("name", "bound"), [("tone.mp3", 0.06), ("tone.ogg", 0.15)])
def test_lossy_samples_are_aligned_with_the_original(name, bound):
    expected = original()
    result = decoded(file(name), mono=False)
    assert result.shape == expected.shape
    assert np.sqrt(np.mean((result - expected) ** 2)) < bound * np.sqrt(np.mean(expected**2))
    shifted = np.roll(expected, 1, 0)
    assert np.mean((result - expected) ** 2) < np.mean((result - shifted) ** 2) / 4


@pytest.mark.parametrize("channels", [3, 5, 6, 7, 8])
def test_coupled_vorbis_channels_match_libvorbis(channels):
    contents = file(f"vorbis-{channels}.ogg")
    with np.load(FILES / "vorbis.npz") as expected:
        result = decoded(contents, mono=False)
        assert result.shape == (3000, channels)
        np.testing.assert_allclose(result[::25], expected[str(channels)], atol=1e-6)
        mean = expected[str(channels)].mean(1)
    np.testing.assert_allclose(decoded(contents)[::25], mean, atol=1e-6)
    for start, length in ((0, 10), (1234, 700), (2999, 1)):
        part = sliced(contents, start, length, mono=False)
        np.testing.assert_array_equal(part, result[start : start + length])


@pytest.mark.parametrize("offset", [1, 64, 480_000, 2**40])
def test_ogg_stream_can_start_at_any_position(offset):
    contents = file("tone.ogg")
    moved = at_position(contents, offset)
    assert header(moved) == (8000, 4800)
    np.testing.assert_array_equal(decoded(moved), decoded(contents))
    for start in (0, 1, 575, 2000, 4000):
        np.testing.assert_array_equal(
            sliced(moved, start, 700, mono=False), sliced(contents, start, 700, mono=False)
        )


@pytest.mark.parametrize("name", NAMES)
def test_headers_contain_rate_and_length(name):
    assert header(file(name)) == (8000, 4800)


@pytest.mark.parametrize("name", NAMES)
@pytest.mark.parametrize("mono", [True, False])
def test_slice_equals_the_same_part_of_the_whole(name, mono):
    contents = file(name)
    full = decoded(contents, mono=mono)
    for start in (*range(0, 4800, 301), 575, 576, 577, 4799, 4800):
        for length in (0, 1, 700, 4800 - start):
            part = sliced(contents, start, min(length, 4800 - start), mono=mono)
            np.testing.assert_array_equal(part, full[start : start + length])


@pytest.mark.parametrize("name", NAMES)
@pytest.mark.parametrize(("start", "length"), [(4800, 1), (0, 4801), (2**62, 2**62)])
def test_error_for_a_slice_past_the_end_reports_the_length(name, start, length):
    text = f"the slice of {length} samples from sample {start} is outside the file, which has 4800"
    with pytest.raises(hr.errors.OutOfRangeError, match=text):
        sliced(file(name), start, length)
    with pytest.raises(hr.errors.InvalidArgumentError, match="start is -1, expected 0 or more"):
        sliced(file(name), -1, 5)


def test_sample_rate_resamples_the_decoded_sound():
    contents = file("tone.flac")
    full = decoded(contents, sample_rate=16_000)
    resampled = hr.native(lambda example: {"y": hr.ops.resample(example["x"], 8000, 16_000)})
    np.testing.assert_array_equal(full, resampled({"x": decoded(contents)})["y"])
    assert full.shape == (9600,)
    np.testing.assert_array_equal(decoded(contents, sample_rate=8000), decoded(contents))
    assert sliced(contents, 100, 50, sample_rate=4000, mono=False).shape == (25, 2)


@pytest.mark.parametrize("name", NAMES)
def test_truncated_file_is_an_error(name):
    contents = file(name)
    for length in (*range(0, len(contents), 97), len(contents) - 1):
        with pytest.raises(ERRORS):
            decoded(contents[:length])


@pytest.mark.parametrize("name", ["tone.flac", "tone.ogg"])
def test_flipped_bit_is_an_error_or_changes_no_sample(name):
    contents = file(name)
    full = decoded(contents)
    num_errors = 0
    for index in range(0, len(contents), 41):
        damaged = bytearray(contents)
        damaged[index] ^= 0x10
        try:
            result = decoded(bytes(damaged))
        except ERRORS:
            num_errors += 1
        else:
            np.testing.assert_array_equal(result, full)
    assert num_errors > len(contents) / 41 / 2


@pytest.mark.parametrize("name", ["tone.flac", "tone.mp3", "tone.ogg"])
def test_missing_bytes_in_the_middle_are_an_error(name):
    contents = file(name)
    middle = len(contents) // 2
    for count in (1, 200):
        with pytest.raises(hr.errors.DataLossError, match=r"damaged|cut short"):
            decoded(contents[:middle] + contents[middle + count :])


def test_tags_at_both_ends_of_an_mp3_are_skipped():
    contents = file("tone.mp3")
    tagged = b"ID3\x04\0\0\0\0\x01\x00" + bytes(128) + contents + b"TAG" + bytes(125)
    np.testing.assert_array_equal(decoded(tagged), decoded(contents))


def test_mp3_without_its_first_audio_frame_is_an_error():
    contents = file("tone.mp3")
    text = r"the file has \d+ frames, but its header says \d+; it is cut short|from earlier frames"
    frames = [index for index in range(len(contents)) if contents[index : index + 2] == b"\xff\xe3"]
    frames = frames or [
        index for index in range(len(contents)) if contents[index : index + 2] == b"\xff\xf3"
    ]
    with pytest.raises(hr.errors.DataLossError, match=text):
        decoded(contents[: frames[1]] + contents[frames[2] :])


@pytest.mark.parametrize(
    ("contents", "text"),
    [
        (b"", "the file is an empty file, expected WAV"),
        (b"\x89PNG\r\n\x1a\n", "which is not a known audio format, expected WAV"),
        (b"FORM\0\0\0\0AIFF", "the file is AIFF, expected WAV"),
        (b"\0\0\0\x18ftypM4A ", "the file is MP4"),
    ],
    ids=["empty", "png", "aiff", "mp4"],
)
def test_unsupported_formats_are_rejected_by_name(contents, text):
    with pytest.raises(hr.errors.InvalidArgumentError, match=text):
        decoded(contents)


def test_sample_rates_are_checked_at_the_call():
    for rate, error in [(0, ValueError), (1_000_001, ValueError), (8000.0, TypeError)]:
        with pytest.raises(error, match=r"decode_audio: sample_rate is .*samples per second"):
            hr.native(lambda example: {"x": hr.ops.decode_audio(example["data"], rate)})(  # noqa: B023
                {"data": b""}
            )


def test_pipeline_spec_contains_the_shapes():
    files = hr.arrays({"data": np.array([file("tone.wav")], object)})
    pipeline = files.map(
        hr.native(
            lambda example: {
                "mono": hr.ops.decode_audio(example["data"]),
                "both": hr.ops.decode_audio(example["data"], mono=False),
                "rate": hr.ops.audio_sample_rate(example["data"]),
            }
        )
    )
    shapes = {name: (spec.dtype, spec.shape) for name, spec in pipeline.spec.items()}
    assert shapes == {
        "mono": (np.dtype(np.float32), (None,)),
        "both": (np.dtype(np.float32), (None, None)),
        "rate": (np.dtype(np.int32), ()),
    }
    [example] = pipeline
    assert (example["mono"].shape, example["both"].shape) == ((4800,), (4800, 2))
