"""Reads photographs from sharded records, like the large image classifiers of TensorFlow 1.

Threads convert the photographs, and each one writes a shard. Readers fill a queue of records, and
other threads decode, distort and batch them. Only the import differs from a TensorFlow 1 program.
"""

import argparse
import threading
from collections import Counter
from pathlib import Path

import numpy as np

import headrace.tf1 as tf

CLASSES = ["red", "green", "blue"]
SIZE = 24


class PictureCoder:
    """Encodes and decodes images in one session, for several threads."""

    def __init__(self) -> None:
        self._session = tf.Session()
        self._pixels = tf.placeholder(tf.uint8)
        self._jpeg = tf.image.encode_jpeg(self._pixels, format="rgb", quality=95)
        self._data = tf.placeholder(tf.string)
        self._decoded = tf.image.decode_jpeg(self._data, channels=3)

    def encode(self, pixels):
        """Returns an image as a JPEG file."""
        return self._session.run(self._jpeg, feed_dict={self._pixels: pixels})

    def size(self, data):
        """Returns the height and width of a JPEG."""
        return self._session.run(self._decoded, feed_dict={self._data: data}).shape[:2]


def example_of(coder, number, generator):
    """Returns a message with an image that has mostly one colour."""
    label = number % len(CLASSES)
    height, width = generator.integers(SIZE, 2 * SIZE, size=2)
    pixels = generator.integers(0, 120, size=(height, width, 3)).astype(np.uint8)
    pixels[:, :, label] += 120
    data = coder.encode(pixels)
    rows, columns = coder.size(data)

    def integers(*values):
        return tf.train.Feature(int64_list=tf.train.Int64List(value=values))

    def text(value):
        return tf.train.Feature(bytes_list=tf.train.BytesList(value=[tf.compat.as_bytes(value)]))

    features = {
        "image/height": integers(int(rows)),
        "image/width": integers(int(columns)),
        "image/class/label": integers(label),
        "image/class/text": text(CLASSES[label]),
        "image/encoded": text(data),
    }
    return tf.train.Example(features=tf.train.Features(feature=features))


def convert(directory, num_pictures, num_shards):
    """Writes the shards, with one thread per shard."""
    coder, coord = PictureCoder(), tf.train.Coordinator()

    def write(shard):
        with coord.stop_on_exception():
            generator = np.random.default_rng(shard)
            path = directory / f"train-{shard:05d}-of-{num_shards:05d}"
            writer = tf.python_io.TFRecordWriter(str(path))
            for number in range(shard, num_pictures, num_shards):
                writer.write(example_of(coder, number, generator).SerializeToString())
            writer.close()

    threads = [threading.Thread(target=write, args=(shard,)) for shard in range(num_shards)]
    for thread in threads:
        thread.start()
    coord.join(threads)


def parsed(record):
    """Returns the data, the label and the name of a record."""
    features = tf.parse_single_example(
        record,
        {
            "image/encoded": tf.FixedLenFeature([], tf.string, default_value=""),
            "image/class/label": tf.FixedLenFeature([1], tf.int64, default_value=-1),
            "image/class/text": tf.FixedLenFeature([], tf.string, default_value=""),
        },
    )
    label = tf.cast(features["image/class/label"], tf.int32)
    return features["image/encoded"], label, features["image/class/text"]


def distorted(data, thread):
    """Returns a randomly distorted image. Each thread uses a different resize method."""
    with tf.name_scope(values=[data], name=None, default_name="distort"):
        image = tf.image.convert_image_dtype(tf.image.decode_jpeg(data, channels=3), tf.float32)
        # The box covers at least half of the image, so the brightest colour stays the same.
        begin, size, _ = tf.image.sample_distorted_bounding_box(
            tf.shape(image),
            bounding_boxes=tf.constant([[[0.0, 0.0, 1.0, 1.0]]]),
            min_object_covered=0.5,
            aspect_ratio_range=[0.75, 1.33],
            area_range=[0.5, 1.0],
            max_attempts=100,
            use_image_if_no_bounding_boxes=True,
        )
        image = tf.slice(image, begin, size)
        image = tf.image.resize_images(image, [SIZE, SIZE], method=thread % 4)
        image.set_shape([SIZE, SIZE, 3])
        image = tf.image.random_flip_left_right(image)
        image = tf.image.random_brightness(image, max_delta=32.0 / 255.0)
        image = tf.image.random_contrast(image, lower=0.5, upper=1.5)
        return tf.multiply(tf.subtract(tf.clip_by_value(image, 0.0, 1.0), 0.5), 2.0)


def batches(directory, batch_size, num_epochs, num_readers=2, num_threads=4):
    """Returns the images, labels and names of a batch."""
    with tf.name_scope("batch_processing"), tf.device("/cpu:0"):
        files = tf.gfile.Glob(str(directory / "train-*"))
        names = tf.train.string_input_producer(
            sorted(files), shuffle=True, capacity=16, num_epochs=num_epochs
        )
        records = tf.RandomShuffleQueue(capacity=200, min_after_dequeue=50, dtypes=[tf.string])
        enqueue_ops = []
        for _ in range(num_readers):
            _, record = tf.TFRecordReader().read(names)
            enqueue_ops.append(records.enqueue([record]))
        runner = tf.train.queue_runner.QueueRunner(records, enqueue_ops)
        tf.train.queue_runner.add_queue_runner(runner)
        examples = []
        for thread in range(num_threads):
            data, label, name = parsed(records.dequeue())
            examples.append([distorted(data, thread), label, name])
        images, labels, names = tf.train.batch_join(
            examples,
            batch_size=batch_size,
            capacity=2 * num_threads * batch_size,
            allow_smaller_final_batch=True,
        )
        return images, tf.reshape(labels, [-1]), names


def main():
    """Writes images, reads them, and counts them."""
    parser = argparse.ArgumentParser(description=main.__doc__)
    parser.add_argument("directory", type=Path)
    parser.add_argument("--pictures", type=int, default=240)
    parser.add_argument("--epochs", type=int, default=2)
    args = parser.parse_args()
    args.directory.mkdir(parents=True, exist_ok=True)
    convert(args.directory, args.pictures, num_shards=4)
    images, labels, names = batches(args.directory, 32, args.epochs)
    seen: Counter[str] = Counter()
    num_right = num_batches = 0
    with tf.Session() as session:
        session.run([tf.global_variables_initializer(), tf.local_variables_initializer()])
        coord = tf.train.Coordinator()
        threads = tf.train.start_queue_runners(sess=session, coord=coord)
        try:
            while not coord.should_stop():
                pixels, numbers, words = session.run([images, labels, names])
                num_batches += 1
                seen.update(word.decode() for word in words)
                num_right += int((pixels.mean(axis=(1, 2)).argmax(axis=1) == numbers).sum())
        except tf.errors.OutOfRangeError:
            coord.request_stop()
        coord.join(threads)
    print(f"{num_batches} batches:", ", ".join(f"{n} {seen[n]}" for n in CLASSES))
    print(f"the brightest colour is the label's in {num_right} of {seen.total()}")


if __name__ == "__main__":
    main()
