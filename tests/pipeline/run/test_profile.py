"""`profile`: a trace of stages and threads."""

import json

import pytest

import headrace as hr


def slow(example):
    total = sum(range(20_000))
    return {"x": example["x"] + total}


@pytest.fixture
def trace(tmp_path):
    pipe = hr.arrays({"x": list(range(400))}).map(slow).batch(10)
    profile = pipe.profile(20, tmp_path / "trace.json")
    return profile, json.loads((tmp_path / "trace.json").read_text())["traceEvents"]


def test_profile_reads_the_whole_epoch_if_it_is_short(trace):
    profile, _ = trace
    assert profile.count == 40
    assert profile.statistics.stages[1].examples == 400
    assert "trace.json" in str(profile)
    assert "trace.json" in profile._repr_html_()


def test_profile_stops_after_its_time_limit(tmp_path):
    pipe = hr.arrays({"x": list(range(10))}).epochs().batch(5)
    profile = pipe.profile(0.05, tmp_path / "trace.json")
    assert profile.seconds >= 0.05
    assert profile.count > 0


def test_trace_names_its_threads(trace):
    _, events = trace
    names = {event["args"]["name"] for event in events if event["name"] == "thread_name"}
    assert {"loop", "worker 0"} <= names
    assert any(name.startswith("function 0") for name in names)


def test_trace_includes_function_calls(trace):
    _, events = trace
    calls = [event for event in events if "slow" in event["name"]]
    assert calls
    assert sum(event["dur"] for event in calls) > 0


def test_activities_of_a_thread_do_not_overlap(trace):
    _, events = trace
    threads = {}
    for event in events:
        if event["ph"] == "X":
            threads.setdefault(event["tid"], []).append((event["ts"], event["dur"]))
    assert threads
    for activities in threads.values():
        ends = [at + duration for at, duration in activities]
        starts = [at for at, _ in activities]
        assert all(end <= start + 1e-3 for end, start in zip(ends, starts[1:], strict=False))
        assert all(duration >= 0 for _, duration in activities)


def test_trace_includes_memory_use(trace):
    _, events = trace
    memory = [event["args"]["bytes"] for event in events if event["name"] == "memory"]
    assert memory
    assert all(value >= 0 for value in memory)


def test_time_must_be_positive():
    with pytest.raises(ValueError, match="profile: seconds is 0"):
        hr.arrays({"x": [1]}).profile(0)


def test_pipeline_error_is_raised(tmp_path):
    def fail(example):
        raise ValueError("boom")

    with pytest.raises(Exception, match="boom"):
        hr.arrays({"x": [1]}).map(fail).profile(1, tmp_path / "trace.json")
    assert not (tmp_path / "trace.json").exists()
