"""Decoding Ogg Opus: the samples of libopus, which soundfile and opusdec also return.

`tone.opus` is 0.6 s of tones, 8,000 samples a second, two channels, written by opusenc.
"""

import io
import shutil
import struct
import subprocess

import numpy as np
import pytest
from tests.ops.audio.ogg_pages import at_position, page_starts, with_pages
from tests.ops.audio.test_decode import ERRORS, decoded, file, header, sliced
from tests.ops.audio.written_sounds import OGG_ORDER

import headrace as hr

soundfile = pytest.importorskip("soundfile")
TONE = file("tone.opus")
COUNT = 28_800
GAIN, FAMILY = 16, 18  # Bytes of the first header.


def written(sound, rate=48_000):
    """Returns a sound as a file."""
    output = io.BytesIO()
    soundfile.write(output, sound, rate, "OPUS", format="OGG")
    return output.getvalue()


def noise(size, channels):
    random = np.random.default_rng(size + channels)
    return random.uniform(-0.5, 0.5, (size, channels)).astype(np.float32)


def with_header(contents, position, value):
    """Returns a file with other bytes in its first header."""

    def change(number, page):
        if number == 0:
            start = 27 + page[26] + position
            page[start : start + len(value)] = value

    return with_pages(contents, change)


def with_position(contents, number, change):
    """Returns a file in which a page, counted from the end if negative, has another position."""
    number %= len(page_starts(contents)) - 1

    def changed(page_number, page):
        if page_number == number:
            (granule,) = struct.unpack_from("<q", page, 6)
            struct.pack_into("<q", page, 6, change(granule))

    return with_pages(contents, changed)


def test_sample_rate_is_always_48000():
    assert header(TONE) == (48_000, COUNT)
    result = decoded(TONE, mono=False)
    assert result.shape == (COUNT, 2)
    np.testing.assert_allclose(decoded(TONE), result.mean(1), atol=1e-7)
    resampled = decoded(TONE, sample_rate=8000, mono=False)
    # soundfile decodes at the rate of the original.
    expected, rate = soundfile.read(io.BytesIO(TONE), dtype="float32")
    assert (rate, resampled.shape) == (8000, expected.shape)
    np.testing.assert_allclose(resampled, expected, atol=2e-3)


@pytest.mark.parametrize("channels", range(1, 9))
@pytest.mark.parametrize("size", [1, 300, 48_321])
def test_samples_match_soundfile(channels, size):
    contents = written(noise(size, channels))
    expected, rate = soundfile.read(io.BytesIO(contents), dtype="float32", always_2d=True)
    assert header(contents) == (rate, size)
    order = OGG_ORDER.get(channels, range(channels))
    np.testing.assert_allclose(decoded(contents, mono=False), expected[:, order], atol=2e-6)


@pytest.mark.skipif(shutil.which("opusdec") is None, reason="opusdec isn't installed")
@pytest.mark.parametrize("channels", [1, 2, 6])
def test_samples_match_opusdec(channels, tmp_path):
    contents = with_header(written(noise(50_000, channels)), GAIN, struct.pack("<h", -700))
    source, output = tmp_path / "sound.opus", tmp_path / "sound.wav"
    source.write_bytes(contents)
    subprocess.run(["opusdec", "--float", "--rate", "48000", source, output], check=True)
    expected, _ = soundfile.read(output, dtype="float32", always_2d=True)
    # Both WAV and FFmpeg have this order.
    np.testing.assert_allclose(decoded(contents, mono=False), expected, atol=2e-6)


def test_slices_equal_the_same_part_of_the_whole():
    full = decoded(TONE, mono=False)
    for start in (*range(0, COUNT, 5003), COUNT - 1, COUNT):
        for length in (0, 1, 4000, COUNT):
            part = sliced(TONE, start, min(length, COUNT - start), mono=False)
            np.testing.assert_array_equal(part, full[start : start + length])
    with pytest.raises(hr.errors.OutOfRangeError, match=f"outside the file, which has {COUNT}"):
        sliced(TONE, COUNT, 1)


@pytest.mark.parametrize("decibels", [-6.0, 3.5])
def test_header_gain_is_applied(decibels):
    louder = with_header(TONE, GAIN, struct.pack("<h", round(decibels * 256)))
    np.testing.assert_allclose(
        decoded(louder), decoded(TONE) * np.float32(10 ** (decibels / 20)), rtol=1e-5, atol=1e-7
    )


def test_channels_can_be_swapped_shared_or_silent():
    def mapped(*table):
        # Family 1 needs a table, for which the page of the header has to grow.
        def change(number, page):
            if number == 0:
                page[27 + 1 + FAMILY :] = bytes([1, 1, 1, *table])
                page[27 + 1 + 9] = len(table)
                page[27] = len(page) - 28

        return decoded(with_pages(TONE, change), mono=False)

    both = decoded(TONE, mono=False)
    np.testing.assert_array_equal(mapped(1, 0), both[:, ::-1])
    np.testing.assert_array_equal(mapped(0, 255), both * [1, 0])
    # The second of three channels is the centre, which FFmpeg has last.
    np.testing.assert_array_equal(mapped(0, 1, 0), both[:, [0, 0, 1]])


@pytest.mark.parametrize("offset", [1, 960, 2**40])
def test_stream_can_start_at_any_position(offset):
    contents = written(noise(100_000, 1))
    moved = at_position(contents, offset)
    assert header(moved) == (48_000, 100_000)
    np.testing.assert_array_equal(decoded(moved), decoded(contents))


def test_last_page_trims_samples_at_the_end():
    for removed in (1, 960, 20_000):
        shorter = with_position(TONE, -1, lambda granule, removed=removed: granule - removed)
        np.testing.assert_array_equal(decoded(shorter), decoded(TONE)[: COUNT - removed])


def test_rounded_positions_change_no_sample():
    contents = written(noise(100_000, 1))
    rounded = with_position(contents, 2, lambda granule: granule - 24)
    np.testing.assert_array_equal(decoded(rounded)[:99_000], decoded(contents)[:99_000])


@pytest.mark.parametrize(
    ("number", "change", "text"),
    [
        (2, lambda granule: granule - 500, "doesn't match the lengths of its packets"),
        (3, lambda granule: granule + 960, "doesn't match the lengths of its packets"),
        (-1, lambda granule: granule + 5000, "doesn't match the lengths of its packets"),
        (2, lambda _: -2, "is too large"),
        (-1, lambda _: 3, "doesn't match|but its header says to skip the first"),
    ],
    ids=["before the start", "gap", "after the end", "negative", "before the first sample"],
)
def test_wrong_positions_are_rejected(number, change, text):
    contents = with_position(written(noise(200_000, 1)), number, change)
    with pytest.raises(hr.errors.DataLossError, match=text):
        decoded(contents)


def test_truncated_file_is_an_error():
    for length in (*range(0, len(TONE), 97), len(TONE) - 1):
        with pytest.raises(ERRORS):
            decoded(TONE[:length])


def test_flipped_bit_is_an_error():
    for index in range(0, len(TONE), 41):
        damaged = bytearray(TONE)
        damaged[index] ^= 0x10
        with pytest.raises(ERRORS):
            decoded(bytes(damaged))


def test_error_for_a_damaged_packet_names_the_file_and_the_record(tmp_path):
    # The first frames of the packets are longer than the packets.
    def change(number, page):
        if number == 2:
            start = 27 + page[26]
            page[start : start + 2] = b"\x03\x3f"

    for name in ("good", "damaged"):
        contents = TONE if name == "good" else with_pages(TONE, change)
        (tmp_path / f"{name}.opus").write_bytes(contents)
    sounds = hr.files([tmp_path / "good.opus", tmp_path / "damaged.opus"])
    pipe = sounds.map(hr.native(lambda e: {"x": hr.ops.decode_audio(e["data"])}))
    text = r"Ogg Opus: the page at byte \d+ has an invalid packet.*damaged.opus: record 0"
    with pytest.raises(hr.errors.DataLossError, match=text):
        list(pipe)
    assert len(list(pipe.skip_errors(1))) == 1


def test_chained_streams_are_rejected():
    with pytest.raises(
        hr.errors.InvalidArgumentError, match=f"a second stream begins at byte {len(TONE)}"
    ):
        decoded(TONE + TONE)


def test_unsupported_channel_mappings_are_rejected_by_number():
    for family in (2, 3, 255):
        with pytest.raises(
            hr.errors.InvalidArgumentError, match=f"the channel mapping family is {family}, but"
        ):
            decoded(with_header(TONE, FAMILY, bytes([family])))
