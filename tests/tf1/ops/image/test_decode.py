"""Decoded images. Pillow has the same JPEG library, so the accurate transform's pixels match."""

import io
import struct

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from PIL import Image, ImageSequence

import headrace.tf1 as tf

ACCURATE = {"dct_method": "INTEGER_ACCURATE"}
SIZES = [(1, 1), (8, 16), (31, 17), (64, 50)]


def with_tall_chroma(file: bytes) -> bytes:
    """Turns 4:2:2 into 4:4:0: as many blocks, in another place."""
    at = file.index(b"\xff\xc0\x00\x11\x08") + 11
    assert file[at] == 0x21
    return file[:at] + b"\x12" + file[at + 1 :]


@pytest.mark.parametrize(("height", "width"), SIZES)
@pytest.mark.parametrize("progressive", [False, True])
@pytest.mark.parametrize("subsampling", ["4:4:4", "4:2:2", "4:2:0"])
def test_jpeg_pixels_match_libjpeg(
    run, photo, saved, pillow, height, width, progressive, subsampling
):
    options = {"progressive": progressive, "subsampling": subsampling, "quality": 85}
    file = saved(photo(height, width), "JPEG", **options)
    assert np.array_equal(run(tf.image.decode_jpeg(file, **ACCURATE)), pillow(file))


@pytest.mark.parametrize("size", [16, 31])
def test_jpeg_with_halved_chroma_rows_matches_pillow(run, photo, saved, pillow, size):
    file = with_tall_chroma(saved(photo(size, size), "JPEG", subsampling="4:2:2"))
    assert np.array_equal(run(tf.image.decode_jpeg(file, **ACCURATE)), pillow(file))


@pytest.mark.parametrize("progressive", [False, True])
def test_grey_jpegs_decode_to_one_or_three_channels(run, photo, saved, pillow, progressive):
    file = saved(photo(23, 40, 1), "JPEG", progressive=progressive)
    grey = run(tf.image.decode_jpeg(file, **ACCURATE))
    assert np.array_equal(grey, pillow(file))
    assert np.array_equal(
        run(tf.image.decode_jpeg(file, channels=3, **ACCURATE)), grey.repeat(3, 2)
    )


def test_one_channel_of_a_colour_jpeg_is_its_luma(run, photo, saved, pillow):
    file = saved(photo(32, 48), "JPEG")
    luma = run(tf.image.decode_jpeg(file, channels=1, **ACCURATE))
    image = pillow(file, "YCbCr")[..., :1]
    assert luma.shape == (32, 48, 1)
    assert np.abs(luma.astype(int) - image).max() <= 2  # Pillow's has been to RGB and back.


def test_cmyk_becomes_rgb(run, photo, saved, pillow):
    file = saved(photo(20, 30), "JPEG", mode="CMYK")
    paper = 255 - pillow(file).astype(int)
    expected = paper[..., :3] * paper[..., 3:] // 255
    assert np.array_equal(run(tf.image.decode_jpeg(file, **ACCURATE)), expected)


def test_fast_dct_is_the_default_and_differs_from_the_accurate_one(run, photo, saved):
    file = saved(photo(64, 64), "JPEG", quality=60)
    default, fast, accurate = run(
        [
            tf.image.decode_jpeg(file, dct_method=method)
            for method in ("", "INTEGER_FAST", "INTEGER_ACCURATE")
        ]
    )
    assert np.array_equal(default, fast)
    assert 0 < np.abs(fast.astype(int) - accurate).max() < 12


def test_plain_upscaling_repeats_chroma(run, saved):
    halves = np.zeros((16, 32, 3), np.uint8)
    halves[:, 16:] = [255, 0, 0]
    file = saved(halves, "JPEG", subsampling="4:2:0", quality=100)
    fancy, plain = run(
        [tf.image.decode_jpeg(file, fancy_upscaling=is_fancy) for is_fancy in (True, False)]
    )
    assert not np.array_equal(fancy, plain)
    assert plain[0, 0].tolist() == plain[0, 15].tolist()


@pytest.mark.parametrize(
    ("ratio", "shape"), [(1, (31, 50)), (2, (16, 25)), (4, (8, 13)), (8, (4, 7))]
)
def test_scaled_sizes_are_rounded_up(run, photo, saved, ratio, shape):
    image = run(tf.image.decode_jpeg(saved(photo(31, 50), "JPEG"), ratio=ratio))
    assert image.shape == (*shape, 3)


def test_crop_window_matches_the_whole_image(run, photo, saved):
    file = saved(photo(60, 90), "JPEG", subsampling="4:4:4")
    uninterrupted, part = run(
        [tf.image.decode_jpeg(file), tf.image.decode_and_crop_jpeg(file, [7, 21, 30, 40])]
    )
    assert np.array_equal(part, uninterrupted[7:37, 21:61])


@pytest.mark.parametrize(
    "window",
    [[0, 0, 9, 8], [-1, 0, 4, 4], [0, 0, 0, 4], [4, 4, 5, 4], [0, 0, 2**31 - 1, 2**31 - 1]],
)
def test_window_outside_the_image_is_an_error(run, photo, saved, window):
    decode = tf.image.decode_and_crop_jpeg(saved(photo(8, 8), "JPEG"), window)
    with pytest.raises(
        tf.errors.InvalidArgumentError, match="Invalid JPEG data or crop window, data size"
    ):
        run(decode)


def test_exif_orientation_is_ignored(run, photo, saved):
    plain = saved(photo(16, 24), "JPEG")
    exif = b"Exif\0\0MM\0*\0\0\0\x08\0\x01\x01\x12\0\x03\0\0\0\x01\0\x06\0\0\0\0\0\0"
    turned = plain[:2] + b"\xff\xe1" + struct.pack(">H", len(exif) + 2) + exif + plain[2:]
    assert np.array_equal(*run([tf.image.decode_jpeg(file) for file in (plain, turned)]))


class TestTruncatedJpegs:
    @pytest.fixture
    def file(self, photo, saved):
        return saved(photo(64, 64), "JPEG")

    def test_truncated_jpeg_is_rejected(self, run, file):
        text = (
            r"Invalid JPEG data or crop window, data size \d+: the data ends after \d+ of 64 rows"
        )
        with pytest.raises(tf.errors.InvalidArgumentError, match=text):
            run(tf.image.decode_jpeg(file[: len(file) * 2 // 3]))

    def test_jpeg_without_its_last_two_bytes_is_rejected(self, run, file):
        with pytest.raises(
            tf.errors.InvalidArgumentError, match=r"the data ends after \d+ of 64 rows"
        ):
            run(tf.image.decode_jpeg(file[:-2]))

    def test_acceptable_fraction_accepts_missing_rows_as_black(self, run, file):
        cut = file[: len(file) * 2 // 3]
        uninterrupted, part = run(
            [tf.image.decode_jpeg(file), tf.image.decode_jpeg(cut, acceptable_fraction=0.2)]
        )
        num_rows = int(part.any((1, 2)).sum())
        assert 8 <= num_rows < 64
        assert np.array_equal(part[: num_rows - 1], uninterrupted[: num_rows - 1])
        assert not part[num_rows:].any()
        with pytest.raises(tf.errors.InvalidArgumentError, match="the data ends after"):
            run(tf.image.decode_jpeg(cut, acceptable_fraction=0.9))

    @pytest.mark.parametrize("progressive", [False, True])
    def test_recovery_fills_missing_rows(self, run, photo, saved, progressive):
        file = saved(photo(64, 64), "JPEG", progressive=progressive)
        cut = file[: len(file) * 9 // 10]
        image = run(tf.image.decode_jpeg(cut, try_recover_truncated=True))
        assert image.shape == (64, 64, 3)
        assert image.any((1, 2)).all()


@pytest.mark.parametrize(
    ("mode", "channels", "pillow_mode"),
    [
        ("1", 0, "L"),
        ("L", 0, "L"),
        ("L", 3, "RGB"),
        ("L", 4, "RGBA"),
        ("LA", 0, "LA"),
        ("LA", 3, "RGB"),
        ("LA", 4, "RGBA"),
        ("P", 0, "RGB"),
        ("P", 4, "RGBA"),
        ("RGB", 0, "RGB"),
        ("RGB", 4, "RGBA"),
        ("RGBA", 0, "RGBA"),
        ("RGBA", 3, "RGB"),
    ],
)
def test_png_modes_match_pillow(run, photo, saved, pillow, mode, channels, pillow_mode):
    file = saved(photo(19, 13), "PNG", mode=mode)
    assert np.array_equal(run(tf.image.decode_png(file, channels)), pillow(file, pillow_mode))


def test_transparent_palette_colours_become_alpha(run, photo, saved, pillow):
    file = saved(photo(9, 9), "PNG", mode="P", transparency=bytes(range(100, 130)))
    assert np.array_equal(run(tf.image.decode_png(file)), pillow(file, "RGBA"))


def test_png_decoded_as_grey_uses_rec_601(run, saved):
    colours = np.array([[[255, 0, 0], [0, 255, 0], [0, 0, 255], [9, 9, 9]]], np.uint8)
    grey = run(tf.image.decode_png(saved(colours, "PNG"), channels=1))
    assert grey.ravel().tolist() == [76, 149, 29, 9]


def test_wide_samples_are_kept_or_scaled(run, photo, saved):
    wide = np.random.default_rng(1).integers(0, 2**16, (7, 5, 4), dtype=np.uint16)
    file = run(tf.image.encode_png(wide))
    assert np.array_equal(run(tf.image.decode_png(file, dtype=tf.uint16)), wide)
    assert np.array_equal(run(tf.image.decode_png(file)), wide >> 8)
    narrow = photo(7, 5)
    stretched = run(tf.image.decode_png(saved(narrow, "PNG"), dtype=tf.uint16))
    assert np.array_equal(stretched, narrow.astype(np.uint16) * 257)


def test_animations_decode_to_frames(run, photo, saved, pillow):
    frames = [Image.fromarray(photo(12, 10) // 2 + 40 * i).quantize(16) for i in range(3)]
    file = saved(frames[0], "GIF", save_all=True, append_images=frames[1:])
    expected = [
        np.asarray(frame.convert("RGB"))
        for frame in ImageSequence.Iterator(Image.open(io.BytesIO(file)))
    ]
    gif, image, first = run(
        [
            tf.image.decode_gif(file),
            tf.image.decode_image(file),
            tf.image.decode_image(file, expand_animations=False),
        ]
    )
    assert np.array_equal(gif, expected)
    assert np.array_equal(image, gif)
    assert np.array_equal(first, gif[0])
    with pytest.raises(
        tf.errors.InvalidArgumentError, match="Got 3 frames, but animated gifs can only"
    ):
        run(tf.image.decode_png(file))


@pytest.mark.parametrize(("mode", "channels"), [("L", 1), ("RGB", 3), ("RGBA", 4)])
def test_bmp_matches_pillow(run, photo, saved, pillow, mode, channels):
    file = saved(photo(11, 7), "BMP", mode=mode)
    assert np.array_equal(run(tf.image.decode_bmp(file, channels)), pillow(file, mode))
    if channels > 1:
        assert np.array_equal(run(tf.image.decode_image(file)), pillow(file, mode))


class TestFormatDetection:
    @pytest.fixture
    def files(self, photo, saved):
        pixels = photo(8, 8)
        return {format: saved(pixels, format) for format in ("JPEG", "PNG", "GIF")}

    @pytest.mark.parametrize("format", ["JPEG", "PNG", "GIF"])
    def test_every_decoder_accepts_every_format(self, run, files, format):
        image = run(tf.image.decode_image(files[format], expand_animations=False))
        assert np.array_equal(run(tf.image.decode_jpeg(files[format])), image)
        assert np.array_equal(run(tf.image.decode_png(files[format])), image)
        assert np.array_equal(run(tf.image.decode_gif(files[format])), image[np.newaxis])

    @pytest.mark.parametrize(
        ("dtype", "scale"),
        [(tf.uint16, 256), (tf.int32, 2**23), (tf.float32, 1 / 255), (tf.float64, 1 / 255)],
    )
    def test_pixels_are_scaled_to_the_requested_type(self, run, files, dtype, scale):
        plain, other = run(
            [tf.image.decode_image(files["JPEG"], dtype=kind) for kind in (tf.uint8, dtype)]
        )
        assert other.dtype == dtype.as_numpy_dtype
        np.testing.assert_allclose(other, plain.astype(np.float64) * scale, rtol=1e-6)

    def test_jpeg_shape_is_read_from_the_header(self, run, files):
        assert run(tf.image.extract_jpeg_shape(files["JPEG"])).tolist() == [8, 8, 3]
        assert run(tf.image.extract_jpeg_shape(files["JPEG"], tf.int64)).dtype == np.int64
        with pytest.raises(tf.errors.InvalidArgumentError, match="Invalid JPEG data, data size"):
            run(tf.image.extract_jpeg_shape(files["PNG"]))

    def test_is_jpeg_checks_the_first_bytes(self, run, files):
        assert run(tf.image.is_jpeg(files["JPEG"]))
        assert run(tf.io.is_jpeg([b"", b"\xff\xd8", b"\xff\xd8\xff\xe0"])).tolist() == [
            False,
            False,
            True,
        ]


@pytest.mark.parametrize(
    ("decode", "contents", "text"),
    [
        (
            tf.image.decode_jpeg,
            b"nope",
            r"Expected image .*, got unknown format starting with 'nope'",
        ),
        (tf.image.decode_png, b"", r"Expected image \(JPEG, PNG, or GIF\), got empty file"),
        (tf.image.decode_image, b"nope", "Unable to decode bytes as JPEG, PNG, GIF, or BMP"),
        (
            tf.image.decode_image,
            b"\0\0\0\x18ftypavif\0\0\0\0mif1miaf",
            "It is AVIF, which is not supported: convert it to WebP or PNG, or decode it in a",
        ),
        (tf.image.decode_gif, b"GIF89a", r"Invalid GIF data \(size 6\), "),
        (tf.image.decode_png, b"\x89PNG\r\n\x1a\n", "Invalid PNG header, data size 8"),
        (
            tf.image.decode_jpeg,
            b"\xff\xd8\xff\xe0",
            "Invalid JPEG data or crop window, data size 4",
        ),
        (tf.image.decode_bmp, b"BM", "Incomplete bmp content, requires at least 32 bytes"),
    ],
)
def test_non_image_value_is_rejected(run, decode, contents, text):
    with pytest.raises(tf.errors.InvalidArgumentError, match=text):
        run(decode(contents))


@pytest.mark.parametrize(
    ("format", "decode", "options", "text"),
    [
        ("JPEG", tf.image.decode_jpeg, {"channels": 2}, "channels must be 0, 1, 3, or 4, got 2"),
        (
            "JPEG",
            tf.image.decode_jpeg,
            {"channels": 4},
            "channels must be 0, 1, or 3 for JPEG, got 4",
        ),
        ("JPEG", tf.image.decode_jpeg, {"ratio": 3}, "ratio must be 1, 2, 4, or 8, got 3"),
        ("JPEG", tf.image.decode_jpeg, {"dct_method": "x"}, "dct_method must be one of"),
        ("JPEG", tf.image.decode_png, {"dtype": tf.uint16}, "JPEG does not support uint16 output"),
        (
            "JPEG",
            tf.image.decode_image,
            {"channels": 4},
            r"Channels must be in \(None, 0, 1, 3\) when decoding JPEG images",
        ),
        (
            "GIF",
            tf.image.decode_image,
            {"channels": 1},
            r"Channels must be in \(None, 0, 3\) when decoding GIF images",
        ),
        ("GIF", tf.image.decode_png, {"channels": 1}, "channels must be 0 or 3 for GIF, got 1"),
        (
            "BMP",
            tf.image.decode_bmp,
            {"channels": 4},
            "channels attribute 4 does not match bits per pixel from file 3",
        ),
    ],
)
def test_invalid_options_are_rejected(run, photo, saved, format, decode, options, text):
    image = decode(saved(photo(4, 4), format), **options)
    with pytest.raises(tf.errors.InvalidArgumentError, match=text) as caught:
        run(image)
    assert caught.value.op is image.op


def test_arguments_are_checked_when_the_graph_is_built():
    with pytest.raises(ValueError, match="Shape must be rank 0 but is rank 1 for 'DecodeJpeg'"):
        tf.image.decode_jpeg(["a", "b"])
    with pytest.raises(
        TypeError, match="DataType float32 not in list of allowed values: uint8, uint16"
    ):
        tf.image.decode_png("", dtype=tf.float32)
    with pytest.raises(
        TypeError, match="DataType uint8 not in list of allowed values: int32, int64"
    ):
        tf.image.extract_jpeg_shape("", tf.uint8)
    with pytest.raises(ValueError, match=r"channels must be in \(None, 0, 1, 3, 4\)"):
        tf.image.decode_image("", channels=2)
    with pytest.raises(ValueError, match="channels must be non-negative, got -1"):
        tf.image.decode_jpeg("", channels=-1)


def test_contents_must_be_one_string(run, hidden):
    decode = tf.image.decode_jpeg(hidden(["a", "b"]))
    with pytest.raises(
        tf.errors.InvalidArgumentError, match=r"contents must be scalar, got shape \[2\]"
    ):
        run(decode)


def test_static_shapes_of_decoded_images_are_inferred():
    assert tf.image.decode_jpeg("").shape.as_list() == [None, None, None]
    assert tf.image.decode_png("", channels=4).shape.as_list() == [None, None, 4]
    assert tf.image.decode_gif("").shape.as_list() == [None, None, None, 3]
    assert tf.image.decode_and_crop_jpeg("", [1, 2, 3, 4], 1).shape.as_list() == [3, 4, 1]
    window = tf.placeholder(tf.int32)
    assert tf.image.decode_and_crop_jpeg("", window).shape.as_list() == [None, None, None]
    assert tf.image.decode_image("").shape.rank is None
    assert tf.image.extract_jpeg_shape("").shape.as_list() == [3]


class TestHostileFiles:
    def test_size_above_the_limit_is_rejected_before_memory_is_allocated(self, run, photo, saved):
        file = bytearray(saved(photo(8, 8), "JPEG"))
        at = file.index(b"\xff\xc0") + 5
        file[at : at + 4] = b"\xff\x00\xff\x00"
        text = "the image has 65280x65280 pixels, expected at most 178956970. Resize"
        with pytest.raises(tf.errors.InvalidArgumentError, match=text):
            run(tf.image.decode_jpeg(bytes(file)))

    def test_jpeg_with_too_many_scans_is_rejected(self, run, photo, saved):
        file = saved(photo(8, 8), "JPEG", progressive=True)
        last = file.rindex(b"\xff\xda")
        file = file[:-2] + file[last:-2] * 100 + file[-2:]
        with pytest.raises(tf.errors.InvalidArgumentError, match="more than 100 scans"):
            run(tf.image.decode_jpeg(file))

    @given(data=st.data())
    def test_damaged_files_yield_pixels_or_an_error(self, decoders, files, data):
        session, contents, images = decoders
        name = data.draw(st.sampled_from(sorted(files)), "file")
        file = bytearray(files[name])
        indices = st.integers(SIZE_ENDS[name.split()[0]], len(file) - 1)
        changes = data.draw(
            st.lists(st.tuples(indices, st.integers(0, 255)), max_size=8), "changes"
        )
        for at, value in changes:
            file[at] = value
        file = file[: data.draw(st.integers(1, len(file)), "length")]
        for image in images:
            try:
                pixels = session.run(image, {contents: bytes(file)})
            except tf.errors.InvalidArgumentError:
                continue
            assert pixels.dtype == np.uint8

    @pytest.fixture
    def files(self, photo, saved):
        pixels = photo(33, 21)
        return {
            "JPEG": saved(pixels, "JPEG"),
            "JPEG progressive": saved(pixels, "JPEG", progressive=True, subsampling="4:4:4"),
            "JPEG inks": saved(pixels, "JPEG", mode="CMYK"),
            "PNG": saved(pixels, "PNG"),
            "PNG palette": saved(pixels, "PNG", mode="P"),
            "GIF": saved(pixels, "GIF"),
            "BMP": saved(pixels, "BMP"),
        }

    @pytest.fixture
    def decoders(self):
        contents = tf.placeholder(tf.string, [])
        images = [
            tf.image.decode_image(contents),
            tf.image.decode_jpeg(contents, try_recover_truncated=True),
            tf.image.decode_and_crop_jpeg(contents, [3, 5, 7, 9]),
        ]
        with tf.Session() as session:
            yield session, contents, images


# Where changes may begin: not before the size, since a huge one only takes time.
SIZE_ENDS = {"JPEG": 170, "PNG": 8, "GIF": 10, "BMP": 26}
