"""Measures arrays in memory: `python -m benchmarks.arrays_in_memory`."""

from benchmarks.arrays_in_memory.data import make
from benchmarks.beside import ALONE, Kind, Peer, command_of
from benchmarks.pipelines.programs import LIMIT

KIND = Kind(
    "W14",
    "arrays_in_memory",
    "Arrays in memory, 256 floats and a label a row: all rows shuffled, 20 epochs, batches of 128",
    "rows",
    100_000,
    20,
    make,
    [
        Peer(
            "headrace",
            "headrace",
            "with_headrace",
            None,
            "`hr.arrays(...).shuffle(seed=1)`; one thread for each core",
        ),
        Peer(ALONE, "NumPy by hand", "with_numpy", "numpy", "`x[permutation]`, one thread"),
        Peer(
            "torch-alone",
            "PyTorch, no workers",
            "with_torch",
            "torch",
            "`DataLoader(TensorDataset, num_workers=0)`",
            ["--workers", "0"],
        ),
        Peer(
            "torch-workers",
            "PyTorch, two workers",
            "with_torch",
            "torch",
            "`DataLoader(TensorDataset, num_workers=2, persistent_workers=True)`",
            ["--workers", "2"],
        ),
        Peer(LIMIT, "limit of the machine", None, None, "a native loop on all cores", ["arrays"]),
    ],
)

main = command_of(KIND)

if __name__ == "__main__":
    main()
