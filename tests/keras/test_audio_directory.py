"""Sounds from directories, for Keras."""

import numpy as np
import pytest
from tests.keras.class_directories import write_wav

import headrace as hr
from headrace.keras import audio_dataset_from_directory


@pytest.fixture
def words(tmp_path):
    write_wav(tmp_path / "no" / "1.wav", np.array([[1], [2], [3]]) << 13)
    write_wav(tmp_path / "yes" / "2.wav", np.array([[-1], [1]]) << 14)
    return tmp_path


def read(directory, **arguments):
    return audio_dataset_from_directory(directory, shuffle=False, verbose=False, **arguments)


def test_sounds_are_padded_to_the_longest_of_the_batch(words):
    data = read(words)
    assert data.class_names == ["no", "yes"]
    ((sounds, labels),) = data
    assert (sounds.dtype, labels.tolist()) == (np.float32, [0, 1])
    assert sounds[:, :, 0].tolist() == [[0.25, 0.5, 0.75], [-0.5, 0.5, 0]]


@pytest.mark.parametrize("length", [2, 5])
def test_sounds_have_the_requested_length(words, length):
    ((sounds, _),) = read(words, output_sequence_length=length)
    rows = [[0.25, 0.5, 0.75, 0, 0], [-0.5, 0.5, 0, 0, 0]]
    assert sounds[:, :, 0].tolist() == [row[:length] for row in rows]


def test_sounds_are_not_batched_without_batch_size(words):
    assert [sound.shape for sound, _ in read(words, batch_size=None)] == [(3, 1), (2, 1)]


def test_sounds_are_resampled_after_truncation(tmp_path):
    tone = (20_000 * np.sin(np.arange(1000) / 20)).astype(np.int16)[:, None]
    write_wav(tmp_path / "a" / "1.wav", tone, rate=8_000)
    (sounds,) = read(tmp_path, labels=None, sampling_rate=16_000, output_sequence_length=500)
    resample = hr.native(lambda example: {"y": hr.ops.resample(example["x"], 8_000, 16_000)})
    expected = resample({"x": (tone[:500] / 32768).astype(np.float32)})["y"]
    assert sounds.shape == (1, 1000, 1)
    assert np.array_equal(sounds[0], expected)
    assert np.abs(sounds[0, 50:-50:2] - tone[25:475] / 32768).max() < 1e-3


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"ragged": True}, "ragged=True is not supported, because a tf.RaggedTensor needs"),
        ({"sampling_rate": 0}, "sampling_rate is 0, expected a positive integer"),
        ({"sampling_rate": 1.5}, "sampling_rate is 1.5, expected a positive integer"),
        ({"output_sequence_length": -1}, "output_sequence_length is -1, expected a positive"),
        ({"label_mode": "x"}, "label_mode is 'x'"),
    ],
)
def test_errors_name_the_wrong_argument(words, arguments, message):
    with pytest.raises(ValueError, match=message):
        read(words, **arguments)
