"""Decoded frames of random videos are the requested ones."""

import pytest
from tests.pipeline.video.random_videos import Checks, check

SEEDS = 12


@pytest.mark.parametrize("seed", range(SEEDS))
def test_frames_of_random_videos_contain_their_numbers(tmp_path, seed):
    checks = Checks()
    check(seed, tmp_path, checks, num_reads=2)
    assert checks.failures == []
