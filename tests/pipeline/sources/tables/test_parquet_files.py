"""Parquet files of other programs, and damaged ones; pyarrow is the oracle."""

import math
import random

import numpy as np
import pytest

import headrace as hr
from headrace import testing
from headrace.core import errors

pa = pytest.importorskip("pyarrow")
pq = pytest.importorskip("pyarrow.parquet")

NUM_ROWS = 500
NO_FLOAT = {"f": math.nan}
ENCODINGS = {
    "plain": {"use_dictionary": False, "column_encoding": dict.fromkeys("ihfbsyx", "PLAIN")},
    "dictionary": {"use_dictionary": True},
    "dictionary that falls back": {"use_dictionary": True, "dictionary_pagesize_limit": 64},
    "others": {
        "use_dictionary": False,
        "column_encoding": {
            "i": "DELTA_BINARY_PACKED",
            "h": "DELTA_BINARY_PACKED",
            "f": "BYTE_STREAM_SPLIT",
            "b": "RLE",
            "s": "DELTA_BYTE_ARRAY",
            "y": "DELTA_LENGTH_BYTE_ARRAY",
            "x": "BYTE_STREAM_SPLIT",
        },
    },
}


def table(num_rows=NUM_ROWS, first=0):
    numbers = range(first, first + num_rows)
    return pa.table(
        {
            "i": pa.array([n * n - 7 for n in numbers], pa.int64()),
            "h": pa.array([n % 100 for n in numbers], pa.uint8()),
            "f": pa.array([None if n % 5 == 3 else n / 3 for n in numbers], pa.float32()),
            "b": pa.array([n % 3 == 0 for n in numbers], pa.bool_()),
            "s": pa.array([f"é{n % 17}" * (n % 4) for n in numbers], pa.string()),
            "y": pa.array([bytes([n % 251]) * (n % 9) for n in numbers], pa.binary()),
            "x": pa.array([bytes([n % 7, 1, 2]) for n in numbers], pa.binary(3)),
            "l": pa.array([list(range(n % 4)) for n in numbers], pa.list_(pa.int32())),
            "t": pa.array([["a", "bc"][: n % 3] for n in numbers], pa.list_(pa.string())),
            "v": pa.array([[n, -n] for n in numbers], pa.list_(pa.float64(), 2)),
        }
    )


def plain(value):
    if isinstance(value, np.ndarray):
        return [plain(one) for one in value.tolist()]
    if isinstance(value, np.generic):
        return plain(value.item())
    return "missing" if value is None or (isinstance(value, float) and math.isnan(value)) else value


def rows(pipeline):
    return [{name: plain(value) for name, value in example.items()} for example in pipeline]


def expected(*paths):
    read = [row for path in paths for row in pq.read_table(path).to_pylist()]
    return [{name: plain(value) for name, value in row.items()} for row in read]


@pytest.mark.parametrize("page", ["1.0", "2.0"])
@pytest.mark.parametrize("encoding", ENCODINGS)
def test_every_encoding_is_read_like_pyarrow(tmp_path, encoding, page):
    path = tmp_path / "a.parquet"
    for size, version in ((NUM_ROWS, "2.6"), (77, "1.0"), (1, "2.4")):
        pq.write_table(
            table(NUM_ROWS if size > 1 else 20),
            path,
            row_group_size=size,
            data_page_version=page,
            data_page_size=256,
            version=version,
            **ENCODINGS[encoding],
        )
        assert rows(hr.parquet(path, defaults=NO_FLOAT)) == expected(path)


@pytest.mark.parametrize("codec", ["none", "snappy", "gzip", "brotli", "zstd", "lz4"])
def test_every_compression_is_read(tmp_path, codec):
    for page in ("1.0", "2.0"):
        path = tmp_path / f"{page}.parquet"
        options = {"compression": codec, "data_page_version": page, "row_group_size": 200}
        pq.write_table(table(), path, write_page_checksum=True, **options)
        assert rows(hr.parquet(path, defaults=NO_FLOAT)) == expected(path)


def test_files_with_a_page_index_and_no_arrow_schema_are_read(tmp_path):
    path = tmp_path / "a.parquet"
    options = {"store_schema": False, "write_page_index": True, "data_page_size": 100}
    pq.write_table(table(), path, **options)
    result = rows(hr.parquet(path, defaults=NO_FLOAT))
    assert result == expected(path)
    # Only the Arrow schema contains the fixed length of lists.
    assert hr.parquet(path).spec["v"].is_ragged


def test_dictionaries_and_large_types_are_read_as_plain_values(tmp_path):
    path = tmp_path / "a.parquet"
    columns = {
        "d": pa.array(["x", "y", "x"]).dictionary_encode(),
        "s": pa.array(["a", "", "é"], pa.large_string()),
        "y": pa.array([b"a", b"", b"\xff"], pa.large_binary()),
        "l": pa.array([[1], [], [2, 3]], pa.large_list(pa.int8())),
        "h": pa.array(np.array([1, 2, math.inf], np.float16)),
    }
    pq.write_table(pa.table(columns), path)
    pipe = hr.parquet(path)
    assert [repr(spec.dtype) for spec in pipe.spec.values()] == [
        "<class 'str'>",
        "<class 'str'>",
        "<class 'bytes'>",
        "dtype('int8')",
        "dtype('float16')",
    ]
    assert rows(pipe) == expected(path)


def test_columns_come_in_the_requested_order(tmp_path):
    full = table(30)
    pq.write_table(full, tmp_path / "0.parquet", row_group_size=7)
    pq.write_table(full.select(["l", "s", "i", "f"]), tmp_path / "1.parquet")
    pipe = hr.parquet(tmp_path, ["s", "l", "i"])
    assert list(pipe.spec) == ["s", "l", "i"]
    assert rows(pipe) == rows(hr.parquet(tmp_path / "0.parquet", ["s", "l", "i"])) * 2


def many_files(directory, num_rows=(100, 0, 1, 57), row_group_size=13):
    first = 0
    for number, count in enumerate(num_rows):
        part = table(count, first)
        pq.write_table(part, directory / f"{number}.parquet", row_group_size=row_group_size)
        first += count
    return [n * n - 7 for n in range(first)]


def numbers(pipeline):
    return [int(example["i"]) for example in pipeline]


def test_row_order_does_not_depend_on_threads_and_memory(tmp_path):
    all_of_them = many_files(tmp_path, (1000, 0, 1, 570))
    pipe = hr.parquet(tmp_path, ["i", "s"])
    assert len(pipe) == len(all_of_them)
    for num_threads in (1, 2, 7):
        for memory_bytes in (16 << 20, None):
            limited = pipe.options(num_threads=num_threads, memory_bytes=memory_bytes)
            assert numbers(limited) == all_of_them


def test_take_skip_and_shard_count_rows(tmp_path):
    all_of_them = many_files(tmp_path)
    pipe = hr.parquet(tmp_path, ["i"])
    assert numbers(pipe.skip(95).take(30)) == all_of_them[95:125]
    assert numbers(pipe.shard(1, 3)) == all_of_them[1::3]
    assert len(pipe.skip(95).batch(10)) == math.ceil((len(all_of_them) - 95) / 10)


def test_parquet_resumes_at_every_row(tmp_path):
    many_files(tmp_path, (40, 0, 1, 20))
    pipe = hr.parquet(tmp_path, ["i", "l"])
    testing.assert_resumes(pipe)
    testing.assert_resumes(pipe.shuffle(10, 7, num_open=3).epochs(2))


def test_window_permutes_row_groups(tmp_path):
    many_files(tmp_path, (130,))
    pipe = hr.parquet(tmp_path, ["i"])
    plain_order = numbers(pipe)
    orders = [numbers(pipe.shuffle(1, 7, num_open=1).epoch(epoch)) for epoch in range(3)]
    assert all(sorted(order) == sorted(plain_order) for order in orders)
    firsts = {tuple(order[index] for index in range(0, 130, 13)) for order in orders}
    assert len(firsts) == 3
    groups = [plain_order[index : index + 13] for index in range(0, 130, 13)]
    for order in orders:
        assert sorted(order[index : index + 13] for index in range(0, 130, 13)) == sorted(groups)


def test_block_bytes_does_not_split_row_groups(tmp_path):
    many_files(tmp_path)
    pipe = hr.parquet(tmp_path, ["i"])
    assert numbers(pipe.shuffle(9, 7, block_bytes=100)) == numbers(pipe.shuffle(9, 7))


def test_random_draws_depend_on_the_row_number_in_the_file(tmp_path):
    def drawn(example, rng):
        return {"i": example["i"], "draw": rng.integers(1 << 40)}

    full = table(50)
    draws = []
    for size in (50, 7):
        pq.write_table(full, tmp_path / "a.parquet", row_group_size=size)
        pipe = hr.parquet(tmp_path / "a.parquet", ["i"]).map(drawn, seed=7)
        draws.append([int(example["draw"]) for example in pipe])
    assert draws[0] == draws[1]
    assert len(set(draws[0])) == 50
    origins = [
        example["record_number"]
        for example in hr.parquet(tmp_path / "a.parquet", ["i"]).with_origin()
    ]
    assert origins == list(range(50))


def test_null_error_names_file_row_and_column_after_the_preceding_rows(tmp_path):
    values = [n if n != 25 else None for n in range(40)]
    pq.write_table(pa.table({"a": values}), tmp_path / "a.parquet", row_group_size=20)
    batches = iter(hr.parquet(tmp_path / "a.parquet").batch(5))
    assert [int(next(batches)["a"][0]) for _ in range(5)] == [0, 5, 10, 15, 20]
    message = (
        r"a.parquet: row 25, in row group 1: the column 'a' has a null, expected a value. Set a "
        r"default with defaults={'a': \.\.\.}, or read it as hr.Nullable"
    )
    with pytest.raises(errors.InvalidArgumentError, match=message):
        next(batches)


def test_skip_errors_skips_rows_with_nulls(tmp_path):
    columns = {
        "a": [None if n % 10 == 3 else n for n in range(40)],
        "l": [[n, None] if n == 7 else [n] for n in range(40)],
    }
    pq.write_table(pa.table(columns), tmp_path / "a.parquet", row_group_size=20)
    with iter(hr.parquet(tmp_path / "a.parquet").skip_errors(9)) as batches:
        results = [int(example["a"]) for example in batches]
        skipped = [one.record_number for one in batches.skipped]
    assert skipped == [3, 7, 13, 23, 33]
    assert results == [n for n in range(40) if n not in skipped]


@pytest.fixture
def damaged(tmp_path):
    """A file with row groups of 20 rows and pages of 5, in which a byte of row 27 is wrong."""
    path = tmp_path / "a.parquet"
    strings = pa.array([f"row {n:02}: {'x' * 50}" for n in range(60)])
    pq.write_table(
        pa.table({"n": list(range(60)), "s": strings}),
        path,
        row_group_size=20,
        compression="none",
        use_dictionary=False,
        write_page_checksum=True,
        write_batch_size=5,
        data_page_size=200,
        write_statistics=False,
    )
    data = bytearray(path.read_bytes())
    data[data.index(b"row 27") + 5] ^= 1
    path.write_bytes(data)
    return path


def test_damaged_page_error_names_its_column_after_the_preceding_rows(damaged):
    batches = iter(hr.parquet(damaged).batch(5))
    assert [int(next(batches)["n"][0]) for _ in range(5)] == [0, 5, 10, 15, 20]
    message = r"(?s)a.parquet: row 25, in row group 1: the column 's': .*checksum.*copy it again"
    with pytest.raises(errors.DataLossError, match=message):
        next(batches)


def test_skip_errors_skips_the_rest_of_a_damaged_row_group(damaged):
    with iter(hr.parquet(damaged).skip_errors(20)) as batches:
        assert [int(example["n"]) for example in batches] == [*range(25), *range(40, 60)]
        [skipped] = batches.skipped
    assert (skipped.record_number, skipped.stage) == (25, "parquet")
    assert "checksum" in skipped.reason
    with pytest.raises(errors.DataLossError, match="checksum"):
        list(hr.parquet(damaged).skip_errors(14))
    testing.assert_resumes(hr.parquet(damaged, ["n", "s"]).skip_errors(20))


def test_truncated_or_encrypted_file_is_rejected(tmp_path):
    path = tmp_path / "a.parquet"
    pq.write_table(table(20), path)
    full = path.read_bytes()
    for data, kind, message in (
        (full[:-5], errors.DataLossError, "does not end with the Parquet marker 'PAR1'.*cut short"),
        (full[:8], errors.InvalidArgumentError, r"the file \(8 bytes\)"),
        (b"PARE" + full[4:-4] + b"PARE", errors.InvalidArgumentError, "encrypted.*Decrypt it"),
        (full[:-8] + b"\xff\xff\xff\x7fPAR1", errors.DataLossError, "footer.*copy it again"),
        (b"\x1f\x8b\x08" + full, errors.InvalidArgumentError, "gzip.*Decompress it first"),
    ):
        path.write_bytes(data)
        with pytest.raises(kind, match=f"(?s)a.parquet: .*{message}"):
            list(hr.parquet(path))


def test_row_group_with_fewer_rows_than_its_footer_claims_is_an_error(tmp_path):
    path = tmp_path / "a.parquet"
    options = {"compression": "none", "use_dictionary": False, "write_statistics": False}
    pq.write_table(pa.table({"a": pa.array(range(100), pa.int64())}), path, **options)
    data = path.read_bytes()
    size = int.from_bytes(data[-8:-4], "little")
    footer = data[-8 - size : -8]
    # The number 100 as the footer has it, of the file, of the column and of the row group.
    more = footer.replace(b"\x16\xc8\x01", b"\x16\xca\x01")
    assert more != footer
    path.write_bytes(data[: -8 - size] + more + data[-8:])
    batches = iter(hr.parquet(path).batch(50))
    assert [len(next(batches)["a"]) for _ in range(2)] == [50, 50]
    with pytest.raises(errors.DataLossError, match=r"a.parquet: row 100, .*claims 101 rows"):
        next(batches)


def test_file_that_changes_while_being_read_is_an_error(tmp_path):
    path = tmp_path / "a.parquet"
    pq.write_table(table(5000), path, row_group_size=50)
    pipe = hr.parquet(path, defaults=NO_FLOAT).options(num_threads=1, memory_bytes=64 << 20)
    with iter(pipe) as batches:
        next(batches)
        pq.write_table(table(5001), path, row_group_size=50)
        with pytest.raises(errors.AbortedError, match=r"a.parquet.*the file changed while"):
            list(batches)


def test_flipped_bytes_yield_the_correct_rows_or_an_error(tmp_path):
    path = tmp_path / "a.parquet"
    pq.write_table(table(30), path, row_group_size=10, write_page_checksum=True)
    uninterrupted, right = path.read_bytes(), expected(path)
    draws = random.Random(7)
    num_errors = 0
    for _ in range(150):
        data = bytearray(uninterrupted)
        data[draws.randrange(len(data))] ^= 1 << draws.randrange(8)
        path.write_bytes(data)
        try:
            # A reader cannot detect changed names and statistics.
            result = rows(hr.parquet(path, ["i", "s", "l", "v"]))
        except (errors.DataLossError, errors.InvalidArgumentError) as error:
            assert "a.parquet" in str(error)  # noqa: PT017
            num_errors += 1
            continue
        assert result == [{name: row[name] for name in "islv"} for row in right]
    assert 50 < num_errors < 150


def test_unsupported_types_are_rejected_by_name(tmp_path):
    path = tmp_path / "a.parquet"
    months = pa.array([(1, 2, 3)], pa.month_day_nano_interval())
    for values, words in (
        (
            pa.array([None], pa.null()),
            r"null, .*all its values are null\. Set hr.Json or hr.Nullable\(\.\.\.\) with "
            r"dtypes=\{'a': \.\.\.\}, or omit the column: list only the others in columns=",
        ),
        (
            pa.array([1]).cast(pa.decimal128(21, 2)),
            r"decimal128\(21, 2\), .*Set np.float64 or str",
        ),
        (pa.array([{"b": b"x"}]), "struct<b: binary>, which contains binary.*'a.b'"),
    ):
        pq.write_table(pa.table({"a": values, "b": [1]}), path)
        message = f"a.parquet: the column 'a' is {words}"
        with pytest.raises(errors.InvalidArgumentError, match=message):
            list(hr.parquet(path))
        assert rows(hr.parquet(path, ["b"])) == [{"b": 1}]
    with pytest.raises(pa.ArrowNotImplementedError):
        pq.write_table(pa.table({"a": months}), path)


def test_96_bit_timestamps_can_have_any_year(tmp_path):
    path = tmp_path / "a.parquet"
    times = np.array(["1000-01-02T03:04:05.000006", "9999-12-31T23:59:59"], "datetime64[us]")
    table = pa.table({"t": pa.array(times, pa.timestamp("us"))})
    pq.write_table(table, path, use_deprecated_int96_timestamps=True, store_schema=False)
    pipe = hr.parquet(path)
    assert pipe.spec["t"].dtype == np.dtype("datetime64[us]")
    assert [row["t"] for row in pipe] == list(times)


def test_96_bit_timestamps_are_exact_or_rejected(tmp_path):
    path = tmp_path / "a.parquet"
    far = np.datetime64("9999-12-31T23:59:59.999999", "us")
    exact = np.datetime64("2024-01-02T03:04:05.000000006", "ns")

    def write(values, unit, **options):
        times = pa.array(values, pa.timestamp(unit))
        columns = {
            "t": times,
            "l": pa.array([[value] for value in times], pa.list_(times.type)),
            "s": pa.array([{"t": value} for value in times], pa.struct({"t": times.type})),
        }
        options = {"use_deprecated_int96_timestamps": True, "store_schema": False, **options}
        pq.write_table(pa.table(columns), path, **options)

    # Through 64 bits, the far one would be in 1816.
    write([far], "us")
    microseconds = "datetime64[us]"
    [row] = hr.parquet(path)
    assert (row["t"], row["l"][0], row["s"]) == (far, far, {"t": "9999-12-31T23:59:59.999999"})
    [row] = hr.parquet(path, {"s.t": microseconds, "l": hr.Ragged(microseconds)})
    assert (row["s.t"], row["l"][0]) == (far, far)
    for name, word in [("t", "datetime64[ns]"), ("l", hr.Ragged("datetime64[ns]"))]:
        message = f"row 0.*the column '{name}' .*253402300799999999000 ns since 1970"
        with pytest.raises(errors.InvalidArgumentError, match=message):
            list(hr.parquet(path, {name: word}))
    assert list(hr.parquet(path, ["t"], where=[("t", ">", np.datetime64("9000-01-01"))]))
    assert not list(hr.parquet(path, ["t"], where=[("t", "<", np.datetime64("9000-01-01"))]))

    write([exact], "ns")
    for name, kind in [("t", "{}"), ("l", "[{}]"), ("s.t", "{}")]:
        word = hr.Ragged("datetime64[ns]") if kind == "[{}]" else "datetime64[ns]"
        [row] = hr.parquet(path, {name: word})
        assert np.ravel(row[name])[0] == exact
        with pytest.raises(errors.InvalidArgumentError, match=f"the column '{name}' "):
            list(hr.parquet(path, {name: hr.Ragged(microseconds) if "[" in kind else microseconds}))
    with pytest.raises(errors.InvalidArgumentError, match=r"'t' is .* expected datetime64\[us\]"):
        list(hr.parquet(path))
    assert [row["s"] for row in hr.parquet(path, ["s"])] == [{"t": "2024-01-02T03:04:05.000000006"}]

    # A program of Arrow records the original times.
    write([exact], "ns", store_schema=True)
    [row] = hr.parquet(path)
    assert (row["t"], row["t"].dtype, row["l"][0]) == (exact, exact.dtype, exact)
    zoned = pa.array([int(exact.astype(np.int64))]).cast(pa.timestamp("ns", "Asia/Tokyo"))
    zoned = pa.StructArray.from_arrays([zoned], ["t"])
    pq.write_table(pa.table({"s": zoned}), path, use_deprecated_int96_timestamps=True)
    assert [row["s"]["t"] for row in hr.parquet(path)] == ["2024-01-02T03:04:05.000000006+00:00"]


def test_full_shuffle_keeps_all_rows_in_memory(tmp_path):
    all_of_them = many_files(tmp_path)
    pipe = hr.parquet(tmp_path, ["i", "l"])
    shuffled = pipe.shuffle(seed=7)
    orders = [numbers(shuffled.epoch(epoch)) for epoch in range(2)]
    assert orders[0] != orders[1]
    assert [sorted(order) for order in orders] == [sorted(all_of_them)] * 2
    # The same order as other sources have.
    arrays = hr.arrays({"i": np.array(all_of_them)}).shuffle(seed=7)
    assert orders[0] == numbers(arrays)
    assert len(shuffled) == len(all_of_them)
    assert numbers(shuffled.shard(1, 3)) == orders[0][1::3]
    assert "a first pass over the files keeps them in memory" in shuffled.describe()
    testing.assert_resumes(shuffled.epochs(2).take(200), every=7)
    both = hr.concat([pipe, pipe.cache()]).shuffle(seed=7)
    assert sorted(numbers(both)) == sorted(all_of_them * 2)


def test_shuffle_of_more_rows_than_fit_in_memory_is_rejected(tmp_path):
    strings = pa.array([bytes([n % 251]) * 1000 for n in range(30_000)], pa.binary())
    pq.write_table(pa.table({"s": strings}), tmp_path / "a.parquet", row_group_size=1000)
    pipe = hr.parquet(tmp_path).shuffle(seed=7).options(memory_bytes=16 << 20)
    message = (
        "shuffle: keeping all rows of the files in memory needs more than .* bytes, "
        "expected at most the 16777216 of memory_bytes. Read fewer columns"
    )
    with pytest.raises(errors.ResourceExhaustedError, match=message):
        next(iter(pipe))


def test_empty_fastparquet_table_has_no_rows(tmp_path):
    path = tmp_path / "a.parquet"
    columns = b"\x19\x2c\x48\x06schema\x15\x02\x00" + b"\x15\x04\x25\x00\x18\x01n\x00"
    # Its empty list of row groups has no type of items: the zero at the end.
    footer = b"\x15\x02" + columns + b"\x16\x00" + b"\x19\x00" + b"\x28\x01f\x00"
    path.write_bytes(b"PAR1" + footer + len(footer).to_bytes(4, "little") + b"PAR1")
    pipe = hr.parquet(path)
    assert (pipe.spec["n"].dtype, len(pipe), list(pipe)) == (np.dtype(np.int64), 0, [])
