"""The library runs without what only commands need; a command without it says what to install."""

import subprocess
import sys

# Lets the packages of the extra look as if nobody had installed them.
HIDDEN = "import sys; sys.modules.update(click=None, tqdm=None)\n"


def run(program: str) -> subprocess.CompletedProcess:
    return subprocess.run(
        [sys.executable, "-c", HIDDEN + program],
        timeout=60,
        capture_output=True,
        text=True,
        check=False,
    )


def test_the_library_needs_no_package_of_commands():
    result = run(
        "import importlib, pkgutil, headrace\n"
        "names = [m.name for m in pkgutil.walk_packages(headrace.__path__, 'headrace.',"
        " onerror=lambda name: None)]\n"
        "extras = ('headrace.cli', 'headrace.demo', 'headrace.ray')\n"
        "names = [n for n in names if not n.startswith(extras)]\n"
        "for name in names:\n"
        "    importlib.import_module(name)\n"
        "print(len(names))\n"
    )
    assert result.stderr == ""
    assert int(result.stdout) > 100


def test_a_command_without_its_packages_says_what_to_install():
    result = run("from headrace.cli.main import main; main()")
    assert result.returncode == 1
    assert result.stderr == (
        "headrace: got no click and no tqdm, which commands need. "
        "Install the extra that has it: pip install 'headrace[cli]'\n"
    )


def test_a_program_of_the_demo_without_its_packages_says_what_to_install():
    result = run("import headrace.demo.train")
    assert result.returncode == 1
    assert (
        "ModuleNotFoundError: headrace.demo: got no click and no tqdm, which commands need. "
        "Install the extra that has it: pip install 'headrace[cli]'"
    ) in result.stderr


def test_readers_on_ray_without_it_say_what_to_install():
    result = run("sys.modules.update(ray=None)\nimport headrace.ray")
    assert result.returncode == 1
    assert result.stderr.endswith(
        "ModuleNotFoundError: headrace.ray: got no ray, which readers on other machines run on. "
        "Install the extra that has it: pip install 'headrace[ray]'\n"
    )


def test_nothing_but_readers_on_ray_loads_it():
    result = run(
        "import headrace, headrace.read_service, headrace.tf1\nprint('ray' in sys.modules)"
    )
    assert result.stdout == "False\n"
