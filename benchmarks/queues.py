"""The scenarios of W6: single queue operations, compared with other queues."""

import itertools
import sys
from collections.abc import Iterator
from pathlib import Path

from benchmarks.comparison import Contender, Scenario
from benchmarks.workload import NO_GPU, ROOT

NAME = "W6"


def scenarios_for(tensorflow: Path | None, seconds: float) -> Iterator[Scenario]:
    """Yields the scenarios to measure. `tensorflow` is the Python interpreter with TensorFlow."""

    def contender(title: str, ways: str, kind: str, way: str, is_ours: bool = False) -> Contender:
        interpreter = tensorflow if kind == "tensorflow" else sys.executable
        command = [interpreter or "", "-m", "benchmarks.workloads.queues", ways, kind, way]
        variables = {"PYTHONPATH": f"{ROOT / 'python'}:{ROOT}", **NO_GPU}
        return Contender(title, command, is_ours, variables)

    def pair(title: str, ways: str, way: str, is_ours: bool = True) -> list[Contender]:
        ours = contender(f"headrace, {title}", ways, "headrace", way, is_ours)
        if tensorflow is None:
            return [ours]
        return [ours, contender(f"TensorFlow, {title}", ways, "tensorflow", way)]

    eager = [
        *pair("eager", "python", "flow"),
        contender("queue.Queue", "python", "queue", "flow"),
        contender("queue.SimpleQueue, unbounded", "python", "simple", "flow"),
        contender("multiprocessing.Queue", "python", "multiprocessing", "flow"),
    ]
    flows = [
        ("Eager", eager),
        ("Session.run on both sides", pair("Session.run", "graph", "run")),
        ("make_callable on both sides", pair("make_callable", "graph", "callable")),
        ("Queue runner to Session.run", pair("runner", "graph", "runner")),
    ]
    for batch, producers in itertools.product((1, 128), (1, 4)):
        size = "one at a time" if batch == 1 else f"{batch} at a time"
        who = "one producer" if producers == 1 else f"{producers} producers"
        arguments = [f"--batch={batch}", f"--producers={producers}", f"--seconds={seconds}"]
        for title, contenders in flows:
            yield Scenario(f"{title}, {size}, {who}", contenders, arguments=arguments)
    copies = [
        contender("headrace, eager", "python", "headrace", "batches", is_ours=True),
        *pair("Session.run", "graph", "batches", is_ours=False),
        contender("queue.Queue and numpy.stack", "python", "queue", "batches"),
        contender("numpy.copy of the same bytes", "python", "copy", "batches"),
    ]
    arguments = ["--batch=128", f"--seconds={seconds}"]
    yield Scenario("Batches of 128 examples of 3 KB, all there", copies, arguments=arguments)
