"""Measures rows of Parquet files: `python -m benchmarks.parquet_rows`."""

from benchmarks.beside import ALONE, Kind, Peer, command_of
from benchmarks.parquet_rows.data import make
from benchmarks.pipelines.programs import LIMIT

KIND = Kind(
    "W10",
    "parquet_rows",
    "Parquet, eleven columns, one of strings: shuffle 100,000, three epochs, batches of 4,096",
    "rows",
    2_000_000,
    3,
    make,
    [
        Peer(
            "headrace",
            "headrace, Arrow strings",
            "with_headrace",
            None,
            '`hr.parquet`, a window, `options(strings="arrow")`; one thread for each core',
            ["--arrow"],
        ),
        Peer(
            "headrace-objects",
            "headrace, strings as `str`",
            "with_headrace",
            None,
            "`hr.parquet`, a window; one thread for each core",
        ),
        Peer(
            LIMIT,
            "limit of the machine",
            None,
            None,
            "a native loop on all cores",
            ["parquet_rows"],
        ),
        Peer(
            ALONE,
            "pyarrow and NumPy by hand",
            "with_pyarrow",
            "polars",
            "`iter_batches` with threads; blocks of rows are permuted; Arrow strings",
        ),
        Peer(
            "polars",
            "polars",
            "with_polars",
            "polars",
            "`read_parquet`, a file at a time; `sample` shuffles; polars' strings",
        ),
        Peer(
            "datasets",
            "Hugging Face datasets",
            "with_datasets",
            "datasets",
            '`load_dataset(streaming=True)`, `with_format("arrow")`, '
            "`shuffle(buffer_size=100000)`, no wait between epochs; Arrow strings",
        ),
    ],
)

main = command_of(KIND)

if __name__ == "__main__":
    main()
