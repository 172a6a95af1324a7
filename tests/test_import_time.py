"""Imports are fast, and the first pipeline and the first graph load few modules."""

import os
import subprocess
import sys

import pytest

MOST_SECONDS = {"headrace": 0.050, "headrace.tf1": 0.150}


def seconds_of_import(module: str) -> float:
    """Imports a module after NumPy in a new interpreter, and returns the CPU time in seconds."""
    program = (
        "import time, numpy\n"
        "begin = time.process_time()\n"
        f"import {module}\n"
        "print(time.process_time() - begin)"
    )
    # Modules are compiled once, like installed packages, regardless of the shell's settings.
    environment = {**os.environ, "PYTHONDONTWRITEBYTECODE": ""}
    command = [sys.executable, "-c", program]
    return float(subprocess.check_output(command, text=True, timeout=60, env=environment))


@pytest.mark.parametrize("module", MOST_SECONDS)
def test_import_without_numpy_is_quick(module):
    assert min(seconds_of_import(module) for _ in range(5)) < MOST_SECONDS[module]


LATER = {
    "headrace.ops",
    "headrace.pipeline.functions.random_generators",
    "headrace.pipeline.journals",
    "headrace.pipeline.native_functions",
    "headrace.pipeline.outputs.arrow",
    "headrace.pipeline.outputs.grain",
    "headrace.pipeline.outputs.jax",
    "headrace.pipeline.outputs.mlx",
    "headrace.pipeline.outputs.ray_data",
    "headrace.pipeline.outputs.torch",
    "headrace.pipeline.plan.cache_keys.keys",
    "headrace.pipeline.plan.mixing_estimate",
    "headrace.pipeline.run.bottleneck",
    "headrace.pipeline.run.statistics",
    "headrace.pipeline.sources.parquet",
    "headrace.pipeline.sources.tokens",
    "headrace.pipeline.workers.remote",
    "headrace.tf1",
    "difflib",
    "email",
    "importlib.metadata",
    "multiprocessing",
    "numpy.ma",
    "numpy.random",
    "secrets",
    "shutil",
    "socket",
    "sysconfig",
    "tempfile",
}
"""Modules that a pipeline of arrays does not need. Each takes a millisecond or more."""


LATER_IN_GRAPHS = {
    "headrace.ops.audio",
    "headrace.ops.augment",
    "headrace.pipeline",
    "headrace.protos",
    "headrace.tf1.compat.v2",
    "headrace.tf1.contrib",
    "headrace.tf1.estimator",
    "headrace.tf1.events",
    "headrace.tf1.graph_import",
    "headrace.tf1.losses",
    "headrace.tf1.metrics",
    "headrace.tf1.ops.strings.unicode",
    "headrace.tf1.saver",
    "headrace.tf1.test",
    "email",
    "importlib.metadata",
    "multiprocessing",
    "numpy.ma",
    "unittest",
}
"""Modules that the first batch of a graph's queues does not need."""


def modules_loaded_by(program: str) -> set[str]:
    """Returns the modules that a program loads after NumPy, in a new interpreter."""
    program = (
        "import sys\n"
        "import numpy as np\n"
        "before = set(sys.modules)\n"
        f"{program}\n"
        "print(*sorted(set(sys.modules) - before))"
    )
    run = subprocess.run(
        [sys.executable, "-c", program], stdout=subprocess.PIPE, text=True, timeout=60, check=True
    )
    return set(run.stdout.split())


def test_first_pipeline_loads_no_unneeded_module():
    loaded = modules_loaded_by(
        "import headrace as hr\n"
        "batches = iter(hr.arrays({'n': np.arange(100)}).shuffle(seed=1).map(dict).batch(10))\n"
        "next(batches)"
    )
    assert "headrace.pipeline.sources.arrays" in loaded
    assert loaded & LATER == set()


def test_first_graph_loads_no_unneeded_module():
    assert len(modules_loaded_by("import headrace.tf1")) < 80
    loaded = modules_loaded_by(
        "import headrace.tf1 as tf\n"
        "batch = tf.train.shuffle_batch([tf.train.range_input_producer(9).dequeue()], 4, 9, 1)\n"
        "with tf.Session() as session:\n"
        "    coord = tf.train.Coordinator()\n"
        "    threads = tf.train.start_queue_runners(session, coord)\n"
        "    session.run(batch)\n"
        "    coord.request_stop()\n"
        "    coord.join(threads)"
    )
    assert "headrace.tf1.session" in loaded
    assert loaded & LATER_IN_GRAPHS == set()
