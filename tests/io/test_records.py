import os
import random
import re
import zlib
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from headrace.core import errors
from headrace.io.compression import TFRecordCompressionType, TFRecordOptions
from headrace.io.records import TFRecordWriter, tf_record_iterator

NONE, GZIP, ZLIB = "", "GZIP", "ZLIB"


def read(path, options=None):
    return list(tf_record_iterator(path, options))


def write(path, records, options=None):
    with TFRecordWriter(path, options) as writer:
        for record in records:
            writer.write(record)


class TestWriter:
    @given(
        st.lists(st.binary(max_size=50), max_size=5),
        st.sampled_from([NONE, GZIP, ZLIB]),
        st.integers(-1, 9),
    )
    def test_iterator_reads_the_records_that_the_writer_wrote(
        self, tmp_path_factory, records, compression, level
    ):
        path = tmp_path_factory.mktemp("records") / "a"
        options = TFRecordOptions(compression, compression_level=level)
        write(path, records, options)
        assert read(path, options) == records

    @pytest.mark.parametrize("compression", [NONE, GZIP, ZLIB])
    def test_flush_writes_records_to_the_file(self, tmp_path, compression):
        path = tmp_path / "a"
        write(path, [b"old"], compression)
        writer = TFRecordWriter(path, compression)
        writer.write(b"one")
        assert read(path, compression) == [b"old"]
        writer.flush()
        assert read(path, compression) == [b"one"]
        writer.write(b"two")
        writer.close()
        assert read(path, compression) == [b"one", b"two"]
        assert os.listdir(tmp_path) == ["a"]

    @pytest.mark.parametrize("compression", [GZIP, ZLIB])
    def test_flush_mode_of_zlib_is_applied(self, tmp_path, compression):
        records = [(b"%06d" % (n * n)) * 20 for n in range(3000)]
        modes = [None, zlib.Z_NO_FLUSH, zlib.Z_PARTIAL_FLUSH, zlib.Z_SYNC_FLUSH, zlib.Z_FULL_FLUSH]
        modes.append(zlib.Z_BLOCK)
        sizes = []
        for mode in modes:
            path = tmp_path / str(mode)
            write(path, records, TFRecordOptions(compression, mode, input_buffer_size=4096))
            assert read(path, compression) == records
            sizes.append(path.stat().st_size)
        assert sizes[0] == sizes[1]
        assert max(sizes[:2]) < min(sizes[2:])
        assert len(set(sizes)) == 5

    @pytest.mark.parametrize("mode", [-1, zlib.Z_FINISH, zlib.Z_TREES, 9])
    def test_flush_modes_that_lose_records_are_rejected(self, tmp_path, mode):
        with pytest.raises(
            errors.InvalidArgumentError, match=f"flush_mode is {mode}, expected 0 to 3 or 5"
        ):
            TFRecordWriter(tmp_path / "a", TFRecordOptions(ZLIB, flush_mode=mode))
        assert os.listdir(tmp_path) == []

    @pytest.mark.parametrize("bits", range(9, 16))
    @pytest.mark.parametrize("compression", [GZIP, ZLIB])
    def test_window_bits_limit_the_distance_of_matches(self, tmp_path, compression, bits):
        number = bits + 16 if compression == GZIP else bits
        records = [random.Random(n % 7).randbytes(100) for n in range(700)]
        write(tmp_path / "a", records, TFRecordOptions(compression, window_bits=number))
        data = (tmp_path / "a").read_bytes()
        # zlib rejects data that requires a larger window.
        plain = zlib.decompress(data, number)
        write(tmp_path / "plain", records)
        assert plain == (tmp_path / "plain").read_bytes()
        assert read(tmp_path / "a", compression) == records
        # Each record is repeated after 812 bytes, and zlib looks back 262 bytes less than a window.
        assert (len(data) < len(plain) / 4) == (bits >= 11)

    @pytest.mark.parametrize("compression", [GZIP, ZLIB])
    @pytest.mark.parametrize(
        ("option", "argument", "values"),
        [
            ("compression_strategy", "strategy", range(5)),
            ("mem_level", "memLevel", range(1, 10)),
            ("compression_level", "level", range(10)),
        ],
    )
    def test_zlib_options_match_the_zlib_module(
        self, tmp_path, compression, option, argument, values
    ):
        records = [(b"%06d" % (n * n)) * 20 for n in range(3000)]
        write(tmp_path / "plain", records)
        plain = (tmp_path / "plain").read_bytes()
        bits = 31 if compression == GZIP else 15
        for value in values:
            write(tmp_path / "a", records, TFRecordOptions(compression, **{option: value}))
            assert read(tmp_path / "a", compression) == records
            stream = zlib.compressobj(wbits=bits, **{argument: value})
            expected = len(stream.compress(plain) + stream.flush())
            size = (tmp_path / "a").stat().st_size
            assert expected * 0.8 < size < expected * 1.25, (option, value, size, expected)

    @pytest.mark.parametrize(
        ("options", "message"),
        [
            ({"window_bits": 7}, "window_bits is 7, expected 8 to 15 for ZLIB"),
            ({"window_bits": 31}, "window_bits is 31, expected 8 to 15 for ZLIB"),
            ({"mem_level": 0}, "mem_level is 0, expected 1 to 9"),
            ({"mem_level": 10}, "mem_level is 10, expected 1 to 9"),
            ({"compression_strategy": 5}, "compression_strategy is 5, expected 0 to 4"),
            ({"compression_method": 9}, "compression_method is 9, expected 8"),
            ({"compression_level": 10}, "compression_level is 10, expected -1 to 9"),
            ({"input_buffer_size": -1}, "input_buffer_size is -1, expected at least 0"),
            ({"output_buffer_size": 1}, "output_buffer_size is 1, expected at least 2"),
            ({"mem_level": 2**70}, "does not fit into 64 bits"),
        ],
    )
    def test_options_out_of_range_are_rejected(self, tmp_path, options, message):
        with pytest.raises(errors.InvalidArgumentError, match=message):
            TFRecordWriter(tmp_path / "a", TFRecordOptions(ZLIB, **options))
        assert os.listdir(tmp_path) == []

    def test_zlib_options_have_no_effect_without_compression(self, tmp_path):
        options = TFRecordOptions(window_bits=7, mem_level=10, output_buffer_size=1, flush_mode=9)
        write(tmp_path / "a", [b"x"], options)
        assert read(tmp_path / "a") == [b"x"]

    def test_options_must_be_integers(self, tmp_path):
        with pytest.raises(TypeError, match="mem_level"):
            TFRecordWriter(tmp_path / "a", TFRecordOptions(ZLIB, mem_level=1.5))

    @pytest.mark.parametrize("compression", [NONE, GZIP, ZLIB])
    def test_discarded_writer_leaves_the_old_file(self, tmp_path, compression):
        path = tmp_path / "a"
        write(path, [b"old"], compression)
        writer = TFRecordWriter(path, compression)
        writer.write(b"new" * 100_000)
        writer.discard()
        writer.discard()
        del writer
        assert read(path, compression) == [b"old"]
        assert os.listdir(tmp_path) == ["a"]

    def test_discarded_writer_rejects_records_and_closed_writer_keeps_its_file(self, tmp_path):
        writer = TFRecordWriter(tmp_path / "a")
        writer.discard()
        with pytest.raises(errors.FailedPreconditionError, match=r"Writer is closed\."):
            writer.write(b"x")
        write(tmp_path / "b", [b"x"])
        writer = TFRecordWriter(tmp_path / "b")
        writer.write(b"y")
        writer.close()
        writer.discard()
        assert read(tmp_path / "b") == [b"y"]

    def test_closed_writer_rejects_records_and_can_be_closed_again(self, tmp_path):
        writer = TFRecordWriter(tmp_path / "a")
        writer.close()
        writer.close()
        for call in (lambda: writer.write(b"x"), writer.flush):
            with pytest.raises(errors.FailedPreconditionError, match=r"Writer is closed\."):
                call()
        assert read(tmp_path / "a") == []

    def test_unclosed_writer_loses_nothing_when_collected(self, tmp_path):
        writer = TFRecordWriter(tmp_path / "a", GZIP)
        writer.write(b"x")
        del writer
        assert read(tmp_path / "a", GZIP) == [b"x"]

    def test_writer_accepts_bytes_and_text(self, tmp_path):
        write(tmp_path / "a", [b"\xff", bytearray(b"x"), memoryview(b"y"), "ü", b""])
        assert read(tmp_path / "a") == [b"\xff", b"x", b"y", "ü".encode(), b""]
        with pytest.raises(TypeError, match="a: got a record of type int, expected bytes or str"):
            write(tmp_path / "a", [1])

    @pytest.mark.parametrize("kind", [str, bytes, Path, os.fsencode])
    def test_writer_accepts_every_kind_of_path(self, tmp_path, kind):
        path = kind(os.fspath(tmp_path / "a").encode() if kind is bytes else tmp_path / "a")
        write(path, [b"x"])
        assert read(path) == [b"x"]

    def test_writer_writes_to_devices_and_through_links(self, tmp_path):
        write("/dev/null", [b"x"])
        assert Path("/dev/null").is_char_device()
        write(tmp_path / "target", [b"old"])
        (tmp_path / "link").symlink_to("target")
        write(tmp_path / "link", [b"new"])
        assert (tmp_path / "link").is_symlink()
        assert read(tmp_path / "target") == [b"new"]

    @pytest.mark.parametrize(
        ("path", "error", "text"),
        [
            (".", errors.FailedPreconditionError, ".; Is a directory"),
            ("no/such", errors.NotFoundError, "no/such; No such file or directory"),
            ("file/x", errors.FailedPreconditionError, "file/x; Not a directory"),
            ("x" * 300, errors.InvalidArgumentError, "x; File name too long"),
        ],
    )
    def test_error_names_the_unwritable_path(self, tmp_path, monkeypatch, path, error, text):
        monkeypatch.chdir(tmp_path)
        (tmp_path / "file").touch()
        with pytest.raises(error, match=re.escape(text)):
            TFRecordWriter(path)
        assert os.listdir() == ["file"]

    def test_invalid_compression_levels_are_rejected(self, tmp_path):
        options = TFRecordOptions(GZIP, compression_level=10)
        with pytest.raises(errors.InvalidArgumentError, match="compression_level is 10, expected"):
            TFRecordWriter(tmp_path / "a", options)


class TestIterator:
    def test_iterator_opens_the_file_at_the_first_record(self, tmp_path):
        iterator = tf_record_iterator(tmp_path / "missing")
        with pytest.raises(errors.NotFoundError, match="missing; No such file or directory"):
            next(iterator)
        with pytest.raises(errors.FailedPreconditionError, match="; Is a directory"):
            read(tmp_path)

    def test_iterator_reports_the_damaged_record(self, tmp_path):
        path = tmp_path / "a"
        write(path, [b"one", b"two"])
        path.write_bytes(path.read_bytes()[:-1])
        iterator = tf_record_iterator(path)
        assert next(iterator) == b"one"
        with pytest.raises(errors.DataLossError, match=r"truncated record at 19 \(record 1\)"):
            next(iterator)


class TestOptions:
    @pytest.mark.parametrize(
        ("value", "name"),
        [
            *((None, NONE), (NONE, NONE), (GZIP, GZIP), (ZLIB, ZLIB)),
            *((TFRecordCompressionType.NONE, NONE), (TFRecordCompressionType.ZLIB, ZLIB)),
            *((TFRecordCompressionType.GZIP, GZIP), (TFRecordOptions(), NONE)),
            *((TFRecordOptions(GZIP), GZIP), (TFRecordOptions(1), ZLIB)),
        ],
    )
    def test_compression_can_be_named_in_every_form(self, value, name, tmp_path):
        assert TFRecordOptions.get_compression_type_string(value) == name
        write(tmp_path / "a", [b"x"], value)
        assert read(tmp_path / "a", name) == [b"x"]

    @pytest.mark.parametrize("value", ["BZ2", "gzip", 3])
    def test_unknown_compression_names_are_rejected(self, value, tmp_path):
        text = re.escape(f'Not a valid compression_type: "{value}"')
        for call in (
            TFRecordOptions,
            lambda options: TFRecordWriter(tmp_path / "a", options),
            lambda options: read(tmp_path / "a", options),
        ):
            with pytest.raises(ValueError, match=text):
                call(value)

    def test_options_accept_tensorflow_arguments(self):
        assert vars(TFRecordOptions(GZIP, 0, 1, 2, 15, 4, 8, 6, 3)) == {
            "compression_type": GZIP,
            "flush_mode": 0,
            "input_buffer_size": 1,
            "output_buffer_size": 2,
            "window_bits": 15,
            "compression_level": 4,
            "compression_method": 8,
            "mem_level": 6,
            "compression_strategy": 3,
        }
