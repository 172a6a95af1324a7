"""Programs that read files, as TensorFlow 1 users wrote them. Only the import has changed."""

import os
import threading
from datetime import datetime

import numpy as np
import pytest

import headrace.tf1 as tf


def run_to_the_end(fetches, init=True):
    """The training loop of the guide, which returns the fetched values of each step."""
    steps = []
    with tf.Session() as sess:
        if init:
            sess.run(tf.group(tf.global_variables_initializer(), tf.local_variables_initializer()))
        coord = tf.train.Coordinator()
        threads = tf.train.start_queue_runners(sess=sess, coord=coord)
        try:
            while not coord.should_stop():
                steps.append(sess.run(fetches))
        except tf.errors.OutOfRangeError:
            pass
        finally:
            coord.request_stop()
        coord.join(threads)
    return steps


# The guide, with CSV files


@pytest.mark.parametrize("put_together", [tf.stack, lambda cols: tf.concat(0, cols)])
def test_csv_reading_program_from_the_guide_runs(tmp_path, put_together):
    for part in range(2):
        rows = [f"{part},{row},,{row * row},{row % 3}\n" for row in range(10)]
        (tmp_path / f"file{part}.csv").write_text("".join(rows))
    filename_queue = tf.train.string_input_producer(
        [str(tmp_path / f"file{part}.csv") for part in range(2)], shuffle=False
    )

    reader = tf.TextLineReader()
    key, value = reader.read(filename_queue)

    # Default values, in case of empty columns. Also specifies the type of the decoded result.
    record_defaults = [[1], [1], [1], [1], [1]]
    col1, col2, col3, col4, col5 = tf.decode_csv(value, record_defaults=record_defaults)
    features = put_together([col1, col2, col3, col4])

    taken = []
    with tf.Session() as sess:
        coord = tf.train.Coordinator()
        threads = tf.train.start_queue_runners(coord=coord)
        for _ in range(45):
            taken.append(sess.run([features, col5, key]))
        coord.request_stop()
        coord.join(threads)
    assert taken[13][0].tolist() == [1, 3, 1, 9]
    assert [label for _, label, _ in taken] == ([row % 3 for row in range(10)] * 5)[:45]
    assert taken[-1][2].endswith(b"file0.csv:5")


# Sparse features as text


def test_libsvm_lines_are_parsed(tmp_path):
    (tmp_path / "a.svm").write_text("1 3:0.5 7:1\n0 1:2\n1 2:-1 4:1e2 9:.5\n")
    filename_queue = tf.train.string_input_producer([str(tmp_path / "a.svm")], num_epochs=1)
    _, line = tf.TextLineReader().read(filename_queue)
    columns = tf.string_split([line], " ")
    label = tf.string_to_number(columns.values[0], out_type=tf.float32)
    splits = tf.string_split(columns.values[1:], ":")
    id_vals = tf.reshape(splits.values, splits.dense_shape)
    feat_ids, feat_vals = tf.split(id_vals, num_or_size_splits=2, axis=1)
    feat_ids = tf.string_to_number(feat_ids, out_type=tf.int32)
    feat_vals = tf.string_to_number(feat_vals, out_type=tf.float32)
    examples = run_to_the_end([label, feat_ids, feat_vals])
    assert [float(label) for label, _, _ in examples] == [1, 0, 1]
    assert [ids[:, 0].tolist() for _, ids, _ in examples] == [[3, 7], [1], [2, 4, 9]]
    assert [values[:, 0].tolist() for _, _, values in examples] == [[0.5, 1], [2], [-1, 100, 0.5]]


# ImageNet: shards, several readers of one queue of serialized examples, batch_join


def _int64_feature(value):
    return tf.train.Feature(int64_list=tf.train.Int64List(value=[value]))


def _bytes_feature(value):
    return tf.train.Feature(bytes_list=tf.train.BytesList(value=[value]))


def _process_shard(thread_index, directory, num_shards, counts):
    filename = f"train-{thread_index:05d}-of-{num_shards:05d}"
    writer = tf.python_io.TFRecordWriter(os.path.join(directory, filename))
    for number in range(8 * thread_index, 8 * thread_index + 8):
        boxes = number % 3
        corners = {
            f"image/object/bbox/{side}": tf.train.Feature(
                float_list=tf.train.FloatList(value=[number + box + shift for box in range(boxes)])
            )
            for side, shift in (("xmin", 0.0), ("ymin", 0.25), ("xmax", 0.5), ("ymax", 0.75))
        }
        features = {
            "image/encoded": _bytes_feature(bytes([number]) * 12),
            "image/class/label": _int64_feature(number),
            "image/class/text": _bytes_feature(tf.compat.as_bytes(f"name {number}")),
            **corners,
        }
        example = tf.train.Example(features=tf.train.Features(feature=features))
        writer.write(example.SerializeToString())
        counts[thread_index] += 1
    writer.close()


def parse_example_proto(example_serialized):
    feature_map = {
        "image/encoded": tf.FixedLenFeature([], dtype=tf.string, default_value=""),
        "image/class/label": tf.FixedLenFeature([1], dtype=tf.int64, default_value=-1),
        "image/class/text": tf.FixedLenFeature([], dtype=tf.string, default_value=""),
    }
    sparse_float32 = tf.VarLenFeature(dtype=tf.float32)
    sides = ["xmin", "ymin", "xmax", "ymax"]
    feature_map.update({"image/object/bbox/" + side: sparse_float32 for side in sides})
    features = tf.parse_single_example(example_serialized, feature_map)
    label = tf.cast(features["image/class/label"], dtype=tf.int32)
    xmin, ymin, xmax, ymax = (
        tf.expand_dims(features["image/object/bbox/" + side].values, 0) for side in sides
    )
    bbox = tf.concat([ymin, xmin, ymax, xmax], 0)  # tf.concat(0, ..) before 1.0
    bbox = tf.expand_dims(bbox, 0)
    bbox = tf.transpose(bbox, [0, 2, 1])
    return features["image/encoded"], label, bbox, features["image/class/text"]


def imagenet_batch_inputs(data_files, batch_size, train, num_preprocess_threads=4, num_readers=2):
    with tf.name_scope("batch_processing"):
        if train:
            filename_queue = tf.train.string_input_producer(
                data_files, shuffle=True, capacity=16, num_epochs=1
            )
        else:
            filename_queue = tf.train.string_input_producer(
                data_files, shuffle=False, capacity=1, num_epochs=1
            )
        if train:
            examples_queue = tf.RandomShuffleQueue(
                capacity=8 + 3 * batch_size, min_after_dequeue=8, dtypes=[tf.string]
            )
        else:
            examples_queue = tf.FIFOQueue(capacity=8 + 3 * batch_size, dtypes=[tf.string])
        if num_readers > 1:
            enqueue_ops = []
            for _ in range(num_readers):
                reader = tf.TFRecordReader()
                _, value = reader.read(filename_queue)
                enqueue_ops.append(examples_queue.enqueue([value]))
            tf.train.queue_runner.add_queue_runner(
                tf.train.queue_runner.QueueRunner(examples_queue, enqueue_ops)
            )
            example_serialized = examples_queue.dequeue()
        else:
            _, example_serialized = tf.TFRecordReader().read(filename_queue)

        images_and_labels = []
        for _ in range(num_preprocess_threads):
            image_buffer, label_index, bbox, _ = parse_example_proto(example_serialized)
            image = tf.reshape(tf.decode_raw(image_buffer, tf.uint8), [2, 2, 3])
            image = tf.multiply(tf.subtract(tf.cast(image, tf.float32) / 255.0, 0.5), 2.0)
            num_boxes = tf.shape(bbox)[1]
            images_and_labels.append([image, label_index, num_boxes])
        images, label_index_batch, boxes = tf.train.batch_join(
            images_and_labels, batch_size=batch_size, capacity=2 * 4 * batch_size
        )
        images = tf.reshape(tf.cast(images, tf.float32), shape=[batch_size, 2, 2, 3])
        return images, tf.reshape(label_index_batch, [batch_size]), boxes


@pytest.mark.parametrize("train", [True, False])
@pytest.mark.parametrize("num_readers", [1, 3])
def test_imagenet_is_written_by_threads_and_read_back(tmp_path, train, num_readers):
    coord = tf.train.Coordinator()
    counts = [0] * 3
    threads = []
    for thread_index in range(3):
        args = (thread_index, str(tmp_path), 3, counts)
        t = threading.Thread(target=_process_shard, args=args)
        t.start()
        threads.append(t)
    coord.join(threads)
    assert sum(counts) == 24

    data_files = tf.gfile.Glob(os.path.join(str(tmp_path), "train-*"))
    with tf.Graph().as_default(), tf.device("/cpu:0"):
        batches = run_to_the_end(imagenet_batch_inputs(data_files, 4, train, 4, num_readers))
    assert sorted(np.concatenate([labels for _, labels, _ in batches])) == list(range(24))
    for images, labels, boxes in batches:
        assert np.allclose((images[:, 0, 0, 0] / 2 + 0.5) * 255, labels, atol=1e-3)
        assert (boxes == labels % 3).all()


# A folder of files, and how full the queues are


def test_folder_is_read_and_its_queues_are_monitored(tmp_path):
    for number in range(12):
        (tmp_path / f"{number}.bin").write_bytes(bytes([number] * 16))
    filenames = tf.train.match_filenames_once(str(tmp_path / "*.bin"))
    count_num_files = tf.size(filenames)
    filename_queue = tf.train.string_input_producer(filenames, num_epochs=2)
    reader = tf.WholeFileReader()
    key, value = reader.read(filename_queue)
    image = tf.reshape(tf.decode_raw(value, tf.uint8), [4, 4])
    images, keys = tf.train.batch([image, key], batch_size=6, num_threads=2, capacity=24)
    merged = tf.summary.merge_all()
    log_dir = os.path.join(str(tmp_path), "log", datetime.now().strftime("%H%M%S"))
    with tf.Session() as sess:
        tf.local_variables_initializer().run()
        assert sess.run(count_num_files) == 12
        writer = tf.summary.FileWriter(log_dir, sess.graph)
        coord = tf.train.Coordinator()
        threads = tf.train.start_queue_runners(coord=coord)
        for step in range(4):
            pixels, names, summary = sess.run([images, keys, merged])
            writer.add_summary(summary, step)
            assert [os.path.basename(name) for name in names] == [
                b"%d.bin" % number for number in pixels[:, 0, 0]
            ]
        with pytest.raises(tf.errors.OutOfRangeError):
            sess.run(images)
        coord.request_stop()
        coord.join(threads)
        writer.close()
    tags = {
        value.tag: value.simple_value
        for path in tf.gfile.Glob(log_dir + "/*")
        for event in tf.train.summary_iterator(path)
        for value in event.summary.value
    }
    assert tags.keys() == {"input_producer/fraction_of_32_full", "batch/fraction_of_24_full"}
    assert all(0 <= fraction <= 1 for fraction in tags.values())
