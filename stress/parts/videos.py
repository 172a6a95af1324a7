"""Random videos whose pictures show their numbers: each frame that is read is the right one."""

from pathlib import Path
from tempfile import TemporaryDirectory

from tests.pipeline.video.random_videos import Checks, check, remove

from stress.part import Options, Result

# The share of it that runs each night.
NIGHTLY = 0.1
FRAMES = 1_000_000


def run(options: Options) -> Result:
    """Reads frames of random videos in many ways, and compares the numbers that they show."""
    result, checks = Result(), Checks()
    most = options.times(FRAMES)
    # Other videos than those of the tests.
    seed = (options.seed + 1) * FRAMES
    num_videos = 0
    with TemporaryDirectory() as name:
        directory = Path(name)
        while sum(checks.num_frames.values()) < most:
            check(seed + num_videos, directory, checks, num_reads=5)
            remove(directory)
            num_videos += 1
    result.failures += checks.failures
    result.figures["videos"] = num_videos
    result.figures["frames"] = sum(checks.num_frames.values())
    result.figures["wrong frames"] = len(checks.failures)
    for kind, count in sorted(checks.num_frames.items()):
        result.figures[f"frames of {kind}"] = count
    return result
