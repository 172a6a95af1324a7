import signal
import threading
import time
from collections.abc import Iterator

import pytest
from hypothesis import HealthCheck, settings
from tests import stalls

from headrace.graph import reset_default_graph

GRACE_SECONDS = 2.0
"""The longest time in which a stopped thread must end after its test."""


# Only this file sets the number of examples that Hypothesis draws. There is no time limit, because
# machines may be busy. Tests draw the same few examples each time. `--hypothesis-profile=anew`
# draws more and different examples, like `python -m stress drawn`.
settings.register_profile(
    "anew",
    deadline=None,
    suppress_health_check=[HealthCheck.too_slow, HealthCheck.function_scoped_fixture],
)
settings.register_profile(
    "repeated", settings.get_profile("anew"), derandomize=True, max_examples=20
)
settings.load_profile("repeated")


def pytest_addoption(parser: pytest.Parser) -> None:
    """Adds the option of the nightly tier."""
    parser.addoption("--nightly", action="store_true", help="also run tests marked `nightly`")


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """Leaves out the tests of the nightly tier, unless they are requested."""
    if config.getoption("--nightly"):
        return
    nightly = [item for item in items if item.get_closest_marker("nightly")]
    items[:] = [item for item in items if not item.get_closest_marker("nightly")]
    config.hook.pytest_deselected(items=nightly)


def pytest_configure() -> None:
    """Makes tests and the programs that they start interruptible, and reports hangs.

    A shell without job control makes background processes ignore Ctrl-C.
    """
    if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:
        signal.signal(signal.SIGINT, signal.default_int_handler)
    stalls.pytest_configure()


@pytest.fixture(scope="session")
def is_nightly(pytestconfig: pytest.Config) -> bool:
    """Returns whether this is the nightly tier, in which random tests run more often."""
    return bool(pytestconfig.getoption("--nightly"))


@pytest.fixture(autouse=True, scope="session")
def own_cache(tmp_path_factory: pytest.TempPathFactory) -> Iterator[None]:
    """Keeps the tests' caches, such as indexes of remote files, out of the user's directory."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("XDG_CACHE_HOME", str(tmp_path_factory.mktemp("cache")))
        yield


@pytest.fixture(autouse=True)
def no_thread_left() -> Iterator[None]:
    """Fails a test that leaves a thread running, even a daemon thread."""
    before = set(threading.enumerate())
    yield
    deadline = time.monotonic() + GRACE_SECONDS
    # A thread of another library, such as DuckDB's, may read a pipeline. It cannot be joined, and
    # Python lists it forever.
    new = [
        thread
        for thread in threading.enumerate()
        if thread not in before and not isinstance(thread, threading._DummyThread)
    ]
    for thread in new:
        thread.join(max(0.0, deadline - time.monotonic()))
    left = [repr(thread) for thread in new if thread.is_alive()]
    if left:
        pytest.fail(f"the test left threads behind: {', '.join(left)}", pytrace=False)


@pytest.fixture(autouse=True)
def fresh_default_graph() -> Iterator[None]:
    """Gives each test an empty default graph."""
    reset_default_graph()
    yield
    reset_default_graph()
