"""Equality with tifffile, OpenCV and torchvision; `make test-frameworks` installs them."""

import io
from functools import partial

import numpy as np
import pytest
from tests.ops.augment.models import computed

from headrace import ops

tifffile = pytest.importorskip("tifffile")
pytest.importorskip("imagecodecs")
cv2 = pytest.importorskip("cv2")
torch = pytest.importorskip("torch")
F = pytest.importorskip("torchvision.transforms.v2.functional")

TYPES = ["uint8", "uint16", "float32"]
COMPRESSIONS = [None, "lzw", "zlib", "packbits", "zstd"]


def decoded(file, **options):
    return computed(lambda x: ops.decode_image(x, **options), x=file)


def random_pixels(rng, dtype, channels, size):
    shape = (*size, channels)
    if dtype == "float32":
        return rng.normal(0, 100, shape).astype(np.float32)
    return rng.integers(0, np.iinfo(dtype).max, shape, dtype, endpoint=True)


def written(image, options):
    """A TIFF file of an image."""
    file = io.BytesIO()
    if image.dtype.kind != "f" or options["predictor"] != 2:
        tifffile.imwrite(file, image, **options)
        return file
    # libtiff writes differences of the bits of floats, but tifffile only those of integers.
    tifffile.imwrite(file, image.view(np.int32), **options)
    file.seek(0)
    with tifffile.TiffFile(file) as tiff:
        tag = tiff.pages[0].tags["SampleFormat"]
        tag.overwrite((3,) * tag.count)
    return file


@pytest.mark.parametrize("dtype", TYPES)
@pytest.mark.parametrize("compression", COMPRESSIONS)
def test_tiff_pixels_match_tifffile(dtype, compression):
    rng = np.random.default_rng(COMPRESSIONS.index(compression))
    for _ in range(40):
        channels = int(rng.choice([1, 2, 3, 4, 5, 13]))
        image = random_pixels(rng, dtype, channels, rng.integers(2, 60, 2))
        is_planar = channels > 1 and rng.random() < 0.5
        predictor = rng.choice([None, 2, 3]) if compression and compression != "packbits" else None
        if predictor == 3 and dtype != "float32":
            predictor = 2
        options = {
            "photometric": "minisblack",
            "planarconfig": "separate" if is_planar else "contig",
            "compression": compression,
            "predictor": predictor,
            "byteorder": str(rng.choice(["<", ">"])),
            "bigtiff": bool(rng.random() < 0.3),
            "tile": [None, (16, 32), (64, 16)][rng.integers(3)],
            "rowsperstrip": int(rng.integers(1, 30)),
            "metadata": None,
        }
        if options["tile"] is not None:
            del options["rowsperstrip"]
        stored = image.transpose(2, 0, 1) if is_planar else image
        stored = stored[..., 0] if channels == 1 else stored
        file = written(stored, options)
        read = tifffile.imread(io.BytesIO(file.getvalue()))
        assert np.array_equal(read, stored)
        result = decoded(file.getvalue(), dtype=dtype)
        assert np.array_equal(result, image), options


@pytest.mark.parametrize("channels", [1, 3, 4])
@pytest.mark.parametrize("kind", [".png", ".tiff"])
def test_16_bit_files_written_by_opencv_are_read(channels, kind):
    rng = np.random.default_rng(channels)
    image = random_pixels(rng, "uint16", channels, (31, 45))
    is_written, file = cv2.imencode(kind, image[..., ::-1] if channels == 3 else image)
    assert is_written
    back = cv2.imdecode(file, cv2.IMREAD_UNCHANGED).reshape(image.shape)
    order = {1: [0], 3: [2, 1, 0], 4: [2, 1, 0, 3]}[channels]
    assert np.array_equal(decoded(file.tobytes(), dtype="uint16"), back[..., order])


@pytest.mark.parametrize("dtype", ["uint16", "float32"])
@pytest.mark.parametrize("channels", [1, 3, 5])
def test_pixels_match_torchvision(dtype, channels):
    image = random_pixels(np.random.default_rng(3), dtype, channels, (40, 53))
    planes = torch.from_numpy(image.astype(np.float32).transpose(2, 0, 1).copy())
    most = float(np.abs(image.astype(np.float32)).max())
    for size in ([20, 31], [64, 40]):
        for antialias in (False, True):
            expected = F.resize_image(planes, size, antialias=antialias).numpy().transpose(1, 2, 0)
            resize = partial(ops.resize, size=size, antialias=antialias)
            result = computed(resize, images=image)
            # torch's float32 weights for antialiasing are themselves up to 2.4e-6 off its float64.
            assert np.abs(result - expected).max() < (4e-6 if antialias else 2e-6) * most
    expected = F.affine(planes, 11.0, [2, -3], 1.1, [3.0, 1.0]).numpy().transpose(1, 2, 0)
    result = computed(lambda x: ops.affine(x, 11.0, [2, -3], 1.1, [3.0, 1.0]), x=image)
    assert (result != expected).mean() < 0.002
    scaled = planes / 65_535 if dtype == "uint16" else planes
    expected = F.normalize(scaled, [0.4] * channels, [0.2] * channels).numpy()
    result = computed(lambda x: ops.normalize(x, 0.4, 0.2), x=image)
    assert np.abs(result - expected).max() < 1e-5 * max(1.0, float(np.abs(expected).max()))
