"""Compares readers on Ray with the pipeline alone and with Ray Data, in one run.

    tools/bench_ray.sh --json benchmarks/ray/measured.json

The script installs Ray, PyTorch and TensorFlow (Ray Data needs it to read TFRecords). Programs run
in turn, round by round, so that other activity on the machine affects all of them equally.
"""

import argparse
import json
import os
import pickle
import statistics
import tempfile
import time
from pathlib import Path
from typing import Any

import ray

import headrace.ray as hray
from benchmarks.ray import jobs
from benchmarks.ray.workloads import through_ray, timed, workloads
from headrace.pipeline.run.reader_shards import ShareBatches

STORE_BYTES = 500_000_000


def way(num_rounds: int) -> dict[str, Any]:
    """Returns the cost of a batch through Ray by batch size, and the cost of the pipeline alone."""
    results = {}
    for batch_bytes, count in ((4096, 1024), (1 << 18, 1024), (1 << 22, 256), (1 << 24, 64)):
        pipe = jobs.arrays_of(batch_bytes, count)
        alone, through = [], []
        for _ in range(num_rounds):
            alone.append(timed(iter(pipe), "x").rest_s / count)
            through.append(through_ray(pipe, 1, 1).rest_s / count)
        results[str(batch_bytes)] = {
            "alone_s": statistics.median(alone),
            "through_ray_s": statistics.median(through),
        }
    return results


def skimming(directory: Path) -> dict[str, float]:
    """Returns the cost of a batch for a reader that makes it, and for a reader that skips it."""
    output = {
        "window": lambda num_epochs: jobs.digits(directory, num_epochs=num_epochs),
        "all": lambda num_epochs: jobs.digits(directory, None, num_epochs),
        "photos": lambda num_epochs: jobs.photos(directory, None, num_epochs),
    }
    results = {}
    for name, job in output.items():
        pipe = job(1).options(num_threads=1)
        list(pipe)  # This caches the positions of records for the following iterations.
        begin = time.process_time()
        total = len(list(pipe))
        results[f"{name}_make_s"] = (time.process_time() - begin) / total
        num_epochs = max(1000 // total, 2)
        many = job(num_epochs).options(num_threads=1)
        next(iter(many))
        # The last of so many shards has no batch, so it skips all batches.
        share = ShareBatches(many, 10**6 - 1, 10**6)
        begin = time.process_time()
        assert next(share, None) is None
        results[f"{name}_skim_s"] = (time.process_time() - begin) / total / num_epochs
    return results


def adding(num_readers: int = 500) -> float:
    """Returns the time that the head needs to start a reader.

    No node has resources for these readers, so their processes do not start. Otherwise, they would
    use the head's CPU time. In practice, they start on other hosts.
    """
    pipe = jobs.arrays_of(4096, 64)
    with hray.serve(pipe, num_readers=1, cpus_per_reader=1000) as feed:
        begin = time.monotonic()
        feed.add_readers(num_readers)
        return (time.monotonic() - begin) / num_readers


def coordination(num_calls: int = 300) -> dict[str, float]:
    """Returns the head's costs for one reader and one trainer, in seconds and bytes."""
    pipe = jobs.arrays_of(4096, 64 * 64)
    begin = time.monotonic()
    with hray.serve(pipe, num_readers=1, cpus_per_reader=0.01) as feed:
        started = time.monotonic()
        batches = iter(feed)
        next(batches)
        first = time.monotonic()
        expected = ray.get(feed._head.known.remote())
        report = batches._report(1.0, 0.5, expected.layout.version)
        reports = time.monotonic()
        ray.get([feed._head.report.remote(report) for _ in range(num_calls)])
        reported = time.monotonic()
        ray.get([feed._head.known.remote() for _ in range(num_calls)])
        asked = time.monotonic()
        begin_told = time.monotonic()
        told = [len(ray.cloudpickle.dumps(expected.readers)) for _ in range(50)]
        handle_s = (time.monotonic() - begin_told) / 50 / len(expected.readers)
        state = len(pickle.dumps(batches._place))
        batches.close()
    return {
        "head_start_s": started - begin,
        "reader_start_s": first - started,
        "report_s": (reported - reports) / num_calls,
        "known_s": (asked - reported) / num_calls,
        "add_s": adding(),
        "handle_s": handle_s,
        "handle_bytes": told[0] // len(expected.readers),
        "place_bytes": state,
    }


def actors(num_rounds: int) -> dict[str, Any]:
    """Returns the rate of 1, 2 and 4 readers that each wait 20 ms per batch without using a CPU."""
    results: dict[str, Any] = {"make_s": 0.02, "batch_bytes": 1 << 18}
    for num_readers in (1, 2, 4):
        pipe = jobs.waiting(0.02, 1 << 18, 128 * num_readers)
        rates = []
        for _ in range(num_rounds):
            rates.append(through_ray(pipe, num_readers, 0.01).rate / 16)
        results[str(num_readers)] = statistics.median(rates)
    return results


def lost_reader(num_rounds: int) -> list[float]:
    """Returns how long a trainer waits after its only reader process was killed."""
    pipe = jobs.arrays_of(4096, 64 * 512)
    pauses = []
    with hray.serve(pipe, num_readers=1, cpus_per_reader=0.01) as feed:
        batches = feed.batches(credit_bytes=0)
        for _ in range(num_rounds):
            for _ in range(10):
                next(batches)
            [reader] = ray.get(feed._head.known.remote()).readers.values()
            pid = ray.get(reader.pid.options(concurrency_group="questions").remote())
            begin = time.monotonic()
            os.kill(pid, 9)
            next(batches), next(batches)
            pauses.append(time.monotonic() - begin)
        batches.close()
    return pauses


def main() -> None:
    """Measures everything and prints the results."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--json", type=Path, default=None, help="Where to write the figures.")
    parser.add_argument("--only", action="append", help="A part, such as 'way'; else all.")
    arguments = parser.parse_args()
    rounds = arguments.rounds
    ray.init(
        num_cpus=2,
        include_dashboard=False,
        object_store_memory=STORE_BYTES,
        log_to_driver=False,
        logging_level="ERROR",
    )
    context = ray.data.DataContext.get_current()
    context.enable_progress_bars = False
    results: dict[str, Any] = {"cores": os.cpu_count(), "rounds": {}, "loads": {}}
    if arguments.json is not None and arguments.json.exists():
        results = json.loads(arguments.json.read_text())
    with tempfile.TemporaryDirectory() as directory:
        data = Path(directory)
        jobs.make_digits(data)
        jobs.make_photos(data)
        for name, run in (
            ("way", lambda: way(rounds)),
            ("coordination", coordination),
            ("actors", lambda: actors(rounds)),
            ("lost_reader_s", lambda: lost_reader(rounds)),
            ("skimming", lambda: skimming(data)),
            ("workloads", lambda: workloads(data, rounds)),
        ):
            if arguments.only is not None and name not in arguments.only:
                continue
            results[name] = run()
            results["rounds"][name], results["loads"][name] = rounds, os.getloadavg()[0]
            print(name, json.dumps(results[name], indent=1), flush=True)
            if arguments.json is not None:
                arguments.json.write_text(json.dumps(results, indent=1) + "\n")
    ray.shutdown()


if __name__ == "__main__":
    main()
