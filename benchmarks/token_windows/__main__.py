"""Measures windows of a file of tokens: `python -m benchmarks.token_windows`."""

from benchmarks.beside import ALONE, Kind, Peer, command_of
from benchmarks.pipelines.programs import LIMIT
from benchmarks.token_windows.data import make

KIND = Kind(
    "W9",
    "token_windows",
    "200 MB of tokens: windows of 2,049 in random order, batches of 16",
    "windows",
    48_828,
    4,
    make,
    [
        Peer(
            "headrace",
            "headrace",
            "with_headrace",
            None,
            "`hr.tokens(...).shuffle(seed=1)`, each window once an epoch; one thread for each core",
        ),
        Peer(
            ALONE,
            "NumPy memmap by hand",
            "by_hand",
            "numpy",
            "one thread, random places, opened once, uint16",
        ),
        Peer(
            "numpy-get-batch",
            "NumPy memmap, `get_batch`",
            "by_hand",
            "numpy",
            "one thread, random places, opened for each batch, int64",
            ["--get-batch"],
        ),
        Peer(
            "grain",
            "Grain",
            "with_grain",
            "grain",
            "a source over a memmap, as many threads as by default",
        ),
        Peer(LIMIT, "limit of the machine", None, None, "a native loop on all cores", ["tokens"]),
    ],
)

main = command_of(KIND)

if __name__ == "__main__":
    main()
