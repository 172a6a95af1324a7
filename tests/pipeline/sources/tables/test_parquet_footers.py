"""Parquet footers with wrong bits never silently result in other data."""

from random import Random

import numpy as np
import pytest
from tests.pipeline.sources.tables.thrift import field, footer_of, with_footer

import headrace as hr
from headrace import errors

pa = pytest.importorskip("pyarrow")
pq = pytest.importorskip("pyarrow.parquet")

# The fields of footers: the schema, and of an element its type, whether it may be null, its name,
# and its meaning by the old and the new names; row groups, their columns, and of those the metadata
# with the compression.
SCHEMA, GROUPS, COLUMNS, METADATA, CODEC = 2, 4, 1, 3, 4
TYPE, REPETITION, NAME, CONVERTED, LOGICAL = 1, 3, 4, 6, 10
BOOLEAN, INT32, INT64, FLOAT, DOUBLE, BYTES = 0, 1, 2, 4, 5, 6
REQUIRED, OPTIONAL = 0, 1

COLUMNS_OF = {
    "int32": pa.array(range(20), pa.int32()),
    "float32": pa.array(np.arange(20) / 4, pa.float32()),
    "int64": pa.array([n << 40 for n in range(20)], pa.int64()),
    "float64": pa.array(np.arange(20) / 3, pa.float64()),
    "string": pa.array([f"the text {n}" for n in range(20)]),
    "bool": pa.array([n % 3 == 0 for n in range(20)]),
    "binary": pa.array([b"%3d" % n for n in range(20)], pa.binary(3)),
}
KINDS = {
    "plain": {"use_dictionary": False, "compression": "none"},
    "dictionaries": {},
    "plain without statistics": {"use_dictionary": False, "write_statistics": False},
    "dictionaries without statistics": {"write_statistics": False, "compression": "zstd"},
    "new pages": {"data_page_version": "2.0"},
}


def written(path, column, nullable=True, **options):
    """Writes a table of one column, `n`."""
    schema = pa.schema([pa.field("n", column.type, nullable)])
    pq.write_table(pa.table([column], schema=schema), path, store_schema=False, **options)
    return path


def change(path, value, *place):
    """Changes a number or a name in the footer."""
    footer, rows = footer_of(path.read_bytes())
    assert field(footer, *place).value != value
    field(footer, *place).value = value
    path.write_bytes(with_footer(rows, footer))


def values(path):
    results = [row["n"] for row in hr.parquet(path)]
    return [value.tolist() if hasattr(value, "tolist") else value for value in results]


@pytest.mark.parametrize(
    ("column", "number", "words"),
    [
        ("int32", FLOAT, "its type is INT32, but FLOAT"),
        ("float32", INT32, "its type is FLOAT, but INT32"),
        ("int64", DOUBLE, "its type is INT64, but DOUBLE"),
        ("float64", BOOLEAN, "its type is DOUBLE, but BOOLEAN"),
    ],
)
def test_changed_type_in_the_schema_is_an_error(tmp_path, column, number, words):
    path = written(tmp_path / "a.parquet", COLUMNS_OF[column], write_statistics=False)
    change(path, number, SCHEMA, -2, TYPE)
    match = f"a.parquet: row group 0: the column 'n': {words} in the schema of the footer. The fi"
    for read in (len, list, lambda pipe: pipe.spec):
        with pytest.raises(errors.DataLossError, match=match):
            read(hr.parquet(path))


def test_changed_letter_in_a_column_name_is_an_error(tmp_path):
    path = written(tmp_path / "a.parquet", COLUMNS_OF["int32"])
    change(path, b"o", SCHEMA, -2, NAME)
    with pytest.raises(
        errors.DataLossError, match="the column 'o': its name is 'n', which differs from the name"
    ):
        values(path)


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("column", COLUMNS_OF)
@pytest.mark.parametrize("nullable", [True, False], ids=["may be null", "are required"])
def test_changed_nullability_in_the_schema_is_an_error(tmp_path, column, kind, nullable):
    path = written(tmp_path / "a.parquet", COLUMNS_OF[column], nullable, **KINDS[kind])
    expected = values(path)
    assert len(expected) == 20
    change(path, REQUIRED if nullable else OPTIONAL, SCHEMA, -2, REPETITION)
    with pytest.raises(errors.DataLossError, match=r"a\.parquet: .*row group 0.*the column 'n'"):
        values(path)


def test_compressed_pages_declared_uncompressed_are_an_error(tmp_path):
    path = written(tmp_path / "a.parquet", COLUMNS_OF["int32"], compression="snappy")
    change(path, 0, GROUPS, -1, COLUMNS, -1, METADATA, CODEC)
    match = "in row group 0: the column 'n': a page claims .*its column is not compressed"
    with pytest.raises(errors.DataLossError, match=match):
        values(path)


def test_list_with_a_wrong_converted_type_is_an_error(tmp_path):
    column = pa.array([[n] for n in range(5)])
    path = written(tmp_path / "a.parquet", column)
    change(path, 7, SCHEMA, -2, CONVERTED)
    match = "the column 'n': the footer marks it as a list or map, but also as"
    with pytest.raises(errors.DataLossError, match=match):
        values(path)


def test_column_with_a_lost_logical_type_is_an_error(tmp_path):
    path = written(tmp_path / "a.parquet", pa.array(range(5), pa.date32()))
    footer, rows = footer_of(path.read_bytes())
    field(footer, SCHEMA, -2, LOGICAL).number += 1
    field(footer, SCHEMA, -2, CONVERTED).number += 1
    path.write_bytes(with_footer(rows, footer))
    match = "the column 'n': instead of a logical type, the footer has field 11 for it, which the"
    with pytest.raises(errors.DataLossError, match=match):
        values(path)


@pytest.mark.parametrize("nullable", [True, False], ids=["may be null", "are required"])
def test_tiny_and_unusual_columns_are_read(tmp_path, nullable):
    for column in (
        pa.array(["\x02\x00", "\x03\x01"] * 2),
        pa.array([b"\x02\x00\x00\x00\x02\x01", b""], pa.binary()),
        pa.array([0], pa.int32()),
        pa.array([2, 258], pa.int32()),
        pa.array([], pa.string()),
        pa.array([True] * 9),
    ):
        for options in KINDS.values():
            path = written(tmp_path / "a.parquet", column, nullable, **options)
            assert values(path) == column.to_pylist()


def test_flipped_footer_bits_are_errors_or_harmless(tmp_path):
    random = Random(3)
    path = tmp_path / "a.parquet"
    num_errors = 0
    for kind, options in KINDS.items():
        names = random.sample(sorted(COLUMNS_OF), 2)
        table = pa.table({name: COLUMNS_OF[name] for name in names})
        pq.write_table(table, path, store_schema=False, **options)
        data = path.read_bytes()
        expected = [str(row) for row in hr.parquet(path)]
        size = int.from_bytes(data[-8:-4], "little")
        for _ in range(40):
            changed, place = bytearray(data), len(data) - 8 - random.randrange(size)
            bit = random.randrange(8)
            changed[place - 1] ^= 1 << bit
            path.write_bytes(changed)
            try:
                results = [str(row) for row in hr.parquet(path)]
            except (errors.DataLossError, errors.InvalidArgumentError):
                num_errors += 1
                continue
            assert results == expected, f"{kind}: bit {bit} of byte {place - 1} of {len(data)}"
    assert num_errors > 80
