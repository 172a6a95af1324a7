"""`install(training="absorb")`: scripts build their models, and runs of the input work."""

import pytest
from tests.tf1.compat.test_installation import run

import headrace.tf1 as tf

_CLASSIFIER = """
    import numpy as np
    import tensorflow as tf
    slim = tf.contrib.slim

    images = np.ones((8, 28, 28, 1), np.float32)
    image, label = tf.train.slice_input_producer([images, np.arange(8)], shuffle=False)
    x, y = tf.train.batch([image, label], 4)
    net = tf.layers.max_pooling2d(tf.layers.conv2d(x, 32, 5), 2, 2)
    print(net.shape)
    with slim.arg_scope([slim.conv2d], weights_regularizer=slim.l2_regularizer(1e-4)):
        net = slim.flatten(net)
    logits = tf.layers.dense(net, 10)
    weights = tf.get_variable("w", [10, 3], initializer=slim.xavier_initializer())
    loss = tf.losses.sparse_softmax_cross_entropy(y, logits)
    loss += tf.add_n(tf.get_collection(tf.GraphKeys.REGULARIZATION_LOSSES))
    outputs, (c, h) = tf.nn.dynamic_rnn(tf.nn.rnn_cell.LSTMCell(3), x, dtype=tf.float32)
    tf.summary.scalar("loss", loss)
    optimizer = tf.train.AdamOptimizer(1e-3)
    pairs = [(tf.clip_by_norm(g, 1.0), v) for g, v in optimizer.compute_gradients(loss)]
    train_op = optimizer.apply_gradients(pairs)
    saver = tf.train.Saver()
    fetches = [train_op, loss, logits, tf.matmul(logits, weights), h, weights, x + outputs,
               tf.summary.merge_all()]
    with tf.Session() as sess:
        sess.run([tf.global_variables_initializer(), tf.local_variables_initializer()])
        coord = tf.train.Coordinator()
        threads = tf.train.start_queue_runners(sess, coord)
        print(sess.run(y).tolist())
        for fetch in fetches:
            try:
                print(sess.run(fetch))
            except tf.errors.UnimplementedError as error:
                print("|".join(str(error).split("\\n")))
        for feed in (logits, weights):
            try:
                sess.run(loss, {feed: 1.0})
            except ValueError as error:
                print(error)
        print(sess.run(y).tolist())
        coord.request_stop()
        coord.join(threads)
"""


def test_complete_script_builds_and_its_steps_report_replacements():
    shape, before, *reports, fed, fed_variable, after = run(_CLASSIFIER, training="absorb")
    assert (shape, before, after) == ("(4, 12, 12, 32)", "[0, 1, 2, 3]", "[4, 5, 6, 7]")
    assert len(reports) == 8
    assert all(report.startswith("this run needs the model, ") for report in reports)
    step = reports[0]
    calls = ["layers.conv2d", "layers.max_pooling2d", "layers.dense", "AdamOptimizer", "apply_grad"]
    places = [step.index(call) for call in calls]
    assert places == sorted(places)
    assert "<string>:11: tensorflow.layers.conv2d|" in step
    assert "sess.run(['batch:0', 'batch:1'])" in step
    assert "may not be fed" in fed
    assert "may not be fed" in fed_variable


def test_actions_and_missing_input_operations_are_rejected_at_the_call():
    program = """
        import tensorflow as tf

        class Net(tf.keras.Model):
            def __init__(self):
                super().__init__()
                self.dense = tf.keras.layers.Dense(3)

        net = Net()
        for act in (lambda: net.fit([1.0]), lambda: tf.estimator.Estimator(print).train(print),
                    lambda: tf.layers.dense(tf.ones([1, 2]), 3).eval(session=tf.Session()),
                    lambda: tf.train.AdamOptimizer().minimize(tf.ones([])).run()):
            try:
                act()
            except tf.errors.UnimplementedError as error:
                print(str(error).split("\\n")[-2].rpartition(" ")[2])
        try:
            tf.data.Dataset.range(3)
        except NotImplementedError as error:
            print(str(error)[:24])
    """
    assert run(program, training="absorb") == [
        *("tensorflow.keras.Model.fit", "tensorflow.estimator.Estimator.train"),
        *("tensorflow.layers.dense", "tensorflow.train.AdamOptimizer.minimize"),
        "tensorflow.data.Dataset.",
    ]


def test_unknown_training_mode_is_rejected():
    with pytest.raises(ValueError, match="got training='x', expected 'refuse' or 'absorb'"):
        tf.compat.install(training="x")
