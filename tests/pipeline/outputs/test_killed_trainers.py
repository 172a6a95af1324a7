"""Training runs that are killed at random and resume on other numbers of ranks lose no example."""

import os
import random
import signal
import socket
import subprocess
import sys
from importlib.util import find_spec
from pathlib import Path

import pytest
from tests.pipeline.outputs import killed_trainers

PROGRAM = Path(__file__).with_name("killed_trainers.py")
# The packages that each framework needs besides PyTorch.
PACKAGES = {
    "pytorch": (),
    "lightning": ("lightning",),
    "accelerate": ("accelerate",),
    "trainer": ("transformers", "accelerate"),
    "trl": ("trl", "datasets"),
    "grain": ("grain", "jax"),
    "torchtitan": ("torchtitan",),
}
# Each number of ranks resumes after another one.
WORLDS = (1, 2, 4)


def free_port():
    with socket.socket() as probe:
        probe.bind(("localhost", 0))
        return probe.getsockname()[1]


class Ranks:
    """The processes of one run. `torchrun` would start them like this."""

    def __init__(self, framework, directory, num_steps, world):
        self.errors = directory / "errors"
        common = {
            "WORLD_SIZE": str(world),
            "LOCAL_WORLD_SIZE": str(world),
            "MASTER_ADDR": "localhost",
            "MASTER_PORT": str(free_port()),
            "TORCHELASTIC_RUN_ID": "killed",
            "OMP_NUM_THREADS": "1",
            "JAX_PLATFORMS": "cpu",
            "PYTHONPATH": os.pathsep.join(filter(None, sys.path)),
        }
        with self.errors.open("w") as errors:
            self.processes = [
                subprocess.Popen(
                    [sys.executable, PROGRAM, framework, directory, str(num_steps)],
                    env={**os.environ, **common, "RANK": str(rank), "LOCAL_RANK": str(rank)},
                    stdout=subprocess.DEVNULL if rank else subprocess.PIPE,
                    stderr=errors,
                    text=True,
                )
                for rank in range(world)
            ]

    def losses(self):
        """Yields the steps and losses that rank 0 prints, until it ends."""
        for text in self.processes[0].stdout:
            words = text.split()
            if len(words) == 2 and words[0].isdecimal():
                yield int(words[0]), float.fromhex(words[1])

    def kill(self):
        for process in self.processes:
            process.send_signal(signal.SIGKILL)

    def wait(self):
        codes = [process.wait(60) for process in self.processes]
        self.processes[0].stdout.close()
        return codes


def check_killed(framework, directory, num_steps, num_kills, seed):
    """Trains and kills. Each loss must equal that of the uninterrupted training to the last bit."""
    expected = killed_trainers.uninterrupted(num_steps)
    draws = random.Random(seed)
    kills = sorted(draws.sample(range(2, num_steps), num_kills))
    seen = set()
    for number, last_step in enumerate([*kills, num_steps]):
        world = WORLDS[number % len(WORLDS)]
        ranks = Ranks(framework, directory, num_steps, world)
        try:
            for step, loss in ranks.losses():
                assert loss == expected[step - 1], f"step {step} on {world} ranks, kills {kills}"
                seen.add(step)
                if step == last_step < num_steps:
                    ranks.kill()
        except BaseException:
            ranks.kill()
            ranks.wait()
            raise
        codes = ranks.wait()
        errors = ranks.errors.read_text()[-4000:]
        assert last_step in seen, f"kills {kills}: {errors}"
        assert last_step < num_steps or codes == [0] * world, f"kills {kills}: {errors}"
    assert seen == set(range(1, num_steps + 1))


@pytest.mark.timeout(900)
@pytest.mark.parametrize("framework", PACKAGES)
def test_killed_training_matches_the_losses_of_an_uninterrupted_run(
    framework, tmp_path, is_nightly
):
    for name in ("torch", *PACKAGES[framework]):
        if find_spec(name) is None:
            pytest.skip(f"{name} is not installed")
    num_steps, num_kills = (200, 12) if is_nightly else (14, 3)
    # Each night kills at other steps, which messages list.
    seed = None if is_nightly else framework
    check_killed(framework, tmp_path, num_steps, num_kills, seed)
