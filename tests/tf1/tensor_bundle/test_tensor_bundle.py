import base64
import os
import struct

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp

from headrace.core.errors import (
    DataLossError,
    FailedPreconditionError,
    NotFoundError,
    ResourceExhaustedError,
    UnimplementedError,
)
from headrace.protos import VersionDef
from headrace.tf1.protos import BundleEntryProto, BundleHeaderProto, TensorSliceProto
from headrace.tf1.tensor_bundle import BundleReader, sorted_table, write_bundle
from headrace.tf1.tensor_bundle.encoding import masked_crc32c, read_varint, write_varint
from headrace.tf1.tensor_bundle.sorted_table import read_table, write_table

# Written by TensorFlow's Saver from TENSORS.
TENSORFLOW_INDEX = base64.b64decode("""
AAAGCAEaAggBAAQPYmlhcwgBEgQSAggCKAg1miUaxgAFEWVtcHR5CAMSBhIAEgIIBCAINdjqgqIABRFmbGFncwgK
EgQSAggDIAgoAzV1WZEGAAgNZ3JlZXRpbmcIBxIAIAsoCzUcYnP9AAsRc2NvcGUvYnl0ZXMIBBIEEgIIAiAWKAI1
3I8lSQYEFWhhbGYIExIIEgIIARICCAEgGCgCNc3GC6UGBxV3ZWlnaHRzCAISCBICCAISAggDIBooMDUueZ48AQMN
dGVwCAkSACBKKAg1u9efEQAFFndvcmRzCAcSCBICCAISAggCIFIo1AE17VA0QQAAAAABAAAAAD9v8ZEAAAAAAQAA
AADA8qGwAAEDeAD8AQAAAAABAAAAAG48L5+BAgiOAg8AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA
V/uAiyR1R9s=
""")
TENSORFLOW_DATA = (
    base64.b64decode("""
AAAAPwAAwL8BAAEGHAPuVWjDqWxsb/8AAD4AAAAAAAAAAAAAAAAAAPA/AAAAAAAAAEAAAAAAAAAIQAAAAAAAABBA
AAAAAAAAFEAHAAAAAAAAAAECAMgBk6YYN2EAYg==
""")
    + 200 * b"x"
)
TENSORS = {
    "bias": np.array([0.5, -1.5], np.float32),
    "empty": np.zeros((0, 4), np.int32),
    "flags": np.array([True, False, True]),
    "greeting": np.array("héllo".encode(), object),
    "scope/bytes": np.array([255, 0], np.uint8),
    "scope/half": np.array([[1.5]], np.float16),
    "scope/weights": np.arange(6, dtype=np.float64).reshape(2, 3),
    "step": np.array(7, np.int64),
    "words": np.array([[b"a", b"\0b"], [b"", 200 * b"x"]], object),
}


def index_path(prefix):
    return prefix.with_name(prefix.name + ".index")


def data_path(prefix):
    return prefix.with_name(prefix.name + ".data-00000-of-00001")


def assert_same(actual, expected):
    assert actual.dtype == expected.dtype
    assert actual.shape == expected.shape
    assert actual.tolist() == expected.tolist()


def write_index(prefix, header, entries):
    items = {"": header, **entries}
    with open(index_path(prefix), "wb") as file:
        write_table(file, [(k.encode(), v.SerializeToString()) for k, v in items.items()])


@pytest.fixture
def prefix(tmp_path):
    return tmp_path / "model.ckpt-7"


@pytest.fixture
def tensorflow_prefix(prefix):
    index_path(prefix).write_bytes(TENSORFLOW_INDEX)
    data_path(prefix).write_bytes(TENSORFLOW_DATA)
    return prefix


# Against TensorFlow


def test_tensorflow_checkpoint_is_read(tensorflow_prefix):
    reader = BundleReader(tensorflow_prefix)
    assert reader.keys() == sorted(TENSORS)
    for name, expected in TENSORS.items():
        assert reader.shape(name) == expected.shape
        assert reader.dtype(name) == expected.dtype
        assert_same(reader.read(name), expected)


def test_checkpoint_is_byte_for_byte_identical_to_tensorflow(prefix):
    write_bundle(prefix, TENSORS)
    assert index_path(prefix).read_bytes() == TENSORFLOW_INDEX
    assert data_path(prefix).read_bytes() == TENSORFLOW_DATA


# Round trips

numbers = st.sampled_from(
    [
        "float16",
        "float32",
        "float64",
        "int8",
        "int16",
        "int32",
        "int64",
        "uint8",
        "uint16",
        "uint32",
        "uint64",
        "bool",
        "complex64",
        "complex128",
    ]
)
number_arrays = numbers.flatmap(
    lambda name: hnp.arrays(name, hnp.array_shapes(min_dims=0, min_side=0, max_side=4))
)
string_arrays = hnp.arrays(
    object, hnp.array_shapes(min_dims=0, min_side=0, max_side=4), elements=st.binary()
)
names = st.text(st.characters(codec="utf-8"), min_size=1).filter(lambda name: name[0] != "\0")


@given(tensors=st.dictionaries(names, number_arrays | string_arrays, max_size=40))
def test_every_tensor_round_trips(prefix, tensors):
    write_bundle(prefix, tensors)
    reader = BundleReader(prefix)
    assert reader.keys() == sorted(tensors, key=str.encode)
    for name, expected in tensors.items():
        array = reader.read(name)
        assert (array.dtype, array.shape) == (expected.dtype, expected.shape)
        if array.dtype == object:
            assert array.tolist() == expected.tolist()
        else:
            assert array.tobytes() == expected.tobytes()


@given(
    keys=st.sets(st.binary(max_size=6), min_size=1),
    block_size_bytes=st.integers(1, 300),
)
def test_table_of_any_number_of_blocks_round_trips(tmp_path, keys, block_size_bytes):
    items = [(key, key[::-1]) for key in sorted(keys)]
    path = tmp_path / "table"
    with path.open("wb") as file:
        write_table(file, items, block_size_bytes)
    assert list(read_table(str(path))) == items


def test_hundreds_of_tensors_with_common_prefixes_round_trip(prefix):
    tensors = {f"layer_{i:03d}/weights": np.full(i % 4, i) for i in range(500)}
    write_bundle(prefix, tensors)
    reader = BundleReader(prefix)
    assert reader.keys() == list(tensors)
    for name, expected in tensors.items():
        assert_same(reader.read(name), expected)


@given(st.integers(0, 2**64 - 1))
def test_varints_round_trip(value):
    encoded = write_varint(value)
    assert read_varint(b"?" + encoded + b"!", 1) == (value, 1 + len(encoded))


@pytest.mark.parametrize("data", [b"", b"\x80", 11 * b"\x80"])
def test_unterminated_varint_is_an_error(data):
    with pytest.raises(ValueError, match=r"the data ends inside a number|more than 64 bits"):
        read_varint(data, 0)


def test_memory_order_and_byte_order_do_not_change_the_values(prefix):
    expected = np.arange(6, dtype=np.int32).reshape(2, 3)
    write_bundle(
        prefix, {"big": expected.astype(">i4"), "columns": np.asfortranarray(expected), "part": 1}
    )
    reader = BundleReader(prefix)
    assert_same(reader.read("big"), expected)
    assert_same(reader.read("columns"), expected)


def test_strings_can_be_text_or_bytes_and_keep_null_characters(prefix):
    write_bundle(prefix, {"bytes": b"a\0", "list": [b"b\0", b""], "text": np.array(["é", "f"])})
    reader = BundleReader(prefix)
    assert reader.read("bytes")[()] == b"a\0"
    assert reader.read("list").tolist() == [b"b\0", b""]
    assert reader.read("text").tolist() == ["é".encode(), b"f"]


def test_returned_array_is_writable(tensorflow_prefix):
    array = BundleReader(tensorflow_prefix).read("bias")
    array[0] = 9
    assert BundleReader(tensorflow_prefix).read("bias")[0] == 0.5


# Writing


def test_writing_leaves_exactly_two_files_and_replaces_older_ones(prefix):
    write_bundle(prefix, {"old": np.zeros(9)})
    write_bundle(prefix, {"new": np.ones(2)})
    assert sorted(os.listdir(prefix.parent)) == [data_path(prefix).name, index_path(prefix).name]
    assert BundleReader(prefix).keys() == ["new"]


@pytest.mark.parametrize("name", ["", "\0slice"])
def test_name_that_would_collide_with_the_format_is_rejected(prefix, name):
    with pytest.raises(ValueError, match=r"model.ckpt-7: a tensor has the name '.*', but"):
        write_bundle(prefix, {name: np.zeros(1)})


def test_dtype_missing_from_tensorflow_is_rejected(prefix):
    with pytest.raises(
        TypeError, match=r"tensor 'day' has type datetime64\[D\], expected a number"
    ):
        write_bundle(prefix, {"day": np.zeros(1, "datetime64[D]")})


def test_failed_checkpoint_leaves_only_the_older_one(prefix):
    write_bundle(prefix, {"a": np.zeros(2)})
    with pytest.raises(
        TypeError, match=r"tensor 'b': got an element of type int, expected bytes or str"
    ):
        write_bundle(prefix, {"a": np.ones(2), "b": np.array([b"x", 3], object)})
    assert len(os.listdir(prefix.parent)) == 2
    assert_same(BundleReader(prefix).read("a"), np.zeros(2))


def test_error_names_a_missing_directory(tmp_path):
    with pytest.raises(NotFoundError, match=r"the directory '.*nowhere' does not exist"):
        write_bundle(tmp_path / "nowhere" / "model", {"a": np.zeros(1)})


# Missing files and keys


def test_error_names_a_missing_checkpoint(prefix):
    with pytest.raises(NotFoundError, match=r"model.ckpt-7.index: no such file"):
        BundleReader(prefix)


def test_error_names_an_unreadable_file(prefix):
    write_bundle(prefix, {"a": np.zeros(1)})
    reader = BundleReader(prefix)
    for path, read in (
        (data_path(prefix), lambda: reader.read("a")),
        (index_path(prefix), lambda: BundleReader(prefix)),
    ):
        path.unlink()
        path.mkdir()
        with pytest.raises(FailedPreconditionError, match=f"{path.name}; Is a directory"):
            read()


def test_error_names_a_missing_data_file(tensorflow_prefix):
    data_path(tensorflow_prefix).unlink()
    reader = BundleReader(tensorflow_prefix)
    with pytest.raises(NotFoundError, match=r"data-00000-of-00001: no such file"):
        reader.read("bias")


@pytest.mark.parametrize("method", ["shape", "dtype", "read"])
def test_error_names_an_unknown_tensor(tensorflow_prefix, method):
    reader = BundleReader(tensorflow_prefix)
    assert "bias" in reader
    assert "biass" not in reader
    with pytest.raises(NotFoundError, match=r"Key biass not found in checkpoint .*has 9 tensors"):
        getattr(reader, method)("biass")


# Damage


def test_checksum_detects_a_changed_element(tensorflow_prefix):
    for position in range(len(TENSORFLOW_DATA)):
        damaged = bytearray(TENSORFLOW_DATA)
        damaged[position] ^= 0x10
        data_path(tensorflow_prefix).write_bytes(damaged)
        reader = BundleReader(tensorflow_prefix)
        results = []
        for name in reader.keys():  # noqa: SIM118 -- a reader is no mapping
            try:
                reader.read(name)
            except DataLossError as error:
                results.append(f"tensor {name!r}" in str(error))
        assert results == [True]


@pytest.mark.parametrize(
    ("name", "message"),
    [
        ("bias", r"tensor 'bias': the elements have checksum 0x\w{8}, expected 0x\w{8}\. The"),
        ("words", r"tensor 'words': (the|has|a) .*copy it again"),
    ],
)
def test_error_for_damage_names_file_and_tensor(tensorflow_prefix, name, message):
    data_path(tensorflow_prefix).write_bytes(bytes(len(TENSORFLOW_DATA)))
    with pytest.raises(DataLossError, match=r"model.ckpt-7.data-00000-of-00001: " + message):
        BundleReader(tensorflow_prefix).read(name)


def test_error_for_a_truncated_data_file_reports_its_length(tensorflow_prefix):
    data_path(tensorflow_prefix).write_bytes(TENSORFLOW_DATA[:30])
    reader = BundleReader(tensorflow_prefix)
    assert_same(reader.read("bias"), TENSORS["bias"])
    with pytest.raises(
        DataLossError,
        match=r"tensor 'scope/weights' at byte 26 claims 48 bytes, past the end of the file "
        r"\(30 bytes\)",
    ):
        reader.read("scope/weights")


def test_changed_index_is_detected_or_harmless(tensorflow_prefix):
    num_found = 0
    for position in range(len(TENSORFLOW_INDEX)):
        damaged = bytearray(TENSORFLOW_INDEX)
        damaged[position] ^= 0x10
        index_path(tensorflow_prefix).write_bytes(damaged)
        try:
            reader = BundleReader(tensorflow_prefix)
        except DataLossError:
            num_found += 1
        else:
            assert reader.keys() == list(TENSORS)
    # The empty metaindex block, its handle and the filling of the footer are not read.
    assert num_found > len(TENSORFLOW_INDEX) - 60


@pytest.mark.parametrize("length", [0, 47, 48, 200, len(TENSORFLOW_INDEX) - 1])
def test_truncated_index_is_detected(tensorflow_prefix, length):
    index_path(tensorflow_prefix).write_bytes(TENSORFLOW_INDEX[:length])
    with pytest.raises(
        DataLossError,
        match=r"index: the file (has \d+ bytes, expected at least 48|ends with 0x\w{16}, expected "
        r"0xdb4775248b80fb57)\. The file is damaged, or it is not the index of a checkpoint",
    ):
        BundleReader(tensorflow_prefix)


def test_block_past_the_end_of_the_index_is_detected(tensorflow_prefix):
    footer = write_varint(0) + write_varint(8) + write_varint(5000) + write_varint(10)
    footer = footer.ljust(40, b"\0") + struct.pack("<Q", 0xDB4775248B80FB57)
    index_path(tensorflow_prefix).write_bytes(footer)
    with pytest.raises(DataLossError, match=r"block at byte 5000 claims 10 bytes, past the end"):
        BundleReader(tensorflow_prefix)


def test_index_without_a_header_is_detected(prefix):
    with open(index_path(prefix), "wb") as file:
        write_table(file, [(b"a", BundleEntryProto(dtype=1).SerializeToString())])
    with pytest.raises(DataLossError, match=r"model.ckpt-7.index: the file has no header"):
        BundleReader(prefix)


def test_invalid_index_entry_is_detected(prefix):
    with open(index_path(prefix), "wb") as file:
        header = BundleHeaderProto(num_shards=1).SerializeToString()
        write_table(file, [(b"", header), (b"a", b"\xff\xff")])
    with pytest.raises(DataLossError, match=r"model.ckpt-7.index: cannot read an entry"):
        BundleReader(prefix)


def test_mismatch_of_tensor_size_and_shape_is_detected(prefix):
    data_path(prefix).write_bytes(b"abc")
    entry = BundleEntryProto(dtype=1, size=3, crc32c=masked_crc32c(b"abc"))
    write_index(prefix, BundleHeaderProto(num_shards=1), {"a": entry})
    with pytest.raises(
        DataLossError, match=r"'a': the data has 3 bytes, expected 4 for float32\(\)"
    ):
        BundleReader(prefix).read("a")


def test_unordered_keys_are_detected(prefix):
    with open(index_path(prefix), "wb") as file:
        write_table(file, [(b"b", b""), (b"a", b"")])
    with pytest.raises(DataLossError, match=r"key b'a' comes after b'b', expected ascending keys"):
        BundleReader(prefix)


def test_keys_that_expand_beyond_the_file_are_rejected(prefix, monkeypatch):
    # Each key takes a few bytes in the file and 20,000 in memory.
    monkeypatch.setattr(sorted_table, "_RESTART_INTERVAL", 10**6)
    with open(index_path(prefix), "wb") as file:
        write_table(file, ((b"%s%04d" % (20_000 * b"x", number), b"") for number in range(2000)))
    with pytest.raises(DataLossError, match=r"the keys of a block of \d+ bytes are more than 64"):
        BundleReader(prefix)


def test_tensor_too_large_for_memory_is_not_read(prefix):
    with open(data_path(prefix), "wb") as file:
        file.truncate(2**42)
    write_index(
        prefix, BundleHeaderProto(num_shards=1), {"a": BundleEntryProto(dtype=1, size=2**42)}
    )
    with pytest.raises(
        ResourceExhaustedError,
        match=r"data-00000-of-00001: tensor 'a' at byte 0: 4398046511104 bytes were requested, "
        r"expected at most",
    ):
        BundleReader(prefix).read("a")


def test_index_too_large_for_memory_is_not_read(prefix):
    with open(index_path(prefix), "wb") as file:
        file.truncate(2**42)
    with pytest.raises(ResourceExhaustedError, match=r"index: 4398046511104 bytes were requested"):
        BundleReader(prefix)


# Unsupported forms


def test_error_names_a_compressed_block(prefix):
    contents = b"\0\0\0\0\1"
    block = contents + struct.pack("<I", masked_crc32c(contents))
    handle = write_varint(0) + write_varint(4)
    footer = (handle + handle).ljust(40, b"\0") + struct.pack("<Q", 0xDB4775248B80FB57)
    index_path(prefix).write_bytes(block + footer)
    with pytest.raises(
        UnimplementedError,
        match=r"index: block at byte 0 is compressed \(Snappy\), which is not supported\. Write",
    ):
        BundleReader(prefix)


@pytest.mark.parametrize(
    ("header", "message"),
    [
        (BundleHeaderProto(num_shards=1, endianness=1), "has big-endian numbers, expected little"),
        (
            BundleHeaderProto(num_shards=1, version=VersionDef(producer=3, min_consumer=2)),
            "has version 2, expected at most 1",
        ),
    ],
)
def test_error_names_an_unsupported_format(prefix, header, message):
    write_index(prefix, header, {})
    with pytest.raises(UnimplementedError, match=message):
        BundleReader(prefix)


@pytest.mark.parametrize("dtype", [14, 20, 21])
def test_error_names_a_type_missing_from_numpy(prefix, dtype):
    write_index(prefix, BundleHeaderProto(num_shards=1), {"a": BundleEntryProto(dtype=dtype)})
    reader = BundleReader(prefix)
    assert reader.shape("a") == ()
    with pytest.raises(
        UnimplementedError, match=rf"tensor 'a' has TensorFlow's type number {dtype}, which"
    ):
        reader.read("a")


def test_sliced_variable_is_rejected_and_its_slices_are_not_keys(prefix):
    entries = {"\0slice": BundleEntryProto(dtype=1), "a": BundleEntryProto(dtype=1)}
    entries["a"].slices.extend([TensorSliceProto(), TensorSliceProto()])
    write_index(prefix, BundleHeaderProto(num_shards=1), entries)
    reader = BundleReader(prefix)
    assert reader.keys() == ["a"]
    with pytest.raises(UnimplementedError, match=r"tensor 'a' is stored in 2 slices, expected one"):
        reader.read("a")


def test_tensor_is_read_from_the_data_file_of_its_entry(prefix):
    contents = np.float32(1.5).tobytes()
    prefix.with_name("model.ckpt-7.data-00002-of-00003").write_bytes(b"??" + contents)
    entry = BundleEntryProto(dtype=1, shard_id=2, offset=2, size=4, crc32c=masked_crc32c(contents))
    write_index(prefix, BundleHeaderProto(num_shards=3), {"a": entry})
    assert BundleReader(prefix).read("a") == np.float32(1.5)
