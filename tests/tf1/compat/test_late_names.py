"""Names of 1.13 to 1.15, and sound: behaviour that is not compared with TensorFlow elsewhere."""

import struct
import sys

import numpy as np
import pytest

import headrace.tf1 as tf
from headrace.tf1 import ops


@pytest.fixture
def session():
    with tf.Session() as session:
        yield session


class TestPrint:
    def test_print_writes_to_the_chosen_stream(self, session, capfd, caplog):
        x = tf.range(8)
        session.run(tf.print("x", x))
        session.run(tf.print("y", x, output_stream=sys.stdout, summarize=1))
        session.run(tf.print("z", output_stream=tf.logging.warning, end=""))
        written = capfd.readouterr()
        assert written.err.startswith("x [0 1 2 ... 5 6 7]\n")
        assert caplog.messages == ["z"]
        assert written.out == "y [0 ... 7]\n"

    def test_print_runs_as_a_control_dependency(self, session, capfd):
        x = tf.constant(3)
        with tf.control_dependencies([tf.print("now", x)]):
            doubled = x * 2
        assert session.run(doubled) == 6
        assert capfd.readouterr().err == "now 3\n"

    def test_print_does_not_format_braces(self, session, capfd):
        session.run(tf.print("{} {}@", tf.constant(1)))
        assert capfd.readouterr().err == "{} {}@ 1\n"


class TestSound:
    def test_unknown_wav_chunks_are_skipped(self, session):
        data = session.run(tf.audio.encode_wav([[0.5], [-0.25]], 100))
        chunk = b"LIST" + struct.pack("<I", 3) + b"abc\0"
        audio, rate = session.run(tf.audio.decode_wav(data[:36] + chunk + data[36:]))
        assert (audio.tolist(), rate) == ([[0.5], [-0.25]], 100)

    @pytest.mark.parametrize(
        ("place", "value", "text"),
        [
            (20, 3, "Expected 1 \\(PCM\\), but got 3"),
            (34, 8, "Can only read 16-bit WAV files, but received 8"),
            (22, 0, "Expected at least 1, but got 0"),
        ],
    )
    def test_unsupported_wav_formats_are_rejected(self, session, place, value, text):
        data = bytearray(session.run(tf.audio.encode_wav([[0.5]], 100)))
        data[place : place + 2] = struct.pack("<H", value)
        with pytest.raises(tf.errors.InvalidArgumentError, match=text):
            session.run(tf.audio.decode_wav(bytes(data)))

    def test_wav_without_data_is_rejected(self, session):
        data = session.run(tf.audio.encode_wav([[0.5]], 100))
        with pytest.raises(tf.errors.InvalidArgumentError, match="No data chunk"):
            session.run(tf.audio.decode_wav(data[:36]))

    def test_invalid_wav_parameters_are_rejected(self, session):
        with pytest.raises(tf.errors.InvalidArgumentError, match="sample_rate must be positive"):
            session.run(tf.audio.encode_wav([[0.5]], 0))
        with pytest.raises(tf.errors.InvalidArgumentError, match="channels must be between"):
            session.run(tf.audio.encode_wav(tf.zeros([3, 0]), 10))
        with pytest.raises(ValueError, match="must be rank 2"):
            tf.audio.encode_wav([0.5], 10)

    def test_spectrogram_of_a_single_frequency_has_one_peak(self, session):
        rate, hertz = 8000, 1000
        sound = np.sin(2 * np.pi * hertz * np.arange(rate) / rate)[:, None]
        spectrum = ops.audio_spectrogram(sound.astype(np.float32), 256, 128)
        values = session.run(spectrum)
        assert values.shape == tuple(spectrum.shape.as_list()) == (1, 61, 129)
        assert (values[0].argmax(axis=1) * rate / 256 == hertz).all()

    def test_short_sound_has_no_spectrogram_windows(self, session):
        assert session.run(ops.audio_spectrogram(tf.zeros([5, 2]), 6, 1)).shape == (2, 0, 5)

    @pytest.mark.parametrize(
        ("arguments", "text"),
        [
            ({"upper_frequency_limit": 5000}, "expected at most 4000.0, which is half"),
            ({"lower_frequency_limit": 4000}, "frequency range from 4000"),
            ({"dct_coefficient_count": 41}, "dct_coefficient_count is 41, expected 1 to"),
        ],
    )
    def test_invalid_mfcc_arguments_are_rejected(self, session, arguments, text):
        with pytest.raises(tf.errors.InvalidArgumentError, match=text):
            session.run(ops.mfcc(tf.ones([1, 1, 129]), 8000, **arguments))

    def test_window_size_of_1_is_rejected(self, session):
        with pytest.raises(tf.errors.InvalidArgumentError, match="window_size is 1"):
            session.run(ops.audio_spectrogram(tf.zeros([5, 2]), 1, 1))


def test_integer_division_by_zero_is_an_error(session):
    for divide in (tf.truncatediv, tf.truncatemod):
        with pytest.raises(tf.errors.InvalidArgumentError, match="Integer division by zero"):
            session.run(divide([1], [0]))


def test_shifts_are_clamped_to_the_number_of_bits(session):
    x = tf.constant([1, -8], tf.int8)
    assert session.run(tf.bitwise.left_shift(x, tf.constant([100, 0], tf.int8))).tolist() == [
        -128,
        -8,
    ]
    assert session.run(tf.bitwise.right_shift(x, tf.constant([-5, 100], tf.int8))).tolist() == [
        1,
        -1,
    ]
