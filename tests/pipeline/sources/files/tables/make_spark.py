"""Wrote the files of `spark/`, with `pip install pyspark==4.3` and Java 17.

Run with the directory to write to. Part files were renamed afterwards, without their random part.
"""

import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

from pyspark.sql import SparkSession

OUT = Path(sys.argv[1])
TABLE = """SELECT
  cast(id AS int) AS number, if(id % 5 = 3, null, id * 3) AS some, cast(id AS byte) AS small,
  cast(id AS short) AS short, cast(id AS float) / 3 AS f, if(id % 7 = 2, null, id / 7D) AS d,
  id % 2 = 0 AS flag, concat('text é ', id % 4) AS text,
  concat('long and different ', id * 7919) AS other, cast(concat('b', id) AS binary) AS raw,
  cast(id * 1.25 - 40 AS decimal(7,2)) AS price, cast(id * 1000.125 AS decimal(15,3)) AS sum,
  cast(if(id % 4 = 1, null, id * -12345678901.5) AS decimal(30,4)) AS wide,
  date_add(DATE'1969-12-20', cast(id AS int)) AS day,
  if(id % 6 = 0, null,
     timestampadd(SECOND, id * 86399, TIMESTAMP'1969-12-31 23:00:00.123456')) AS at,
  timestampadd(HOUR, id, TIMESTAMP_NTZ'2024-02-29 12:00:00.5') AS local,
  if(id % 9 = 4, null, transform(sequence(0, cast(id % 4 AS int)), x -> x * id)) AS list,
  transform(sequence(1, cast(id % 3 AS int) + 1), x -> concat('w', x)) AS words,
  transform(sequence(1, cast(id % 3 AS int) + 1),
            x -> transform(sequence(1, x), y -> cast(y AS double) / x)) AS lists,
  if(id % 8 = 5, null, named_struct('lang', if(id % 3 = 0, null, 'de'),
     'score', cast(id AS double), 'tags', array('a', concat('t', id)))) AS meta,
  transform(sequence(1, cast(id % 2 AS int) + 1),
            x -> named_struct('role', if(x = 1, 'user', 'assistant'),
                              'content', concat('c', id, x))) AS messages,
  map('k', cast(id AS int), concat('k', id), null) AS map,
  map_from_entries(array(struct(cast(id AS int), array(id, 2)))) AS deep
FROM range(0, 60, 1, 1)"""
HIVE = """SELECT id, concat('v', id) AS v, cast(if(id % 4 = 0, null, id % 4) AS int) AS year,
  concat('a b/', id % 2) AS tag FROM range(12)"""
FAR = """SELECT * FROM VALUES (1, TIMESTAMP'0001-01-01 00:00:00'),
  (2, TIMESTAMP'9999-12-31 23:59:59.999999'), (3, TIMESTAMP'1600-02-29 12:00:00'),
  (4, cast(null AS timestamp)) AS t(number, at)"""
VARIANT = "SELECT id, parse_json(concat('{\"a\":', id, '}')) AS v FROM range(5)"
TWO_LEVELS = """message hive_schema {
  required int32 number;
  optional group list (LIST) { repeated int32 array; }
  required group people (LIST) {
    repeated group people_tuple { required binary name (UTF8); optional int32 age; }
  }
  repeated int32 bare;
  repeated group groups { required int32 x; optional binary y (UTF8); }
  required group nested (LIST) { repeated group array (LIST) { repeated int32 array; } }
  required group legacy_map (MAP_KEY_VALUE) {
    repeated group map { required binary key (UTF8); optional int32 value; }
  }
}"""

spark = (
    SparkSession.builder.master("local[1]")
    .config("spark.ui.enabled", "false")
    .config("spark.sql.session.timeZone", "UTC")
    .config("spark.sql.parquet.int96RebaseModeInWrite", "CORRECTED")
    .config("spark.sql.parquet.datetimeRebaseModeInWrite", "CORRECTED")
    .getOrCreate()
)


def write(name: str, query: Any, parts: int = 1, by: tuple[str, ...] = (), **options: str) -> None:
    """Writes a table as a directory of part files."""
    rows = query.coalesce(1) if parts == 1 else query.repartitionByRange(parts, "number")
    writer = rows.write.mode("overwrite").partitionBy(*by)
    for key, value in options.items():
        writer = writer.option(key, value)
    writer.parquet(str(OUT / name))


def set_times(kind: str) -> None:
    """Sets the type of timestamps."""
    spark.conf.set("spark.sql.parquet.outputTimestampType", kind)


def write_by_schema(name: str, schema: str, fills: list[Callable[[Any], None]]) -> None:
    """Writes rows of a schema of Parquet."""
    parquet = spark._jvm.org.apache.parquet
    kind = parquet.schema.MessageTypeParser.parseMessageType(schema)
    path = spark._jvm.org.apache.hadoop.fs.Path(str(OUT / name))
    writer = parquet.hadoop.example.ExampleParquetWriter.builder(path).withType(kind).build()
    for fill in fills:
        row = parquet.example.data.simple.SimpleGroup(kind)
        fill(row)
        writer.write(row)
    writer.close()


def two_levels(n: int) -> Callable[[Any], None]:
    """Returns a function that fills a row."""

    def fill(row: Any) -> None:
        row.add("number", n)
        if n != 2:
            numbers = row.addGroup("list")
            for k in range(n):
                numbers.add("array", k * 10 + n)
        people = row.addGroup("people")
        for k in range(n % 3):
            person = people.addGroup("people_tuple")
            person.add("name", f"p{n}{k}")
            if k:
                person.add("age", n)
        for k in range(n % 4):
            row.add("bare", k - n)
        for k in range(n % 2):
            group = row.addGroup("groups")
            group.add("x", n)
            group.add("y", str(k))
        lists = row.addGroup("nested")
        for k in range(n % 3):
            inner = lists.addGroup("array")
            for j in range(k + 1):
                inner.add("array", n * j)
        entries = row.addGroup("legacy_map")
        for k in range(n % 3):
            entry = entries.addGroup("map")
            entry.add("key", f"k{k}")
            entry.add("value", n)

    return fill


table = spark.sql(TABLE)
few = table.select("number", "some", "text", "list", "map")
set_times("INT96")
write("int96", table.select("number", "at", "text", "day"), 2)
write("far", spark.sql(FAR))
set_times("TIMESTAMP_MICROS")
write("micros", table, compression="zstd")
V2 = {
    "parquet.writer.version": "v2",
    "parquet.page.size": "512",
    "parquet.page.row.count.limit": "20",
    "parquet.bloom.filter.enabled": "true",
    "parquet.bloom.filter.max.bytes": "256",
}
write("v2", table, compression="gzip", **V2)
for codec in ("lz4", "zstd"):
    write(codec, few, compression=codec)
write("hive", spark.sql(HIVE), by=("year", "tag"))
write("variant", spark.sql(VARIANT))
set_times("TIMESTAMP_MILLIS")
spark.conf.set("spark.sql.parquet.writeLegacyFormat", "true")
SMALL = {"parquet.dictionary.page.size": "64", "parquet.page.row.count.limit": "10"}
write("legacy", table, compression="uncompressed", **SMALL)
write_by_schema("two_level.parquet", TWO_LEVELS, list(map(two_levels, range(8))))
spark.stop()
