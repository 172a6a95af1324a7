"""A step that takes too long is named, and the pipeline can still be closed."""

import itertools
import logging
import os
import queue
import threading

import numpy as np
import pytest

import headrace as hr


@pytest.fixture
def warnings():
    """Waits for the given number of warnings, and returns their texts."""
    value = queue.SimpleQueue()
    handler = logging.Handler()
    handler.emit = lambda record: value.put(record.getMessage())
    logger = logging.getLogger("headrace.pipeline")
    logger.addHandler(handler)
    yield lambda count: [value.get(timeout=20) for _ in range(count)]
    logger.removeHandler(handler)


@pytest.fixture
def hung():
    """Set at the end of a test. Functions that hang wait for it, so that no thread is left."""
    event = threading.Event()
    yield event
    event.set()
    for thread in threading.enumerate():
        if thread.name.startswith("headrace-function"):
            thread.join()


def assert_closes_without_waiting(batches):
    """Closes the iteration in a thread, because waiting for the call that hangs would never end."""
    closer = threading.Thread(target=batches.close, daemon=True)
    closer.start()
    closer.join(timeout=20)
    assert not closer.is_alive()


@pytest.mark.parametrize("stage", ["map", "filter", "flat_map"])
def test_warning_names_a_hanging_function_and_its_record(records, warnings, hung, stage):
    def stuck(example):
        if example["number"] == 1:
            hung.wait()
        return [example] if stage == "flat_map" else example

    parsed = hr.tfrecords(records).parse({"number": int})
    pipe = getattr(parsed, stage)(stuck).options(warn_after_s=0.05)
    with iter(pipe) as batches:
        [message] = warnings(1)
        assert message.startswith(f"{stage}(test_warning_names_a_hanging_fun")
        assert "0.tfrecord: record 1 has taken more than 0.05 s" in message
        assert_closes_without_waiting(batches)


def test_hanging_function_is_reported_once_per_call(warnings, hung):
    def stuck(example):
        hung.wait(0.3)
        return example

    numbers = hr.arrays({"number": np.arange(3)}).map(stuck).options(warn_after_s=0.02)
    assert len(list(numbers)) == 3
    assert len(set(warnings(3))) == 3


@pytest.mark.parametrize("stage", ["map", "filter"])
def test_warning_names_a_function_that_hangs_during_inference(warnings, hung, stage):
    def stuck(example):
        hung.wait(0.3)
        return example

    numbers = getattr(hr.arrays({"number": np.arange(1)}), stage)(stuck)
    pipe = numbers.map(lambda example: example).options(warn_after_s=0.02)
    assert list(pipe.spec) == ["number"]
    [message] = warnings(1)
    assert message.startswith(f"{stage}(test_warning_names_a_function_that")
    assert message.endswith("arrays: row 0 has taken more than 0.02 s and is still running")


def test_warning_names_an_iterator_that_hangs_at_its_first_example(warnings, hung):
    def examples():
        hung.wait(0.3)
        yield {"number": 1}

    pipe = hr.iterable(examples).options(warn_after_s=0.02)
    assert list(pipe.spec) == ["number"]
    assert warnings(1)[0].endswith(
        "examples): reading the first example, which determines the components, has taken more "
        "than 0.02 s and is still running"
    )


def test_warning_names_a_file_that_hangs_during_inference(tmp_path, warnings):
    os.mkfifo(tmp_path / "a.csv")

    def write():
        written = warnings(1)
        (tmp_path / "a.csv").write_text("n\n1\n")
        results.extend(written)

    results: list[str] = []
    writer = threading.Thread(target=write)
    writer.start()
    pipe = hr.csv(tmp_path / "a.csv", compression=None).options(warn_after_s=0.05)
    try:
        assert list(pipe.spec) == ["n"]
    finally:
        writer.join(timeout=30)
    [message] = results
    assert message.startswith("csv: inferring the components has taken more than 0.05 s")


def test_warning_names_a_hanging_iterator(warnings, hung):
    def examples():
        yield {"number": 1}
        yield {"number": 2}
        hung.wait()

    pipe = hr.iterable(examples).options(warn_after_s=0.05)
    with iter(pipe) as batches:
        next(batches)
        [message] = warnings(1)
        assert "the call for its next example has taken more than" in message


def test_warning_names_a_pipe_without_a_writer(tmp_path, warnings):
    os.mkfifo(tmp_path / "pipe")
    pipe = hr.text_lines(tmp_path / "pipe", compression=None).options(warn_after_s=0.05)
    with iter(pipe) as batches:
        [message] = warnings(1)
        assert message == (
            f"text_lines: reading {tmp_path / 'pipe'}: line 1 has taken more than 0.05 s and is "
            "still running"
        )
        assert_closes_without_waiting(batches)


def test_no_call_starts_after_close():
    is_made, is_closed, outputs = threading.Event(), threading.Event(), []
    numbers, are_late = itertools.count(), []

    def closing(example):
        are_late.append(is_closed.is_set())
        if next(numbers) == 1:  # The first call is for the components.
            is_made.wait()
            outputs[0].close()
            is_closed.set()
        return example

    outputs.append(iter(hr.arrays({"number": np.arange(1000)}).map(closing)))
    is_made.set()
    for thread in threading.enumerate():
        if thread.name.startswith("headrace-function"):
            thread.join()
    assert not any(are_late)
    assert len(are_late) == 2


def test_working_pipeline_causes_no_warning(records, caplog):
    pipe = hr.tfrecords(records).parse({"number": int}).map(dict).options(warn_after_s=20)
    assert len(list(pipe)) == 1000
    assert caplog.messages == []
    assert not [thread for thread in threading.enumerate() if thread.name == "headrace-watch"]


def test_invalid_warn_after_s_is_rejected():
    numbers = hr.arrays({"number": np.arange(2)})
    with pytest.raises(TypeError, match="warn_after_s is '5', expected a number of seconds"):
        numbers.options(warn_after_s="5")
    for seconds in (0, -1, float("inf"), float("nan")):
        with pytest.raises(
            ValueError, match=r"warn_after_s is .*, expected a positive number of seconds"
        ):
            numbers.options(warn_after_s=seconds)
