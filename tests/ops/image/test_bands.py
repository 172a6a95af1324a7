"""TIFF and PNG files of 16 bits, of floats, and with any number of channels."""

import io
import struct
import zlib

import numpy as np
import pytest
from PIL import Image
from tests.ops.augment.models import computed
from tests.ops.image.banded_tiffs import DEFLATE, PACK_BITS, banded

import headrace as hr
from headrace import ops
from headrace.testing import assert_resumes

DTYPES = ["uint8", "uint16", "float32"]
CHANNELS = [1, 2, 3, 4, 5, 13]


def decoded(file, **options):
    return computed(lambda x: ops.decode_image(x, **options), x=file)


def random_pixels(shape, dtype, seed=0):
    rng = np.random.default_rng(seed)
    if dtype == "float32":
        values = rng.normal(0, 1e3, shape).astype(np.float32)
        values.flat[0] = np.inf
        return values
    return rng.integers(0, np.iinfo(dtype).max, shape, dtype, endpoint=True)


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("channels", CHANNELS)
@pytest.mark.parametrize("order", ["<", ">"])
def test_tiff_pixels_are_returned_as_stored(dtype, channels, order):
    image = random_pixels((9, 14, channels), dtype)
    for options in (
        {},
        {"is_planar": True, "rows_per_strip": 4},
        {"rows_per_strip": 2, "compression": DEFLATE, "predictor": 2},
        {"tile": (16, 16), "compression": DEFLATE},
        {"tile": (16, 16), "is_planar": True, "compression": PACK_BITS, "predictor": 2},
        {"photometric": 2} if channels >= 3 else {},
    ):
        file = banded(image, order=order, **options)
        result = decoded(file, dtype=dtype)
        assert result.dtype == dtype
        assert np.array_equal(result, image)
        assert np.array_equal(decoded(file, dtype=dtype, channels=channels), image)


@pytest.mark.parametrize("channels", [1, 3, 7])
@pytest.mark.parametrize("order", ["<", ">"])
@pytest.mark.parametrize("options", [{}, {"tile": (16, 32)}, {"is_planar": True}])
def test_floats_with_grouped_bytes_are_restored(channels, order, options):
    image = random_pixels((21, 40, channels), "float32")
    file = banded(image, order=order, predictor=3, compression=DEFLATE, **options)
    assert np.array_equal(decoded(file, dtype="float32"), image)


def test_pillow_reads_the_same_floats():
    image = random_pixels((9, 14, 1), "float32")
    file = banded(image)
    with Image.open(io.BytesIO(file)) as opened:
        assert np.array_equal(np.asarray(opened)[..., None], decoded(file, dtype="float32"))


def test_unrequested_types_are_scaled_as_usual():
    image = random_pixels((4, 5, 6), "uint16")
    floats = decoded(banded(image), dtype="float32")
    assert np.array_equal(floats, image.astype(np.float32) * np.float32(1 / 65535))
    image = random_pixels((4, 5, 6), "uint8")
    assert np.array_equal(decoded(banded(image)), image)
    doubles = decoded(banded(random_pixels((4, 5, 1), "float32")), dtype="float64")
    assert np.array_equal(doubles, random_pixels((4, 5, 1), "float32").astype(np.float64))


@pytest.mark.parametrize(
    ("dtype", "channels", "options", "message"),
    [
        ("float32", 1, {}, r"1 channel of float32, .* got dtype=uint8. Pass dtype='float32'"),
        ("float32", 5, {"dtype": "uint16"}, "5 channels of float32, .* got dtype=uint16"),
        ("uint16", 5, {}, "5 channels of uint16, .* Pass dtype='uint16'"),
        ("uint8", 5, {"channels": 3}, "5 channels, expected channels=None or 5 .* got 3"),
        ("uint8", 3, {"channels": 5}, "3 channels, expected channels=None or 3 .* got 5"),
        ("uint8", 1, {"channels": 2}, "1 channel, expected channels=None or 1 .* got 2"),
    ],
)
def test_values_are_never_lost_silently(dtype, channels, options, message):
    photometric = 2 if channels == 3 else 1
    file = banded(random_pixels((3, 4, channels), dtype), photometric=photometric)
    with pytest.raises(hr.errors.InvalidArgumentError, match=message):
        decoded(file, **options)


@pytest.mark.parametrize("dtype", ["int16", "uint32", "int8", "float64", "float16"])
def test_unsupported_samples_are_rejected_by_type(dtype):
    file = banded(np.zeros((3, 4, 2), dtype))
    kind = np.dtype(dtype).name
    with pytest.raises(hr.errors.InvalidArgumentError, match=rf"neither uint8, .* \({kind}\)"):
        decoded(file, dtype="float32")


def test_other_formats_reject_five_channels(saved, photo):
    for format in ("JPEG", "PNG", "BMP", "GIF", "WEBP"):
        with pytest.raises(hr.errors.InvalidArgumentError, match=f"(?i)decoding {format}.*got 5"):
            decoded(saved(photo(5, 6), format), channels=5)


def test_number_of_channels_is_checked():
    for channels in (-1, 65_536):
        with pytest.raises(ValueError, match=f"channels is {channels}, expected None or 0 to 655"):
            decoded(b"", channels=channels)
    with pytest.raises(TypeError, match="Expected int for argument 'channels'"):
        decoded(b"", channels=2.5)


def test_huge_number_of_channels_is_rejected_before_memory_is_allocated():
    image = np.zeros((1, 1, 60_000), np.uint8)
    file = banded(image, tags={256: ("I", [10_000]), 257: ("I", [10_000]), 278: ("I", [10_000])})
    with pytest.raises(hr.errors.InvalidArgumentError, match=r"more than|larger than"):
        decoded(file)


def test_damaged_files_yield_an_error_or_different_pixels():
    image = random_pixels((20, 30, 5), "float32")
    file = banded(image, predictor=3, compression=DEFLATE, tile=(16, 16))
    rng = np.random.default_rng(1)
    for _ in range(200):
        changed = bytearray(file)
        changed[rng.integers(len(file))] ^= 1 << rng.integers(8)
        try:
            assert decoded(bytes(changed), dtype="float32").ndim == 3
        except (hr.errors.InvalidArgumentError, hr.errors.ResourceExhaustedError):
            pass


def png(image):
    """Makes a PNG of 16 bits."""
    height, width, channels = image.shape
    kind = {1: 0, 2: 4, 3: 2, 4: 6}[channels]
    rows = b"".join(b"\0" + row.astype(">u2").tobytes() for row in image)
    chunks = [
        (b"IHDR", struct.pack(">IIBBBBB", width, height, 16, kind, 0, 0, 0)),
        (b"IDAT", zlib.compress(rows)),
        (b"IEND", b""),
    ]
    body = (
        struct.pack(">I", len(data)) + name + data + struct.pack(">I", zlib.crc32(name + data))
        for name, data in chunks
    )
    return b"\x89PNG\r\n\x1a\n" + b"".join(body)


@pytest.mark.parametrize("channels", [1, 2, 3, 4])
def test_16_bit_png_is_lossless(channels):
    image = random_pixels((9, 14, channels), "uint16")
    file = png(image)
    assert np.array_equal(decoded(file, dtype="uint16"), image)
    assert np.array_equal(decoded(file, dtype="uint16", channels=channels), image)
    assert np.array_equal(computed(lambda x: ops.decode_png(x, dtype="uint16"), x=file), image)
    assert np.array_equal(decoded(file, dtype="float32"), image * np.float32(1 / 65535))
    again = computed(lambda x: ops.encode_png(ops.decode_image(x, dtype="uint16")), x=file)
    assert np.array_equal(decoded(again, dtype="uint16"), image)


def test_pipelines_read_bands_and_skip_damaged_files(tmp_path):
    images = [random_pixels((6 + n % 3, 8, 5), "uint16", n) for n in range(12)]
    for n, image in enumerate(images):
        file = banded(image, compression=DEFLATE)
        (tmp_path / f"{n:02}.tif").write_bytes(file[:-1] if n == 4 else file)

    @hr.native
    def decode(example):
        image = ops.decode_image(
            example["data"], channels=5, dtype="uint16", expand_animations=False
        )
        return {"x": ops.normalize(ops.center_crop(image, 6), 0.5, [1, 2, 3, 4, 5])}

    pipe = hr.files(tmp_path / "*.tif").map(decode)
    assert pipe.spec["x"] == hr.Spec(np.dtype(np.float32), (5, 6, 6))
    with pytest.raises(hr.errors.InvalidArgumentError, match=r"04\.tif"):
        list(pipe)
    results = [example["x"] for example in pipe.skip_errors(1)]
    assert len(results) == 11
    top = (images[1].shape[0] - 6) // 2
    values = images[1][top : top + 6, 1:7].transpose(2, 0, 1) / 65535
    deviations = np.arange(1, 6)[:, None, None]
    assert np.abs(results[1] - (values - 0.5) / deviations).max() < 1e-6
    assert_resumes(pipe.skip_errors(1).shuffle(window=5, seed=1).batch(2))
