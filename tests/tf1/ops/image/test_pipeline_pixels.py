"""Pipelines return Pillow's pixels, and `headrace.tf1` returns TensorFlow's."""

import io
import struct
import zlib

import numpy as np
import pytest
from PIL import Image, ImageSequence
from tests.ops.augment.models import computed

import headrace as hr
import headrace.tf1 as tf
from headrace import ops


@pytest.mark.parametrize("bits", [1, 2, 4])
@pytest.mark.parametrize("mode", ["L", "P"])
def test_alpha_added_to_a_png_with_few_bits_is_opaque(run, pillow, mode, bits):
    image = Image.fromarray(np.arange(12, dtype=np.uint8).reshape(3, 4) % 2**bits, mode)
    if mode == "P":
        image.putpalette(np.arange(3 * 2**bits, dtype=np.uint8).tobytes())
    file = io.BytesIO()
    image.save(file, "PNG", bits=bits)
    data = file.getvalue() if mode == "P" else grey_png(np.asarray(image), bits)
    for decode in (ops.decode_image, ops.decode_png):
        assert np.array_equal(
            computed(lambda x, decode=decode: decode(x, channels=4), x=data), pillow(data, "RGBA")
        )
    wide = computed(lambda x: ops.decode_png(x, channels=4, dtype="uint16"), x=data)
    assert (wide[..., 3] == 65535).all()
    assert (run(tf.image.decode_png(data, channels=4))[..., 3] == 2**bits - 1).all()


def grey_png(pixels, bits):
    """A PNG of grey with fewer than 8 bits, which Pillow does not write."""

    def chunk(name, body):
        return (
            struct.pack(">I", len(body)) + name + body + struct.pack(">I", zlib.crc32(name + body))
        )

    height, width = pixels.shape
    rows = np.unpackbits(pixels[..., None], axis=-1)[..., 8 - bits :].reshape(height, -1)
    packed = np.pad(np.packbits(rows, axis=-1), ((0, 0), (1, 0)))
    head = struct.pack(">IIBBBBB", width, height, bits, 0, 0, 0, 0)
    parts = [(b"IHDR", head), (b"IDAT", zlib.compress(packed.tobytes())), (b"IEND", b"")]
    return b"\x89PNG\r\n\x1a\n" + b"".join(chunk(*part) for part in parts)


def masked_bmp(masks, pixels):
    """A BMP of 32 bits with bit-field masks."""
    head = struct.pack("<2sIIIIiiHHI", b"BM", 0, 0, 70, 56, len(pixels), -1, 1, 32, 3)
    return head + bytes(20) + struct.pack("<4I", *masks) + pixels.tobytes()


@pytest.mark.parametrize(
    "masks",
    [
        (0xFF, 0xFF00, 0xFF0000, 0xFF000000),
        (0xFF000000, 0xFF0000, 0xFF00, 0xFF),
        (0xFF0000, 0xFF00, 0xFF, 0xFF000000),
        (0xFF000000, 0xFF0000, 0xFF00, 0),
    ],
)
def test_bmp_channels_follow_the_masks(pillow, masks):
    pixels = np.random.default_rng(0).integers(0, 2**32, 5, np.uint32)
    file = masked_bmp(masks, pixels)
    assert np.array_equal(computed(ops.decode_bmp, contents=file), pillow(file))
    for channels, mode in ((3, "RGB"), (4, "RGBA")):
        image = computed(lambda x, n=channels: ops.decode_image(x, channels=n), x=file)
        assert np.array_equal(image, pillow(file, mode))


def test_masks_of_any_width_are_scaled_to_bytes():
    pixels = np.array([0x3FF, 0x200, 1 << 10 | 7 << 20], np.uint32)
    image = computed(ops.decode_bmp, contents=masked_bmp((0x3FF, 1 << 10, 7 << 20, 0), pixels))
    assert image.tolist() == [[[255, 0, 0], [127, 0, 0], [0, 255, 255]]]
    with pytest.raises(hr.errors.InvalidArgumentError, match="masks do not describe red, green"):
        computed(ops.decode_bmp, contents=masked_bmp((5, 2, 8, 0), pixels))


def animation(format, **options):
    """An animation with a square that moves over nothing."""
    frames = []
    for left in (0, 3, 6):
        frame = Image.new("RGBA", (12, 8), (0, 0, 0, 0))
        frame.paste((255, 40 * left, 0, 255), (left, 2, left + 4, 6))
        frames.append(frame)
    file = io.BytesIO()
    frames[0].save(file, format, save_all=True, append_images=frames[1:], **options)
    return file.getvalue()


def frames_of_pillow(file, mode):
    image = Image.open(io.BytesIO(file))
    return np.stack([np.asarray(frame.convert(mode)) for frame in ImageSequence.Iterator(image)])


@pytest.mark.parametrize("disposal", [0, 1, 2, 3, [2, 1, 1], [1, 3, 2]])
def test_gif_frames_are_disposed(run, disposal):
    file = animation("GIF", disposal=disposal)
    expected = frames_of_pillow(file, "RGB")
    for decode in (ops.decode_gif, ops.decode_image):
        assert np.array_equal(computed(decode, contents=file), expected)
    first = computed(lambda x: ops.decode_image(x, expand_animations=False), x=file)
    assert np.array_equal(first, expected[0])


def test_tensorflow_1_gif_frames_are_not_disposed(run):
    file = animation("GIF", disposal=2)
    last = run(tf.image.decode_gif(file))[-1]
    # The squares of all three frames.
    assert last[2].any(-1).tolist() == [True] * 10 + [False] * 2
    assert frames_of_pillow(file, "RGBA")[-1][2, :, 3].astype(bool).sum() == 4


@pytest.mark.parametrize("options", [{}, {"kmin": 0, "kmax": 0}, {"minimize_size": True}])
def test_webp_frames_are_disposed(options):
    file = animation("WEBP", lossless=True, **options)
    assert np.array_equal(computed(ops.decode_image, contents=file), frames_of_pillow(file, "RGBA"))
    rgb = computed(lambda x: ops.decode_image(x, channels=3), x=file)
    assert np.array_equal(rgb, frames_of_pillow(file, "RGB"))


class TestJpegTransforms:
    @pytest.fixture
    def file(self, photo, saved):
        return saved(photo(64, 80), "JPEG", quality=60)

    decoders = pytest.mark.parametrize(
        "decode",
        [
            ops.decode_jpeg,
            ops.decode_image,
            lambda x, **options: ops.decode_and_crop_jpeg(x, [0, 0, 64, 80], **options),
        ],
        ids=["decode_jpeg", "decode_image", "decode_and_crop_jpeg"],
    )

    @decoders
    def test_accurate_dct_is_the_default(self, run, pillow, file, decode):
        default, accurate, fast = (
            computed(lambda x, options=options: decode(x, **options), x=file)
            for options in ({}, {"dct_method": "accurate"}, {"dct_method": "fast"})
        )
        assert np.array_equal(default, pillow(file))
        assert np.array_equal(default, accurate)
        assert np.array_equal(fast, run(decode(file)))
        assert np.array_equal(fast, run(tf.image.decode_jpeg(file)))
        assert not np.array_equal(fast, default)

    @decoders
    def test_unknown_dct_method_is_rejected_when_the_function_is_traced(self, file, decode):
        with pytest.raises(
            hr.errors.InvalidArgumentError, match="dct_method is 'quick', expected 'accurate' or 'f"
        ):
            computed(lambda x: decode(x, dct_method="quick"), x=file)

    def test_random_crops_of_files_accept_a_dct_method(self, file):
        def crop(image, **options):
            return computed(
                lambda x: ops.random_resized_crop(x, (9, 9), **options), seed=1, x=image
            )

        for method in ("accurate", "fast"):
            full = computed(lambda x, m=method: ops.decode_jpeg(x, dct_method=m), x=file)
            assert np.array_equal(crop(file, dct_method=method), crop(full))
        assert np.array_equal(crop(file), crop(file, dct_method="accurate"))
        with pytest.raises(
            ValueError, match="dct_method is 'fast', but the image is already decoded"
        ):
            crop(full, dct_method="fast")

    @pytest.mark.parametrize("ratio", [1, 2])
    def test_crop_window_matches_the_whole_image(self, photo, saved, ratio):
        file = saved(photo(60, 90), "JPEG", subsampling="4:2:0")
        full = computed(lambda x: ops.decode_jpeg(x, ratio=ratio), x=file)
        for y, x, height, width in ((7, 21, 20, 11), (0, 0, 30, 45), (3, 44, 1, 1), (9, 0, 2, 45)):
            window = [y, x, height, width]
            part = computed(lambda x, w=window: ops.decode_and_crop_jpeg(x, w, ratio=ratio), x=file)
            assert np.array_equal(part, full[y : y + height, x : x + width])

    def test_cmyk_matches_pillow(self, photo, saved, pillow):
        file = saved(photo(20, 30), "JPEG", mode="CMYK")
        assert np.array_equal(computed(ops.decode_jpeg, contents=file), pillow(file, "RGB"))
