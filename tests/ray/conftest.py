"""Ray clusters on this machine, for tests that run if Ray is installed."""

import os
import threading
from importlib.util import find_spec

import numpy as np
import pytest
from tests.pipeline.conftest import records, tables

import headrace as hr

__all__ = ["records", "tables"]

STORE_BYTES = 300_000_000

if not find_spec("ray"):
    collect_ignore_glob = ["test_*.py"]


def pytest_collection_modifyitems(items):
    """Allows Ray's warnings, and more time, because its processes start slowly."""
    for item in items:
        if "tests/ray/" in item.path.as_posix():
            item.add_marker(pytest.mark.filterwarnings("ignore"))
            if item.get_closest_marker("timeout") is None:
                item.add_marker(pytest.mark.timeout(300))


@pytest.fixture(autouse=True)
def no_thread_left():
    """Fails a test that leaves a thread of this package running. Ray's own threads are ignored."""
    yield
    left = [thread for thread in threading.enumerate() if thread.name.startswith("headrace")]
    for thread in left:
        thread.join(2.0)
    assert not [thread for thread in left if thread.is_alive()]


@pytest.fixture(scope="module")
def cluster():
    """One node with more CPUs than the machine has, because the tests' readers do little work."""
    import ray  # noqa: PLC0415  (may not be there)

    os.environ["PYTHONPATH"] = os.pathsep.join([*os.environ.get("PYTHONPATH", "").split(":"), "."])
    ray.init(
        # Don't connect to a cluster that an earlier run may have left.
        address="local",
        num_cpus=16,
        include_dashboard=False,
        object_store_memory=STORE_BYTES,
        log_to_driver=False,
        logging_level="ERROR",
    )
    yield ray
    ray.shutdown()


def images(count=4000, seed=1):
    """Numbers and arrays in a shuffled order, twice over, in batches of some 50 KiB."""

    def with_pixels(batch):
        pixels = np.repeat(batch["number"].astype(np.uint8)[:, None], 3072, axis=1)
        return {"number": batch["number"], "pixels": pixels}

    # A reader that starts again gets the pipeline again, so that has to be small.
    numbers = hr.arrays({"number": np.arange(count)})
    return numbers.shuffle(seed=seed).epochs(2).batch(16).map(with_pixels)


def numbers_of(batches):
    return [batch["number"].tolist() for batch in batches]
