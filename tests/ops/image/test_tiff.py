import io
import struct

import numpy as np
import pytest
from PIL import Image
from tests.ops.augment.models import computed
from tests.ops.image.written_images import tiled, with_associated_alpha

import headrace as hr
from headrace import ops

COMPRESSIONS = ["raw", "tiff_lzw", "tiff_adobe_deflate", "packbits", "zstd"]


def decoded(file, **options):
    return computed(lambda x: ops.decode_image(x, **options), x=file)


def packed(image, samples, extra=(), tags=(), order="<"):
    """Creates an uncompressed TIFF of pixels, with one number per entry."""
    height, width = image.shape[:2]
    data = image.astype(image.dtype.newbyteorder(order)).tobytes()
    bits = 8 * image.dtype.itemsize
    entries = {256: (4, [width]), 257: (4, [height]), 258: (3, [bits] * samples), 259: (3, [1])}
    entries |= {262: (3, [2 if samples > 2 else 1]), 273: (4, [0]), 277: (3, [samples])}
    entries |= {278: (4, [height]), 279: (4, [len(data)])}
    entries |= {338: (3, list(extra))} if extra else {}
    entries |= dict(tags)
    start = 8 + 2 + 12 * len(entries) + 4
    behind, lines = b"", b""
    place = start
    for tag, (kind, numbers) in sorted(entries.items()):
        values = struct.pack(order + {3: "H", 4: "I"}[kind] * len(numbers), *numbers)
        if tag == 273:
            values = b"place"
        elif len(values) > 4:
            behind += values
            values = struct.pack(order + "I", place + len(behind) - len(values))
        lines += struct.pack(order + "HHI", tag, kind, len(numbers)) + values.ljust(4, b"\0")[:4]
    lines = lines.replace(b"plac", struct.pack(order + "I", start + len(behind)))
    head = (b"II*\0" if order == "<" else b"MM\0*") + struct.pack(order + "I", 8)
    count = struct.pack(order + "H", len(entries))
    return head + count + lines + b"\0\0\0\0" + behind + data


@pytest.mark.parametrize("compression", COMPRESSIONS)
@pytest.mark.parametrize("channels", [1, 3, 4])
def test_decoded_pixels_match_the_original_image(photo, saved, compression, channels):
    image = photo(37, 50, channels)
    file = saved(image, "TIFF", compression=compression)
    assert np.array_equal(decoded(file), image)


@pytest.mark.parametrize("order", ["<", ">"])
@pytest.mark.parametrize("channels", [1, 3, 4])
def test_wide_samples_are_kept_or_reduced_to_their_upper_byte(order, channels):
    image = np.random.default_rng(0).integers(0, 2**16, (5, 7, channels), np.uint16)
    file = packed(image, channels, extra=[2] if channels == 4 else [], order=order)
    assert np.array_equal(decoded(file, dtype="uint16"), image)
    assert np.array_equal(decoded(file), image >> 8)


def test_channels_are_added_and_dropped(photo, saved):
    grey, colours = photo(5, 6, 1), photo(5, 6, 3)
    assert np.array_equal(decoded(saved(grey, "TIFF"), channels=3), np.tile(grey, 3))
    opaque = np.concatenate([colours, np.full((5, 6, 1), 255, np.uint8)], -1)
    assert np.array_equal(decoded(saved(colours, "TIFF"), channels=4), opaque)
    assert np.array_equal(decoded(saved(opaque, "TIFF"), channels=3), colours)
    with pytest.raises(hr.errors.InvalidArgumentError, match="TIFF images with colours, got 1"):
        decoded(saved(colours, "TIFF"), channels=1)


def test_zero_is_white_if_the_file_declares_it():
    image = np.arange(12, dtype=np.uint8).reshape(3, 4, 1)
    assert np.array_equal(decoded(packed(image, 1, tags={262: (3, [0])})), 255 - image)


def test_first_of_several_images_is_decoded_if_requested(photo):
    file = io.BytesIO()
    first, second = Image.fromarray(photo(9, 8)), Image.fromarray(photo(3, 4))
    first.save(file, "TIFF", save_all=True, append_images=[second])
    with pytest.raises(
        hr.errors.InvalidArgumentError, match="has more than one image, and their s"
    ):
        decoded(file.getvalue())
    assert np.array_equal(decoded(file.getvalue(), expand_animations=False), photo(9, 8))


def narrow(image, bits, tags=(), order="<"):
    """Makes an uncompressed TIFF of samples of fewer bits than a byte has."""
    bytes_of_rows = np.unpackbits(image[..., None], axis=-1)[..., 8 - bits :]
    rows = np.packbits(bytes_of_rows.reshape(len(image), -1), axis=-1)[..., None]
    sizes = {256: (4, [image.shape[1]]), 258: (3, [bits])}
    return packed(rows, 1, tags=sizes | dict(tags), order=order)


@pytest.mark.parametrize("compression", COMPRESSIONS)
def test_bilevel_images_decode_like_pillow(photo, saved, pillow, compression):
    file = saved(photo(37, 50), "TIFF", "1", compression=compression)
    assert np.array_equal(decoded(file), pillow(file, "L"))
    assert np.array_equal(decoded(file, channels=3), pillow(file, "RGB"))
    assert np.array_equal(decoded(file, dtype="float32"), pillow(file, "L") / np.float32(255))


@pytest.mark.parametrize("order", ["<", ">"])
@pytest.mark.parametrize("is_inverted", [False, True])
@pytest.mark.parametrize("bits", [1, 2, 4])
def test_low_bit_depth_grey_is_scaled_like_pillow(pillow, bits, is_inverted, order):
    for width in (1, 7, 8, 21):
        image = np.random.default_rng(width).integers(0, 1 << bits, (5, width), np.uint8)
        file = narrow(image, bits, tags={262: (3, [1 - is_inverted])}, order=order)
        result = decoded(file)
        assert np.array_equal(result, pillow(file, "L"))
        top = (1 << bits) - 1
        assert np.array_equal(
            result[..., 0], (top - image if is_inverted else image) * (255 // top)
        )


@pytest.mark.parametrize("order", ["<", ">"])
@pytest.mark.parametrize("bits", [1, 2, 4])
def test_low_bit_depth_palettes_match_pillow(pillow, bits, order):
    colours = np.random.default_rng(0).integers(256, 1 << 16, (1 << bits, 3))
    for width in (1, 7, 8, 21):
        image = np.random.default_rng(width).integers(0, 1 << bits, (5, width), np.uint8)
        tags = {262: (3, [3]), 320: (3, colours.T.ravel().tolist())}
        file = narrow(image, bits, tags=tags, order=order)
        assert np.array_equal(decoded(file), pillow(file, "RGB"))
        assert np.array_equal(decoded(file, dtype="uint16"), colours[image])


@pytest.mark.parametrize("compression", [*COMPRESSIONS, "jpeg"])
@pytest.mark.parametrize("is_planar", [False, True])
@pytest.mark.parametrize("is_big", [False, True])
@pytest.mark.parametrize("size", [(40, 50), (16, 32), (5, 70)])
def test_partially_filled_tiles_match_pillow(photo, pillow, compression, is_planar, is_big, size):
    for mode in ("L", "RGB"):
        image = Image.fromarray(photo(*size)).convert(mode)
        planar = is_planar and mode == "RGB"
        file = tiled(image, (16, 32), planar, is_big, {"compression": compression})
        assert np.array_equal(decoded(file), pillow(file))


def test_big_tiff_files_decode_to_the_same_pixels(photo, saved):
    for channels in (1, 3):
        big = saved(photo(37, 50, channels), "TIFF", big_tiff=True)
        assert big[2] == 43
        assert np.array_equal(decoded(big), photo(37, 50, channels))


@pytest.mark.parametrize("mode", ["RGB", "CMYK"])
def test_jpeg_compressed_tiff_matches_libjpeg(photo, saved, pillow, mode):
    for quality in (30, 75, 95):
        file = saved(photo(37, 50), "TIFF", mode, compression="jpeg", quality=quality)
        assert np.array_equal(decoded(file), pillow(file, "RGB"))


def test_colours_are_divided_by_associated_alpha(saved, pillow):
    pixels = np.random.default_rng(0).integers(0, 256, (20, 30, 4), np.uint8)
    file = with_associated_alpha(saved(pixels, "TIFF"))
    assert np.array_equal(decoded(file), pillow(file, "RGBA"))
    assert np.array_equal(decoded(file, channels=3), pillow(file, "RGB"))
    wide = packed(np.array([[[100, 200, 0, 400]]], np.uint16), 4, extra=[1])
    expected = [100 * 65535 // 400, 200 * 65535 // 400, 0, 400]
    assert decoded(wide, dtype="uint16").tolist() == [[expected]]


def test_grey_with_alpha_matches_pillow(photo, saved, pillow):
    file = saved(photo(8, 9), "TIFF", "LA")
    assert np.array_equal(decoded(file), pillow(file))
    assert np.array_equal(decoded(file, channels=4), pillow(file, "RGBA"))
    assert np.array_equal(decoded(file, channels=1), pillow(file, "L"))


def test_jpeg_compressed_grey_with_alpha_matches_pillow(photo, saved, pillow):
    for size in ((8, 9), (37, 50)):
        file = saved(photo(*size), "TIFF", "LA", compression="jpeg")
        assert np.array_equal(decoded(file), pillow(file))
        assert np.array_equal(decoded(file, channels=4), pillow(file, "RGBA"))


@pytest.mark.parametrize("is_big", [False, True])
def test_orientation_comes_from_the_first_directory(photo, saved, is_big):
    exif = Image.Exif()
    exif[0x0112] = 6
    file = saved(photo(9, 8), "TIFF", exif=exif, big_tiff=is_big)
    assert np.array_equal(decoded(file, orientation=True), np.rot90(photo(9, 8), -1))


def test_error_names_a_truncated_tile(photo):
    image = Image.fromarray(photo(40, 50))
    file = tiled(image, (16, 32), False, False, {"compression": "raw"})
    for end, number in ((len(file) - 1, 5), (len(file) - 16 * 32 * 3, 5)):
        with pytest.raises(
            hr.errors.InvalidArgumentError, match=f"strip or tile {number} is outside"
        ):
            decoded(file[:end])


PIXELS = np.arange(24, dtype=np.uint8).reshape(2, 3, 4)


@pytest.mark.parametrize(
    ("file", "message"),
    [
        (packed(PIXELS, 4, extra=[2], tags={262: (3, [3])}), "channels other than the al"),
        (packed(PIXELS[..., :2], 2, tags={262: (3, [0])}), "channels other than the al"),
        (packed(PIXELS[..., :1], 1, tags={339: (3, [2])}), r"uint16, float32 nor .* \(int8\)"),
        (packed(PIXELS[..., :1].astype(np.uint32), 1), r"nor integers of 1, .* \(uint32\)"),
        (packed(PIXELS, 4, tags={262: (3, [5]), 332: (3, [2])}), "has inks other than cyan, mag"),
        (
            packed(PIXELS[..., :1], 1, tags={262: (3, [3])}),
            "an invalid palette, which should have 256 colours",
        ),
        (
            narrow(PIXELS[..., 0], 4, tags={262: (3, [3])}),
            "an invalid palette, which should have 16 colours",
        ),
        (packed(PIXELS[..., :1], 1, tags={266: (3, [2])}), "bytes stored lowest bit first"),
        (narrow(PIXELS[..., 0], 4, tags={317: (3, [2])}), "The TIFF has predictor 2 with 4-bit"),
        (packed(PIXELS[..., :3], 3, tags={262: (3, [6])}), "YCbCr colours without JPEG"),
        (
            packed(PIXELS[..., :1], 1, tags={259: (3, [4])}),
            "The TIFF has fax compression, expected",
        ),
        (packed(PIXELS[..., :1], 1, tags={259: (3, [34925])}), "The TIFF has LZMA compression"),
    ],
    ids=[
        *("palette and alpha", "inverted", "signed", "32 bits", "other inks", "palette"),
        *("palette of 4 bits", "bit order", "predictor", "luma", "fax", "lzma"),
    ],
)
def test_unsupported_kinds_are_rejected_with_an_explanation(file, message):
    with pytest.raises(hr.errors.InvalidArgumentError, match=message):
        decoded(file)


@pytest.mark.parametrize("compression", COMPRESSIONS)
@pytest.mark.parametrize("mode", ["P", "CMYK"])
def test_palettes_and_inks_match_pillow(photo, saved, mode, compression):
    file = saved(photo(37, 50), "TIFF", mode, compression=compression)
    expected = np.asarray(Image.open(io.BytesIO(file)).convert("RGB"))
    assert np.array_equal(decoded(file), expected)
    opaque = np.full((37, 50, 1), 255, np.uint8)
    assert np.array_equal(decoded(file, channels=4), np.concatenate([expected, opaque], -1))
    with pytest.raises(hr.errors.InvalidArgumentError, match="TIFF images with colours, got 1"):
        decoded(file, channels=1)


@pytest.mark.parametrize("order", ["<", ">"])
@pytest.mark.parametrize("bits", [8, 16])
def test_palette_colours_can_have_eight_or_sixteen_bits(order, bits):
    colours = np.random.default_rng(0).integers(0, 1 << bits, (256, 3))
    image = np.arange(256, dtype=np.uint8).reshape(16, 16, 1)
    tags = {262: (3, [3]), 320: (3, colours.T.ravel().tolist())}
    file = packed(image, 1, tags=tags, order=order)
    wide = colours.reshape(16, 16, 3) * (257 if bits == 8 else 1)
    assert np.array_equal(decoded(file), wide >> 8)
    assert np.array_equal(decoded(file, dtype="uint16"), wide)


def test_every_ink_matches_pillow():
    inks = np.stack(np.meshgrid([0, 1, 127, 128, 255], np.arange(256)), -1).reshape(-1, 2)
    inks = np.concatenate([inks, inks[::-1]], -1).astype(np.uint8).reshape(32, -1, 4)
    expected = np.asarray(Image.fromarray(inks, "CMYK").convert("RGB"))
    assert np.array_equal(decoded(packed(inks, 4, tags={262: (3, [5])})), expected)


def test_floats_written_by_pillow_are_returned_unchanged():
    file = io.BytesIO()
    image = np.linspace(-2, 300, 12, dtype=np.float32).reshape(3, 4)
    Image.fromarray(image).save(file, "TIFF")
    assert np.array_equal(decoded(file.getvalue(), dtype="float32")[..., 0], image)


@pytest.mark.parametrize("compression", COMPRESSIONS)
@pytest.mark.parametrize("mode", ["RGB", "P", "CMYK", "1"])
def test_damage_causes_an_error_or_different_pixels(photo, saved, compression, mode):
    file = saved(photo(24, 24), "TIFF", mode, compression=compression)
    random = np.random.default_rng(0)
    for end in range(0, len(file), len(file) // 20):
        try:
            assert decoded(file[:end]).shape == (24, 24, 1 if mode == "1" else 3)
        except hr.errors.InvalidArgumentError:
            continue
        raise AssertionError(f"cut off at {end}")
    for _ in range(200):
        changed = bytearray(file)
        changed[random.integers(len(file))] ^= 1 << random.integers(8)
        try:
            assert decoded(bytes(changed)).ndim in (3, 4)
        except (hr.errors.InvalidArgumentError, hr.errors.ResourceExhaustedError):
            pass


def test_huge_size_is_rejected_before_memory_is_allocated():
    file = packed(
        PIXELS[..., :1], 1, tags={256: (4, [2**30]), 257: (4, [2**30]), 278: (4, [2**30])}
    )
    with pytest.raises(
        hr.errors.InvalidArgumentError, match="1073741824x1073741824 pixels, expect"
    ):
        decoded(file)
