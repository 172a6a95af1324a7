"""Caches in files."""

import functools
import logging
import os
import re
import shutil
import signal
import subprocess
import sys
import threading
import types
from pathlib import Path

import numpy as np
import pytest

import headrace as hr

# A program whose function waits at line 150 or ends it with SIGKILL at line 200, if requested,
# and that writes files up to a limit.
PROGRAM = """
import os, signal, sys
import numpy as np
import headrace as hr
if limit := os.environ.get("LIMIT"):
    import resource
    resource.setrlimit(resource.RLIMIT_FSIZE, (int(limit), int(limit)))
def number(example):
    line = int(example["text"])
    if line == 150 and os.environ.get("WAITS") == "yes":
        print("half", flush=True)
        sys.stdin.readline()
    if line == 200 and os.environ.get("DIES") == "yes":
        os.kill(os.getpid(), signal.SIGKILL)
    return {"n": np.array([line])}
p = hr.text_lines(sys.argv[1]).map(number).cache(directory=sys.argv[2]).batch(50)
print(sum(int(b["n"].sum()) for b in p))
"""


@pytest.fixture
def lines(tmp_path):
    path = tmp_path / "lines.txt"
    path.write_text("".join(f"{number}\n" for number in range(300)))
    return path


@pytest.fixture
def directory(tmp_path):
    return tmp_path / "cache"


def kept(directory):
    """Returns the names of caches in a directory that may not exist."""
    paths = directory.iterdir() if directory.exists() else []
    return sorted(path.name for path in paths if path.suffix != ".hrspecs")


def numbered(path, bias=0):
    def number(example):
        return {"n": np.int64(int(example["text"]) + bias), "text": example["text"]}

    return hr.text_lines(path).map(number)


def numbers(pipe):
    return [int(n) for batch in pipe.batch(64) for n in batch["n"]]


def test_later_pipeline_reads_the_rows_cached_by_an_earlier_one(lines, directory):
    first = numbers(numbered(lines).cache(directory))
    assert first == list(range(300))
    assert len(kept(directory)) == 1
    path = directory / kept(directory)[0]
    inode = path.stat().st_ino
    pipe = numbered(lines).cache(directory)
    assert numbers(pipe.epochs(3)) == first * 3
    assert path.stat().st_ino == inode
    assert kept(directory) == [path.name]


def test_functions_are_not_called_for_cached_examples(lines, directory, tmp_path):
    calls = tmp_path / "calls"

    def noted(example, calls=str(calls)):
        with open(calls, "a") as file:
            file.write("x")
        return {"n": np.int64(int(example["text"]))}

    for _ in range(2):
        assert numbers(hr.text_lines(lines).map(noted).cache(directory).epochs(2))
    # The second pipeline learns its components from a few calls.
    assert 300 <= len(calls.read_text()) < 400


def test_order_digest_and_states_match_a_memory_cache(lines, directory):
    def of(cached):
        def drawn(example, generator):
            return {**example, "draw": generator.random()}

        return cached.map(drawn, seed=3).shuffle(50, seed=4).epochs(2).batch(32)

    before = numbered(lines).shuffle(100, seed=1)
    memory, disk = of(before.cache()), of(before.cache(directory))
    for _ in range(2):
        with iter(memory) as expected, iter(disk) as result:
            for number, (one, other) in enumerate(zip(expected, result, strict=True)):
                np.testing.assert_equal(other, one)
                assert result.digest() == expected.digest()
                if number in (5, 12):
                    for pipe, state in ((disk, expected.state()), (memory, result.state())):
                        rest = next(iter(pipe.resume(state)))
                        np.testing.assert_equal(rest, next(iter(memory.resume(state))))


def test_full_shuffle_reads_cached_examples_randomly(lines, directory):
    memory = numbered(lines).cache().shuffle(seed=1)
    for _ in range(2):
        assert numbers(numbered(lines).cache(directory).shuffle(seed=1)) == numbers(memory)
    limited = numbered(lines).cache(directory / "small", bytes=100).shuffle(seed=1)
    with pytest.raises(hr.errors.FailedPreconditionError, match="they are not stored"):
        numbers(limited)


def test_components_of_every_kind_survive_the_disk(tmp_path, directory):
    records = [
        '{"a": 1, "b": "x", "c": [1, 2], "d": [[1], [2, 3]], "e": {"k": [1, "y"]}, "f": null}',
        '{"a": 2, "b": "", "c": [], "d": [], "e": null, "f": 2.5}',
    ]
    path = tmp_path / "a.jsonl"
    path.write_text("\n".join(records))
    columns = {
        "a": int,
        "b": str,
        "c": hr.Ragged(int),
        "d": hr.Ragged(int, ndim=2),
        "e": hr.Json,
        "f": hr.Nullable(float),
    }

    def more(example):
        size = int(example["a"])
        return {**example, "g": np.ones((size, 3), np.complex64), "h": np.array(True)}

    pipe = hr.json_lines(path, columns).map(more)
    expected = list(pipe)
    for _ in range(2):
        np.testing.assert_equal(list(pipe.cache(directory)), expected)
    assert len(kept(directory)) == 1


def test_changed_function_value_or_global_starts_a_new_cache(lines, directory):
    for bias in (0, 1, 0):
        assert numbers(numbered(lines, bias).cache(directory))[0] == bias
    assert len(kept(directory)) == 2


def test_changed_description_starts_a_new_cache(lines, directory):
    pipes = [numbered(lines), numbered(lines).take(20), numbered(lines).take(30)]
    pipes += [numbered(lines).shuffle(10, seed=seed) for seed in (1, 2)]
    for number, pipe in enumerate(pipes, 1):
        expected = numbers(pipe)
        assert numbers(pipe.cache(directory)) == expected
        assert len(kept(directory)) == number


def test_changed_function_does_not_reuse_an_old_cache(lines, directory):
    source = "def f(example):\n    return {'n': helper(int(example['text']))}\n"
    for number, body in enumerate(["return n", "return n + 1", "return n - 1"]):
        module = types.ModuleType("changing")
        sys.modules["changing"] = module
        exec(source + f"def helper(n):\n    {body}\n", vars(module))
        result = numbers(hr.text_lines(lines).map(vars(module)["f"]).cache(directory))
        assert result[0] == [0, 1, -1][number]
    del sys.modules["changing"]
    assert len(kept(directory)) == 3


def test_changed_function_with_a_key_reuses_the_cache_until_the_key_changes(lines, directory):
    lock = threading.Lock()

    def of(bias, key):
        def number(example):
            with lock:
                return {"n": np.int64(int(example["text"]) + bias)}

        return hr.text_lines(lines).map(number).cache(directory, key=key)

    assert numbers(of(0, "v1"))[0] == 0
    assert numbers(of(1, "v1"))[0] == 0
    assert numbers(of(1, "v2"))[0] == 1
    assert numbers(of(0, "v1").take(3)) == [0, 1, 2]
    assert len(kept(directory)) == 2
    before = hr.text_lines(lines).take(5).cache(directory, key="v1")
    assert len(list(before)) == 5
    lines.write_text("7\n")
    assert numbers(of(0, "v1")) == [7]


def test_state_resumes_with_a_different_key(lines, directory):
    def of(key):
        return numbered(lines).cache(directory, key=key).batch(10)

    with iter(of("v1")) as batches:
        next(batches)
        state = batches.state()
    assert next(iter(of("v2").resume(state)))["n"].tolist() == list(range(10, 20))


def test_changed_file_is_read_again_and_its_old_cache_removed(lines, directory, caplog):
    assert numbers(numbered(lines).cache(directory))
    (old,) = kept(directory)
    lines.write_text("7\n8\n")
    with caplog.at_level(logging.WARNING, "headrace.pipeline"):
        assert numbers(numbered(lines).cache(directory)) == [7, 8]
    assert len(kept(directory)) == 1
    assert kept(directory) != [old]
    assert "the source files have changed; the cache file is deleted" in caplog.text


@pytest.mark.parametrize("place", [3, 12, 66, -60, -30, -3])
def test_damaged_cache_file_is_rebuilt_and_never_used(lines, directory, caplog, place):
    expected = numbers(numbered(lines).cache(directory))
    (name,) = kept(directory)
    content = bytearray((directory / name).read_bytes())
    content[place] ^= 0x10
    (directory / name).write_bytes(content)
    with caplog.at_level(logging.WARNING, "headrace.pipeline"):
        assert numbers(numbered(lines).cache(directory).epochs(2)) == expected * 2
    assert "is deleted and rebuilt" in caplog.text
    assert name in caplog.text
    caplog.clear()
    assert numbers(numbered(lines).cache(directory)) == expected
    assert kept(directory) == [name]
    assert not caplog.text


def test_truncated_cache_file_is_rebuilt(lines, directory):
    expected = numbers(numbered(lines).cache(directory))
    path = directory / kept(directory)[0]
    for length in (0, 10, path.stat().st_size // 2):
        path.write_bytes(path.read_bytes()[:length])
        assert numbers(numbered(lines).cache(directory)) == expected
    assert numbers(numbered(lines).cache(directory)) == expected


def images(lines):
    def image(example):
        return {"n": np.full(8000, int(example["text"]))}

    return hr.text_lines(lines).map(image)


def test_cache_file_truncated_while_being_read_is_rebuilt(lines, directory, caplog):
    pipe = images(lines).cache(directory).batch(10).options(num_threads=1)
    assert sum(1 for _ in pipe) == 30
    (name,) = kept(directory)
    results = []
    with caplog.at_level(logging.WARNING, "headrace.pipeline"), iter(pipe) as batches:
        results.append(next(batches))
        os.truncate(directory / name, 1000)
        results.extend(batches)
    assert [int(n[0]) for batch in results for n in batch["n"]] == list(range(300))
    assert (
        f"{name}: a block is damaged or cut short; the file is deleted and rebuilt" in caplog.text
    )
    assert kept(directory) == []
    assert sum(1 for _ in pipe) == 30
    assert kept(directory) == [name]


def test_cache_file_truncated_after_a_full_shuffle_is_an_error_with_its_name(lines, directory):
    pipe = images(lines).cache(directory).shuffle(seed=1).batch(10).options(num_threads=1)
    expected = [batch["n"][:, 0].tolist() for batch in pipe]
    (name,) = kept(directory)
    with iter(pipe) as batches:
        next(batches)
        os.truncate(directory / name, 1000)
        text = rf"{name}: the block at byte \d+ is damaged or cut short. Iterate again"
        with pytest.raises(hr.errors.FailedPreconditionError, match=text):
            list(batches)
    assert [batch["n"][:, 0].tolist() for batch in pipe] == expected


def test_truncated_cache_file_in_a_nondeterministic_pipeline_is_an_error(lines, directory):
    pipe = images(lines).cache(directory).batch(10).options(num_threads=1, deterministic=False)
    assert sum(1 for _ in pipe) == 30
    (name,) = kept(directory)
    with iter(pipe) as batches:
        next(batches)
        os.truncate(directory / name, 1000)
        with pytest.raises(hr.errors.DataLossError, match=f"{name}: the block at byte"):
            list(batches)


def test_rows_of_any_size_survive_a_full_shuffle(lines, directory):
    def size(number):
        return 100 * (number % 7) ** 4

    def sized(example):
        number = int(example["text"])
        return {"n": np.int64(number), "text": b"%d" % number * size(number)}

    results = {}
    for example in hr.text_lines(lines).map(sized).cache(directory).shuffle(seed=2):
        results[int(example["n"])] = bytes(example["text"])
    assert results == {number: b"%d" % number * size(number) for number in range(300)}


def test_symbolic_links_are_not_followed(lines, directory, tmp_path, caplog):
    def numbers():
        cached = numbered(lines).cache(directory=directory)
        return [example["n"].tolist() for example in cached]

    expected = numbers()
    (name,) = kept(directory)
    victim = tmp_path / "victim"
    victim.write_text("mine")
    (directory / name).unlink()
    (directory / f"{name}.part").symlink_to(victim)
    caplog.set_level(logging.WARNING)
    assert numbers() == expected
    assert victim.read_text() == "mine"
    assert "examples are not stored" in caplog.text
    assert kept(directory) == [f"{name}.part"]


def test_functions_before_a_full_cache_are_not_called(lines, directory):
    calls = []

    def number(example, bias):
        calls.append(example)
        return {"n": np.int64(int(example["text"]) + bias), "list": np.zeros((2, 0), np.float32)}

    def halves(example):
        calls.append(example)
        return [{**example, "half": "a"}, {**example, "half": "b"}]

    def pipe(bias=0):
        examples = hr.text_lines(lines).map(functools.partial(number, bias=bias))
        # Values of the program do not count with a key.
        pair = examples.flat_map(halves).cache(directory, key=f"v{bias}")
        return hr.concat([pair, pair]).filter(lambda row: row["n"] % 2 == 0)

    first = [(int(row["n"]), row["half"], row["list"].shape) for row in pipe()]
    assert len(calls) > 0
    calls.clear()
    again = pipe()
    assert again.spec == pipe().spec
    assert [(int(row["n"]), row["half"], row["list"].shape) for row in again] == first
    with iter(pipe()) as rows:
        next(rows)
        state = rows.state()
    assert [row["half"] for row in pipe().resume(state)] == [half for _, half, _ in first][1:]
    assert calls == []
    # Other code or files have their own components.
    assert [int(row["n"]) for row in pipe(2)][:2] == [2, 2]
    assert len(calls) > 0
    lines.write_text("40\n")
    calls.clear()
    assert [int(row["n"]) for row in pipe()] == [40] * 4
    assert len(calls) > 0


def test_damaged_component_notes_are_not_used(lines, directory):
    calls = []

    def number(example):
        calls.append(example)
        return {"n": np.int64(example["text"])}

    def pipe():
        return hr.text_lines(lines).map(number).cache(directory, key="v1").batch(10)

    list(pipe())
    (note,) = directory.glob("*.hrspecs")
    text = note.read_text()
    for damaged in (text.replace("int64", "int32"), text[:-3], "", "\ud800"):
        note.write_bytes(damaged.encode("utf-8", "surrogatepass"))
        calls.clear()
        assert all(batch["n"].dtype == np.int64 for batch in pipe())
        assert len(calls) == 1
        assert note.read_text() == text
    note.unlink()
    note.symlink_to(directory / "elsewhere")
    list(pipe())
    assert not note.is_symlink()
    assert not (directory / "elsewhere").exists()


def test_abandoned_pass_caches_nothing(lines, directory):
    with iter(numbered(lines).cache(directory).batch(10)) as batches:
        next(batches)
    assert kept(directory) == []


def test_partial_cache_of_a_killed_program_is_not_read(lines, directory):
    def run(dies):
        command = [sys.executable, "-c", PROGRAM, str(lines), str(directory)]
        environment = {**os.environ, "DIES": dies}
        return subprocess.run(
            command, env=environment, capture_output=True, text=True, timeout=120, check=False
        )

    assert run("yes").returncode == -signal.SIGKILL
    assert not [name for name in kept(directory) if name.endswith(".hrcache")]
    assert int(run("no").stdout) == sum(range(300))
    (name,) = kept(directory)
    inode = (directory / name).stat().st_ino
    # A program that reads the cache doesn't reach the line that kills it.
    assert int(run("yes").stdout) == sum(range(300))
    assert (directory / name).stat().st_ino == inode


def test_two_processes_filling_one_cache_agree_and_leave_one_file(lines, directory):
    command = [sys.executable, "-c", PROGRAM, str(lines), str(directory)]
    environment = {**os.environ, "WAITS": "yes"}
    programs = [
        subprocess.Popen(
            command,
            env=environment,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
        )
        for _ in range(2)
    ]
    try:
        # Both are in the middle of their pass before one continues.
        assert [program.stdout.readline() for program in programs] == ["half\n"] * 2
        results = [program.communicate("on\n", timeout=120)[0] for program in programs]
    finally:
        for program in programs:
            program.kill()
            program.wait()
    assert list(map(int, results)) == [sum(range(300))] * 2
    (name,) = kept(directory)
    assert name.endswith(".hrcache")
    assert numbers(hr.text_lines(lines).map(read_again).cache(directory)) == list(range(300))


def read_again(example):
    return {"n": np.int64(int(example["text"]))}


def test_file_size_limit_causes_a_warning_and_leaves_nothing(lines, directory):
    environment = {**os.environ, "LIMIT": "4096"}
    command = [sys.executable, "-c", PROGRAM, str(lines), str(directory)]
    completed = subprocess.run(
        command, env=environment, capture_output=True, text=True, timeout=120, check=True
    )
    assert int(completed.stdout) == sum(range(300))
    assert f"examples are not stored in {directory}" in completed.stderr
    assert "File too large" in completed.stderr
    assert kept(directory) == []


FULL_DISK = """
mount -t tmpfs -o size=256k none "$1" || exit 77
head -c 200k /dev/zero > "$1/other"
cp "$2" "$1/lines"
exec "$3" -c "$4" "$1/lines" "$1/cache"
"""


def test_full_disk_causes_a_warning_and_leaves_nothing(tmp_path, lines):
    if shutil.which("unshare") is None:
        pytest.skip("there is no unshare")
    disk = tmp_path / "disk"
    disk.mkdir()
    program = PROGRAM.replace("np.array([line])", "np.full(99, line)")
    program += "print([name for name in os.listdir(sys.argv[2]) if '.hrcache' in name])\n"
    alone = ["unshare", "--user", "--map-root-user", "--mount", "sh", "-c", FULL_DISK, "sh"]
    completed = subprocess.run(
        [*alone, disk, lines, sys.executable, program],
        capture_output=True,
        text=True,
        timeout=120,
        check=False,
    )
    if completed.returncode == 77 or completed.stderr.startswith("unshare:"):
        pytest.skip("no file system may be mounted here")
    assert completed.returncode == 0, completed.stderr
    total, left = completed.stdout.splitlines()
    assert int(total) == 99 * sum(range(300))
    assert left == "[]"
    assert "No space left on device" in completed.stderr
    assert f"examples are not stored in {disk}/cache" in completed.stderr


SHORT_MEMORY = """
import resource, sys
import headrace as hr
NUM_BYTES = 64 << 20
def pipe(path, num_bytes):
    found = hr.fixed_length_records(path, num_bytes).cache(directory=sys.argv[2])
    return found.options(num_threads=1, index="memory")
def sizes(found):
    found = found.shuffle(seed=1) if sys.argv[3] == "all" else found
    return [len(example["record"]) for example in found]
sizes(pipe(sys.argv[4], 1))
if sys.argv[5] == "limited":
    with open("/proc/self/statm") as file:
        taken = int(file.read().split()[0]) * resource.getpagesize()
    resource.setrlimit(resource.RLIMIT_AS, (taken + NUM_BYTES * 3 // 4, resource.RLIM_INFINITY))
    try:
        sizes(pipe(sys.argv[1], NUM_BYTES))
    except hr.errors.ResourceExhaustedError as error:
        print("short:", error)
    resource.setrlimit(resource.RLIMIT_AS, (resource.RLIM_INFINITY, resource.RLIM_INFINITY))
print(sizes(pipe(sys.argv[1], NUM_BYTES)))
"""


@pytest.mark.parametrize("order", ["file", "all"])
def test_lack_of_memory_is_not_mistaken_for_damage(tmp_path, directory, order):
    large, small = tmp_path / "large", tmp_path / "small"
    small.write_bytes(b"s")
    with large.open("wb") as file:
        file.truncate(64 << 20)

    def run(limit):
        command = [sys.executable, "-c", SHORT_MEMORY, large, directory, order, small, limit]
        return subprocess.run(command, capture_output=True, text=True, timeout=120, check=True)

    assert run("without").stdout == "[67108864]\n"
    (name,) = [name for name in kept(directory) if (directory / name).stat().st_size > 64 << 20]
    inode = (directory / name).stat().st_ino
    limited = run("limited")
    error, sizes = limited.stdout.splitlines()
    assert sizes == "[67108864]"
    assert re.search(rf"short: .*{name}; Cannot allocate memory", error), error
    assert "removed" not in limited.stderr
    assert (directory / name).stat().st_ino == inode


def test_two_concurrent_iterations_agree_and_one_writes(lines, directory):
    one, other = (iter(numbered(lines).cache(directory).batch(10)) for _ in range(2))
    results = [[], []]
    for batches in zip(one, other, strict=True):
        for values, batch in zip(results, batches, strict=True):
            values.extend(batch["n"].tolist())
    assert results == [list(range(300))] * 2
    assert len(kept(directory)) == 1


def test_examples_larger_than_bytes_are_not_cached(lines, directory, caplog):
    with caplog.at_level(logging.WARNING, "headrace.pipeline"):
        pipe = numbered(lines).cache(directory, bytes=1000)
        assert numbers(pipe.epochs(2)) == [*range(300)] * 2
    assert "they need more than the 1000 bytes of bytes=1000" in caplog.text
    assert kept(directory) == []


def test_least_recently_used_cache_is_evicted(lines, directory):
    def padded(example):
        return {**example, "more": np.zeros(1000)}

    def size():
        return sum((directory / name).stat().st_size for name in kept(directory))

    assert numbers(numbered(lines).cache(directory))
    (first,) = kept(directory)
    assert numbers(numbered(lines).map(padded).cache(directory))
    # File sizes differ slightly between runs. The third file is smaller than the second.
    limit = size()
    assert numbers(numbered(lines).cache(directory))
    assert numbers(numbered(lines, 1).cache(directory, bytes=limit))
    assert len(kept(directory)) == 2
    assert first in kept(directory)
    assert size() < limit


def test_unwritable_directory_causes_a_warning(lines, tmp_path, caplog):
    (tmp_path / "file").write_text("")
    with caplog.at_level(logging.WARNING, "headrace.pipeline"):
        assert numbers(numbered(lines).cache(tmp_path / "file" / "in")) == list(range(300))
    assert "examples are not stored in" in caplog.text


def test_skipped_damage_is_also_reported_from_disk(tmp_path, directory):
    path = tmp_path / "a.jsonl"
    path.write_text('{"a": 1}\n{"a": \n{"a": 3}\n')
    reports = []
    for _ in range(2):
        pipe = hr.json_lines(path, {"a": int}).cache(directory).skip_errors(5).batch(2)
        with iter(pipe) as batches:
            assert [batch["a"].tolist() for batch in batches] == [[1, 3]]
            reports.append(str(batches.skipped))
    assert len(kept(directory)) == 1
    assert reports[0] == reports[1]
    assert "line 2" in reports[0]


def by_lines(path):
    return hr.text_lines(path)


def by_index(path):
    return hr.text_lines(path).shuffle(seed=3)


def by_window(path):
    return hr.text_lines(path).shuffle(20, seed=3, block_bytes=64)


@pytest.mark.parametrize(
    ("source", "window"),
    [(by_lines, None), (by_lines, 20), (by_index, 20), (by_window, 20)],
)
def test_failures_after_a_disk_cache_match_a_memory_cache(lines, directory, source, window):
    def picky(example):
        if example["text"][-1:] == b"7":
            raise ValueError("seven")
        return example

    def failures(pipe):
        pipe = (
            pipe.shuffle(window, seed=5)
            .map(picky)
            .skip_errors(1000)
            .batch(32)
            .options(index="memory")
        )
        with iter(pipe) as batches:
            for _ in batches:
                pass
            return list(batches.skipped)

    expected = failures(source(lines).cache())
    assert len(expected) == 30
    assert all(skipped.offset_bytes is not None for skipped in expected)
    for _ in range(2):
        assert failures(source(lines).cache(directory)) == expected


class Odd(Exception):
    """An exception that a program defines."""


def odd_ones(error):
    """Returns a function that raises this error for four of 300 lines."""

    def picky(example):
        number = int(example["text"])
        if number % 80 == 5:
            raise error(f"bad: {number}")
        return {"n": np.int64(number)}

    return picky


def results(pipe):
    """Returns the numbers of a pipeline and the skipped examples."""
    with iter(pipe.batch(64)) as batches:
        actual = [int(n) for batch in batches for n in batch["n"]]
        return actual, list(batches.skipped)


@pytest.mark.parametrize("error", [ValueError, KeyError, Odd, OSError, NotImplementedError])
@pytest.mark.parametrize("seed", [None, 3])
def test_function_failures_are_also_reported_from_disk(lines, directory, error, seed):
    def shuffled(pipe):
        pipe = pipe if seed is None else pipe.shuffle(seed=seed)
        return pipe.skip_errors(5).epochs(2)

    pipe = hr.text_lines(lines).map(odd_ones(error)).options(index="memory")
    expected, skipped = results(shuffled(pipe.cache()))
    assert len(expected) == 2 * 296
    assert [one.record_number for one in skipped] == [5, 85, 165, 245]
    assert all(f"{error.__name__}: " in one.reason for one in skipped)
    for _ in range(2):
        assert results(shuffled(pipe.cache(directory))) == (expected, skipped)
    assert len(kept(directory)) == 1


def test_smaller_budget_counts_exceptions_reported_from_disk(lines, directory):
    pipe = hr.text_lines(lines).map(odd_ones(Odd)).cache(directory)
    assert len(results(pipe.skip_errors(5))[0]) == 296
    with pytest.raises(hr.errors.UnknownError, match=r"Odd: bad: 245.*the budget is 3"):
        results(pipe.skip_errors(3))


class Later(hr.errors.UnavailableError):
    """An error of a server."""

    def __init__(self, message):
        super().__init__(None, None, message)


def missing(message):
    return FileNotFoundError(2, message)


@pytest.mark.parametrize("error", [MemoryError, TimeoutError, ConnectionError, Later, missing])
def test_possibly_transient_failures_are_not_cached(lines, directory, caplog, error):
    pipe = hr.text_lines(lines).map(odd_ones(error)).cache(directory).skip_errors(5)
    with caplog.at_level(logging.WARNING, "headrace.pipeline"):
        assert len(results(pipe)[0]) == 296
    assert kept(directory) == []
    assert "an example was skipped because of a failure that may be temporary" in caplog.text
    assert "bad: 5" in caplog.text


def test_values_that_cannot_be_compared_between_programs_are_rejected(lines, directory):
    with pytest.raises(ValueError, match="iterable come from an object in this program"):
        hr.iterable(lambda: iter([{"a": 1}])).cache(directory)
    with pytest.raises(ValueError, match=r"indexed come from an object"):
        hr.indexed([1, 2]).cache(directory)
    with pytest.raises(ValueError, match="shuffle has no seed"):
        hr.text_lines(lines).shuffle(10).cache(directory)
    lock = threading.Lock()

    def locked(example):
        with lock:
            return example

    with pytest.raises(ValueError, match=r"map: lock is or uses a _thread\.lock"):
        list(hr.text_lines(lines).map(locked).cache(directory))


def test_invalid_arguments_are_rejected(lines):
    pipe = hr.text_lines(lines)
    with pytest.raises(ValueError, match="cache: bytes is set, but directory is not"):
        pipe.cache(bytes=5)
    with pytest.raises(ValueError, match="bytes"):
        pipe.cache("d", bytes=0)
    with pytest.raises(ValueError, match="cache: key is set, but directory is not"):
        pipe.cache(key="v1")
    with pytest.raises(TypeError, match="cache: key is 3, expected a string, such as 'v3'"):
        pipe.cache("d", key=3)
    with pytest.raises(ValueError, match="cache: directory is 's3://a', expected a directory"):
        pipe.cache("s3://a")
    with pytest.raises(TypeError, match="cache: directory is 7"):
        pipe.cache(7)


def test_partial_functions_and_objects_are_compared_with_their_values(lines, directory):
    def plus(more, example):
        return {"n": np.int64(int(example["text"]) + more)}

    for more in (1, 2):
        pipe = hr.text_lines(lines).map(functools.partial(plus, more)).cache(directory)
        assert numbers(pipe)[0] == more
    assert "directory=" in pipe.describe()
    assert len(kept(Path(directory))) == 2
