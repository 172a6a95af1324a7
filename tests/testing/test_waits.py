"""`dump_waits` describes the wait of each thread."""

import os
import re
import threading

import numpy as np
import pytest
from tests.calls import TIMEOUT, Call
from tests.io.storage.server import Server, stalls

import headrace as hr
from headrace.testing import dump_waits, dump_waits_on_signal

SECONDS = r"\d+\.\d s"


class TestPipelines:
    def test_hanging_function_is_shown_with_its_example(self, wait_for_dump):
        goes_on = threading.Event()

        def slow(example):
            if example["n"] == 3:
                goes_on.wait(TIMEOUT)
            return example

        numbers = hr.arrays({"n": np.arange(100)}).map(slow).batch(10)
        with iter(numbers) as batches:
            first = Call(lambda: next(batches))
            wait_for_dump("waits for the next rows of pipeline 'arrays > map.*slow.* > batch', for")
            wait_for_dump(rf"^   worker 0 \(thread \d+\), for {SECONDS}: idle")
            text = wait_for_dump(r"slow\): the call for arrays: row 3, in a block started")
            assert "0 of 2 results are ready" in text
            # The line of the function is in a stack, as soon as the thread has got there.
            wait_for_dump("in slow$")
            goes_on.set()
            assert first.result()["n"].tolist() == list(range(10))

    def test_hanging_read_is_shown_with_its_offset(self, wait_for_dump, tmp_path):
        os.mkfifo(tmp_path / "pipe")
        with iter(hr.text_lines(tmp_path / "pipe", compression=None)):
            wait_for_dump(
                rf"worker \d \(thread \d+\), for {SECONDS}: reading {tmp_path}/pipe: line 1 "
                rf"\(text_lines\); waits for data from a pipe {tmp_path}/pipe"
            )

    def test_closing_an_iteration_waits_for_its_threads(self, wait_for_dump):
        is_held, goes_on = threading.Event(), threading.Event()

        def slow(example):
            is_held.set()
            goes_on.wait(TIMEOUT)
            return example

        numbers = hr.arrays({"n": np.arange(4)}).map(slow)
        goes_on.set()
        assert numbers.spec
        is_held.clear()
        goes_on.clear()
        batches = iter(numbers)
        assert is_held.wait(TIMEOUT)
        close = Call(batches.close)
        wait_for_dump("waits for the threads of pipeline 'arrays > map.*slow.*' to end, for")
        close.result()
        goes_on.set()
        for thread in threading.enumerate():
            if thread.name.startswith("headrace-function"):
                thread.join(TIMEOUT)

    def test_closed_pipeline_is_omitted(self):
        with iter(hr.arrays({"n": np.arange(4)})) as batches:
            assert re.search("^-- pipeline 'arrays'", dump_waits(write=False), re.MULTILINE)
            batches.close()
            assert not re.search("^-- pipeline", dump_waits(write=False), re.MULTILINE)


class TestStorages:
    @pytest.fixture
    def server(self):
        with Server() as server:
            yield server

    def test_stalled_request_is_shown(self, wait_for_dump, server):
        goes_on = threading.Event()
        server.files["a"] = b"line\n" * 10
        server.faults = [stalls(goes_on)]
        try:
            with iter(hr.text_lines(f"{server.url}/a")):
                text = wait_for_dump(rf"waits for storage: opening {server.url}/a, for {SECONDS}")
                assert re.search(rf"-- storage requests\n   opening {server.url}/a", text)
                assert "-- thread 'headrace-io' of the engine" in text
        finally:
            goes_on.set()


class TestText:
    def test_dump_is_returned_and_written_to_stderr(self, capsys):
        text = dump_waits()
        assert capsys.readouterr().err == text
        assert f"== waits of process {os.getpid()}" in text
        assert "-- thread 'MainThread'" in text
        assert "in test_dump_is_returned_and_written_to_stderr" in text
        assert "in dump_waits" not in text

    def test_object_whose_repr_fails_does_not_hide_the_rest(self, monkeypatch):
        def fail(self, waits):
            raise ArithmeticError("no words")

        monkeypatch.setattr(hr.Batches, "activity_lines", fail)
        with iter(hr.arrays({"n": np.arange(4)})):
            text = dump_waits(write=False)
        assert "-- (cannot be described: ArithmeticError('no words'))" in text
        assert "MainThread" in text


class TestSignals:
    def test_signal_handler_must_be_installed_in_the_main_thread(self):
        call = Call(dump_waits_on_signal)
        with pytest.raises(ValueError, match="called in another thread, but only the main thread"):
            call.result()
