"""`videos` and `video_folder`: the files they list."""

from pathlib import Path

import numpy as np
import pytest

from headrace import pipeline as hp
from headrace.core import errors


@pytest.fixture
def moves(tmp_path):
    """Two classes, one with videos in a subdirectory, and files that are ignored."""
    names = ("run/1.MP4", "run/.hidden.mp4", "jump/2.mov", "jump/sub/1.m4v", "jump/notes.txt")
    for name in (*names, ".git/1.mp4", "README.mp4"):
        path = tmp_path / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(name.encode())
    return tmp_path


EXPECTED = [("jump/2.mov", 0), ("jump/sub/1.m4v", 0), ("run/1.MP4", 1)]


def test_labels_follow_sorted_directories(moves, items_of):
    pipeline = hp.video_folder(moves)
    assert pipeline.classes == ("jump", "run")
    examples = items_of(pipeline)
    assert [(row["video"], row["label"], row["path"]) for row in examples] == [
        (f"{moves}/{name}", label, f"{moves}/{name}") for name, label in EXPECTED
    ]
    assert pipeline.spec["label"] == hp.Spec(np.dtype(np.int64), ())
    assert len(pipeline) == 3


def test_paths_and_patterns_are_listed_in_order(moves, items_of):
    pipeline = hp.videos([moves / "run", f"{moves}/jump/**/*.m*"])
    names = ["run/1.MP4", "jump/2.mov", "jump/sub/1.m4v"]
    assert [row["video"] for row in items_of(pipeline)] == [f"{moves}/{name}" for name in names]
    assert len(pipeline) == pipeline.count() == 3


def test_files_are_not_read(moves):
    for path in moves.rglob("*.m*"):
        path.chmod(0)
    assert len(list(hp.video_folder(moves))) == 3


def test_any_shuffle_keeps_the_pairs_of_paths_and_labels(moves):
    for shuffled in (hp.video_folder(moves).shuffle(seed=1), hp.video_folder(moves).shuffle(2, 1)):
        found = sorted((Path(row["path"]).name, int(row["label"])) for row in shuffled)
        assert found == sorted((Path(name).name, label) for name, label in EXPECTED)


def test_unsupported_videos_are_an_error_unless_excluded(moves):
    (moves / "run" / "2.avi").touch()
    with pytest.raises(
        errors.InvalidArgumentError, match=r"run/2\.avi: clips cannot decode this video"
    ):
        iter(hp.video_folder(moves))
    assert len(list(hp.video_folder(moves, ["mp4", "mov"]))) == 2


def test_state_of_different_files_is_rejected(moves):
    with iter(hp.videos(moves / "jump").batch(1)) as batches:
        next(batches)
        state = batches.state()
    (moves / "jump" / "3.mov").touch()
    with pytest.raises(ValueError, match="files"):
        hp.videos(moves / "jump").batch(1).resume(state)


def test_missing_files_are_an_error(tmp_path):
    with pytest.raises(errors.NotFoundError, match=r"none\.mp4"):
        iter(hp.videos(tmp_path / "none.mp4"))
