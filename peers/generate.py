"""Arguments that hypothesis makes up, the same ones in each run."""

import pickle
from pathlib import Path
from typing import Any

from hypothesis import HealthCheck, Phase, given, settings
from hypothesis import strategies as st


def small_arrays() -> st.SearchStrategy[Any]:
    """Lists of lists of integers, each row as long as the others."""
    row = st.integers(0, 3).flatmap(
        lambda length: st.lists(
            st.lists(st.integers(-9, 9), min_size=length, max_size=length), min_size=1, max_size=4
        )
    )
    return st.tuples(row)


def queue_programs() -> st.SearchStrategy[Any]:
    """A kind of queue and calls on it that never wait: sizes enqueued and dequeued, closes."""
    step = st.one_of(
        st.tuples(st.just("enqueue"), st.integers(0, 4)),
        st.tuples(st.just("dequeue"), st.integers(0, 4)),
        st.tuples(st.just("up_to"), st.integers(0, 4)),
        st.tuples(st.just("close"), st.booleans()),
    )
    kind = st.sampled_from(["fifo", "padding", "shuffle", "priority"])
    return st.tuples(kind, st.lists(step, min_size=3, max_size=12))


def texts() -> st.SearchStrategy[Any]:
    """Texts of line ends and of what stands between them."""
    return st.tuples(st.lists(st.sampled_from([b"\n", b"\r", b"x", b"\0"])).map(b"".join))


def fixed_lengths() -> st.SearchStrategy[Any]:
    """Sizes of record, header, footer and hop; the size of the file; its compression."""
    small = st.integers(0, 9)
    sizes = st.tuples(st.integers(1, 9), small, small, small)
    return st.tuples(sizes, st.integers(0, 60), st.sampled_from(["", "GZIP", "ZLIB"]))


# For each key that `peers.table.generated` is given: how the arguments are made, and how many.
STRATEGIES = {
    "small_arrays": (small_arrays(), 20),
    "queue_programs": (queue_programs(), 40),
    "texts": (texts(), 40),
    "fixed_lengths": (fixed_lengths(), 40),
}


def write(path: Path) -> None:
    """Writes the arguments of all keys to a file for `peers.table.load`."""
    made = {key: examples(strategy, count) for key, (strategy, count) in STRATEGIES.items()}
    path.write_bytes(pickle.dumps(made))


def examples(strategy: st.SearchStrategy[Any], count: int) -> list[Any]:
    """Returns `count` examples or fewer, different ones."""
    found: dict[str, Any] = {}

    @settings(
        max_examples=count,
        derandomize=True,
        database=None,
        deadline=None,
        phases=[Phase.generate],
        suppress_health_check=list(HealthCheck),
    )
    @given(strategy)
    def collect(example: Any) -> None:
        found.setdefault(repr(example), example)

    collect()
    return list(found.values())
