"""Damaged, misnamed and hostile files raise an error with the defect and a remedy."""

import re
import struct
import zlib

import numpy as np
import pytest
from PIL import Image

import headrace.tf1 as tf

SIZE = (24, 32)
DECODERS = {
    "JPEG": tf.image.decode_jpeg,
    "PNG": tf.image.decode_png,
    "GIF": tf.image.decode_gif,
    "BMP": tf.image.decode_bmp,
}
AGAIN = "Copy the file again, or skip it"
HUGE = "expected at most 178956970. Resize the image before reading it"
UNKNOWN = "Expected image (JPEG, PNG, or GIF), got "
JPEG = "Invalid JPEG data or crop window, data size "


def changed(file, at, value):
    return file[:at] + value + file[at + len(value) :]


def chunk(name, data):
    return struct.pack(">I", len(data)) + name + data + struct.pack(">I", zlib.crc32(name + data))


def png_of_size(width, height, data):
    header = struct.pack(">IIBBBBB", width, height, 8, 2, 0, 0, 0)
    chunks = chunk(b"IHDR", header) + chunk(b"IDAT", zlib.compress(data)) + chunk(b"IEND", b"")
    return b"\x89PNG\r\n\x1a\n" + chunks


def frame_header(jpeg, offset, value):
    """Changes the JPEG segment with its precision and size."""
    return changed(jpeg, jpeg.index(b"\xff\xc0") + offset, value)


# A decoder, the change to its file, and parts of the error in order.
DAMAGES = [
    ("JPEG", "cut short", lambda f: f[: len(f) // 2], [JPEG, "missing SOS marker", AGAIN]),
    ("JPEG", "cut in the header", lambda f: f[:20], [JPEG + "20", "contains no image", AGAIN]),
    (
        "JPEG",
        "cut at the end",
        lambda f: f[:-9],
        [JPEG, "of 24 rows. Copy the file again, or accept"],
    ),
    ("JPEG", "size of 65280", lambda f: frame_header(f, 5, b"\xff\0\xff\0"), ["65280x65280", HUGE]),
    ("JPEG", "size of 0", lambda f: frame_header(f, 5, b"\0\0"), ["Empty JPEG image", AGAIN]),
    ("JPEG", "12 bits", lambda f: frame_header(f, 4, b"\x0c"), ["JPEG data precision 12", AGAIN]),
    ("JPEG", "lossless", lambda f: frame_header(f, 0, b"\xff\xc3"), [JPEG, "Unsupported", AGAIN]),
    (
        "JPEG",
        "wrong marker",
        lambda f: f.replace(b"\xff\xdb", b"\xff\xdf"),
        ["marker type 0xdf", AGAIN],
    ),
    (
        "PNG",
        "cut short",
        lambda f: f[: len(f) // 2],
        ["Invalid PNG data, size", "end of file", AGAIN],
    ),
    ("PNG", "cut in the header", lambda f: f[:20], ["Invalid PNG header, data size 20", AGAIN]),
    ("PNG", "flipped bit in the header", lambda f: changed(f, 17, b"\1"), ["CRC error", AGAIN]),
    ("PNG", "flipped bit", lambda f: changed(f, len(f) - 20, b"\x55"), ["Invalid PNG data", AGAIN]),
    (
        "PNG",
        "size of 2^20",
        lambda _: png_of_size(1 << 20, 1 << 20, b""),
        ["1048576x1048576", HUGE],
    ),
    ("PNG", "few data", lambda _: png_of_size(500, 500, b"\0" * 9), ["Invalid PNG data", AGAIN]),
    (
        "PNG",
        "length of 2^31",
        lambda f: changed(f, 33, b"\x7f\xff\xff\xff"),
        ["Invalid PNG", AGAIN],
    ),
    (
        "GIF",
        "cut short",
        lambda f: f[: len(f) // 2],
        ["Invalid GIF data (size ", "End of File", AGAIN],
    ),
    ("GIF", "cut in the header", lambda f: f[:20], ["Invalid GIF data (size 20)", AGAIN]),
    ("GIF", "flipped bits", lambda f: changed(f, len(f) - 30, b"\xff" * 9), ["LZW stream", AGAIN]),
    ("GIF", "size of 65535", lambda f: changed(f, 6, b"\xff" * 4), ["65535x65535", HUGE]),
    (
        "BMP",
        "cut short",
        lambda f: f[: len(f) // 2],
        ["requires at least 2358 bytes, got 1179", AGAIN],
    ),
    ("BMP", "cut in the header", lambda f: f[:20], ["requires at least 32 bytes", "got 20", AGAIN]),
    ("BMP", "size of 2^20", lambda f: changed(f, 18, b"\0\0\x10\0" * 2), ["1048576x1048576", HUGE]),
    ("BMP", "width of 0", lambda f: changed(f, 18, b"\0"), ["Width must be positive"]),
    (
        "BMP",
        "far pixels",
        lambda f: changed(f, 10, b"\xff\xff\xff\x7f"),
        ["at least 2147485951", AGAIN],
    ),
    (
        "BMP",
        "run lengths",
        lambda f: changed(f, 30, b"\1"),
        ["method 1) cannot be read. Save it without"],
    ),
    (
        "BMP",
        "16 bits",
        lambda f: changed(f, 28, b"\x10"),
        ["was 2. Only BMP files with 8-bit grey"],
    ),
    *[
        (name, what, damage, texts)
        for name in ("JPEG", "PNG", "GIF")
        for what, damage, texts in [
            ("empty", lambda _: b"", [UNKNOWN + "empty file. Check the program that wrote it"]),
            (
                "text",
                lambda _: b"<html>" * 9,
                [UNKNOWN, "starting with '<html>", "It is an HTML page. A server sent this page"],
            ),
            ("beginning moved", lambda f: b"\0" + f, [UNKNOWN, r"starting with '\x00", "Check"]),
        ]
    ],
    ("BMP", "empty", lambda _: b"", ["requires at least 32 bytes", "got 0 bytes", AGAIN]),
    (
        "BMP",
        "text",
        lambda _: b"<html>" * 9,
        ["The file is not a BMP: unknown format starting with"],
    ),
]


@pytest.fixture(scope="module")
def files(photo, saved):
    pixels = Image.fromarray(photo(*SIZE))
    return {name: saved(pixels, name) for name in DECODERS}


@pytest.mark.parametrize(
    ("name", "damage", "texts"),
    [(name, damage, texts) for name, _, damage, texts in DAMAGES],
    ids=[f"{name}-{what}" for name, what, *_ in DAMAGES],
)
def test_error_for_a_damaged_file_includes_cause_and_remedy(run, files, name, damage, texts):
    file = damage(files[name])
    pattern = ".*".join(map(re.escape, texts))
    image = DECODERS[name](file)
    with pytest.raises(tf.errors.InvalidArgumentError, match=pattern) as caught:
        run(image)
    assert caught.value.op is image.op
    assert f"{{{{node {image.op.name}}}}}" in str(caught.value)
    if name != "BMP" or file.startswith(b"BM"):
        with pytest.raises(tf.errors.InvalidArgumentError):
            run(tf.image.decode_image(file))


@pytest.mark.parametrize("name", DECODERS)
@pytest.mark.parametrize("other", DECODERS)
def test_misnamed_files_are_decoded_or_identified(run, files, name, other):
    image = DECODERS[name](files[other])
    if name == other or "BMP" not in (name, other):
        assert run(image).shape[-3:] == (*SIZE, 3)
        return
    text = f"The file is a {other}: decode it with tf.image.decode_image"
    with pytest.raises(tf.errors.InvalidArgumentError, match=text):
        run(image)
    assert run(tf.image.decode_image(files[other])).shape[-3:] == (*SIZE, 3)


@pytest.mark.parametrize("name", [b"zTXt", b"iCCP"])
def test_huge_compressed_text_chunks_are_not_decompressed(run, files, name):
    packed = zlib.compress(b"\0" * 50_000_000, 9)
    file = files["PNG"]
    bomb = file[:33] + chunk(name, b"a\0\0" + packed) + file[33:]
    assert np.array_equal(run(tf.image.decode_png(bomb)), run(tf.image.decode_png(file)))


def first_error(image):
    """Runs a pipeline until its first error, and returns the number of images, and the error."""
    with tf.Session(config=tf.ConfigProto(operation_timeout_in_ms=20_000)) as session:
        session.run(tf.local_variables_initializer())
        coord = tf.train.Coordinator()
        threads = tf.train.start_queue_runners(session, coord)
        count = 0
        try:
            while True:
                session.run(image)
                count += 1
        except tf.errors.OpError as error:
            return count, error
        finally:
            coord.request_stop()
            coord.join(threads, stop_grace_period_secs=10)


def test_error_names_a_damaged_file_in_a_directory(tmp_path, files):
    paths = [tmp_path / f"{number}.jpg" for number in range(3)]
    for path in paths:
        path.write_bytes(files["JPEG"])
    paths[1].write_bytes(files["JPEG"][:100])
    names = tf.train.string_input_producer([str(path) for path in paths], 1, shuffle=False)
    _, contents = tf.WholeFileReader().read(names)
    count, error = first_error(tf.image.decode_jpeg(contents, name="photo"))
    assert count == 1
    assert JPEG + "100" in error.message
    assert f"[while reading {paths[1]}" in error.message
    assert error.op.name == "photo"


def test_error_for_a_damaged_image_in_a_record_names_file_and_record(tmp_path, files):
    path = tmp_path / "photos.tfrecord"
    with tf.python_io.TFRecordWriter(path) as writer:
        for file in (files["PNG"], files["PNG"], files["PNG"][:-30]):
            feature = tf.train.Feature(bytes_list=tf.train.BytesList(value=[file]))
            features = tf.train.Features(feature={"image": feature})
            writer.write(tf.train.Example(features=features).SerializeToString())
    names = tf.train.string_input_producer([str(path)], 1, shuffle=False)
    _, record = tf.TFRecordReader().read(names)
    feature = tf.FixedLenFeature((), tf.string)
    example = tf.parse_single_example(record, {"image": feature})
    image = tf.reshape(tf.image.decode_png(example["image"]), [*SIZE, 3])
    count, error = first_error(tf.image.per_image_standardization(image))
    assert count == 2
    assert "Invalid PNG data" in error.message
    assert f"[while reading {path}: record 2 at byte" in error.message
