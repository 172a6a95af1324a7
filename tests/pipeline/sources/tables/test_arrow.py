"""Arrow IPC files and streams, and damaged ones; pyarrow is the oracle."""

import gzip
import json
import random

import numpy as np
import pytest
from tests.pipeline.sources.tables.written_tables import plain, random_table

import headrace as hr
from headrace import testing
from headrace.core import errors

pa = pytest.importorskip("pyarrow")
feather = pytest.importorskip("pyarrow.feather")

# A length that no other number of a file of Arrow is.
LENGTH = 12_347


def table(num_rows=200, first=0):
    numbers = range(first, first + num_rows)
    words = pa.array([f"word {n % 7}" for n in numbers], pa.string()).dictionary_encode()
    return pa.table(
        {"n": pa.array(numbers, pa.int64()), "s": words, "l": [[n] * 3 for n in numbers]}
    )


def write(path, table, new=None, rows=13, **options):
    with (new or pa.ipc.new_file)(
        path, table.schema, options=pa.ipc.IpcWriteOptions(**options)
    ) as w:
        w.write_table(table, max_chunksize=rows)
    return path


def numbers(pipe):
    return [int(example["n"]) for example in pipe]


@pytest.mark.parametrize("new", ["new_file", "new_stream"])
@pytest.mark.parametrize("codec", [None, "lz4", "zstd"])
def test_files_and_streams_of_any_compression_are_read(tmp_path, new, codec):
    write(tmp_path / "a.arrow", table(), getattr(pa.ipc, new), compression=codec)
    pipe = hr.arrow(tmp_path / "a.arrow")
    rows = [
        {name: plain(value, table().schema.field(name).type) for name, value in row.items()}
        for row in pipe
    ]
    assert rows == table().to_pylist()
    assert len(pipe) == 200
    assert "record batch" in pipe.describe() or pipe.describe()


def test_feather_and_legacy_streams_are_read(tmp_path):
    feather.write_feather(table(), tmp_path / "a.feather", chunksize=50)
    assert numbers(hr.arrow(tmp_path / "a.feather")) == list(range(200))
    write(tmp_path / "b.arrow", table(), pa.ipc.new_stream, use_legacy_format=True)
    assert numbers(hr.arrow(tmp_path / "b.arrow")) == list(range(200))
    write(tmp_path / "c.arrow", table(), use_legacy_format=True)
    assert numbers(hr.arrow(tmp_path / "c.arrow")) == list(range(200))
    (tmp_path / "d.feather").write_bytes(b"FEA1" + bytes(200) + b"FEA1")
    with pytest.raises(
        errors.InvalidArgumentError, match=r"d.feather: the file is Feather version 1"
    ):
        list(hr.arrow(tmp_path / "d.feather"))


def test_growing_and_replaced_dictionaries_are_read(tmp_path):
    first = pa.array(["a", "b"]).dictionary_encode()
    other = pa.array(["c", "a"]).dictionary_encode()
    schema = pa.schema([("s", first.type)])
    for name, options in [("a", {"emit_dictionary_deltas": True}), ("b", {})]:
        path = tmp_path / f"{name}.arrows"
        with pa.ipc.new_stream(path, schema, options=pa.ipc.IpcWriteOptions(**options)) as writer:
            for column in (first, pa.array(["a", "b", "d"]).dictionary_encode(), other):
                writer.write_batch(pa.record_batch([column], schema))
        texts = [row["s"] for row in hr.arrow(path)]
        assert texts == ["a", "b", "a", "b", "d", "c", "a"]


@pytest.mark.parametrize("values", [[], [None]])
def test_null_dictionary_entries_are_null(tmp_path, values):
    keys = pa.array([None, 0 if values else None, None], pa.int8())
    nulls = pa.DictionaryArray.from_arrays(keys, pa.array(values, pa.null()))
    lists = pa.ListArray.from_arrays([0, 2, 2, 3], nulls)
    structs = pa.StructArray.from_arrays([nulls], ["x"])
    table = pa.table({"null": nulls, "list": lists, "struct": structs})
    with pa.ipc.new_file(tmp_path / "a.arrow", table.schema) as writer:
        writer.write_table(table, max_chunksize=2)
    nested = {"list": hr.Json, "struct": hr.Json}
    pipe = hr.arrow(tmp_path / "a.arrow", {"null": hr.Json, **nested})
    assert list(pipe) == table.to_pylist()
    pipe = hr.arrow(tmp_path / "a.arrow", {"null": hr.Nullable(int)})
    assert [(row["null"], row["null_mask"]) for row in pipe] == [(0, False)] * 3


def test_row_order_does_not_depend_on_threads_and_memory(tmp_path):
    first = 0
    for number, count in enumerate((100, 0, 1, 57)):
        write(tmp_path / f"{number}.arrow", table(count, first))
        first += count
    pipe = hr.arrow(tmp_path, ["n", "s"])
    assert len(pipe) == first
    for num_threads in (1, 2, 7):
        for memory_bytes in (16 << 20, None):
            limited = pipe.options(num_threads=num_threads, memory_bytes=memory_bytes)
            assert numbers(limited) == list(range(first))
    assert numbers(pipe.skip(95).take(30)) == list(range(95, 125))
    assert numbers(pipe.shard(1, 3)) == list(range(1, first, 3))
    orders = [numbers(pipe.shuffle(1, 7, num_open=1).epoch(epoch)) for epoch in range(2)]
    assert orders[0] != orders[1]
    assert sorted(orders[0]) == sorted(numbers(pipe.shuffle(seed=7))) == list(range(first))
    testing.assert_resumes(pipe.shuffle(10, 7, num_open=3).epochs(2), every=11)


def test_blocks_do_not_keep_a_large_record_batch_alive(tmp_path):
    rows = pa.table({"n": np.arange(1 << 20)})
    write(tmp_path / "a.arrow", rows, rows=1 << 20)
    pipe = hr.arrow(tmp_path / "a.arrow").options(memory_bytes=32 << 20).batch(1 << 16)
    assert sum(int(batch["n"].sum()) for batch in pipe) == (1 << 20) * ((1 << 20) - 1) // 2


def test_truncated_arrow_file_is_rejected(tmp_path):
    path = write(tmp_path / "a.arrow", table())
    full = path.read_bytes()
    stream = write(tmp_path / "b.arrow", table(), pa.ipc.new_stream).read_bytes()
    for data, kind, message in [
        (full[:-3], errors.DataLossError, "marker 'ARROW1', so it is cut short"),
        (full[:8], errors.DataLossError, r"\(8 bytes\) does not end with a footer"),
        (full[:-10] + b"\xff\xff\xff\x7fARROW1", errors.DataLossError, "cut short"),
        (
            stream[:3000],
            errors.DataLossError,
            r"message at byte .* beyond the end of the file",
        ),
        (stream[:20], errors.InvalidArgumentError, "not the schema .* cut short; copy it again"),
        (gzip.compress(stream), errors.InvalidArgumentError, "with gzip, .* Decompress it first"),
        (stream + stream, errors.InvalidArgumentError, "bytes after the end of the stream"),
        (b"", errors.InvalidArgumentError, r"the file \(0 bytes\) does not start with"),
        (b"hello world, this is text", errors.InvalidArgumentError, "does not start with"),
        (b"PAR1" + full, errors.InvalidArgumentError, "the file is .*Parquet"),
    ]:
        path.write_bytes(data)
        with pytest.raises(kind, match=f"(?s)a.arrow: .*{message}"):
            list(hr.arrow(path))


@pytest.mark.parametrize("new", [pa.ipc.new_file, pa.ipc.new_stream])
@pytest.mark.parametrize(
    "column",
    [
        pa.array([bytes(LENGTH)] * 3, pa.binary(LENGTH)),
        pa.array([[0] * LENGTH] * 3, pa.list_(pa.int8(), LENGTH)),
        pa.array([[[0, 0]] * LENGTH] * 3, pa.list_(pa.list_(pa.int8(), 2), LENGTH)),
        pa.array([{"a": [True] * LENGTH}] * 3, pa.struct({"a": pa.list_(pa.bool_(), LENGTH)})),
    ],
    ids=["bytes", "lists", "lists of lists", "structs"],
)
def test_schema_with_a_wrong_value_length_is_an_error(tmp_path, new, column):
    path = write(tmp_path / "a.arrow", pa.table({"x": column}), new)
    data = path.read_bytes()
    changed = data.replace(LENGTH.to_bytes(4, "little"), (1 << 28).to_bytes(4, "little"))
    assert changed != data
    path.write_bytes(changed)
    match = "a.arrow: the record batch at byte .* claims 3 rows, but has fewer values"
    for read in (list, len):
        with pytest.raises(errors.DataLossError, match=match):
            read(hr.arrow(path))


def test_schema_with_long_values_and_no_rows_needs_no_memory(tmp_path):
    kind = pa.list_(pa.float64(), (1 << 31) - 1)
    for new in (pa.ipc.new_file, pa.ipc.new_stream):
        path = write(tmp_path / "a.arrow", pa.table({"x": pa.array([], kind)}), new)
        assert list(hr.arrow(path)) == list(hr.arrow(path, {"x": hr.Json})) == []


def test_flipped_bytes_yield_rows_or_an_error(tmp_path):
    rows = random_table(
        {"n": pa.int32(), "s": pa.string(), "l": pa.list_(pa.int8())}, 30, 0, random.Random(7)
    )
    draws = random.Random(7)
    num_errors = 0
    for new, codec in [
        (pa.ipc.new_file, None),
        (pa.ipc.new_stream, "lz4"),
        (pa.ipc.new_file, "zstd"),
    ]:
        path = write(tmp_path / "a.arrow", rows, new, compression=codec)
        full = path.read_bytes()
        for _ in range(60):
            data = bytearray(full)
            data[draws.randrange(len(data))] ^= 1 << draws.randrange(8)
            path.write_bytes(data)
            try:
                # Bytes of numbers have no checksum.
                columns = {"n": hr.Nullable(np.int32), "s": hr.Nullable(bytes)}
                # A list would allocate as many rows as a batch claims to have.
                for _ in hr.arrow(path, columns):
                    pass
            except (errors.DataLossError, errors.InvalidArgumentError) as error:
                assert "a.arrow" in str(error)  # noqa: PT017
                num_errors += 1
    assert num_errors > 20


def test_file_that_changes_while_being_read_is_an_error(tmp_path):
    path = write(tmp_path / "a.arrow", table(5000))
    with iter(hr.arrow(path).options(num_threads=1, memory_bytes=64 << 20)) as batches:
        next(batches)
        write(path, table(5001))
        with pytest.raises(errors.AbortedError, match=r"a.arrow.*the file changed while"):
            list(batches)


def save_to_disk(directory, *tables):
    """Writes a directory as `Dataset.save_to_disk` of `datasets` does."""
    directory.mkdir(parents=True)
    names = [f"data-{n:05}-of-{len(tables):05}.arrow" for n in range(len(tables))]
    for name, numbers in zip(names, tables, strict=True):
        write_stream(directory / name, numbers)
    files = [{"filename": name} for name in names]
    (directory / "dataset_info.json").write_text('{"features": {}}')
    (directory / "state.json").write_text(json.dumps({"_data_files": files, "_split": None}))


def write_stream(path, numbers):
    with pa.ipc.new_stream(path, pa.schema({"n": pa.int64()})) as writer:
        writer.write_table(pa.table({"n": numbers}))


def numbers_in(paths):
    return [int(row["n"]) for row in hr.arrow(paths)]


def test_directory_saved_by_datasets_is_read(tmp_path):
    save_to_disk(tmp_path / "set", [0, 1], [2, 3])
    for paths in (tmp_path / "set", tmp_path / "set" / "*"):
        assert numbers_in(paths) == [0, 1, 2, 3]
    assert len(hr.arrow(tmp_path / "set")) == 4


def test_cache_files_of_datasets_beside_tables_are_skipped(tmp_path):
    save_to_disk(tmp_path / "set", [0, 1], [2, 3])
    cached = tmp_path / "set" / "cache-74381841ab112c13_00000_of_00002.arrow"
    write_stream(cached, [100, 101])
    # An earlier state of the directory had more files.
    write_stream(tmp_path / "set" / "data-00002-of-00003.arrow", [7])
    assert numbers_in(tmp_path / "set") == [0, 1, 2, 3]
    assert numbers_in(tmp_path / "set" / "*.arrow") == [0, 1, 2, 3, 7]
    assert numbers_in([tmp_path / "set" / "data-00000-of-00002.arrow", cached]) == [0, 1, 100, 101]
    assert numbers_in(tmp_path / "set" / "cache-*") == [100, 101]


def test_missing_table_in_a_saved_directory_is_an_error(tmp_path):
    save_to_disk(tmp_path / "set", [0, 1], [2, 3])
    (tmp_path / "set" / "data-00001-of-00002.arrow").unlink()
    with pytest.raises(
        errors.NotFoundError, match=r"set/data-00001-of-00002.arrow: this file is missing"
    ):
        list(hr.arrow(tmp_path / "set"))


def test_error_for_a_dataset_dict_directory_names_its_splits(tmp_path):
    for number, split in enumerate(("train", "test")):
        save_to_disk(tmp_path / split, [number])
    (tmp_path / "dataset_dict.json").write_text('{"splits": ["train", "test"]}')
    for paths in (tmp_path, f"{tmp_path}/**"):
        with pytest.raises(
            errors.InvalidArgumentError, match=r"splits train, test.* Pass .*/train'"
        ):
            list(hr.arrow(paths))
    assert numbers_in(tmp_path / "test") == [1]


def test_directories_written_by_the_datasets_library_are_read(tmp_path, monkeypatch):
    datasets = pytest.importorskip("datasets")
    # No thread that outlives the test.
    monkeypatch.setattr("tqdm.std.tqdm.monitor_interval", 0)
    uninterrupted = datasets.Dataset.from_dict({"n": list(range(10))})
    uninterrupted.save_to_disk(tmp_path / "set", num_shards=3)
    datasets.load_from_disk(tmp_path / "set").map(lambda row: {"n": row["n"] + 100})
    datasets.load_from_disk(tmp_path / "set").filter(lambda row: row["n"] > 3)
    assert numbers_in(tmp_path / "set") == list(range(10))
    uninterrupted.shuffle(seed=1).save_to_disk(tmp_path / "shuffled")
    assert numbers_in(tmp_path / "shuffled") == uninterrupted.shuffle(seed=1)["n"][:]
    datasets.DatasetDict(train=uninterrupted, test=uninterrupted.select([7])).save_to_disk(
        tmp_path / "dict"
    )
    with pytest.raises(errors.InvalidArgumentError, match="splits train, test"):
        list(hr.arrow(tmp_path / "dict"))
    assert numbers_in(tmp_path / "dict" / "test") == [7]
