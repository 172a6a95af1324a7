"""tf.data: as many threads as it likes; only the part of a photo that is kept is decoded."""

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import tensorflow as tf

from benchmarks import taking
from benchmarks.imagenet_photos import work

ANY_NUMBER = tf.data.AUTOTUNE
WHOLE = [[[0.0, 0.0, 1.0, 1.0]]]


def load(name: Any, label: Any) -> Any:
    """Returns a random part of a photo, float32, (3, 224, 224), and its label."""
    data = tf.io.read_file(name)
    begin, size, _ = tf.image.sample_distorted_bounding_box(
        tf.io.extract_jpeg_shape(data),
        WHOLE,
        aspect_ratio_range=(3 / 4, 4 / 3),
        area_range=(0.08, 1.0),
        max_attempts=10,
        min_object_covered=0.0,
        use_image_if_no_bounding_boxes=True,
    )
    window = tf.stack([begin[0], begin[1], size[0], size[1]])
    part = tf.io.decode_and_crop_jpeg(data, window, channels=3)
    image = tf.image.random_flip_left_right(tf.image.resize(part, [work.SIDE, work.SIDE]))
    image = (image / 255.0 - work.MEAN) / work.DEVIATION
    return tf.transpose(image, [2, 0, 1]), label


def batches(home: Path, num_epochs: int) -> Iterator[Any]:
    """Returns batches."""
    files = work.files_of(home)
    labels = [work.label_of(name) for name in files]
    pairs = tf.data.Dataset.from_tensor_slices((files, labels)).shuffle(len(files))
    photos = pairs.repeat(num_epochs).map(load, ANY_NUMBER).batch(work.BATCH_SIZE)
    options = tf.data.Options()
    options.deterministic = False
    return photos.prefetch(ANY_NUMBER).with_options(options).as_numpy_iterator()


if __name__ == "__main__":
    taking.run(batches, work.sums_of)
