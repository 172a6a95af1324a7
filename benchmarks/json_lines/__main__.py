"""Measures JSON lines: `python -m benchmarks.json_lines`."""

from benchmarks.beside import ALONE, Kind, Peer, command_of
from benchmarks.json_lines.data import make
from benchmarks.pipelines.programs import LIMIT

KIND = Kind(
    "W11",
    "json_lines",
    "JSON lines of 600 bytes, two of four keys: shuffle 10,000, two epochs, batches of 256",
    "lines",
    500_000,
    2,
    make,
    [
        Peer(
            "headrace",
            "headrace, Arrow strings",
            "with_headrace",
            None,
            '`hr.json_lines`, a window, `options(strings="arrow")`; one thread for each core',
            ["--arrow"],
        ),
        Peer(
            "headrace-objects",
            "headrace, strings as `str`",
            "with_headrace",
            None,
            "`hr.json_lines`, a window; one thread for each core",
        ),
        Peer(
            ALONE,
            "orjson by hand",
            "with_orjson",
            "orjson",
            "one thread; lines are shuffled as bytes; strings as `str`",
        ),
        Peer(
            "polars",
            "polars",
            "with_polars",
            "polars",
            "`scan_ndjson` with a schema, a file at a time; `sample` shuffles; polars' strings",
        ),
        Peer(
            "datasets",
            "Hugging Face datasets",
            "with_datasets",
            "datasets",
            '`load_dataset(streaming=True)`, `with_format("arrow")`, '
            "`shuffle(buffer_size=10000)`, no wait between epochs; Arrow strings",
        ),
        Peer(
            LIMIT, "limit of the machine", None, None, "a native loop on all cores", ["json_lines"]
        ),
    ],
)

main = command_of(KIND)

if __name__ == "__main__":
    main()
