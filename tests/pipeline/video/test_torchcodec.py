"""`clips(decoder="torchcodec")`: the same frames as with PyAV."""

import sys

import numpy as np
import pytest
from tests.pipeline.video.random_videos import MATRICES, turn
from tests.pipeline.video.written_videos import numbers_of, write_video

import headrace as hr

OPEN_GOP = {"bf": "3", "g": "12", "x264-params": "open-gop=1:b-pyramid=normal:scenecut=0"}
KINDS = {
    "B-frames": {"options": {"bf": "3", "g": "20"}},
    "open GOPs": {"options": OPEN_GOP},
    "variable frame rate": {"times": [n * 33 + n * n % 17 for n in range(60)]},
    "fragments": {"movflags": "frag_keyframe+empty_moov", "options": {"bf": "2", "g": "9"}},
    "AV1": {"codec": "libsvtav1", "options": {"g": "2", "preset": "12"}},
    "VP9": {"codec": "libvpx-vp9", "options": {"deadline": "realtime", "g": "11"}},
}


@pytest.fixture
def torchcodec():
    """Skips a test if torchcodec or its FFmpeg is missing."""
    pytest.importorskip("torchcodec", exc_type=(ImportError, RuntimeError, OSError))


def read(path, decoder, **arguments):
    pipe = hr.videos(path).clips("video", 9, 3, count=4, at="uniform", decoder=decoder, **arguments)
    return np.stack([example["video"] for example in pipe])


@pytest.mark.usefixtures("torchcodec")
@pytest.mark.parametrize("kind", KINDS)
def test_frames_match_pyav(tmp_path, kind):
    path = write_video(tmp_path / "a.mp4", 60, **KINDS[kind])
    pyav, torchcodec = (read(path, decoder) for decoder in ("pyav", "torchcodec"))
    assert [numbers_of(clip) for clip in torchcodec] == [numbers_of(clip) for clip in pyav]
    assert np.abs(torchcodec.astype(int) - pyav).mean() < 2


@pytest.mark.usefixtures("torchcodec")
@pytest.mark.parametrize("num_turns", range(len(MATRICES)))
def test_frames_are_scaled_and_rotated(tmp_path, num_turns):
    path = write_video(tmp_path / "a.mp4", 60)
    if num_turns:
        turn(path, num_turns)
    clips = read(path, "torchcodec", size=(48, 48))
    assert clips.shape == (4, 9, 48, 48, 3)
    assert np.abs(clips.astype(int) - read(path, "pyav", size=(48, 48))).mean() < 6


def test_decoder_is_part_of_the_description():
    pipe = hr.videos("*.mp4").clips("video", seed=1, decoder="torchcodec")
    assert "decoder='torchcodec'" in repr(pipe)
    assert "decoder" not in repr(hr.videos("*.mp4").clips("video", seed=1))


def test_error_names_missing_torchcodec(tmp_path, monkeypatch):
    path = write_video(tmp_path / "a.mp4", 5)
    monkeypatch.setitem(sys.modules, "torchcodec", None)
    monkeypatch.setattr("headrace.core.optional_dependencies.find_spec", lambda name: None)
    with pytest.raises(ModuleNotFoundError, match=r"clips: torch and torchcodec are required"):
        iter(hr.videos(path).clips("video", decoder="torchcodec"))
