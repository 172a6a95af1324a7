"""`journal`: rows in their order of arrival, groups, ages, ends, ranks and states."""

import json
import os
import shutil
import signal
import subprocess
import sys
import threading
from pathlib import Path

import numpy as np
import pytest

import headrace as hr
from headrace.core.errors import FailedPreconditionError, InvalidArgumentError
from headrace.pipeline.journals import order, reader, writer

ROWS = [
    {
        "n": n,
        "flag": n % 2 == 0,
        "score": np.float32(n / 4),
        "text": f"né{n}",
        "raw": bytes(n % 3),
        "list": np.arange(n % 4, dtype=np.int16),
        "names": np.array([b"a", b"bc"][: n % 3], object),
        "image": np.full((2, n % 3 + 1), n, np.uint8),
        "day": np.datetime64(n, "D"),
        "note": {"n": [n, None]},
    }
    for n in range(23)
]


def append_in_parts(directory, rows, size=4, **options):
    with hr.Journal(directory) as journal:
        for first in range(0, len(rows), size):
            journal.append(rows[first : first + size], **options)


def plain(example):
    """An example in a form that can be compared, with the types."""
    if isinstance(example, dict):
        return {name: plain(value) for name, value in example.items()}
    if isinstance(example, list):
        return [plain(item) for item in example]
    if isinstance(example, (np.ndarray, np.generic)):
        return str(example.dtype), example.shape, example.tolist()
    return type(example).__name__, example


def numbers(examples):
    return [np.asarray(example["n"]).ravel().tolist() for example in examples]


def grouped_rows(num_groups=7, size=3, version=0):
    return [
        {"group": f"g{g}", "n": g * size + k, "list": np.arange(g + k), "x": np.full(2, k)}
        for k in range(size)
        for g in range(num_groups)
    ]


class TestRows:
    def test_rows_of_all_types_match_an_iterable(self, tmp_path):
        append_in_parts(tmp_path, ROWS)
        pipe, expected = hr.journal(tmp_path), hr.iterable(ROWS)
        assert pipe.spec == expected.spec
        assert list(map(plain, pipe)) == list(map(plain, expected))

    @pytest.mark.parametrize("names", [("n", "text"), ("n", "list"), ("n", "names"), ("image",)])
    def test_stages_receive_the_same_rows_as_from_an_iterable(self, tmp_path, names):
        append_in_parts(tmp_path, ROWS)
        for build in (
            lambda pipe: pipe.select(*names).padded_batch(5),
            lambda pipe: pipe.select(*names).map(lambda row: row).shuffle(window=6, seed=3),
        ):
            results = [
                list(map(plain, build(pipe))) for pipe in (hr.journal(tmp_path), hr.iterable(ROWS))
            ]
            assert results[0] == results[1]

    def test_arrays_of_equal_shape_are_batched(self, tmp_path):
        append_in_parts(tmp_path, [{"x": np.full((2, 3), n)} for n in range(7)])
        shapes = [batch["x"].shape for batch in hr.journal(tmp_path).batch(3)]
        assert shapes == [(3, 2, 3), (3, 2, 3), (1, 2, 3)]

    def test_rows_of_several_segments_and_order_files_are_yielded_once(self, tmp_path, monkeypatch):
        monkeypatch.setattr(writer, "_SEGMENT_BYTES", 300)
        monkeypatch.setattr(order, "_FILE_BYTES", 150)
        monkeypatch.setattr(reader, "_BLOCK_ROWS", 2)
        append_in_parts(tmp_path, [{"n": n} for n in range(60)])
        assert numbers(hr.journal(tmp_path)) == [[n] for n in range(60)]
        assert len(list(tmp_path.glob("*.rows"))) > 2
        assert len(list(tmp_path.glob("order-*"))) > 3
        assert numbers(hr.journal(tmp_path)) == [[n] for n in range(60)]

    def test_journal_without_rows_is_empty(self, tmp_path):
        hr.Journal(tmp_path).close()
        assert list(hr.journal(tmp_path).batch(2)) == []

    def test_rows_of_several_writers_have_one_order(self, tmp_path):
        with hr.Journal(tmp_path) as one, hr.Journal(tmp_path) as other:
            for n in range(20):
                (one, other)[n % 3 == 0].append([{"n": n}])
        first = numbers(hr.journal(tmp_path))
        assert sorted(first) == [[n] for n in range(20)]
        assert numbers(hr.journal(tmp_path)) == first


class TestFollowing:
    def test_rows_are_yielded_while_the_journal_is_open(self, tmp_path):
        with hr.Journal(tmp_path) as journal:
            journal.append([{"n": 0}])
            rows = iter(hr.journal(tmp_path, poll_s=0.01))
            for n in range(1, 10):
                assert next(rows)["n"] == n - 1
                journal.append([{"n": n}])
        assert numbers(rows) == [[9]]

    @pytest.mark.timeout(60)
    def test_iteration_waits_for_the_first_append(self, tmp_path):
        results = []
        rows = iter(hr.journal(tmp_path / "new", poll_s=0.01).map(lambda row: {"n": row["n"] + 1}))
        thread = threading.Thread(target=lambda: results.extend(rows))
        thread.start()
        append_in_parts(tmp_path / "new", [{"n": n} for n in range(5)])
        thread.join()
        assert numbers(results) == [[n] for n in range(1, 6)]

    @pytest.mark.timeout(60)
    def test_close_ends_a_wait_at_once(self, tmp_path):
        with hr.Journal(tmp_path) as journal:
            journal.append([{"n": 0}])
            rows = iter(hr.journal(tmp_path, poll_s=3600))
            assert next(rows)["n"] == 0
            closer = threading.Timer(0.1, rows.close)
            closer.start()
            with pytest.raises(FailedPreconditionError, match="another thread closed"):
                next(rows)
            closer.join()

    @pytest.mark.timeout(60)
    @pytest.mark.parametrize("arguments", ["", ", max_age=1"])
    def test_ctrl_c_ends_a_wait(self, tmp_path, arguments):
        program = (
            "import headrace as hr, os, signal, threading\n"
            f"journal = hr.Journal({str(tmp_path)!r})\n"
            "journal.append([{'n': 0}])\n"
            f"rows = iter(hr.journal(journal.directory, poll_s=3600{arguments}))\n"
            "next(rows)\n"
            "threading.Timer(0.3, os.kill, (os.getpid(), signal.SIGINT)).start()\n"
            "try:\n    next(rows)\nexcept KeyboardInterrupt:\n    print('interrupted')\n"
        )
        ended = subprocess.run(
            [sys.executable, "-c", program], capture_output=True, text=True, timeout=50, check=True
        )
        assert ended.stdout == "interrupted\n"

    @pytest.mark.timeout(60)
    def test_dump_of_waits_names_the_open_writers(self, tmp_path):
        with hr.Journal(tmp_path) as journal:
            journal.append([{"n": 0}])
            rows = iter(hr.journal(tmp_path, poll_s=0.01))
            next(rows)
            expected = f"waiting for rows from writer 0 (process {os.getpid()} on "
            while expected not in "\n".join(rows.activity_lines({})):
                pass
        assert list(rows) == []

    @pytest.mark.timeout(60)
    def test_warning_names_the_open_writers(self, tmp_path, caplog):
        with hr.Journal(tmp_path) as journal:
            journal.append([{"n": 0}])
            rows = iter(hr.journal(tmp_path, poll_s=0.01).options(warn_after_s=0.1))
            next(rows)
            expected = f"waiting for rows from writer 0 (process {os.getpid()} on "
            while expected not in caplog.text:
                pass
        assert list(rows) == []

    def test_writer_whose_process_is_gone_counts_as_closed(self, tmp_path, caplog):
        process = os.fork()
        if process == 0:
            journal = hr.Journal(tmp_path)
            journal.append([{"n": 5}])
            os.kill(os.getpid(), signal.SIGKILL)
        os.waitpid(process, 0)
        assert numbers(hr.journal(tmp_path)) == [[5]]
        assert f"writer 0 (process {process} on " in caplog.text
        assert "ended without closing the journal" in caplog.text


class TestGroups:
    def test_group_is_yielded_when_it_is_complete(self, tmp_path):
        rows = grouped_rows()
        append_in_parts(tmp_path, [*rows, {**rows[0], "n": 99}], size=5)
        batches = iter(hr.journal(tmp_path, group="group", group_size=3))
        examples = list(batches)
        assert numbers(examples) == [[3 * g, 3 * g + 1, 3 * g + 2] for g in range(7)]
        assert examples[2]["x"].tolist() == [[0, 0], [1, 1], [2, 2]]
        assert examples[2]["group"].tolist() == ["g2"] * 3
        assert isinstance(examples[2]["list"], list)
        assert [array.tolist() for array in examples[2]["list"]] == [
            [0, 1],
            [0, 1, 2],
            [0, 1, 2, 3],
        ]
        assert batches.statistics().stages[0].left_out == 1

    def test_groups_can_contain_all_types(self, tmp_path):
        rows = [{**row, "key": row["n"] % 5} for row in ROWS]
        append_in_parts(tmp_path, rows)
        examples = list(hr.journal(tmp_path, group="key", group_size=4, ragged=["names"]))
        assert numbers(examples) == [[key + 5 * k for k in range(4)] for key in range(5)]
        for example in examples:
            of_group = [rows[n] for n in example["n"]]
            assert example["score"].dtype == np.float32
            assert example["day"].tolist() == [row["day"].item() for row in of_group]
            assert example["text"].tolist() == [row["text"] for row in of_group]
            assert example["note"] == [row["note"] for row in of_group]
            for name in ("list", "names", "image"):
                expected = [row[name].tolist() for row in of_group]
                assert [np.array(item).tolist() for item in example[name]] == expected

    def test_group_can_combine_rows_from_several_writers(self, tmp_path):
        with hr.Journal(tmp_path) as one, hr.Journal(tmp_path) as other:
            for n in range(30):
                (one, other)[n % 7 < 3].append([{"g": n // 3, "n": n}])
        examples = numbers(hr.journal(tmp_path, group="g", group_size=3))
        assert sorted(map(sorted, examples)) == [[n, n + 1, n + 2] for n in range(0, 30, 3)]
        assert numbers(hr.journal(tmp_path, group="g", group_size=3)) == examples

    def test_shape_that_differs_from_the_first_group_is_an_error(self, tmp_path):
        rows = [{"g": n // 2, "list": np.arange(3 + n // 5)} for n in range(6)]
        append_in_parts(tmp_path, rows)
        with pytest.raises(InvalidArgumentError) as raised:
            list(hr.journal(tmp_path, group="g", group_size=2))
        assert str(raised.value) == (
            "journal: the component 'list' has the shape (4,) in row 1 of the commit at byte "
            f"224 of {tmp_path}/writer-000000-000000.rows, but the shape (3,) in the first group. "
            "If it varies, pass ragged=('list',)."
        )
        ragged = hr.journal(tmp_path, group="g", group_size=2, ragged=["list"])
        assert [list(map(len, example["list"])) for example in ragged] == [[3, 3], [3, 3], [3, 4]]

    @pytest.mark.parametrize(
        ("arguments", "message"),
        [
            ({"group": "x", "group_size": 2}, "group is 'x', but the rows of"),
            ({"group": "list", "group_size": 2}, r"group is 'list', which is Spec\(int64"),
            ({"group": "g", "group_size": 2, "ragged": ["y"]}, "ragged is 'y', but the rows of"),
        ],
    )
    def test_unsuitable_components_are_rejected(self, tmp_path, arguments, message):
        append_in_parts(tmp_path, [{"g": 1, "list": np.arange(2)}])
        with pytest.raises(ValueError, match=message):
            list(hr.journal(tmp_path, **arguments))


class TestAge:
    def test_old_rows_are_dropped_and_counted(self, tmp_path):
        with hr.Journal(tmp_path) as journal:
            for version in range(6):
                journal.append([{"n": version}] * 2, version=version)
        batches = iter(hr.journal(tmp_path, max_age=1).batch(2))
        batches.set_version(3)
        assert numbers(batches) == [[2, 2], [3, 3], [4, 4], [5, 5]]
        assert batches.statistics().stages[0].too_old == 4

    @pytest.mark.parametrize("build", ["batch", "map", "threads", "prefetch"])
    def test_no_row_is_older_than_the_version_allows(self, tmp_path, build):
        with hr.Journal(tmp_path) as journal:
            for version in range(20):
                journal.append([{"n": version}] * 3, version=version)
        pipe = hr.journal(tmp_path, max_age=1)
        mapped = {"map": {}, "threads": {"num_threads": 2}}
        pipe = pipe.map(lambda row: row, **mapped[build]) if build in mapped else pipe
        pipe = pipe.batch(2).prefetch(4) if build == "prefetch" else pipe.batch(2)
        batches = iter(pipe)
        results, version = [], 0
        for batch in batches:
            assert (version - batch["n"] <= 1).all()
            version += 2
            batches.set_version(version)
            results.append(batch)
        assert batches.statistics().stages[0].too_old > 10
        assert numbers(pipe) == numbers(results), "a replay drops the same rows"

    def test_rows_of_incomplete_groups_are_dropped_when_too_old(self, tmp_path):
        with hr.Journal(tmp_path) as journal:
            rows = iter(hr.journal(tmp_path, group="g", group_size=2, max_age=2, poll_s=0.01))
            journal.append([{"g": g, "n": g} for g in (0, 1, 2, 2)], version=0)
            assert next(rows)["n"].tolist() == [2, 2]
            rows.set_version(3)
            journal.append([{"g": g, "n": 10 + k} for k, g in enumerate((0, 1, 0))], version=1)
        assert numbers(rows) == [[10, 12]]
        (stage,) = rows.statistics().stages
        assert (stage.too_old, stage.left_out) == (2, 1)

    def test_version_must_not_decrease_and_needs_a_journal(self, tmp_path):
        append_in_parts(tmp_path, [{"n": 0}])
        batches = iter(hr.journal(tmp_path, max_age=1))
        batches.set_version(3)
        with pytest.raises(ValueError, match="version is 2, expected at least 3"):
            batches.set_version(2)
        with pytest.raises(ValueError, match=r"version is 1\.5, expected an int"):
            batches.set_version(1.5)
        with pytest.raises(ValueError, match="the pipeline reads no journal"):
            iter(hr.arrays({"x": [1]})).set_version(1)


class TestStates:
    @pytest.mark.parametrize("build", ["rows", "batches", "window", "groups", "ages"])
    def test_iteration_resumes_after_each_batch(self, tmp_path, monkeypatch, build):
        monkeypatch.setattr(order, "_FILE_BYTES", 300)
        monkeypatch.setattr(reader, "_BLOCK_ROWS", 4)
        for first in (0, 30):  # The journal ends twice.
            with hr.Journal(tmp_path) as journal:
                for n in range(first, first + 30):
                    journal.append([{"n": n, "g": n % 4 + n // 16 * 4}] * 1, version=n // 5)
            pipes = {
                "rows": hr.journal(tmp_path),
                "batches": hr.journal(tmp_path).batch(4),
                "window": hr.journal(tmp_path).shuffle(window=7, seed=1).batch(4),
                "groups": hr.journal(tmp_path, group="g", group_size=3),
                "ages": hr.journal(tmp_path, group="g", group_size=2, max_age=2),
            }
            pipe = pipes[build]
            batches = iter(pipe)
            states, results = [json.loads(json.dumps(batches.state()))], []
            for batch in batches:
                results.append(numbers([batch]))
                if build == "ages":
                    batches.set_version(len(results) // 3)
                states.append(json.loads(json.dumps(batches.state())))
            digest = batches.digest()
        assert len(results) > 10
        for place, state in enumerate(states):
            rest = pipe.resume(state)
            assert [numbers([batch]) for batch in rest] == results[place:]
            assert rest.digest() == digest

    @pytest.mark.parametrize("build", ["rows", "batches", "window", "groups"])
    def test_resumed_iteration_continues_after_the_journal_is_reopened(self, tmp_path, build):
        def append(first):
            with hr.Journal(tmp_path) as journal:
                journal.append([{"n": n, "g": n // 3} for n in range(first, first + 10)])

        grouped = {"group": "g", "group_size": 3} if build == "groups" else {}
        pipe = hr.journal(tmp_path, **grouped)
        pipe = {"batches": pipe.batch(4), "window": pipe.shuffle(window=6, seed=2)}.get(build, pipe)
        results, state = [], None
        for first in (0, 10, 20):
            append(first)
            batches = pipe.resume(state)
            results += numbers(batches)
            state = batches.state()
        assert sorted(n for batch in results for n in batch) == list(range(30))
        assert list(pipe.resume(state)) == []
        assert numbers(pipe) == results

    def test_state_of_a_different_journal_is_rejected(self, tmp_path):
        for name in ("one", "other"):
            append_in_parts(tmp_path / name, [{"n": n} for n in range(8)])
        batches = iter(hr.journal(tmp_path / "one"))
        next(batches)
        batches.close()
        with pytest.raises(ValueError, match=r"journal-\w+\.json: the name, size or order"):
            next(hr.journal(tmp_path / "other").resume(batches.state()))

    def test_order_with_different_arguments_is_rejected(self, tmp_path):
        append_in_parts(tmp_path, [{"n": n, "g": n // 2} for n in range(8)])
        list(hr.journal(tmp_path))
        with pytest.raises(FailedPreconditionError, match=r"group is 'g', but .* with None"):
            list(hr.journal(tmp_path, group="g", group_size=2))

    def test_replay_yields_the_same_batches_and_their_positions(self, tmp_path):
        append_in_parts(tmp_path, [{"n": n} for n in range(20)])
        pipe = hr.journal(tmp_path).batch(3)
        batches = iter(pipe)
        next(batches)
        state = batches.state()
        expected = numbers(batches)
        again = pipe.replay(state)
        assert next(again)["n"].tolist() == [3, 4, 5]
        assert [number for _, number, _ in again.origins()] == [3, 4, 5]
        assert numbers(again) == expected[1:]


class TestRanks:
    @pytest.mark.timeout(120)
    @pytest.mark.parametrize(
        "arguments",
        [
            {},
            {"max_age": 3},
            {"group": "g", "group_size": 2},
            {"group": "g", "group_size": 2, "max_age": 3},
        ],
    )
    def test_ranks_divide_one_order(self, tmp_path, arguments):
        def run(rank):
            pipe = hr.journal(tmp_path, poll_s=0.01, **arguments)
            for batch in pipe.shard(rank, 2).batch(2):
                results[rank] += numbers([{"n": row} for row in batch["n"]])
                together.wait()

        results, together = {0: [], 1: []}, threading.Barrier(2)
        threads = [threading.Thread(target=run, args=(rank,)) for rank in results]
        with hr.Journal(tmp_path) as one, hr.Journal(tmp_path) as other:
            for thread in threads:
                thread.start()
            for n in range(40):
                (one, other)[n % 3 == 0].append([{"n": 2 * n, "g": n}, {"n": 2 * n + 1, "g": n}])
        for thread in threads:
            thread.join()
        whole = numbers(hr.journal(tmp_path, **arguments))
        assert len(whole) == (40 if "group" in arguments else 80)
        assert [results[0], results[1]] == [whole[0::2], whole[1::2]]

    def test_different_number_of_ranks_resumes(self, tmp_path):
        append_in_parts(tmp_path, [{"n": n} for n in range(40)])
        batches = iter(hr.journal(tmp_path).shard(1, 2).batch(2))
        assert numbers([next(batches), next(batches)]) == [[1, 3], [5, 7]]
        state = batches.state()
        ranks = [hr.journal(tmp_path).shard(rank, 4).batch(2).resume(state) for rank in range(4)]
        assert [numbers([next(rank)])[0] for rank in ranks] == [
            [8, 12],
            [9, 13],
            [10, 14],
            [11, 15],
        ]


class TestDeletion:
    def test_files_before_a_state_are_deleted(self, tmp_path, monkeypatch):
        monkeypatch.setattr(writer, "_SEGMENT_BYTES", 2000)
        monkeypatch.setattr(order, "_FILE_BYTES", 200)
        monkeypatch.setattr(reader, "_BLOCK_ROWS", 6)
        rows = [{"n": n, "g": n // 3} for n in range(300)]
        rows[1]["g"] = 10**6  # This row stays pending.
        for part in range(3):
            append_in_parts(tmp_path, rows[100 * part : 100 * part + 100], size=1)
        pipe = hr.journal(tmp_path, group="g", group_size=3)
        batches = iter(pipe)
        for _ in range(80):
            next(batches)
        state = batches.state()
        rest = numbers(batches)
        num_files = len(list(tmp_path.iterdir()))
        assert hr.Journal.delete_before(tmp_path, state) > 5000
        assert hr.Journal.delete_before(tmp_path, state) == 0
        assert len(list(tmp_path.iterdir())) <= num_files / 2
        assert numbers(pipe.resume(state)) == rest
        with pytest.raises(FailedPreconditionError, match="the beginning of the journal has been"):
            list(pipe)
        append_in_parts(tmp_path, [{"n": 300 + k, "g": 10**6} for k in range(2)])
        assert numbers(pipe.resume(batches.state())) == [[1, 300, 301]]

    def test_files_that_another_rank_needs_are_kept(self, tmp_path, monkeypatch):
        monkeypatch.setattr(order, "_FILE_BYTES", 200)
        monkeypatch.setattr(reader, "_BLOCK_ROWS", 1)
        append_in_parts(tmp_path, [{"n": n} for n in range(60)], size=1)
        pipes = [hr.journal(tmp_path).shard(rank, 3).batch(2) for rank in range(3)]
        ranks = [iter(pipe) for pipe in pipes]
        for _ in range(7):
            for batches in ranks:
                next(batches)
            states = [batches.state() for batches in ranks]
            hr.Journal.delete_before(tmp_path, states)
            for pipe, state in zip(pipes, states, strict=True):
                next(pipe.resume(state))
        rests = [numbers(pipe.resume(state)) for pipe, state in zip(pipes, states, strict=True)]
        assert rests == [numbers(batches) for batches in ranks]
        with pytest.raises(ValueError, match="the list of states is empty"):
            hr.Journal.delete_before(tmp_path, [])

    def test_state_of_a_different_pipeline_deletes_nothing(self, tmp_path):
        append_in_parts(tmp_path, [{"n": 1}])
        batches = iter(hr.arrays({"x": [1, 2]}))
        next(batches)
        with pytest.raises(ValueError, match="the state has no position in the journal"):
            hr.Journal.delete_before(tmp_path, batches.state())


class TestArguments:
    @pytest.mark.parametrize(
        ("arguments", "error", "message"),
        [
            ({"group": "g"}, TypeError, "group is 'g' and group_size is None"),
            ({"group_size": 2}, TypeError, "group is None and group_size is 2"),
            ({"group": 3, "group_size": 2}, TypeError, "group is 3, expected the name"),
            (
                {"group": "g", "group_size": 0},
                ValueError,
                "group_size is 0, expected an int of at least 1",
            ),
            ({"max_age": -1}, ValueError, "max_age is -1, expected an int of at least 0"),
            ({"poll_s": 0}, ValueError, "journal: poll_s is 0, expected a positive number"),
            ({"ragged": "x"}, TypeError, "ragged is 'x', expected a list of strings"),
        ],
    )
    def test_wrong_arguments_are_rejected(self, arguments, error, message):
        with pytest.raises(error, match=message):
            hr.journal("anywhere", **arguments)

    @pytest.mark.parametrize("name", ["epochs", "cache"])
    def test_rows_cannot_be_repeated(self, name):
        with pytest.raises(ValueError, match=f"{name}: journal yields each row once"):
            getattr(hr.journal("anywhere").batch(2), name)()

    def test_full_shuffle_is_an_error(self, tmp_path):
        with pytest.raises(ValueError, match="journal yields its examples only in the order"):
            hr.journal(tmp_path).shuffle(seed=1)


@pytest.mark.timeout(3600)
@pytest.mark.parametrize("mode", ["rows", "groups"])
def test_killed_writers_and_readers_deliver_each_row_once(tmp_path, mode, is_nightly):
    script = Path(__file__).parents[1] / "journals" / "killed_journal.py"
    ended = subprocess.run(
        [sys.executable, script, tmp_path, "5000" if is_nightly else "50", mode],
        capture_output=True,
        text=True,
        check=False,
    )
    assert ended.returncode == 0, ended.stderr
    counts = json.loads(ended.stdout)
    assert counts["delivered"] > 20
    assert (counts["dropped"] > 0) == (mode == "groups")
    shutil.rmtree(tmp_path)
