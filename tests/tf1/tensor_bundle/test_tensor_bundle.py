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


def test_a_checkpoint_of_tensorflow_is_read(tensorflow_prefix):
    reader = BundleReader(tensorflow_prefix)
    assert reader.keys() == sorted(TENSORS)
    for name, expected in TENSORS.items():
        assert reader.shape(name) == expected.shape
        assert reader.dtype(name) == expected.dtype
        assert_same(reader.read(name), expected)


def test_a_checkpoint_is_written_byte_for_byte_as_tensorflow_does(prefix):
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
def test_every_tensor_is_read_back(prefix, tensors):
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
def test_a_table_of_any_number_of_blocks_is_read_back(tmp_path, keys, block_size_bytes):
    items = [(key, key[::-1]) for key in sorted(keys)]
    path = tmp_path / "table"
    with path.open("wb") as file:
        write_table(file, items, block_size_bytes)
    assert list(read_table(str(path))) == items


def test_hundreds_of_tensors_with_common_prefixes_are_read_back(prefix):
    tensors = {f"layer_{i:03d}/weights": np.full(i % 4, i) for i in range(500)}
    write_bundle(prefix, tensors)
    reader = BundleReader(prefix)
    assert reader.keys() == list(tensors)
    for name, expected in tensors.items():
        assert_same(reader.read(name), expected)


@given(st.integers(0, 2**64 - 1))
def test_every_varint_is_read_back(value):
    encoded = write_varint(value)
    assert read_varint(b"?" + encoded + b"!", 1) == (value, 1 + len(encoded))


@pytest.mark.parametrize("data", [b"", b"\x80", 11 * b"\x80"])
def test_a_varint_without_an_end_is_an_error(data):
    with pytest.raises(ValueError, match=r"the data end inside a number|more than 64 bits"):
        read_varint(data, 0)


def test_any_memory_order_and_byte_order_is_written_as_the_same_values(prefix):
    expected = np.arange(6, dtype=np.int32).reshape(2, 3)
    write_bundle(
        prefix, {"big": expected.astype(">i4"), "columns": np.asfortranarray(expected), "part": 1}
    )
    reader = BundleReader(prefix)
    assert_same(reader.read("big"), expected)
    assert_same(reader.read("columns"), expected)


def test_strings_come_as_text_or_bytes_and_keep_null_characters(prefix):
    write_bundle(prefix, {"bytes": b"a\0", "list": [b"b\0", b""], "text": np.array(["é", "f"])})
    reader = BundleReader(prefix)
    assert reader.read("bytes")[()] == b"a\0"
    assert reader.read("list").tolist() == [b"b\0", b""]
    assert reader.read("text").tolist() == ["é".encode(), b"f"]


def test_a_read_array_is_writable(tensorflow_prefix):
    array = BundleReader(tensorflow_prefix).read("bias")
    array[0] = 9
    assert BundleReader(tensorflow_prefix).read("bias")[0] == 0.5


# Writing


def test_writing_leaves_exactly_the_two_files_and_replaces_older_ones(prefix):
    write_bundle(prefix, {"old": np.zeros(9)})
    write_bundle(prefix, {"new": np.ones(2)})
    assert sorted(os.listdir(prefix.parent)) == [data_path(prefix).name, index_path(prefix).name]
    assert BundleReader(prefix).keys() == ["new"]


@pytest.mark.parametrize("name", ["", "\0slice"])
def test_a_name_that_would_collide_with_the_format_is_refused(prefix, name):
    with pytest.raises(ValueError, match=r"model.ckpt-7: got the name '.*' of a tensor, expected"):
        write_bundle(prefix, {name: np.zeros(1)})


def test_an_element_type_that_tensorflow_lacks_is_refused(prefix):
    with pytest.raises(
        TypeError, match=r"tensor 'day' has type datetime64\[D\], expected a number"
    ):
        write_bundle(prefix, {"day": np.zeros(1, "datetime64[D]")})


def test_a_checkpoint_that_fails_leaves_the_older_one_and_nothing_beside_it(prefix):
    write_bundle(prefix, {"a": np.zeros(2)})
    with pytest.raises(
        TypeError, match=r"tensor 'b': got an element of type int, expected bytes or str"
    ):
        write_bundle(prefix, {"a": np.ones(2), "b": np.array([b"x", 3], object)})
    assert len(os.listdir(prefix.parent)) == 2
    assert_same(BundleReader(prefix).read("a"), np.zeros(2))


def test_a_missing_directory_is_named(tmp_path):
    with pytest.raises(NotFoundError, match=r"there is no directory '.*nowhere' to write to"):
        write_bundle(tmp_path / "nowhere" / "model", {"a": np.zeros(1)})


# Missing files and keys


def test_a_checkpoint_that_does_not_exist_is_named(prefix):
    with pytest.raises(NotFoundError, match=r"model.ckpt-7.index: there is no such file"):
        BundleReader(prefix)


def test_files_that_cannot_be_read_are_named(prefix):
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


def test_a_missing_data_file_is_named(tensorflow_prefix):
    data_path(tensorflow_prefix).unlink()
    reader = BundleReader(tensorflow_prefix)
    with pytest.raises(NotFoundError, match=r"data-00000-of-00001: there is no such file"):
        reader.read("bias")


@pytest.mark.parametrize("method", ["shape", "dtype", "read"])
def test_a_name_that_is_not_in_the_checkpoint_is_named(tensorflow_prefix, method):
    reader = BundleReader(tensorflow_prefix)
    assert "bias" in reader
    assert "biass" not in reader
    with pytest.raises(NotFoundError, match=r"Key biass not found in checkpoint .*has 9 tensors"):
        getattr(reader, method)("biass")


# Damage


def test_a_changed_element_is_found_by_its_checksum(tensorflow_prefix):
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
def test_damage_names_the_file_and_the_tensor(tensorflow_prefix, name, message):
    data_path(tensorflow_prefix).write_bytes(bytes(len(TENSORFLOW_DATA)))
    with pytest.raises(DataLossError, match=r"model.ckpt-7.data-00000-of-00001: " + message):
        BundleReader(tensorflow_prefix).read(name)


def test_a_data_file_that_is_cut_short_is_named_with_its_length(tensorflow_prefix):
    data_path(tensorflow_prefix).write_bytes(TENSORFLOW_DATA[:30])
    reader = BundleReader(tensorflow_prefix)
    assert_same(reader.read("bias"), TENSORS["bias"])
    with pytest.raises(
        DataLossError,
        match=r"tensor 'scope/weights' at byte 26 claims 48 bytes, past the end of the file "
        r"\(30 bytes\)",
    ):
        reader.read("scope/weights")


def test_a_changed_index_is_either_found_or_harmless(tensorflow_prefix):
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
def test_an_index_that_is_cut_short_is_found(tensorflow_prefix, length):
    index_path(tensorflow_prefix).write_bytes(TENSORFLOW_INDEX[:length])
    with pytest.raises(
        DataLossError,
        match=r"index: (got \d+ bytes, expected at least 48|ends with 0x\w{16}, expected "
        r"0xdb4775248b80fb57)\. The file is damaged or not the index of a checkpoint",
    ):
        BundleReader(tensorflow_prefix)


def test_a_block_past_the_end_of_the_index_is_found(tensorflow_prefix):
    footer = write_varint(0) + write_varint(8) + write_varint(5000) + write_varint(10)
    footer = footer.ljust(40, b"\0") + struct.pack("<Q", 0xDB4775248B80FB57)
    index_path(tensorflow_prefix).write_bytes(footer)
    with pytest.raises(DataLossError, match=r"block at byte 5000 claims 10 bytes, past the end"):
        BundleReader(tensorflow_prefix)


def test_an_index_without_a_header_is_found(prefix):
    with open(index_path(prefix), "wb") as file:
        write_table(file, [(b"a", BundleEntryProto(dtype=1).SerializeToString())])
    with pytest.raises(DataLossError, match=r"model.ckpt-7.index: has no header, expected one"):
        BundleReader(prefix)


def test_an_entry_that_is_not_a_message_is_found(prefix):
    with open(index_path(prefix), "wb") as file:
        header = BundleHeaderProto(num_shards=1).SerializeToString()
        write_table(file, [(b"", header), (b"a", b"\xff\xff")])
    with pytest.raises(DataLossError, match=r"model.ckpt-7.index: an entry cannot be read"):
        BundleReader(prefix)


def test_a_tensor_of_another_size_than_its_shape_is_found(prefix):
    data_path(prefix).write_bytes(b"abc")
    entry = BundleEntryProto(dtype=1, size=3, crc32c=masked_crc32c(b"abc"))
    write_index(prefix, BundleHeaderProto(num_shards=1), {"a": entry})
    with pytest.raises(DataLossError, match=r"'a': has 3 bytes, expected 4 for float32\(\)"):
        BundleReader(prefix).read("a")


def test_keys_out_of_order_are_found(prefix):
    with open(index_path(prefix), "wb") as file:
        write_table(file, [(b"b", b""), (b"a", b"")])
    with pytest.raises(DataLossError, match=r"key b'a' comes after b'b', expected ascending keys"):
        BundleReader(prefix)


def test_keys_that_share_more_than_the_file_holds_are_refused(prefix, monkeypatch):
    # Each key takes a few bytes in the file and 20,000 in memory.
    monkeypatch.setattr(sorted_table, "_RESTART_INTERVAL", 10**6)
    with open(index_path(prefix), "wb") as file:
        write_table(file, ((b"%s%04d" % (20_000 * b"x", number), b"") for number in range(2000)))
    with pytest.raises(DataLossError, match=r"the keys of a block of \d+ bytes take more than 64"):
        BundleReader(prefix)


def test_a_tensor_that_no_memory_can_hold_is_not_read(prefix):
    with open(data_path(prefix), "wb") as file:
        file.truncate(2**42)
    write_index(
        prefix, BundleHeaderProto(num_shards=1), {"a": BundleEntryProto(dtype=1, size=2**42)}
    )
    with pytest.raises(
        ResourceExhaustedError,
        match=r"data-00000-of-00001: tensor 'a' at byte 0: 4398046511104 bytes were asked for, "
        r"expected at most",
    ):
        BundleReader(prefix).read("a")


def test_an_index_that_no_memory_can_hold_is_not_read(prefix):
    with open(index_path(prefix), "wb") as file:
        file.truncate(2**42)
    with pytest.raises(ResourceExhaustedError, match=r"index: 4398046511104 bytes were asked for"):
        BundleReader(prefix)


# Unsupported forms


def test_a_compressed_block_is_named(prefix):
    contents = b"\0\0\0\0\1"
    block = contents + struct.pack("<I", masked_crc32c(contents))
    handle = write_varint(0) + write_varint(4)
    footer = (handle + handle).ljust(40, b"\0") + struct.pack("<Q", 0xDB4775248B80FB57)
    index_path(prefix).write_bytes(block + footer)
    with pytest.raises(
        UnimplementedError,
        match=r"index: block at byte 0 is compressed \(Snappy\), expected no compression\. Write",
    ):
        BundleReader(prefix)


@pytest.mark.parametrize(
    ("header", "message"),
    [
        (BundleHeaderProto(num_shards=1, endianness=1), "has big-endian numbers, expected little"),
        (
            BundleHeaderProto(num_shards=1, version=VersionDef(producer=3, min_consumer=2)),
            "has version 2, expected 1 at most",
        ),
    ],
)
def test_a_form_that_cannot_be_read_is_named(prefix, header, message):
    write_index(prefix, header, {})
    with pytest.raises(UnimplementedError, match=message):
        BundleReader(prefix)


@pytest.mark.parametrize("dtype", [14, 20, 21])
def test_a_type_that_numpy_lacks_is_named(prefix, dtype):
    write_index(prefix, BundleHeaderProto(num_shards=1), {"a": BundleEntryProto(dtype=dtype)})
    reader = BundleReader(prefix)
    assert reader.shape("a") == ()
    with pytest.raises(
        UnimplementedError, match=rf"tensor 'a' has TensorFlow's type number {dtype}, which"
    ):
        reader.read("a")


def test_a_variable_in_slices_is_named_and_its_slices_are_not_keys(prefix):
    entries = {"\0slice": BundleEntryProto(dtype=1), "a": BundleEntryProto(dtype=1)}
    entries["a"].slices.extend([TensorSliceProto(), TensorSliceProto()])
    write_index(prefix, BundleHeaderProto(num_shards=1), entries)
    reader = BundleReader(prefix)
    assert reader.keys() == ["a"]
    with pytest.raises(UnimplementedError, match=r"tensor 'a' is stored in 2 slices, expected one"):
        reader.read("a")


def test_a_tensor_is_read_from_the_data_file_that_its_entry_names(prefix):
    contents = np.float32(1.5).tobytes()
    prefix.with_name("model.ckpt-7.data-00002-of-00003").write_bytes(b"??" + contents)
    entry = BundleEntryProto(dtype=1, shard_id=2, offset=2, size=4, crc32c=masked_crc32c(contents))
    write_index(prefix, BundleHeaderProto(num_shards=3), {"a": entry})
    assert BundleReader(prefix).read("a") == np.float32(1.5)
