"""Sounds in a directory for each class. Behaviour shared with images is tested there."""

import wave

import numpy as np
import pytest

import headrace as hr
from headrace.core import errors


@pytest.fixture
def sounds(tmp_path):
    """Two classes, one with sounds in a subdirectory, and files that are ignored."""
    names = ("b/1.WAV", "b/.hidden.wav", "a/2.flac", "a/10.mp3", "a/sub/1.ogg", "a/notes.txt")
    for name in (*names, ".git/1.wav", "README.wav"):
        path = tmp_path / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(name.encode())
    return tmp_path


def test_labels_follow_sorted_directories(sounds, items_of):
    pipeline = hr.audio_folder(sounds)
    examples = items_of(pipeline)
    assert pipeline.classes == ("a", "b")
    assert pipeline.shuffle(window=3, seed=1).batch(2).classes == ("a", "b")
    assert [(row["data"], row["label"], row["path"]) for row in examples] == [
        (b"a/10.mp3", 0, f"{sounds}/a/10.mp3"),
        (b"a/2.flac", 0, f"{sounds}/a/2.flac"),
        (b"a/sub/1.ogg", 0, f"{sounds}/a/sub/1.ogg"),
        (b"b/1.WAV", 1, f"{sounds}/b/1.WAV"),
    ]
    assert (len(pipeline), pipeline.spec["label"]) == (4, hr.Spec(np.dtype(np.int64), ()))


def test_unsupported_sounds_are_an_error_unless_excluded(sounds):
    (sounds / "b" / "2.M4a").touch()
    (sounds / "b" / "3.aiff").touch()
    text = (
        "audio_folder: .*b/2.M4a: headrace.ops cannot decode this sound and 1 more of its "
        "class, because it decodes only .wav, .flac, .mp3, .ogg, .oga, .opus"
    )
    with pytest.raises(errors.InvalidArgumentError, match=text):
        iter(hr.audio_folder(sounds))
    [batch] = hr.audio_folder(sounds, ["wav", ".MP3", "m4a"]).batch(10)
    assert [path.rpartition("/")[2] for path in batch["path"]] == ["10.mp3", "1.WAV", "2.M4a"]


def test_class_without_sounds_is_an_error(sounds):
    (sounds / "c").mkdir()
    (sounds / "c" / "1.png").touch()
    with pytest.raises(errors.NotFoundError, match=r"c: this directory has no sounds"):
        iter(hr.audio_folder(sounds))


def test_arguments_are_checked_at_the_call(sounds):
    with pytest.raises(TypeError, match="audio_folder: 3 is not a path"):
        hr.audio_folder(3)
    with pytest.raises(TypeError, match=r"audio_folder: extensions is .*such as 'wav'"):
        hr.audio_folder(sounds, [1])
    with pytest.raises(ValueError, match="audio_folder: extensions is empty"):
        hr.audio_folder(sounds, [])


def test_error_for_a_damaged_sound_names_its_file(tmp_path):
    (tmp_path / "a").mkdir()
    for number in range(3):
        with wave.open(str(tmp_path / "a" / f"{number}.wav"), "wb") as file:
            file.setparams((1, 2, 8000, 0, "NONE", ""))
            file.writeframes(np.full(100, number, "<i2").tobytes())
    path = tmp_path / "a" / "1.wav"
    path.write_bytes(path.read_bytes()[:-3])
    decoded = hr.native(lambda example: {"samples": hr.ops.decode_audio(example["data"])})
    pipeline = hr.audio_folder(tmp_path).map(decoded)
    text = r"WAV: the data chunk should have 200 bytes, but only 197 are left.*a/1\.wav: record 0"
    with pytest.raises(errors.DataLossError, match=text):
        list(pipeline)
    examples = iter(pipeline.skip_errors(1))
    assert [int(example["samples"][0] * 32768) for example in examples] == [0, 2]
    [skipped] = examples.skipped
    assert "a/1.wav" in str(skipped)
