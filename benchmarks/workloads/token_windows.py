"""W9: windows of a token file, in random order."""

from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any

import numpy as np

from benchmarks.workload import BY_HAND, Part, Workload

LENGTH = 2_049
BATCH_SIZE = 16
STEP = 40_503
"""The difference between consecutive tokens, used to check windows."""
PIECE = 2**20


def make(home: Path, count: int) -> list[Part]:
    """Writes the 16-bit tokens for a number of windows."""
    num_tokens = count * (LENGTH - 1) + 1
    # A whole number of periods, so that all pieces are equal.
    piece = (np.arange(PIECE) * STEP % 2**16).astype(np.uint16)
    with file_of(home).open("wb") as file:
        for begin in range(0, num_tokens, PIECE):
            file.write(piece[: num_tokens - begin].tobytes())
    return [Part([], count, [])]


def file_of(home: Path) -> Path:
    """Returns the file in a data directory."""
    return home / "tokens.bin"


def sums_of(tokens: Any) -> list[int]:
    """Counts windows, integers, (n, 2049). Which windows are read is random.

    Raises:
        ValueError: If they are not in the file.
    """
    if tokens.shape[1:] != (LENGTH,):
        raise ValueError(f"windows of shape {tokens.shape}")
    first, second, last = (tokens[:, position].astype(np.uint16) for position in (0, 1, -1))
    is_next = second - first == np.uint16(STEP)
    if not (is_next & (last - first == np.uint16(STEP * (LENGTH - 1) % 2**16))).all():
        raise ValueError("windows are not what the file holds")
    return [len(tokens)]


W9 = Workload(
    __name__,
    "W9",
    "tokens",
    "200 MB of tokens: windows of 2,049 in random order, batches of 16",
    "windows",
    sums_of,
    count=48_828,
    make=make,
    num_epochs=4,
)


@W9.program(
    "headrace",
    "headrace",
    "`hr.tokens(...).shuffle(seed=1)`, each window once an epoch; one thread for each core",
)
def with_headrace(home: Path, num_epochs: int) -> Iterable[Any]:
    import headrace as hr

    windows = hr.tokens(file_of(home), LENGTH, np.uint16).shuffle(seed=1)
    return (batch["tokens"] for batch in windows.epochs(num_epochs).batch(BATCH_SIZE))


@W9.program(
    "numpy-get-batch",
    "NumPy memmap, `get_batch`",
    "one thread, random places, opened for each batch, int64",
    "numpy",
    is_nanogpt=True,
)
@W9.program(
    BY_HAND,
    "NumPy memmap by hand",
    "one thread, random places, opened once, uint16",
    "numpy",
    is_nanogpt=False,
)
def by_hand(home: Path, num_epochs: int, is_nanogpt: bool) -> Iterator[np.ndarray]:
    """Yields random windows, optionally like nanoGPT but without PyTorch."""
    random = np.random.default_rng(1)
    tokens = np.memmap(file_of(home), np.uint16, "r")
    left = (len(tokens) - 1) // (LENGTH - 1) * num_epochs
    while left:
        if is_nanogpt:
            # Reopened for each batch, as in nanoGPT, so that memory does not grow.
            tokens = np.memmap(file_of(home), np.uint16, "r")
        positions = random.integers(0, len(tokens) - LENGTH + 1, min(left, BATCH_SIZE))
        windows = [tokens[position : position + LENGTH] for position in positions.tolist()]
        if is_nanogpt:
            windows = [window.astype(np.int64) for window in windows]
        yield np.stack(windows)
        left -= len(windows)


class Windows:
    """The windows of a file, by number."""

    def __init__(self, path: Path) -> None:
        self._tokens = np.memmap(path, np.uint16, "r")

    def __len__(self) -> int:
        return (len(self._tokens) - 1) // (LENGTH - 1)

    def __getitem__(self, number: int) -> np.ndarray:
        start = number * (LENGTH - 1)
        return np.asarray(self._tokens[start : start + LENGTH])


@W9.program("grain", "Grain", "a source over a memmap, as many threads as by default", "grain")
def with_grain(home: Path, num_epochs: int) -> Iterable[Any]:
    import grain

    data = grain.MapDataset.source(Windows(file_of(home))).shuffle(seed=1)
    return iter(data.repeat(num_epochs).batch(BATCH_SIZE, batch_fn=np.stack).to_iter_dataset())


W9.limit("tokens")
