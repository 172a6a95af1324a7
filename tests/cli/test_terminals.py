"""Terminals, pipes and processes: behaviour of commands in their own process."""

import json
import os
import pty
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
from PIL import Image
from tests.cli.files import call, image, run, write_numbers

COMMANDS = ("inspect", "verify", "convert", "index", "bench", "state", "demo")


@pytest.fixture(autouse=True)
def here(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    return tmp_path


def on_a_terminal(*arguments, **variables) -> str:
    """Returns the output of a command on a terminal."""
    leader, follower = pty.openpty()
    with subprocess.Popen(
        [sys.executable, "-m", "headrace", *arguments],
        stdin=follower,
        stdout=follower,
        stderr=follower,
        env={key: value for key, value in os.environ.items() if key != "NO_COLOR"} | variables,
    ):
        os.close(follower)
        result = b""
        while True:
            try:
                data = os.read(leader, 4096)
            except OSError:  # Linux raises this at the end.
                break
            if not data:
                break
            result += data
    os.close(leader)
    return result.decode()


class TestTerminals:
    def test_images_are_drawn_on_colour_terminals(self):
        Path("a").write_bytes(image(size=(4, 2)))
        text = on_a_terminal("inspect", "a", COLORTERM="truecolor")
        pixels = np.asarray(Image.open("a"))
        upper, lower = pixels[0, 0], pixels[1, 0]
        colours = ";".join(map(str, (38, 2, *upper, 48, 2, *lower)))
        assert f"\x1b[{colours}m▀" in text
        assert text.count("▀") == 4

    @pytest.mark.parametrize(
        "variables", [{"COLORTERM": ""}, {"COLORTERM": "24bit", "NO_COLOR": "1"}]
    )
    def test_terminals_without_colours_show_only_text(self, variables):
        Path("a").write_bytes(image())
        text = on_a_terminal("inspect", "a", **variables)
        assert "▀" not in text
        assert "PNG, 6 x 4, RGB" in text

    def test_output_to_a_file_has_no_colours(self):
        Path("a").write_bytes(image())
        done = run("inspect", "a", COLORTERM="truecolor")
        assert (done.returncode, done.stderr) == (0, "")
        assert "\x1b" not in done.stdout


class TestPipes:
    def test_closed_pipe_is_not_an_error(self):
        for number in range(200):
            write_numbers(f"{number:03}", 1)
        command = f"{sys.executable} -m headrace inspect ./* | head -n 1; echo ${{PIPESTATUS[0]}}"
        done = subprocess.run(
            ["bash", "-c", command], capture_output=True, text=True, timeout=50, check=False
        )
        first, code = done.stdout.splitlines()
        assert first == "./000"
        assert (code, done.stderr) == ("141", "")

    def test_progress_bar_is_shown_only_on_terminals(self):
        write_numbers("a", 10)
        done = run("verify", "a")
        assert (done.returncode, done.stderr) == (0, "")
        assert "verify:   0%|" in on_a_terminal("verify", "a")

    def test_json_is_the_only_output_on_stdout(self):
        write_numbers("a", 10)
        for command in (
            ("inspect", "a"),
            ("verify", "a"),
            ("convert", "a", "b.tfrecord"),
            ("index", "a"),
        ):
            done = run(*command, "--json")
            assert (done.returncode, done.stderr) == (0, "")
            assert isinstance(json.loads(done.stdout), dict)

    def test_non_utf_8_names_are_shown(self):
        name = os.fsdecode(b"a\xff")
        write_numbers(name, 1)
        done = subprocess.run(
            [sys.executable, "-m", "headrace", "inspect", name],
            capture_output=True,
            timeout=50,
            check=False,
        )
        assert (done.returncode, done.stderr) == (0, b"")
        assert done.stdout.startswith(b"a\\xff\n")
        assert call("inspect", "--json", name).exit_code == 0


class TestStart:
    @pytest.mark.parametrize(
        "arguments", [["--help"], ["--version"], *([c, "-h"] for c in COMMANDS)]
    )
    def test_help_works_without_numpy_and_the_engine(self, arguments):
        program = (
            "import sys\n"
            "from headrace.cli.commands import headrace\n"
            "headrace(sys.argv[1:], standalone_mode=False)\n"
            "print([name for name in ('numpy', 'headrace._native', 'tqdm') if name in sys.modules])"
        )
        done = subprocess.run(
            [sys.executable, "-c", program, *arguments],
            capture_output=True,
            text=True,
            timeout=50,
            check=True,
        )
        assert done.stdout.endswith("[]\n")

    def test_module_runs_the_command(self):
        done = run("--version")
        assert (done.returncode, done.stderr) == (0, "")
        assert done.stdout.startswith("headrace, version ")

    @pytest.mark.parametrize(
        "arguments",
        [
            ["nothing"],
            ["inspect"],
            ["verify", "--threads", "0", "a"],
            ["bench", "x", "--seconds", "0"],
        ],
    )
    def test_wrong_usage_exits_with_2(self, arguments):
        done = run(*arguments)
        assert (done.returncode, done.stdout) == (2, "")
        assert done.stderr.startswith("Usage: headrace ")

    def test_error_names_the_missing_packages_of_a_command(self):
        program = (
            "import sys, runpy; sys.modules.update(click=None, tqdm=None)\n"
            "runpy.run_module('headrace', run_name='__main__')"
        )
        done = subprocess.run(
            [sys.executable, "-c", program], capture_output=True, text=True, timeout=50, check=False
        )
        assert done.returncode == 1
        assert done.stderr.endswith("pip install click tqdm\n")
        assert "Traceback" not in done.stderr


def test_ctrl_c_ends_a_command_at_once():
    Path("slow.py").write_text(
        "import os, signal, headrace as hr\n"
        "def f(example):\n"
        "    os.kill(os.getpid(), signal.SIGINT)\n"
        "    return example\n"
        "pipe = hr.arrays({'n': list(range(10_000))}).map(f)\n"
    )
    done = run("bench", "slow.py:pipe")
    assert (done.returncode, done.stdout, done.stderr) == (130, "", "Interrupted.\n")
