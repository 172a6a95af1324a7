"""The skeletons of two kinds of training programs. The model is an assigned variable."""

import time
from datetime import datetime

import numpy as np
import pytest

import headrace.tf1 as tf

SIZE = 4
LABEL_BYTES = 1


@pytest.fixture
def image_files(tmp_path):
    """Two files of six records: a label, then an image whose bytes all equal the label."""
    paths = []
    for part in range(2):
        labels = np.arange(6, dtype=np.uint8) + 6 * part
        records = np.repeat(labels[:, None], LABEL_BYTES + SIZE * SIZE * 3, axis=1)
        paths.append(str(tmp_path / f"data_batch_{part}.bin"))
        records.tofile(paths[-1])
    return paths


def read_image(filename_queue):
    """Reads a label and an image that is stored channel by channel."""
    image_bytes = SIZE * SIZE * 3
    reader = tf.FixedLengthRecordReader(record_bytes=LABEL_BYTES + image_bytes)
    _, value = reader.read(filename_queue)
    record = tf.decode_raw(value, tf.uint8)
    label = tf.cast(tf.strided_slice(record, [0], [LABEL_BYTES]), tf.int32)
    depth_major = tf.reshape(
        tf.strided_slice(record, [LABEL_BYTES], [LABEL_BYTES + image_bytes]), [3, SIZE, SIZE]
    )
    return tf.transpose(depth_major, [1, 2, 0]), label


def distorted_inputs(paths, batch_size, num_epochs=None):
    """Batches of distorted images in random order."""
    with tf.name_scope("data_augmentation"):
        queue = tf.train.string_input_producer(paths, num_epochs=num_epochs)
        image, label = read_image(queue)
        distorted = tf.random_crop(tf.cast(image, tf.float32), [SIZE - 1, SIZE - 1, 3])
        distorted = tf.image.random_flip_left_right(distorted)
        distorted = tf.image.random_brightness(distorted, max_delta=0)
        distorted.set_shape([SIZE - 1, SIZE - 1, 3])
        label.set_shape([1])
    images, labels = tf.train.shuffle_batch(
        [distorted, label],
        batch_size=batch_size,
        num_threads=2,
        capacity=24 + 3 * batch_size,
        min_after_dequeue=6,
    )
    tf.summary.image("images", images)
    return images, tf.reshape(labels, [batch_size])


def test_monitored_training_runs_with_a_logging_hook(image_files, tmp_path):
    """The parts of programs that train on CIFAR-10: input, a step, a hook that logs the speed."""
    batch_size, max_steps, log_frequency = 4, 10, 5
    lines = []

    class LoggerHook(tf.train.SessionRunHook):
        """Logs the loss and the speed at intervals."""

        def begin(self):
            self._step = -1
            self._start_time = time.time()

        def before_run(self, run_context):
            self._step += 1
            return tf.train.SessionRunArgs(loss)

        def after_run(self, run_context, run_values):
            if self._step % log_frequency == 0:
                duration = time.time() - self._start_time
                self._start_time = time.time()
                lines.append(
                    f"{datetime.now()}: step {self._step}, loss = {run_values.results:.2f} "
                    f"({log_frequency * batch_size / duration:.1f} examples/sec)"
                )

    with tf.Graph().as_default():
        global_step = tf.train.get_or_create_global_step()
        with tf.device("/cpu:0"):
            images, labels = distorted_inputs(image_files, batch_size)
        means = tf.reduce_mean(images, axis=[1, 2, 3])
        loss = tf.reduce_mean(tf.abs(means - tf.to_float(labels)), name="loss")
        weight = tf.Variable(0.0, name="weight")
        with tf.control_dependencies([tf.assign_add(weight, tf.reduce_sum(means))]):
            train_op = tf.assign_add(global_step, 1).op
        with tf.train.MonitoredTrainingSession(
            checkpoint_dir=str(tmp_path / "train"),
            hooks=[
                tf.train.StopAtStepHook(last_step=max_steps),
                tf.train.NanTensorHook(loss),
                LoggerHook(),
            ],
            config=tf.ConfigProto(log_device_placement=False),
            save_summaries_steps=5,
        ) as mon_sess:
            while not mon_sess.should_stop():
                mon_sess.run(train_op)

    # The images have the colour that is their label, whatever was cut or flipped.
    assert [line.split(": ")[1].split(" (")[0] for line in lines] == [
        "step 0, loss = 0.00",
        "step 5, loss = 0.00",
    ]
    result = tf.train.latest_checkpoint(str(tmp_path / "train"))
    assert result.endswith(f"model.ckpt-{max_steps}")
    assert tf.train.load_variable(result, "weight") > 0


def average_gradients(tower_values):
    """Averages the gradients of all towers."""
    stacked = tf.concat([tf.expand_dims(value, 0) for value in tower_values], axis=0)
    return tf.reduce_mean(stacked, 0)


def test_towers_on_several_devices_run_in_a_plain_session(image_files, tmp_path):
    """The parts of trainers with several GPUs: one input, a slice of each batch for each tower."""
    num_gpus, batch_size, max_steps = 2, 3, 6
    with tf.Graph().as_default(), tf.device("/cpu:0"):
        global_step = tf.get_variable(
            "global_step", [], initializer=tf.constant_initializer(0), trainable=False
        )
        images, labels = distorted_inputs(image_files, batch_size * num_gpus)
        images_splits = tf.split(axis=0, num_or_size_splits=num_gpus, value=images)
        labels_splits = tf.split(axis=0, num_or_size_splits=num_gpus, value=labels)
        tower_values = []
        with tf.variable_scope(tf.get_variable_scope()):
            for i in range(num_gpus):
                with tf.device(f"/gpu:{i}"), tf.name_scope(f"tower_{i}") as scope:
                    weight = tf.get_variable("weight", [3], initializer=tf.zeros_initializer())
                    error = tf.reduce_mean(images_splits[i], [1, 2]) - tf.expand_dims(
                        tf.to_float(labels_splits[i]), 1
                    )
                    tower_values.append(tf.reduce_mean(error, 0) + weight + 1.0)
                    summaries = tf.get_collection(tf.GraphKeys.SUMMARIES, scope)
                    tf.get_variable_scope().reuse_variables()
        assert [summary.op.name for summary in summaries] == []
        update = tf.assign(weight, average_gradients(tower_values))
        train_op = tf.group(update, tf.assign_add(global_step, 1))
        saver = tf.train.Saver(tf.global_variables())
        summary_op = tf.summary.merge_all()
        sess = tf.Session(
            config=tf.ConfigProto(allow_soft_placement=True, log_device_placement=False)
        )
        sess.run(tf.global_variables_initializer())
        coord = tf.train.Coordinator()
        threads = tf.train.start_queue_runners(sess=sess, coord=coord)
        writer = tf.summary.FileWriter(str(tmp_path / "train"), sess.graph)
        for step in range(max_steps):
            sess.run(train_op)
            if step % 3 == 0:
                writer.add_summary(sess.run(summary_op), step)
            if step == max_steps - 1:
                saver.save(sess, str(tmp_path / "train" / "model.ckpt"), global_step=global_step)
        coord.request_stop()
        coord.join(threads)
        sess.close()
        writer.close()
    path = tf.train.latest_checkpoint(str(tmp_path / "train"))
    assert path.endswith(f"-{max_steps}")
    assert tf.train.load_variable(path, "weight").tolist() == [float(max_steps)] * 3


def test_supervised_loop_reads_one_epoch(image_files, tmp_path):
    """The parts of programs before `MonitoredSession`: a supervisor starts and stops the input."""
    with tf.Graph().as_default():
        queue = tf.train.string_input_producer(image_files, num_epochs=1)
        _, label = read_image(queue)
        label.set_shape([1])
        labels = tf.train.batch([label], 5, num_threads=2, allow_smaller_final_batch=True)
        total = tf.Variable(0, name="total")
        global_step = tf.Variable(0, name="global_step", trainable=False)
        add = tf.assign_add(total, tf.reduce_sum(labels))
        train_op = tf.group(add, tf.assign_add(global_step, 1))
        sv = tf.train.Supervisor(
            logdir=str(tmp_path / "logs"), global_step=global_step, save_summaries_secs=0
        )
        with sv.managed_session() as sess:
            try:
                while not sv.should_stop():
                    sess.run(train_op)
            except tf.errors.OutOfRangeError:
                sv.saver.save(sess, sv.save_path, global_step=global_step)
    result = tf.train.latest_checkpoint(str(tmp_path / "logs"))
    assert result.endswith("-3")
    assert tf.train.load_variable(result, "total") == sum(range(12))
