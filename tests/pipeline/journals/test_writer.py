"""`Journal`: accepted values, and the files after a failure or a kill."""

import os
import subprocess
import sys

import numpy as np
import pytest

import headrace as hr
from headrace.core.errors import FailedPreconditionError, ResourceExhaustedError


def rows_of(directory):
    return [int(row["n"]) for row in hr.journal(directory)]


class TestRows:
    @pytest.mark.parametrize(
        ("rows", "error", "message"),
        [
            ([{"n": 1, "x": 2.0}, {"n": 1}], ValueError, "append: row 1 has no component 'x'"),
            ([{"n": 1, "x": 2.0, "y": 3}], ValueError, "append: row 0 has the component 'y'"),
            (
                [{"n": 1, "x": 2.0}, {"n": 1.5, "x": 2.0}],
                TypeError,
                "append: row 1: the component 'n' has the types float64, int64",
            ),
            ([{"n": 1, "x": "a"}], TypeError, "append: row 0: the component 'x' has the types"),
            ([{"n": [1], "x": 2.0}], ValueError, r"row 0: the component 'n' has the shape \(1,\)"),
            ([{"n": 2**64, "x": 2.0}], ValueError, "append: row 0: the component 'n' has an int"),
            ([{"n": object(), "x": 2.0}], TypeError, "append: row 0: the component 'n' contains"),
            ([[1, 2]], TypeError, "append: row 0 is list, expected a dict"),
            ({"n": 1, "x": 2.0}, TypeError, "append: got a dict, expected a list of dicts"),
        ],
    )
    def test_rows_that_do_not_match_the_first_are_rejected(self, tmp_path, rows, error, message):
        with hr.Journal(tmp_path) as journal:
            journal.append([{"n": 0, "x": 1.0}])
            with pytest.raises(error, match=message):
                journal.append(rows)
        assert rows_of(tmp_path) == [0]

    def test_rejected_first_rows_do_not_fix_the_types(self, tmp_path):
        with hr.Journal(tmp_path) as journal:
            for rows in ([{"n": [[1], [1, 2]]}], [{}], [3], [{3: 4}], [{"n": 1}, {"n": "a"}]):
                with pytest.raises((TypeError, ValueError)):
                    journal.append(rows)
            journal.append([])
            journal.append([{"n": np.int64(4)}])
        assert rows_of(tmp_path) == [4]

    def test_types_are_fixed_across_writers(self, tmp_path):
        with hr.Journal(tmp_path) as one, hr.Journal(tmp_path) as other:
            one.append([{"n": 1}])
            with pytest.raises(TypeError, match="the component 'n' has the types bytes, int64"):
                other.append([{"n": b"a"}])

    @pytest.mark.parametrize(
        ("version", "error", "message"),
        [
            (-1, ValueError, "version is -1, expected a number of at least 0"),
            (True, TypeError, "version is True, expected an int"),
            ("1", TypeError, "version is '1', expected an int"),
        ],
    )
    def test_wrong_versions_are_rejected(self, tmp_path, version, error, message):
        with hr.Journal(tmp_path) as journal, pytest.raises(error, match=message):
            journal.append([{"n": 1}], version=version)


class TestUse:
    def test_closed_journal_rejects_rows(self, tmp_path):
        journal = hr.Journal(tmp_path, sync=True)
        journal.append([{"n": 1}])
        journal.close()
        journal.close()
        with pytest.raises(FailedPreconditionError, match="this journal is closed"):
            journal.append([{"n": 2}])
        assert rows_of(tmp_path) == [1]
        assert repr(journal) == f"Journal({str(tmp_path)!r}, writer 0: closed)"

    def test_forked_child_cannot_append_and_does_not_keep_the_journal_open(self, tmp_path):
        journal = hr.Journal(tmp_path)
        journal.append([{"n": 1}])
        (first, second), (go, end) = os.pipe(), os.pipe()
        process = os.fork()
        if process == 0:
            try:
                journal.append([{"n": 2}])
            except FailedPreconditionError as error:
                os.write(second, str(error).encode())
            journal.close()
            os.read(go, 1)
            os._exit(0)
        journal.close()
        assert rows_of(tmp_path) == [1], "the child is still running"
        assert b"opened before a fork" in os.read(first, 1000)
        os.write(end, b"x")
        os.waitpid(process, 0)

    def test_file_in_place_of_the_directory_is_rejected(self, tmp_path):
        path = tmp_path / "file"
        path.write_text("")
        with pytest.raises(hr.errors.OpError, match="Choose a directory that you can write to"):
            hr.Journal(path)

    @pytest.mark.parametrize("path", [b"bytes", 3, "", "s3://bucket/journal"])
    def test_remote_directory_is_rejected(self, path):
        for call in (hr.Journal, hr.journal):
            with pytest.raises((TypeError, ValueError), match=r"directory is .*, expected a"):
                call(path)


class TestFullDisk:
    PROGRAM = """
import resource, sys
import headrace as hr
journal = hr.Journal(sys.argv[1])
journal.append([{"n": 0, "data": bytes(100)}])
resource.setrlimit(resource.RLIMIT_FSIZE, (5_000, resource.RLIM_INFINITY))
try:
    journal.append([{"n": 1, "data": bytes(10_000)}])
except hr.errors.ResourceExhaustedError as error:
    print(error)
resource.setrlimit(resource.RLIMIT_FSIZE, (resource.RLIM_INFINITY, resource.RLIM_INFINITY))
journal.append([{"n": 2, "data": bytes(10_000)}])
journal.close()
"""

    def test_rows_that_do_not_fit_leave_the_journal_intact(self, tmp_path):
        ended = subprocess.run(
            [sys.executable, "-c", self.PROGRAM, tmp_path],
            capture_output=True,
            text=True,
            check=True,
            timeout=60,
        )
        assert ended.stdout.startswith(f"{tmp_path}/writer-000000-000000.rows; File too large. The")
        assert "all earlier rows are intact" in ended.stdout
        assert rows_of(tmp_path) == [0, 2]

    def test_order_that_cannot_be_recorded_is_an_error(self, tmp_path, monkeypatch):
        with hr.Journal(tmp_path) as journal:
            journal.append([{"n": n} for n in range(3)])

        def write(file, data, offset):
            written = pwrite(file, data[:3], offset)
            raise OSError(28, "No space left on device", written)

        pwrite = os.pwrite
        with monkeypatch.context() as patches:
            patches.setattr(os, "pwrite", write)
            with pytest.raises(
                ResourceExhaustedError, match=r"No space left on device\. The order"
            ):
                rows_of(tmp_path)
        assert rows_of(tmp_path) == [0, 1, 2]
