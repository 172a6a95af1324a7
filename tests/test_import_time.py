"""Imports, the first pipeline and the first graph load few modules, so programs start quickly."""

import subprocess
import sys

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


def test_import_loads_no_other_module():
    assert modules_loaded_by("import headrace") == {"headrace"}


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
