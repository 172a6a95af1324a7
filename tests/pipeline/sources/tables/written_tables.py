"""Tables of every type of Arrow, and the formats that keep them."""

import datetime
import decimal
import json
import math
from collections.abc import Callable
from importlib.util import find_spec
from random import Random
from typing import Any, NamedTuple

import numpy as np

import headrace as hr

pa = pq = None
if find_spec("pyarrow"):
    import pyarrow as pa
    import pyarrow.parquet as pq

MISSING = None
ZONE = datetime.timezone(datetime.timedelta(hours=2))


class Format(NamedTuple):
    """A format of tables."""

    write: Callable[..., Any]
    read: Callable[..., hr.Pipeline]


def write_parquet(table: Any, path: Any, **options: Any) -> None:
    """Writes a Parquet file of small row groups."""
    pq.write_table(table, path, **{"row_group_size": 25, **options})


def write_arrow(table: Any, path: Any, **options: Any) -> None:
    """Writes an Arrow file of small record batches."""
    with pa.ipc.new_file(path, table.schema, **options) as writer:
        writer.write_table(table, max_chunksize=25)


def write_stream(table: Any, path: Any, **options: Any) -> None:
    """Writes an Arrow stream of small record batches."""
    with pa.ipc.new_stream(path, table.schema, **options) as writer:
        writer.write_table(table, max_chunksize=25)


FORMATS = {
    "parquet": Format(write_parquet, hr.parquet),
    "arrow": Format(write_arrow, hr.arrow),
    "arrows": Format(write_stream, hr.arrow),
}


def _types() -> dict[str, tuple[Any, Any]]:
    """Returns types of Arrow by name, each with headrace's type."""
    struct = pa.struct([("a", pa.int64()), ("b", pa.list_(pa.struct([("c", pa.string())])))])
    plain = {
        "bool": (pa.bool_(), bool),
        "int8": (pa.int8(), np.int8),
        "int16": (pa.int16(), np.int16),
        "int32": (pa.int32(), np.int32),
        "int64": (pa.int64(), int),
        "uint8": (pa.uint8(), np.uint8),
        "uint16": (pa.uint16(), np.uint16),
        "uint32": (pa.uint32(), np.uint32),
        "uint64": (pa.uint64(), np.uint64),
        "float16": (pa.float16(), np.float16),
        "float32": (pa.float32(), np.float32),
        "float64": (pa.float64(), np.float64),
        "string": (pa.string(), str),
        "large_string": (pa.large_string(), str),
        "string_view": (pa.string_view(), str),
        "binary": (pa.binary(), bytes),
        "large_binary": (pa.large_binary(), bytes),
        "binary_view": (pa.binary_view(), bytes),
        "fixed_binary": (pa.binary(3), bytes),
        "dictionary": (pa.dictionary(pa.int16(), pa.string()), str),
        "date32": (pa.date32(), "datetime64[D]"),
        "date64": (pa.date64(), "datetime64[ms]"),
        "time_s": (pa.time32("s"), "timedelta64[s]"),
        "time_ms": (pa.time32("ms"), "timedelta64[ms]"),
        "time_us": (pa.time64("us"), "timedelta64[us]"),
        "time_ns": (pa.time64("ns"), "timedelta64[ns]"),
        "at_s": (pa.timestamp("s"), "datetime64[s]"),
        "at_ms": (pa.timestamp("ms"), "datetime64[ms]"),
        "at_us": (pa.timestamp("us"), "datetime64[us]"),
        "at_ns": (pa.timestamp("ns"), "datetime64[ns]"),
        "zoned": (pa.timestamp("us", "Europe/Berlin"), "datetime64[us]"),
        "duration": (pa.duration("us"), "timedelta64[us]"),
        "decimal": (pa.decimal128(12, 2), str),
        "wide_decimal": (pa.decimal256(50, 10), str),
        "list": (pa.list_(pa.int32()), hr.Ragged(np.int32)),
        "large_list": (pa.large_list(pa.string()), hr.Ragged(str)),
        "list_of_times": (pa.list_(pa.timestamp("ms")), hr.Ragged("datetime64[ms]")),
        "list_2": (pa.list_(pa.list_(pa.float32())), hr.Ragged(np.float32, ndim=2)),
        "list_3": (
            pa.list_(pa.large_list(pa.list_(pa.string()))),
            hr.Ragged(str, ndim=3),
        ),
        "list_4": (pa.list_(pa.list_(pa.list_(pa.list_(pa.int8())))), hr.Json),
        "fixed_list": (pa.list_(pa.int16(), 2), hr.Feature(np.int16, (2,))),
        "fixed_lists": (pa.list_(pa.list_(pa.int16(), 2), 3), hr.Feature(np.int16, (3, 2))),
        "list_of_fixed": (pa.list_(pa.list_(pa.int16(), 2)), hr.Ragged(np.int16, ndim=2)),
        "struct": (struct, hr.Json),
        "list_of_structs": (pa.list_(struct), hr.Json),
        "map": (pa.map_(pa.string(), pa.float64()), hr.Json),
        "map_of_numbers": (pa.map_(pa.int64(), pa.string()), hr.Json),
        "struct_of_all": (
            pa.struct(
                [
                    ("d", pa.date32()),
                    ("t", pa.timestamp("us")),
                    ("n", pa.decimal128(5, 1)),
                    ("f", pa.float32()),
                    ("u", pa.uint64()),
                    ("s", pa.dictionary(pa.int8(), pa.string())),
                ]
            ),
            hr.Json,
        ),
        "null": (pa.null(), hr.Json),
        "list_of_nulls": (pa.list_(pa.null()), hr.Json),
        "struct_of_null": (pa.struct([("x", pa.null()), ("n", pa.int8())]), hr.Json),
    }
    return plain


TABLE_TYPES = _types() if pa is not None else {}


def random_table(types: dict[str, Any], num_rows: int, null_share: float, random: Random) -> Any:
    """Returns a table with random values, some of which are null."""

    def column(kind: Any) -> Any:
        def drawn(_: int) -> Any:
            return None if random.random() < null_share else value_of(kind, random, null_share)

        values = list(map(drawn, range(num_rows)))
        return pa.array(values, kind)

    return pa.table({name: column(kind) for name, kind in types.items()})


def value_of(kind: Any, random: Random, null_share: float = 0.0) -> Any:  # noqa: PLR0911, PLR0912
    """Returns a random value of a type. Only fields of structs, and values of maps, are null."""
    t = pa.types

    def or_null(inner: Any) -> Any:
        return None if random.random() < null_share else value_of(inner, random, null_share)

    if t.is_null(kind):
        return None
    if t.is_boolean(kind):
        return random.random() < 0.5
    if t.is_integer(kind):
        bits = kind.bit_width
        signed = t.is_signed_integer(kind)
        return random.choice([0, 1, 2 ** (bits - signed) - 1, -(2 ** (bits - 1)) if signed else 7])
    if t.is_floating(kind):
        value = random.choice([0.0, -1.5, math.inf, random.random()])
        return np.float16(value) if t.is_float16(kind) else float(np.float32(value))
    if t.is_dictionary(kind):
        return random.choice(["x", "yy", ""])
    if t.is_fixed_size_binary(kind):
        return random.randbytes(kind.byte_width)
    if kind in (pa.binary(), pa.large_binary(), pa.binary_view()):
        return random.randbytes(random.randrange(20))
    if kind in (pa.string(), pa.large_string(), pa.string_view()):
        return random.choice(["", "é", "a longer string than 12 bytes", '"\\\n'])
    if t.is_decimal(kind):
        return decimal.Decimal(random.randrange(-999, 999)).scaleb(-kind.scale)
    if t.is_date(kind):
        return datetime.date(1900 + random.randrange(200), 1 + random.randrange(12), 5)
    if t.is_time(kind):
        part = 0 if kind == pa.time32("s") else 1000 * random.randrange(1000)
        return datetime.time(random.randrange(24), 59, 1, part)
    if t.is_timestamp(kind):
        part = {"s": 0, "ms": 1000}.get(kind.unit, 1) * random.randrange(1000)
        zone = ZONE if kind.tz else None
        return datetime.datetime(1700 + random.randrange(500), 2, 3, 4, 5, 6, part, zone)
    if t.is_duration(kind):
        return datetime.timedelta(random.randrange(-9, 9), 1, 7)
    if t.is_fixed_size_list(kind):
        return [value_of(kind.value_type, random) for _ in range(kind.list_size)]
    if t.is_list(kind) or t.is_large_list(kind):
        return [value_of(kind.value_type, random) for _ in range(random.randrange(4))]
    if t.is_map(kind):
        keys = {value_of(kind.key_type, random): or_null(kind.item_type) for _ in range(3)}
        return list(keys.items())
    return {field.name: or_null(field.type) for field in kind}


def plain(value: Any, kind: Any) -> Any:  # noqa: PLR0911
    """Returns a value of pyarrow or of a pipeline in one common form."""
    if value is None:
        return None
    if pa.types.is_map(kind):
        items = value.items() if isinstance(value, dict) else value
        return sorted(([key, item] for key, item in items), key=repr)
    if isinstance(value, dict):
        return {field.name: plain(value[field.name], field.type) for field in kind}
    if isinstance(value, (list, np.ndarray)) and not pa.types.is_null(kind):
        return [plain(item, kind.value_type) for item in value]
    if pa.types.is_decimal(kind):
        return decimal.Decimal(value) if isinstance(value, str) else value
    if pa.types.is_temporal(kind):
        return _time(value, kind)
    return value.item() if isinstance(value, np.generic) else value


def _time(value: Any, kind: Any) -> Any:
    """Returns a time as a number of nanoseconds, since 1970 or since midnight."""
    if isinstance(value, str):
        parse = datetime.date if pa.types.is_date(kind) else datetime.datetime
        value = parse.fromisoformat(value)
    if isinstance(value, (np.datetime64, np.timedelta64)):
        code = "datetime64[ns]" if isinstance(value, np.datetime64) else "timedelta64[ns]"
        return int(value.astype(code).astype(np.int64))
    if isinstance(value, datetime.time):
        value = datetime.timedelta(0, 3600 * value.hour + 60 * value.minute + value.second) + (
            datetime.timedelta(microseconds=value.microsecond)
        )
    if isinstance(value, datetime.timedelta):
        return (value // datetime.timedelta(microseconds=1)) * 1000
    if hasattr(value, "value"):  # A Timestamp of pandas.
        return value.value
    if not isinstance(value, datetime.datetime):
        value = datetime.datetime(value.year, value.month, value.day)
    if value.tzinfo:
        value = value.astimezone(datetime.UTC).replace(tzinfo=None)
    since = value - datetime.datetime(1970, 1, 1)
    return (since // datetime.timedelta(microseconds=1)) * 1000


def json_of(table: Any) -> list[str]:
    """Returns rows as lines of JSON."""
    return [json.dumps(row) for row in table.to_pylist()]
