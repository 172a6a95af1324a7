"""CIFAR's binary files, as fast as the names of TensorFlow 1 let one write it.

Under TensorFlow, everything is done for whole batches: crops and mirror images are one `gather`, of
each image the places of its pixels. Under headrace an operation on one image costs little, so bytes
are cropped and mirrored one image at a time, and whole batches standardised.
"""

import sys

if "--tensorflow" in sys.argv:
    import tensorflow.compat.v1 as tf

    tf.disable_v2_behavior()
else:
    import headrace.tf1 as tf

from benchmarks.pipelines import loop

BATCH_SIZE = 128
MIN_AFTER_DEQUEUE = 10_000
NUM_RECORDS = 128
NUM_READERS = 2
SIZE = 32
CROP = 24
RECORD_BYTES = 1 + 3 * SIZE * SIZE


def shuffled_records(files, num_epochs):
    names = tf.train.string_input_producer(files, num_epochs=num_epochs)
    reader = tf.FixedLengthRecordReader(record_bytes=RECORD_BYTES)
    return tf.train.shuffle_batch_join(
        [[reader.read_up_to(names, NUM_RECORDS)[1]] for _ in range(NUM_READERS)],
        batch_size=BATCH_SIZE,
        capacity=MIN_AFTER_DEQUEUE + (NUM_READERS + 3) * NUM_RECORDS,
        min_after_dequeue=MIN_AFTER_DEQUEUE,
        enqueue_many=True,
        allow_smaller_final_batch=True,
    )


def decode(values):
    records = tf.reshape(tf.decode_raw(values, tf.uint8), [-1, RECORD_BYTES])
    planes = tf.reshape(records[:, 1:], [-1, 3, SIZE, SIZE])
    return tf.transpose(planes, [0, 2, 3, 1]), tf.cast(records[:, 0], tf.int32)


def standardise(crops):
    axes = [1, 2, 3]
    centred = crops - tf.reduce_mean(crops, axes, keepdims=True)
    deviation = tf.sqrt(tf.reduce_mean(tf.square(centred), axes, keepdims=True))
    return centred / tf.maximum(deviation, (3 * CROP * CROP) ** -0.5)


def distort(images):
    count = tf.shape(images)[0]
    corners = tf.random_uniform([count, 2], 0, SIZE - CROP + 1, dtype=tf.int32)
    steps = tf.range(CROP)[tf.newaxis]
    rows, columns = corners[:, :1] + steps, corners[:, 1:] + steps
    is_mirrored = tf.random_uniform([count, 1]) < 0.5
    columns = tf.where(tf.tile(is_mirrored, [1, CROP]), columns[:, ::-1], columns)
    starts = tf.range(count)[:, tf.newaxis, tf.newaxis] * SIZE * SIZE
    positions = starts + rows[:, :, tf.newaxis] * SIZE + columns[:, tf.newaxis]
    return standardise(tf.cast(tf.gather(tf.reshape(images, [-1, 3]), positions), tf.float32))


def prepared(tensors):
    """Does the work of whole batches in threads beside the training loop."""
    queue = tf.FIFOQueue(8, [tensor.dtype for tensor in tensors])
    tf.train.add_queue_runner(tf.train.QueueRunner(queue, [queue.enqueue(tensors)] * 2))
    return queue.dequeue()


def augmented_in_batches(files, num_epochs):
    images, labels = decode(shuffled_records(files, num_epochs))
    return prepared([distort(images), labels])


def augmented_one_by_one(files, num_epochs):
    names = tf.train.string_input_producer(files, num_epochs=num_epochs)
    _, value = tf.FixedLengthRecordReader(record_bytes=RECORD_BYTES).read(names)
    record = tf.decode_raw(value, tf.uint8)
    image = tf.transpose(tf.reshape(record[1:], [3, SIZE, SIZE]), [1, 2, 0])
    image = tf.image.random_flip_left_right(tf.random_crop(image, [CROP, CROP, 3]))
    image.set_shape([CROP, CROP, 3])
    images, labels = tf.train.shuffle_batch(
        [image, tf.cast(tf.reshape(record[:1], []), tf.int32)],
        batch_size=BATCH_SIZE,
        num_threads=2,
        capacity=MIN_AFTER_DEQUEUE + 5 * BATCH_SIZE,
        min_after_dequeue=MIN_AFTER_DEQUEUE,
        allow_smaller_final_batch=True,
    )
    return prepared([standardise(tf.cast(images, tf.float32)), labels])


def images(files, num_epochs):
    return prepared(decode(shuffled_records(files, num_epochs)))


if __name__ == "__main__":
    is_tensorflow = "--tensorflow" in sys.argv
    augmented_images = augmented_in_batches if is_tensorflow else augmented_one_by_one
    loop.run(tf, {"augmented_images": augmented_images, "images": images})
