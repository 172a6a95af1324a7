import numpy as np
import pytest
from tests.ops.augment.models import computed

import headrace as hr
from headrace import ops


def model(image, height, width):
    rows, columns = image.shape[:2]
    above, left = max(height - rows, 0) // 2, max(width - columns, 0) // 2
    below, right = max(height - rows + 1, 0) // 2, max(width - columns + 1, 0) // 2
    image = np.pad(image, [(above, below), (left, right), (0, 0)])
    top, left = round((len(image) - height) / 2), round((image.shape[1] - width) / 2)
    return image[top : top + height, left : left + width]


@pytest.mark.parametrize("size", [(5, 5), (9, 6), (8, 7), (20, 4), (3, 21), (17, 18), (1, 1)])
def test_center_crop_keeps_the_center(photo, size):
    image = photo(9, 12)
    assert np.array_equal(
        computed(lambda x: ops.center_crop(x, size), x=image), model(image, *size)
    )


def test_one_number_sets_both_sides_and_each_image_of_a_batch_is_cropped(photo):
    batch = np.stack([photo(9, 12), photo(9, 12)[::-1]]).astype(np.float32)
    result = computed(lambda x: ops.center_crop(x, 4), x=batch)
    assert np.array_equal(result, [model(image, 4, 4) for image in batch])


def test_output_shape_is_known_for_images_of_unknown_shape():
    rows = hr.arrays({"x": np.array([b"", b""], object)})
    function = hr.native(lambda e: {"y": ops.center_crop(ops.decode_image(e["x"]), (3, 4))})
    assert rows.map(function).spec["y"].shape == (3, 4, None)


@pytest.mark.parametrize("size", [0, (3, 0), (1, 2, 3), 2.5, "ab"])
def test_invalid_size_is_rejected(photo, size):
    with pytest.raises(ValueError, match=r"center_crop: size is .*, expected a positive integer"):
        computed(lambda x: ops.center_crop(x, size), x=photo())
