"""Metrics of iterations, and their export to Prometheus and OpenTelemetry."""

import gc
import http.server
import os
import signal
import threading
import urllib.request
from collections import Counter

import numpy as np
import pytest
from opentelemetry.proto.collector.metrics.v1.metrics_service_pb2 import (
    ExportMetricsServiceRequest,
)
from prometheus_client.parser import text_string_to_metric_families

import headrace as hr
from headrace.pipeline.run import metrics
from headrace.pipeline.run.metrics import METRICS, process_metrics


def double(example):
    return {"x": example["x"] * 2}


def keep_even(example):
    if example["x"] % 2:
        raise ValueError("odd")
    return example


def take(batches, count):
    for _ in range(count):
        next(batches)


def test_counters_cover_consumed_examples():
    pipe = hr.arrays({"x": np.arange(1000)}).map(double).batch(10)
    with iter(pipe) as batches:
        assert batches.metrics()["headrace_batches_total"] == 0
        take(batches, 7)
        metrics = batches.metrics()
        assert set(metrics) == set(METRICS)
        assert metrics["headrace_batches_total"] == 7
        assert metrics["headrace_iterations"] == 1
        assert metrics["headrace_part_examples_total"] == {}
        stages = metrics["headrace_stage_examples_total"]
        assert list(stages) == ["arrays", "map(double)", "batch"]
        assert stages["map(double)"] >= 70
        assert metrics["headrace_stage_busy_seconds_total"]["map(double)"] > 0
        list(batches)
    metrics = batches.metrics()
    assert metrics["headrace_batches_total"] == 100
    assert metrics["headrace_stage_examples_total"]["map(double)"] == 1000
    assert (metrics["headrace_iterations"], metrics["headrace_memory_bytes"]) == (0, 0)


def test_examples_are_counted_one_by_one():
    with iter(hr.arrays({"x": range(1000)})) as examples:
        take(examples, 3)
        assert examples.metrics()["headrace_batches_total"] == 3


def test_repeated_stages_are_numbered():
    with iter(hr.arrays({"x": range(9)}).map(double).map(double)) as examples:
        take(examples, 1)
        names = list(examples.metrics()["headrace_stage_examples_total"])
        assert names == ["arrays", "map(double)", "map(double) 2"]


def test_parts_of_a_mixture_start_at_zero_after_a_resume():
    parts = {"a": hr.arrays({"x": range(100)}), "b": hr.arrays({"x": range(100)})}
    pipe = hr.mix(parts, [0.5, 0.5], seed=3).batch(4)
    with iter(pipe) as batches:
        take(batches, 5)
        before = Counter(batches.metrics()["headrace_part_examples_total"])
        assert before == batches.counts
        state = batches.state()
    with pipe.resume(state) as resumed:
        take(resumed, 5)
        after = Counter(resumed.metrics()["headrace_part_examples_total"])
        assert before.total() == after.total() == 20
        assert before + after == resumed.counts


def test_skipped_examples_before_a_resume_are_not_counted():
    pipe = hr.arrays({"x": range(40)}).map(keep_even).skip_errors(40).batch(5)
    with iter(pipe) as batches:
        take(batches, 2)
        state, skipped = batches.state(), batches.metrics()["headrace_skipped_total"]
        assert skipped == len(batches.skipped) > 0
    with pipe.resume(state) as resumed:
        num_before = len(resumed.skipped)
        list(resumed)
        assert resumed.metrics()["headrace_skipped_total"] == len(resumed.skipped) - num_before


def test_iterable_has_metrics_before_its_first_example():
    with iter(hr.iterable(lambda: iter([{"x": 1}]))) as examples:
        assert examples.metrics()["headrace_stage_examples_total"] == {}
        take(examples, 1)
        assert examples.metrics()["headrace_batches_total"] == 1


def test_process_totals_include_open_closed_and_collected_iterations():
    pipe = hr.arrays({"x": range(100)}).map(double).batch(10)
    before = process_metrics()
    alive = iter(pipe)
    take(alive, 2)
    closed = iter(pipe)
    take(closed, 3)
    closed.close()
    gone = iter(pipe)
    take(gone, 4)
    del gone
    gc.collect()
    many = [list(pipe) for _ in range(100)]
    after = process_metrics()
    difference = after["headrace_batches_total"] - before["headrace_batches_total"]
    assert difference == 2 + 3 + 4 + 10 * len(many)
    assert after["headrace_iterations"] - before["headrace_iterations"] == 1
    assert process_metrics()["headrace_batches_total"] == after["headrace_batches_total"]
    alive.close()
    del alive, closed
    gc.collect()
    assert process_metrics()["headrace_batches_total"] == after["headrace_batches_total"]


def test_totals_never_decrease_while_iterations_come_and_go():
    pipe = hr.arrays({"x": range(40)}).batch(10)
    is_over = threading.Event()

    def iterate():
        while not is_over.is_set():
            list(pipe)

    threads = [threading.Thread(target=iterate) for _ in range(3)]
    for thread in threads:
        thread.start()
    last = 0
    for _ in range(300):
        total = process_metrics()["headrace_batches_total"]
        assert total >= last
        last = total
    is_over.set()
    for thread in threads:
        thread.join()


def test_forked_process_starts_with_empty_metrics():
    is_held, may_release = threading.Event(), threading.Event()

    def hold_the_lock():
        with metrics._process._lock:
            is_held.set()
            may_release.wait()

    inherited = iter(hr.arrays({"x": range(100)}).batch(10))
    take(inherited, 2)
    holder = threading.Thread(target=hold_the_lock)
    holder.start()
    is_held.wait()
    child = os.fork()
    if child == 0:
        signal.alarm(20)  # A hang ends the process.
        before = process_metrics()["headrace_batches_total"]
        list(hr.arrays({"x": range(30)}).batch(10))
        del inherited
        gc.collect()
        after = process_metrics()["headrace_batches_total"]
        os._exit(10 * int(before) + int(after))
    may_release.set()
    holder.join()
    _, status = os.waitpid(child, 0)
    assert os.waitstatus_to_exitcode(status) == 3
    assert inherited.metrics()["headrace_batches_total"] == 2
    inherited.close()


# Export


def scraped(port):
    with urllib.request.urlopen(f"http://localhost:{port}/metrics") as answer:
        text = answer.read().decode()
    return {
        (sample.name, *sample.labels.values()): sample.value
        for family in text_string_to_metric_families(text)
        for sample in family.samples
        if sample.name.startswith("headrace_")
    }


def test_prometheus_reads_all_metrics():
    gc.collect()  # Iterations that other tests left must not end between the scrapes.
    with hr.metrics.export("prometheus", port=0) as exporter:
        before = scraped(exporter.port)
        with iter(hr.arrays({"x": range(100)}).map(double).batch(10)) as batches:
            take(batches, 6)
            after = scraped(exporter.port)
        key = ("headrace_batches_total",)
        assert after[key] - before[key] == 6
        assert after["headrace_stage_examples_total", "map(double)"] >= 60
        assert after["headrace_iterations",] == before["headrace_iterations",] + 1
        with pytest.raises(ValueError, match="exports to Prometheus already"):
            hr.metrics.export("prometheus", port=0)
    with pytest.raises(OSError, match="refused"):
        scraped(exporter.port)
    exporter.close()
    hr.metrics.export("prometheus", port=0).close()


def test_port_in_use_is_an_error_and_leaves_nothing_behind():
    server = http.server.HTTPServer(("", 0), http.server.BaseHTTPRequestHandler)
    with pytest.raises(OSError, match="in use"):
        hr.metrics.export("prometheus", port=server.server_port)
    server.server_close()
    hr.metrics.export("prometheus", port=0).close()


class Collector(http.server.BaseHTTPRequestHandler):
    """Receives the metrics that OpenTelemetry sends."""

    def do_POST(self):
        self.server.paths.append(self.path)
        request = ExportMetricsServiceRequest()
        request.ParseFromString(self.rfile.read(int(self.headers["Content-Length"])))
        self.server.requests.append(request)
        self.send_response(200)
        self.end_headers()

    def log_message(self, *arguments):
        pass


@pytest.mark.parametrize("path", ["", "/", "/custom"])
def test_opentelemetry_sends_all_metrics(path):
    server = http.server.HTTPServer(("localhost", 0), Collector)
    server.paths, server.requests = [], []
    thread = threading.Thread(target=server.serve_forever)
    thread.start()
    before = process_metrics()["headrace_batches_total"]
    try:
        endpoint = f"http://localhost:{server.server_port}{path}"
        with hr.metrics.export("otlp", endpoint=endpoint):
            list(hr.arrays({"x": range(100)}).map(double).batch(10))
    finally:
        server.shutdown()
        server.server_close()
        thread.join()
    assert set(server.paths) == {path if path == "/custom" else "/v1/metrics"}
    sent = {
        metric.name: metric
        for resource in server.requests[-1].resource_metrics
        for scope in resource.scope_metrics
        for metric in scope.metrics
    }
    assert sent["headrace_batches_total"].sum.data_points[0].as_int == before + 10
    stages = {
        point.attributes[0].value.string_value
        for point in sent["headrace_stage_examples_total"].sum.data_points
    }
    assert "map(double)" in stages
    assert sent["headrace_iterations"].HasField("gauge")


@pytest.mark.parametrize(
    ("target", "options", "words"),
    [
        ("statsd", {}, "target is 'statsd', expected 'prometheus' or 'otlp'"),
        ("prometheus", {"endpoint": "http://x"}, 'endpoint is for "otlp"'),
        ("otlp", {"port": 1}, 'port is for "prometheus"'),
    ],
)
def test_invalid_options_are_rejected(target, options, words):
    with pytest.raises(ValueError, match=words):
        hr.metrics.export(target, **options)


@pytest.mark.parametrize(
    ("target", "module", "package"),
    [
        ("prometheus", "prometheus_client", "prometheus-client"),
        ("otlp", "opentelemetry.sdk.metrics", "opentelemetry-sdk"),
    ],
)
def test_error_names_the_missing_package(monkeypatch, target, module, package):
    monkeypatch.setattr(
        "headrace.core.optional_dependencies._is_there", lambda name: name != module
    )
    with pytest.raises(ModuleNotFoundError, match=f"pip install {package}"):
        hr.metrics.export(target)
