"""CIFAR's binary files, as TensorFlow 1's tutorial writes it: one image at a time."""

import sys

if "--tensorflow" in sys.argv:
    import tensorflow.compat.v1 as tf

    tf.disable_v2_behavior()
else:
    import headrace.tf1 as tf

from benchmarks.pipelines import loop

BATCH_SIZE = 128
MIN_AFTER_DEQUEUE = 10_000
NUM_THREADS = 4


def read_image(names):
    reader = tf.FixedLengthRecordReader(record_bytes=1 + 3 * 32 * 32)
    _, value = reader.read(names)
    record = tf.decode_raw(value, tf.uint8)
    label = tf.cast(tf.strided_slice(record, [0], [1]), tf.int32)
    label = tf.reshape(label, [])
    depth_major = tf.reshape(tf.strided_slice(record, [1], [1 + 3 * 32 * 32]), [3, 32, 32])
    return tf.transpose(depth_major, [1, 2, 0]), label


def distort(image):
    image = tf.random_crop(tf.cast(image, tf.float32), [24, 24, 3])
    image = tf.image.random_flip_left_right(image)
    image = tf.image.per_image_standardization(image)
    image.set_shape([24, 24, 3])
    return image


def shuffled(image, label):
    return tf.train.shuffle_batch(
        [image, label],
        batch_size=BATCH_SIZE,
        num_threads=NUM_THREADS,
        capacity=MIN_AFTER_DEQUEUE + (NUM_THREADS + 3) * BATCH_SIZE,
        min_after_dequeue=MIN_AFTER_DEQUEUE,
        allow_smaller_final_batch=True,
    )


def augmented_images(files, num_epochs):
    image, label = read_image(tf.train.string_input_producer(files, num_epochs=num_epochs))
    return shuffled(distort(image), label)


def images(files, num_epochs):
    image, label = read_image(tf.train.string_input_producer(files, num_epochs=num_epochs))
    return shuffled(image, label)


if __name__ == "__main__":
    loop.run(tf, {"augmented_images": augmented_images, "images": images})
