import io

import numpy as np
import pytest
from PIL import Image
from tests.ops.augment.models import computed

import headrace as hr
import headrace.tf1 as tf
from headrace import ops


def decoded(file, **options):
    return computed(lambda x: ops.decode_image(x, **options), x=file)


@pytest.mark.parametrize("size", [(40, 56), (33, 47), (1, 1), (2, 131)])
def test_lossless_files_decode_exactly(photo, saved, size):
    image = photo(*size)
    assert np.array_equal(decoded(saved(image, "WEBP", lossless=True)), image)
    with_alpha = np.concatenate([image, image[..., :1]], -1)
    file = saved(with_alpha, "WEBP", lossless=True, exact=True)
    assert np.array_equal(decoded(file), with_alpha)
    assert np.array_equal(decoded(file, channels=3), image)


@pytest.mark.parametrize("size", [(40, 56), (33, 47), (1, 1), (2, 131)])
@pytest.mark.parametrize("quality", [20, 80, 100])
def test_lossy_files_match_pillow(photo, saved, pillow, size, quality):
    file = saved(photo(*size), "WEBP", quality=quality)
    assert abs(decoded(file).astype(int) - pillow(file)).max() <= 1
    opaque = decoded(file, channels=4)
    assert (opaque[..., 3] == 255).all()
    assert np.array_equal(opaque[..., :3], decoded(file))
    with_alpha = saved(np.concatenate([photo(*size), photo(*size)[..., :1]], -1), "WEBP")
    assert abs(decoded(with_alpha).astype(int) - pillow(with_alpha)).max() <= 1


def test_animation_decodes_to_its_frames_or_the_first_one():
    frames = [np.full((6, 8, 3), 40 * n, np.uint8) for n in range(3)]
    frames[1][2:4, 3:5] = (255, 0, 0)
    file = io.BytesIO()
    first, *others = [Image.fromarray(frame) for frame in frames]
    first.save(file, "WEBP", save_all=True, append_images=others, lossless=True, duration=10)
    result = decoded(file.getvalue())
    assert abs(result[..., :3].astype(int) - frames).max() <= 1
    result = decoded(file.getvalue(), expand_animations=False, channels=3)
    assert np.array_equal(result, frames[0])


def test_dtypes_match_other_formats(photo, saved):
    image = photo(5, 7)
    file = saved(image, "WEBP", lossless=True)
    assert np.array_equal(decoded(file, dtype="uint16"), image.astype(np.uint16) << 8)
    assert np.allclose(decoded(file, dtype="float32"), image / 255)


def test_grey_is_rejected(photo, saved):
    with pytest.raises(hr.errors.InvalidArgumentError, match="when decoding WebP images, got 1"):
        decoded(saved(photo(4, 4), "WEBP"), channels=1)


def test_damage_causes_an_error_or_different_pixels(photo, saved):
    for options in ({"lossless": True}, {"quality": 50}):
        file = saved(photo(24, 24), "WEBP", **options)
        for end in range(0, len(file), 7):
            with pytest.raises(hr.errors.InvalidArgumentError):
                decoded(file[:end])
        random = np.random.default_rng(0)
        for _ in range(200):
            changed = bytearray(file)
            changed[random.integers(len(file))] ^= 1 << random.integers(8)
            try:
                assert decoded(bytes(changed)).ndim in (3, 4)
            except (hr.errors.InvalidArgumentError, hr.errors.ResourceExhaustedError):
                pass


def test_huge_size_is_rejected_before_memory_is_allocated():
    side = (16_000_000).to_bytes(3, "little")
    body = b"WEBPVP8X\x0a\0\0\0\0\0\0\0" + side + side + b"VP8L\x05\0\0\0\x2f\0\0\0\0\0"
    file = b"RIFF" + len(body).to_bytes(4, "little") + body
    with pytest.raises(hr.errors.InvalidArgumentError, match=r"16000001x16000001 pixels|Invalid"):
        decoded(file)


def test_tensorflow_1_graphs_reject_webp(photo, saved, run):
    file = saved(photo(4, 4), "WEBP")
    for decode in (tf.image.decode_image, tf.image.decode_png):
        with pytest.raises(
            tf.errors.InvalidArgumentError, match=r"decode it with hr.ops.decode_image"
        ):
            run(decode(file))
