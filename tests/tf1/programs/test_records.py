"""Programs that read binary records, as TensorFlow 1 users wrote them."""

import os
import sys

import numpy as np
import pytest

import headrace.tf1 as tf

# CIFAR-10: the tutorial's input


class CIFAR10Record:
    pass


def read_cifar10(filename_queue):
    result = CIFAR10Record()
    label_bytes = 1
    result.height = 32
    result.width = 32
    result.depth = 3
    image_bytes = result.height * result.width * result.depth
    record_bytes = label_bytes + image_bytes

    reader = tf.FixedLengthRecordReader(record_bytes=record_bytes)
    result.key, value = reader.read(filename_queue)
    record_bytes = tf.decode_raw(value, tf.uint8)
    result.label = tf.cast(tf.strided_slice(record_bytes, [0], [label_bytes]), tf.int32)
    depth_major = tf.reshape(
        tf.strided_slice(record_bytes, [label_bytes], [label_bytes + image_bytes]),
        [result.depth, result.height, result.width],
    )
    result.uint8image = tf.transpose(depth_major, [1, 2, 0])
    return result


def cifar10_inputs(data_dir, batch_size, num_examples_per_epoch):
    filenames = [os.path.join(data_dir, f"data_batch_{i}.bin") for i in range(1, 4)]
    for f in filenames:
        if not tf.gfile.Exists(f):
            raise ValueError("Failed to find file: " + f)
    with tf.name_scope("data_augmentation"):
        read_input = read_cifar10(tf.train.string_input_producer(filenames))
        reshaped_image = tf.cast(read_input.uint8image, tf.float32)
        mean = tf.reduce_mean(reshaped_image)
        deviation = tf.sqrt(tf.reduce_mean(tf.square(reshaped_image)) - tf.square(mean))
        float_image = (reshaped_image - mean) / tf.maximum(deviation, 1.0 / np.sqrt(32 * 32 * 3))
        float_image.set_shape([32, 32, 3])
        read_input.label.set_shape([1])
        min_queue_examples = int(num_examples_per_epoch * 0.4)
    images, label_batch = tf.train.shuffle_batch(
        [float_image, read_input.label],
        batch_size=batch_size,
        num_threads=16,
        capacity=min_queue_examples + 3 * batch_size,
        min_after_dequeue=min_queue_examples,
    )
    return images, tf.reshape(label_batch, [batch_size])


def test_cifar_10_is_read(tmp_path):
    random = np.random.default_rng(1)
    content = random.integers(0, 256, (60, 1 + 3072), np.uint8)
    content[:, 0] %= 10
    for part in range(3):
        content[20 * part : 20 * part + 20].tofile(tmp_path / f"data_batch_{part + 1}.bin")
    images, labels = cifar10_inputs(str(tmp_path), batch_size=8, num_examples_per_epoch=60)
    assert images.get_shape().as_list() == [8, 32, 32, 3]
    assert labels.get_shape().as_list() == [8]
    with tf.Session() as sess:
        coord = tf.train.Coordinator()
        threads = tf.train.start_queue_runners(sess=sess, coord=coord)
        seen = [sess.run([images, labels]) for _ in range(10)]
        coord.request_stop()
        coord.join(threads, stop_grace_period_secs=10)
    for batch, numbers in seen:
        assert np.allclose(batch.mean((1, 2, 3)), 0, atol=1e-4)
        for image, label in zip(batch, numbers, strict=True):
            pixels = content[content[:, 0] == label][:, 1:].reshape(-1, 3, 32, 32).astype(float)
            scaled = (pixels - pixels.mean((1, 2, 3), keepdims=True)) / pixels.std(
                (1, 2, 3), keepdims=True
            )
            assert np.isclose(scaled.transpose(0, 2, 3, 1), image, atol=1e-3).all((1, 2, 3)).any()


# MNIST: the converter and the reader of the guide's examples


def _int64_feature(value):
    return tf.train.Feature(int64_list=tf.train.Int64List(value=[value]))


def _bytes_feature(value):
    return tf.train.Feature(bytes_list=tf.train.BytesList(value=[value]))


def convert_to(images, labels, filename):
    rows, cols, depth = images.shape[1:]
    writer = tf.python_io.TFRecordWriter(filename)
    for index in range(images.shape[0]):
        example = tf.train.Example(
            features=tf.train.Features(
                feature={
                    "height": _int64_feature(rows),
                    "width": _int64_feature(cols),
                    "depth": _int64_feature(depth),
                    "label": _int64_feature(int(labels[index])),
                    "image_raw": _bytes_feature(images[index].tobytes()),
                }
            )
        )
        writer.write(example.SerializeToString())
    writer.close()


def read_and_decode(filename_queue):
    reader = tf.TFRecordReader()
    _, serialized_example = reader.read(filename_queue)
    features = tf.parse_single_example(
        serialized_example,
        features={
            "image_raw": tf.FixedLenFeature([], tf.string),
            "label": tf.FixedLenFeature([], tf.int64),
        },
    )
    image = tf.decode_raw(features["image_raw"], tf.uint8)
    image.set_shape([784])
    image = tf.cast(image, tf.float32) * (1.0 / 255) - 0.5
    label = tf.cast(features["label"], tf.int32)
    return image, label


flags = tf.app.flags
flags.DEFINE_integer("reader_num_epochs", 2, "Number of epochs to run trainer.")
flags.DEFINE_integer("reader_batch_size", 100, "Batch size.")
flags.DEFINE_string("reader_train_dir", "/tmp/data", "Directory with the training data.")
FLAGS = flags.FLAGS


def run_training(log):
    with tf.Graph().as_default():
        with tf.name_scope("input"):
            filename_queue = tf.train.string_input_producer(
                [os.path.join(FLAGS.reader_train_dir, "train.tfrecords")],
                num_epochs=FLAGS.reader_num_epochs,
            )
            image, label = read_and_decode(filename_queue)
            images, labels = tf.train.shuffle_batch(
                [image, label],
                batch_size=FLAGS.reader_batch_size,
                num_threads=2,
                capacity=1000 + 3 * FLAGS.reader_batch_size,
                min_after_dequeue=1000,
            )
        total = tf.reduce_sum(images) + tf.cast(tf.reduce_sum(labels), tf.float32)
        init_op = tf.group(tf.global_variables_initializer(), tf.local_variables_initializer())
        sess = tf.Session()
        sess.run(init_op)
        coord = tf.train.Coordinator()
        threads = tf.train.start_queue_runners(sess=sess, coord=coord)
        try:
            step = 0
            while not coord.should_stop():
                total_value = sess.run(total)
                if step % 100 == 0:
                    log.append(f"Step {step}: {total_value:.2f}")
                step += 1
        except tf.errors.OutOfRangeError:
            log.append(f"Done training for {FLAGS.reader_num_epochs} epochs, {step} steps.")
        finally:
            coord.request_stop()
        coord.join(threads)
        sess.close()


def test_mnist_is_converted_and_read(tmp_path):
    images = np.arange(50 * 784).astype(np.uint8).reshape(50, 28, 28, 1)
    convert_to(images, np.arange(50) % 10, str(tmp_path / "train.tfrecords"))
    log = []
    with pytest.raises(SystemExit):
        tf.app.run(
            main=lambda _: run_training(log),
            argv=[sys.argv[0], f"--reader_train_dir={tmp_path}", "--reader_batch_size", "10"],
        )
    assert log[0].startswith("Step 0: ")
    assert log[-1] == "Done training for 2 epochs, 10 steps."


def test_records_are_read_and_parsed_in_bulk(tmp_path):
    images = np.arange(25 * 784).astype(np.uint8).reshape(25, 28, 28, 1)
    convert_to(images, np.arange(25), str(tmp_path / "a.tfrecords"))
    filename_queue = tf.train.string_input_producer([str(tmp_path / "a.tfrecords")], num_epochs=2)
    _, serialized = tf.TFRecordReader().read_up_to(filename_queue, 10)
    features = tf.parse_example(
        serialized,
        {"label": tf.FixedLenFeature([], tf.int64), "image_raw": tf.FixedLenFeature([], tf.string)},
    )
    batch = tf.train.batch(
        features, 20, enqueue_many=True, capacity=100, allow_smaller_final_batch=True
    )
    pixels = tf.decode_raw(batch["image_raw"], tf.uint8)
    taken = []
    with tf.Session() as sess:
        sess.run(tf.local_variables_initializer())
        coord = tf.train.Coordinator()
        threads = tf.train.start_queue_runners(sess, coord)
        for size in (20, 20, 10):
            labels, values = sess.run([batch["label"], pixels])
            assert values.shape == (size, 784)
            assert np.array_equal(values, images.reshape(25, 784)[labels])
            taken += labels.tolist()
        with pytest.raises(tf.errors.OutOfRangeError):
            sess.run(pixels)
        coord.request_stop()
        coord.join(threads)
    assert sorted(taken) == sorted([*range(25)] * 2)
