"""Encrypted Parquet files, and footers and page headers whose numbers do not fit."""

import base64
import copy
import datetime

import numpy as np
import pytest
from tests.pipeline.sources.tables.thrift import field, footer_of, parsed, serialized, with_footer

import headrace as hr
from headrace import errors

pa = pytest.importorskip("pyarrow")
pq = pytest.importorskip("pyarrow.parquet")
encryption = pytest.importorskip("pyarrow.parquet.encryption")


class _Keys(encryption.KmsClient):
    """Wraps keys without a secret."""

    def __init__(self, _config):
        super().__init__()

    def wrap_key(self, key, _master):
        return base64.b64encode(key)

    def unwrap_key(self, key, _master):
        return base64.b64decode(key)


def encrypted(path, **options):
    settings = encryption.EncryptionConfiguration(
        footer_key="footer", cache_lifetime=datetime.timedelta(minutes=5), **options
    )
    factory = encryption.CryptoFactory(_Keys)
    properties = factory.file_encryption_properties(encryption.KmsConnectionConfig(), settings)
    table = pa.table({"n": range(100), "s": [f"text {n}" for n in range(100)]})
    with pq.ParquetWriter(path, table.schema, encryption_properties=properties) as writer:
        writer.write_table(table)


@pytest.mark.parametrize("read", [len, list])
def test_encrypted_footer_is_rejected_with_the_file_name_and_a_remedy(tmp_path, read):
    path = tmp_path / "a.parquet"
    encrypted(path, column_keys={"s": ["s", "n"]})
    assert path.read_bytes().endswith(b"PARE")
    message = (
        "a.parquet: the file is encrypted, expected a plain Parquet file. Decrypt.*write it again"
    )
    with pytest.raises(errors.InvalidArgumentError, match=message):
        read(hr.parquet(path))


def test_encrypted_columns_are_rejected_but_plain_ones_are_read(tmp_path):
    path = tmp_path / "a.parquet"
    encrypted(path, column_keys={"s": ["s"]}, plaintext_footer=True)
    assert path.read_bytes().endswith(b"PAR1")
    assert len(hr.parquet(path)) == 100
    assert [row["n"] for row in hr.parquet(path, ["n"])] == list(range(100))
    message = "a.parquet: row group 0: the column 's' is encrypted, .*columns, or decrypt it"
    for columns in (None, ["s"]):
        with pytest.raises(errors.InvalidArgumentError, match=message):
            list(hr.parquet(path, columns))


# The fields of footers: the rows of a file, its row groups, and of them the columns and the rows;
# of a column its metadata, and of that the numbers of values and bytes.
NUM_ROWS, GROUPS = 3, 4
COLUMNS, GROUP_ROWS = 1, 3
METADATA, NUM_VALUES, NUM_BYTES, NUM_STORED_BYTES = 3, 5, 6, 7


@pytest.fixture
def table_file(tmp_path):
    path = tmp_path / "a.parquet"
    table = pa.table(
        {"n": pa.array(range(100), pa.int64()), "l": [[n] * (n % 3) for n in range(100)]}
    )
    pq.write_table(table, path, row_group_size=50, use_dictionary=False, compression="none")
    return path


LIES = [-1, 0, 1, 49, 51, 1000, 2**31 - 1, 2**31, 2**40, 2**62]
ROWS_OF_SECOND = (GROUPS, -2, GROUP_ROWS)
VALUES = (METADATA, NUM_VALUES)


@pytest.mark.parametrize(
    ("place", "message"),
    [
        ((NUM_ROWS,), "the footer claims {} rows, but its 2 row groups have 100"),
        (
            ROWS_OF_SECOND,
            "row group 1: (the column 'n': the footer claims 50 values, expected {}, the number|",
        ),
        (
            (GROUPS, -1, COLUMNS, -1, *VALUES),
            "row group 0: the column 'n': the footer claims {} val",
        ),
    ],
    ids=["file", "row group", "column"],
)
@pytest.mark.parametrize("lie", LIES)
def test_error_for_a_wrong_count_names_its_location(table_file, place, message, lie):
    footer, rows = footer_of(table_file.read_bytes())
    field(footer, *place).value = lie
    table_file.write_bytes(with_footer(rows, footer))
    if message.endswith("|"):
        message += "the footer claims {} rows, a negative)"
    for read in (list, len):
        with pytest.raises(errors.DataLossError, match=f"a.parquet: {message.format(lie, lie)}"):
            read(hr.parquet(table_file))


def test_error_for_too_few_list_values_names_its_location(table_file):
    footer, rows = footer_of(table_file.read_bytes())
    field(footer, GROUPS, -2, COLUMNS, -2, *VALUES).value = 49
    table_file.write_bytes(with_footer(rows, footer))
    message = "row group 1: the column 'l.*': the footer claims 49 values, expected at least 50, "
    with pytest.raises(errors.DataLossError, match=f"a.parquet: {message}"):
        list(hr.parquet(table_file))


@pytest.mark.parametrize("version", ["1.0", "2.0"])
@pytest.mark.parametrize("is_dictionary", [False, True])
def test_wrong_page_header_numbers_yield_correct_rows_or_an_error(tmp_path, version, is_dictionary):
    path = tmp_path / "a.parquet"
    values = [n % 7 for n in range(100)]
    options = {"use_dictionary": is_dictionary, "data_page_version": version}
    table = pa.table({"n": pa.array(values, pa.int64())})
    pq.write_table(table, path, compression="none", write_statistics=False, **options)
    footer, rows = footer_of(path.read_bytes())
    header, length = parsed(rows[4:])
    num_errors = 0
    for number in range(len(list(header.ints()))):
        for lie in (*LIES, 99, 101):
            changed, of_file = copy.deepcopy(header), copy.deepcopy(footer)
            [*_, results] = list(changed.ints())[number]
            if results.value == lie:
                continue
            results.value = lie
            data = serialized(changed)
            column = field(of_file, GROUPS, -1, COLUMNS, -1, METADATA)
            for of_column in (NUM_BYTES, NUM_STORED_BYTES):
                field(column, of_column).value += len(data) - length
            for offset in (one for one in column.value if one.number in (9, 11)):
                offset.value += (len(data) - length) * (offset.value > 4)
            path.write_bytes(with_footer(rows[:4] + data + rows[4 + length :], of_file))
            try:
                got = [int(row["n"]) for row in hr.parquet(path)]
            except (errors.DataLossError, errors.InvalidArgumentError) as error:
                assert "a.parquet" in str(error)  # noqa: PT017
                assert "row group 0" in str(error)  # noqa: PT017
                assert "'n'" in str(error)  # noqa: PT017
                num_errors += 1
                continue
            # The encoding of the values stands in the header alone.
            assert np.shape(got) == (100,)
    assert num_errors > 15


@pytest.mark.parametrize("columns", [None, {"x": hr.Json}], ids=["tensors", "JSON"])
def test_row_claimed_to_be_larger_than_the_column_is_an_error(tmp_path, columns):
    path = tmp_path / "a.parquet"
    column = pa.array([[1, 2], None], pa.list_(pa.int32(), 2))
    claimed = pa.schema([("x", pa.list_(pa.int32(), 1 << 28))]).serialize().to_pybytes()
    pq.write_table(pa.table({"x": column}), path)
    footer, rows = footer_of(path.read_bytes())
    # The key and the value of the first metadata.
    assert field(footer, 5, -1, 1).value == b"ARROW:schema"
    field(footer, 5, -1, 2).value = base64.b64encode(claimed)
    path.write_bytes(with_footer(rows, footer))
    match = (
        r"a.parquet: the column 'x' is fixed_size_list<.*>\[268435456\], so a row needs "
        r"1073741824 bytes, expected at most the 96 bytes .* The file is damaged; copy it again\."
    )
    with pytest.raises(errors.DataLossError, match=match):
        list(hr.parquet(path, columns))


def test_wrong_length_of_fixed_length_bytes_is_an_error(tmp_path):
    path = tmp_path / "a.parquet"
    pq.write_table(pa.table({"x": pa.array([None] * 3, pa.binary(3))}), path, store_schema=False)
    footer, rows = footer_of(path.read_bytes())
    field(footer, 2, -2, 2).value = 1 << 30
    path.write_bytes(with_footer(rows, footer))
    with pytest.raises(errors.DataLossError, match="a row needs 1073741824 bytes, expected"):
        list(hr.parquet(path, {"x": hr.Nullable(bytes)}))


def test_page_header_list_longer_than_the_header_is_an_error(tmp_path):
    path = tmp_path / "a.parquet"
    pq.write_table(pa.table({"n": range(3)}), path)
    data = path.read_bytes()
    # Field 15 of a struct: 2^31 - 1 bools.
    many = b"\xf9\xf1\xff\xff\xff\xff\x07\x00"
    path.write_bytes(data[:4] + many + data[4 + len(many) :])
    match = "column 'n': the header of a page extends past its column"
    with pytest.raises(errors.DataLossError, match=match):
        list(hr.parquet(path))


def test_library_panic_prints_nothing(tmp_path, capfd):
    """Delta-encoded strings, whose lengths are checked during decoding."""
    path = tmp_path / "a.parquet"
    table = pa.table({"s": [f"abc{n % 7}x{n}" for n in range(200)]})
    encodings = {"s": "DELTA_BYTE_ARRAY"}
    pq.write_table(table, path, use_dictionary=False, column_encoding=encodings, compression="none")
    raw, num_panics = path.read_bytes(), 0
    for position in range(50, 120):
        damaged = bytearray(raw)
        damaged[position] = 0x80
        path.write_bytes(damaged)
        try:
            list(hr.parquet(path))
        except (errors.DataLossError, errors.InvalidArgumentError) as error:
            num_panics += "a value is out of range (" in str(error)
    assert num_panics > 0
    assert capfd.readouterr() == ("", "")
