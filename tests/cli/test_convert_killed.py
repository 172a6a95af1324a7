"""Killed or interrupted conversions leave no partial files, and can continue."""

import fcntl
import os
import signal
import subprocess
import sys
from pathlib import Path

import pytest
from tests.cli.files import call, example, image, run, write_numbers, write_records
from tests.tiers import nightly_after

COMMAND = ("convert", "a", "b.tfrecord", "--shards", "4", "--shuffle", "5")
PLACES = [
    ("example", 100, 3),
    ("publish", 3, 2),
    ("journal", 3, 2),
    ("end", 1, 4),
    ("begin", 1, 0),
    ("example", 1, 0),
    ("example", 2, 0),
    ("publish", 1, 0),
    ("journal", 1, 0),
    ("journal", 4, 3),
]


@pytest.fixture(autouse=True)
def here(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    return tmp_path


def ended_at(moment, number, sent, *arguments):
    """Runs a conversion that sends itself a signal."""
    program = Path(__file__).with_name("killed_convert.py")
    return subprocess.run(
        [sys.executable, program, moment, str(number), sent, *arguments],
        env=os.environ | {"PYTHONPATH": str(Path(__file__).parents[2])},
        capture_output=True,
        text=True,
        timeout=50,
        check=False,
    )


def contents(pattern="b*"):
    return {path.name: path.read_bytes() for path in sorted(Path().glob(pattern))}


@pytest.fixture
def whole(here):
    """Returns the files that an undisturbed conversion writes."""
    write_numbers("a", 120)
    assert call(*COMMAND).exit_code == 0
    files = contents()
    assert len(files) == 4
    for name in files:
        Path(name).unlink()
    return files


@pytest.mark.parametrize(("moment", "number", "num_whole"), nightly_after(4, PLACES))
def test_killed_conversion_leaves_only_complete_files_and_can_continue(
    whole, moment, number, num_whole
):
    done = ended_at(moment, number, "SIGKILL", *COMMAND)
    assert done.returncode == -signal.SIGKILL
    named = {name: data for name, data in contents().items() if ".tmp" not in name}
    assert named.items() <= whole.items()
    again = run(*COMMAND)
    assert again.returncode == 0
    if num_whole:
        assert f"continued after {num_whole} part" in again.stderr
    assert contents("*") == {**whole, "a": Path("a").read_bytes()}
    assert not list(Path().glob(".*"))


def test_incomplete_journal_line_is_ignored(whole):
    assert ended_at("torn", 1, "SIGKILL", *COMMAND).returncode == -signal.SIGKILL
    assert run(*COMMAND).returncode == 0
    assert contents() == whole


def test_conversion_can_be_killed_repeatedly(whole):
    for _ in range(3):
        assert ended_at("journal", 2, "SIGKILL", *COMMAND).returncode == -signal.SIGKILL
    assert run(*COMMAND).returncode == 0
    assert contents() == whole


@pytest.mark.parametrize(("sent", "code"), [("SIGINT", 130), ("SIGTERM", 143), ("SIGHUP", 129)])
@pytest.mark.parametrize("moment", nightly_after(1, ["publish", "example", "journal"]))
def test_signal_ends_a_conversion_cleanly_and_it_can_continue(whole, sent, code, moment):
    done = ended_at(moment, 2, sent, *COMMAND)
    assert done.returncode == code
    assert done.stderr == "Interrupted. Run the same command again to continue.\n"
    assert contents().items() <= whole.items(), "there are no temporary files"
    assert run(*COMMAND).returncode == 0
    assert contents() == whole


def test_signal_during_the_first_pass_leaves_nothing(here):
    write_numbers("a", 20)
    program = (
        "import os, signal\n"
        "from headrace.cli.convert import survey\n"
        "add = survey.Schema.add\n"
        "survey.Schema.add = lambda *a: (os.kill(os.getpid(), signal.SIGINT), add(*a))\n"
        "from headrace.cli.main import main; main()"
    )
    done = subprocess.run(
        [sys.executable, "-c", program, "convert", "a", "b.csv"],
        capture_output=True,
        text=True,
        timeout=50,
        check=False,
    )
    assert done.returncode == 130
    assert [path.name for path in Path().iterdir()] == ["a"]


def test_full_disk_is_an_error_and_leaves_only_complete_files(here):
    write_records("a", [bytes(1000)] * 1000)
    command = "headrace convert a b.tfrecord --shards 2"
    program = f"ulimit -f 300; {sys.executable} -m {command}"
    done = subprocess.run(
        ["bash", "-c", program], capture_output=True, text=True, timeout=50, check=False
    )
    assert done.returncode == 1
    assert done.stderr.startswith("headrace: ")
    assert "b-00000-of-00002.tfrecord; File too large" in done.stderr
    assert [path.name for path in Path().iterdir()] == ["a"]
    assert run(*command.split()[1:]).returncode == 0


class TestSecondRun:
    @pytest.fixture(autouse=True)
    def begun(self, whole):
        assert ended_at("journal", 3, "SIGKILL", *COMMAND).returncode == -signal.SIGKILL

    def test_continuing_requires_the_same_arguments(self):
        done = call("convert", "a", "b.tfrecord", "--shards", "4", "--shuffle", "6")
        assert done.exit_code == 1
        assert "b.tfrecord: seed is 6, but the run that started this output used 5" in done.stderr
        assert "--overwrite to start again" in done.stderr

    def test_continuing_requires_the_same_source(self):
        write_numbers("a", 121)
        done = call(*COMMAND)
        assert done.exit_code == 1
        assert (
            "a: the name, size or order of the files has changed since the state was saved"
            in done.stderr
        )

    def test_continuing_requires_the_files_of_the_first_run(self):
        os.truncate("b-00000-of-00004.tfrecord", 10)
        done = call(*COMMAND)
        assert done.exit_code == 1
        assert "b-00000-of-00004.tfrecord: the earlier run wrote" in done.stderr

    def test_overwrite_starts_from_the_beginning(self, whole):
        done = call("convert", "a", "b.tfrecord", "--shards", "2", "--overwrite")
        assert done.exit_code == 0
        names = [f"b-0000{number}-of-00002.tfrecord" for number in range(2)]
        assert [path for path in contents() if not path.endswith("-of-00004.tfrecord")] == names

    def test_second_run_is_rejected_while_the_first_one_writes(self):
        with open(".b.tfrecord.headrace-convert") as journal:
            fcntl.flock(journal, fcntl.LOCK_EX)
            done = call(*COMMAND)
        assert done.exit_code == 1
        assert "another headrace convert is already running" in done.stderr


class TestImageFolders:
    @pytest.fixture(autouse=True)
    def images(self, here, monkeypatch):
        records = [example(image=image(seed=n, size=(2, 2)), label=n % 2) for n in range(1300)]
        write_records("a", records)

    def files(self):
        return {str(path.relative_to("b")): path.read_bytes() for path in Path("b").rglob("*.png")}

    @pytest.mark.parametrize(
        ("moment", "number"),
        nightly_after(
            2, [("folder", 1), ("end", 1), ("example", 10), ("example", 1200), ("journal", 2)]
        ),
    )
    def test_folder_appears_under_its_name_once_complete(self, moment, number):
        done = ended_at(moment, number, "SIGKILL", "convert", "a", "b/")
        assert done.returncode == -signal.SIGKILL
        assert Path("b").exists() == (moment == "end")
        again = run("convert", "a", "b/")
        assert again.returncode == 0, again.stderr
        assert len(self.files()) == 1300
        assert self.files()["1/000001299.png"] == image(seed=1299, size=(2, 2))
        assert sorted(path.name for path in Path().iterdir()) == ["a", "b"]
