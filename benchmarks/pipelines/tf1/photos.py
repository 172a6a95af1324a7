"""A folder of JPEG photos, as TensorFlow 1's guide writes it: one photo at a time."""

import sys
from pathlib import Path

if "--tensorflow" in sys.argv:
    import tensorflow.compat.v1 as tf

    tf.disable_v2_behavior()
else:
    import headrace.tf1 as tf

from benchmarks.pipelines import loop

BATCH_SIZE = 64
NUM_THREADS = 4


def photos(files, num_epochs):
    labels = [int(Path(name).parent.name) for name in files]
    name, label = tf.train.slice_input_producer([files, labels], num_epochs=num_epochs)
    image = tf.image.decode_jpeg(tf.read_file(name), channels=3)
    image = tf.image.resize_images(image, [224, 224])
    return tf.train.batch(
        [tf.cast(image, tf.uint8), label],
        batch_size=BATCH_SIZE,
        num_threads=NUM_THREADS,
        capacity=(NUM_THREADS + 3) * BATCH_SIZE,
        allow_smaller_final_batch=True,
    )


if __name__ == "__main__":
    loop.run(tf, {"photos": photos})
