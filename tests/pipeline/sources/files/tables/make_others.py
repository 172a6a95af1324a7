"""Wrote the files of `duckdb/`, `polars/` and `pandas/`.

With `pip install duckdb==2.0.1 polars==2.1.0 pandas==3.1.1 fastparquet==2026.9.0 pyarrow`. Run with
the directory to write to, which has these three.
"""

import datetime
import decimal
import sys
from pathlib import Path

import duckdb
import fastparquet
import numpy as np
import pandas as pd
import polars as pl

OUT = Path(sys.argv[1])
N = 60
ROWS = """SELECT i::INT AS number, CASE WHEN i % 5 = 3 THEN NULL ELSE i * 3 END AS some,
  i / 3.0::DOUBLE AS d, (i % 2 = 0) AS flag, 'text é ' || (i % 4) AS text,
  'other ' || (i * 7919) AS other, (i * 1.25)::DECIMAL(7,2) AS price,
  (i * 1.5)::DECIMAL(30,4) AS wide, DATE '2024-01-01' + i::INT AS day,
  TIMESTAMP '2024-02-29 12:00:00.123456' + INTERVAL (i) HOUR AS at,
  TIMESTAMPTZ '2024-02-29 12:00:00+02' + INTERVAL (i) HOUR AS zoned, TIME '01:02:03.5' AS tim,
  range(i % 4) AS list, ['w' || (i % 3), 'x'] AS words, [range(i % 3), [i]] AS lists,
  {'lang': 'de', 'score': i / 2} AS meta, [{'role': 'user', 'content': 'c' || i}] AS messages,
  MAP {'k': i, 'l' || i: NULL} AS map, ('b' || i)::BLOB AS raw, i::UTINYINT AS tiny
  FROM range(60) t(i)"""
HIVE = """SELECT i, 'v' || i AS v, 2000 + i % 3 AS year,
  CASE WHEN i % 2 = 0 THEN 'a b' ELSE NULL END AS tag FROM range(12) t(i)"""


def write_duckdb(query: str, name: str, options: str = "") -> None:
    """Writes a query with DuckDB."""
    duckdb.sql(f"COPY ({query}) TO '{OUT / 'duckdb' / name}' (FORMAT parquet{options})")


write_duckdb("SELECT * EXCLUDE (empty_struct) FROM test_all_types()", "types.parquet")
ZSTD = ", COMPRESSION zstd, PARQUET_VERSION V2, ROW_GROUP_SIZE 2048"
write_duckdb(ROWS, "zstd.parquet", ZSTD)
write_duckdb(ROWS, "lz4_raw.parquet", ", COMPRESSION lz4_raw, PARQUET_VERSION V2")
write_duckdb(ROWS, "uncompressed.parquet", ", COMPRESSION uncompressed, DICTIONARY_SIZE_LIMIT 1")
write_duckdb(HIVE, "hive", ", PARTITION_BY (year, tag)")

START = datetime.datetime(2024, 1, 1)
HOURS = [START + datetime.timedelta(hours=i, microseconds=5000) for i in range(N)]
frame = pl.DataFrame(
    {
        "number": pl.Series(range(N), dtype=pl.Int32),
        "some": [None if i % 5 == 3 else i for i in range(N)],
        "u": pl.Series(range(N), dtype=pl.UInt16),
        "f": pl.Series([i / 3 for i in range(N)], dtype=pl.Float32),
        "flag": [i % 2 == 0 for i in range(N)],
        "text": [f"text é {i % 4}" for i in range(N)],
        "cat": pl.Series([f"c{i % 3}" for i in range(N)], dtype=pl.Categorical),
        "enum": pl.Series(["ab"[i % 2] for i in range(N)], dtype=pl.Enum(["a", "b"])),
        "raw": [b"\xff%d" % i for i in range(N)],
        "price": pl.Series(
            [decimal.Decimal(i).scaleb(-2) for i in range(N)], dtype=pl.Decimal(20, 2)
        ),
        "day": [datetime.date(2024, 1, 1) + datetime.timedelta(i) for i in range(N)],
        "at": pl.Series(HOURS, dtype=pl.Datetime("us")),
        "ns": pl.Series(HOURS, dtype=pl.Datetime("ns")),
        "zoned": pl.Series(HOURS, dtype=pl.Datetime("ms")).dt.replace_time_zone("Europe/Berlin"),
        "span": pl.Series(
            [datetime.timedelta(seconds=i) for i in range(N)], dtype=pl.Duration("ms")
        ),
        "time": [datetime.time(1, 2, i % 60) for i in range(N)],
        "list": pl.Series([list(range(i % 4)) for i in range(N)], dtype=pl.List(pl.Int64)),
        "words": [["w"] * (i % 3) for i in range(N)],
        "lists": pl.Series([[[i]] * (i % 3) for i in range(N)], dtype=pl.List(pl.List(pl.Int16))),
        "pair": pl.Series([[i, -i] for i in range(N)], dtype=pl.Array(pl.Int32, 2)),
        "meta": [{"lang": "de" if i % 3 else None, "score": i / 2} for i in range(N)],
        "messages": [[{"role": "user", "content": f"c{i}"}] * (i % 3) for i in range(N)],
        "nothing": pl.Series([None] * N, dtype=pl.Null),
    }
)
frame.write_parquet(OUT / "polars" / "all.parquet", compression="zstd", row_group_size=25)
frame.write_ipc(OUT / "polars" / "all.arrow", compression="zstd")
frame.write_ipc_stream(OUT / "polars" / "all.arrows")
big = frame.select("number", big=pl.col("number").cast(pl.Int128))
big.write_parquet(OUT / "polars" / "wide.parquet")
big.write_ipc(OUT / "polars" / "wide.arrow")

table = pd.DataFrame(
    {
        "number": np.arange(N, dtype=np.int32),
        "text": pd.Series([f"text é {i % 4}" for i in range(N)], dtype=object),
        "some": pd.array([None if i % 5 == 3 else i for i in range(N)], dtype="Int64"),
        "d": [np.nan if i % 7 == 2 else i / 3 for i in range(N)],
        "at": pd.to_datetime(["2024-01-01"] * N) + pd.to_timedelta(range(N), unit="h"),
        "cat": pd.Categorical(["ab"[i % 2] for i in range(N)]),
        "flag": pd.array([None if i % 4 == 1 else i % 2 == 0 for i in range(N)], dtype="boolean"),
        "span": pd.to_timedelta(range(N), unit="s"),
        "zoned": pd.to_datetime(["2024-01-01"] * N).tz_localize("Europe/Berlin"),
        "raw": pd.Series([b"\xff%d" % i for i in range(N)], dtype=object),
        "json": pd.Series([{"a": i, "b": [1, None]} for i in range(N)], dtype=object),
    }
).set_index(pd.Index(np.arange(N) * 2, name="row"))
ENCODINGS = {"text": "utf8", "raw": "bytes", "json": "json"}
for name, options in {
    "int96.parquet": {"times": "int96", "compression": "SNAPPY"},
    "folder": {"file_scheme": "hive", "row_group_offsets": 25},
}.items():
    path = str(OUT / "pandas" / name)
    fastparquet.write(path, table, object_encoding=ENCODINGS, stats=True, **options)
