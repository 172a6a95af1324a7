"""Complete training programs from 2016 to 2019, whose input runs and whose steps report the model.

Each program consists of its input, which defines `batch`, and of the model with its loop.
"""

import textwrap

import pytest
from tests.tf1.compat.test_installation import run

# Runs both parts as one file. The input is fetched before and after the model.
_DRIVER = """
    import sys
    import numpy as np
    import tensorflow as tf

    def fetch(tensors):
        with tf.Session() as sess:
            sess.run([tf.global_variables_initializer(), tf.local_variables_initializer()])
            coord = tf.train.Coordinator()
            threads = tf.train.start_queue_runners(sess, coord)
            for _ in range(2):
                print("fetched", [np.shape(value) for value in sess.run(tensors)])
            coord.request_stop()
            coord.join(threads)

    space = {"__name__": "__main__"}
    head, rest = HEAD, REST
    exec(compile(head, "script.py", "exec"), space)
    batch = [tensor for tensor in tf.contrib.framework.nest.flatten(space["batch"])]
    fetch(batch)
    try:
        exec(compile("\\n" * head.count("\\n") + rest, "script.py", "exec"), space)
        print("ended without an error")
    except (NotImplementedError, tf.errors.UnimplementedError) as error:
        print(type(error).__name__, str(error).replace("\\n", "|"))
    with batch[0].graph.as_default():
        if not tf.get_default_graph().finalized:
            fetch(batch)
"""

_CIFAR = (
    """
    import os, struct, tempfile
    import numpy as np
    import tensorflow as tf

    path = os.path.join(tempfile.mkdtemp(), "data_batch_1.bin")
    with open(path, "wb") as file:
        for number in range(40):
            file.write(bytes([number % 10]) + bytes(3072))
    queue = tf.train.string_input_producer([path])
    _, value = tf.FixedLengthRecordReader(record_bytes=3073).read(queue)
    record = tf.decode_raw(value, tf.uint8)
    label = tf.cast(tf.strided_slice(record, [0], [1]), tf.int32)
    image = tf.transpose(tf.reshape(record[1:3073], [3, 32, 32]), [1, 2, 0])
    image = tf.image.per_image_standardization(
        tf.random_crop(tf.cast(image, tf.float32), [24, 24, 3]))
    label.set_shape([1])
    images, labels = tf.train.shuffle_batch(
        [image, label], batch_size=8, capacity=40, min_after_dequeue=10, num_threads=2)
    labels = tf.reshape(labels, [8])
    batch = [images, labels]
    """,
    """
    def variable_with_weight_decay(name, shape, stddev, wd):
        with tf.device("/cpu:0"):
            var = tf.get_variable(
                name, shape, initializer=tf.truncated_normal_initializer(stddev=stddev))
        if wd is not None:
            tf.add_to_collection("losses", tf.multiply(tf.nn.l2_loss(var), wd, name="loss"))
        return var

    def inference(images):
        with tf.variable_scope("conv1") as scope:
            kernel = variable_with_weight_decay("weights", [5, 5, 3, 64], 5e-2, None)
            conv = tf.nn.conv2d(images, kernel, [1, 1, 1, 1], padding="SAME")
            biases = tf.get_variable("biases", [64], initializer=tf.constant_initializer(0.0))
            conv1 = tf.nn.relu(tf.nn.bias_add(conv, biases), name=scope.name)
            tf.summary.histogram(conv1.op.name + "/activations", conv1)
            tf.summary.scalar(conv1.op.name + "/sparsity", tf.nn.zero_fraction(conv1))
        pool1 = tf.nn.max_pool(conv1, [1, 3, 3, 1], [1, 2, 2, 1], "SAME", name="pool1")
        norm1 = tf.nn.lrn(pool1, 4, bias=1.0, alpha=0.001 / 9.0, beta=0.75, name="norm1")
        with tf.variable_scope("local3") as scope:
            reshape = tf.reshape(norm1, [8, -1])
            dim = reshape.get_shape()[1].value
            weights = variable_with_weight_decay("weights", [dim, 10], 0.04, 0.004)
            return tf.add(tf.matmul(reshape, weights), 0.1, name=scope.name)

    global_step = tf.train.get_or_create_global_step()
    logits = inference(images)
    cross = tf.nn.sparse_softmax_cross_entropy_with_logits(labels=labels, logits=logits)
    tf.add_to_collection("losses", tf.reduce_mean(cross))
    loss = tf.add_n(tf.get_collection("losses"), name="total_loss")
    averages = tf.train.ExponentialMovingAverage(0.9, name="avg")
    averages_op = averages.apply(tf.get_collection("losses") + [loss])
    for item in tf.get_collection("losses") + [loss]:
        tf.summary.scalar(item.op.name, averages.average(item))
    lr = tf.train.exponential_decay(0.1, global_step, 100, 0.1, staircase=True)
    tf.summary.scalar("learning_rate", lr)
    with tf.control_dependencies([averages_op]):
        opt = tf.train.GradientDescentOptimizer(lr)
        grads = opt.compute_gradients(loss)
    apply_gradient_op = opt.apply_gradients(grads, global_step=global_step)
    for var in tf.trainable_variables():
        tf.summary.histogram(var.op.name, var)
    for grad, var in grads:
        if grad is not None:
            tf.summary.histogram(var.op.name + "/gradients", grad)
    variable_averages = tf.train.ExponentialMovingAverage(0.9999, global_step)
    with tf.control_dependencies([apply_gradient_op]):
        train_op = variable_averages.apply(tf.trainable_variables())

    class LoggerHook(tf.train.SessionRunHook):
        def begin(self):
            self.step = -1

        def before_run(self, run_context):
            self.step += 1
            return tf.train.SessionRunArgs(loss)

        def after_run(self, run_context, run_values):
            print("NUMBER", run_values.results)

    with tf.train.MonitoredTrainingSession(
            checkpoint_dir=tempfile.mkdtemp(),
            hooks=[tf.train.StopAtStepHook(last_step=10), tf.train.NanTensorHook(loss),
                   LoggerHook()],
            config=tf.ConfigProto(log_device_placement=False)) as mon_sess:
        while not mon_sess.should_stop():
            print("NUMBER", mon_sess.run(train_op))
    """,
    ["tensorflow.nn.conv2d", "tensorflow.train.GradientDescentOptimizer"],
)

_ARRAYS = """
    import tempfile
    import numpy as np
    import tensorflow as tf

    data = np.random.RandomState(0).rand(32, 28, 28, 1).astype(np.float32)
    image, label = tf.train.slice_input_producer([data, np.arange(32) % 10])
    images, labels = tf.train.batch([image, label], batch_size=4, capacity=16)
    batch = [images, labels]
"""

_SLIM = (
    _ARRAYS,
    """
    from tensorflow.contrib.slim.nets import inception
    slim = tf.contrib.slim

    def block(inputs, depth, stride, scope=None):
        with tf.variable_scope(scope, "block", [inputs]):
            depth_in = slim.utils.last_dimension(inputs.get_shape(), min_rank=4)
            preact = slim.batch_norm(inputs, activation_fn=tf.nn.relu, scope="preact")
            if depth == depth_in:
                shortcut = inputs
            else:
                shortcut = slim.conv2d(preact, depth, [1, 1], stride=stride, activation_fn=None)
            residual = slim.conv2d(preact, depth // 4, [3, 3], stride=stride)
            residual = slim.conv2d(residual, depth, [1, 1], activation_fn=None)
            return shortcut + residual

    def net(images, is_training):
        end_points = {}
        norm = {"decay": 0.99, "is_training": is_training, "updates_collections": "ops"}
        with slim.arg_scope([slim.conv2d, slim.fully_connected],
                            weights_regularizer=slim.l2_regularizer(1e-4),
                            weights_initializer=slim.variance_scaling_initializer(),
                            normalizer_fn=slim.batch_norm, normalizer_params=norm):
            with slim.arg_scope([slim.batch_norm, slim.dropout], is_training=is_training) as sc:
                with tf.variable_scope("resnet", values=[images]):
                    x = slim.conv2d(images, 16, [7, 7], stride=2, scope="conv1")
                    end_points["conv1"] = x
                    for number in range(2):
                        x = block(x, 64, 2)
                        end_points["block%d" % number] = x
                    branches = [slim.conv2d(x, 32, [1, 1]), slim.max_pool2d(x, [3, 3], stride=1)]
                    x = tf.concat(axis=3, values=branches)
                    x = tf.reduce_mean(x, [1, 2], keep_dims=True, name="pool5")
                    x = slim.repeat(x, 2, slim.conv2d, 64, [1, 1], scope="again")
                    x = slim.dropout(x, 0.5)
                    x = slim.fully_connected(slim.flatten(x), 10, activation_fn=None)
                    end_points["predictions"] = slim.softmax(x)
        return x, end_points

    tf.logging.set_verbosity(tf.logging.ERROR)
    logits, end_points = net(images, True)
    one_hot = slim.one_hot_encoding(labels, 10)
    slim.losses.softmax_cross_entropy(logits, one_hot)
    total_loss = slim.losses.get_total_loss()
    for name, value in end_points.items():
        tf.summary.histogram("activations/" + name, value)
        tf.summary.scalar("sparsity/" + name, tf.nn.zero_fraction(value))
    for variable in slim.get_model_variables():
        tf.summary.histogram(variable.op.name, variable)
    step = slim.get_or_create_global_step()
    optimizer = tf.train.RMSPropOptimizer(0.01, decay=0.9, momentum=0.9, epsilon=1.0)
    train_op = slim.learning.create_train_op(total_loss, optimizer, global_step=step)
    accuracy = tf.reduce_mean(tf.to_float(tf.equal(tf.argmax(logits, 1), labels)))
    with tf.Session() as sess:
        sess.run(tf.global_variables_initializer())
        coord = tf.train.Coordinator()
        threads = tf.train.start_queue_runners(sess=sess, coord=coord)
        try:
            print("NUMBER", sess.run([train_op, accuracy]))
        finally:
            coord.request_stop()
            coord.join(threads)
    """,
    ["tensorflow.contrib.slim.conv2d", "tensorflow.train.RMSPropOptimizer"],
)

_MODEL_FN = (
    _ARRAYS,
    """
    def model_fn(features, labels, mode):
        net = tf.reshape(features, [-1, 28, 28, 1])
        net = tf.layers.conv2d(net, filters=32, kernel_size=[5, 5], padding="same",
                               activation=tf.nn.relu)
        net = tf.layers.max_pooling2d(inputs=net, pool_size=[2, 2], strides=2)
        net = tf.layers.batch_normalization(net, training=mode == "train")
        net = tf.reshape(net, [-1, 14 * 14 * 32])
        net = tf.layers.dense(net, 1024, activation=tf.nn.relu)
        net = tf.layers.dropout(net, rate=0.4, training=mode == "train")
        logits = tf.layers.dense(net, 10)
        predictions = {"classes": tf.argmax(input=logits, axis=1),
                       "probabilities": tf.nn.softmax(logits, name="softmax_tensor")}
        loss = tf.losses.sparse_softmax_cross_entropy(labels=labels, logits=logits)
        update_ops = tf.get_collection(tf.GraphKeys.UPDATE_OPS)
        with tf.control_dependencies(update_ops):
            train_op = tf.train.AdamOptimizer(learning_rate=0.001).minimize(
                loss=loss, global_step=tf.train.get_global_step())
        metric = {"accuracy": tf.metrics.accuracy(labels, predictions["classes"])}
        return predictions, loss, train_op, metric

    tf.train.create_global_step()
    predictions, loss, train_op, metric = model_fn(images, labels, "train")
    hook = tf.train.LoggingTensorHook({"probabilities": "softmax_tensor"}, every_n_iter=50)
    hooks = [hook, tf.train.StepCounterHook(output_dir=tempfile.mkdtemp())]
    with tf.train.MonitoredSession(tf.train.ChiefSessionCreator(tf.train.Scaffold()),
                                   hooks=hooks) as sess:
        print("NUMBER", sess.run([train_op, loss, predictions, metric]))
    """,
    ["tensorflow.layers.conv2d", "tensorflow.train.AdamOptimizer"],
)

_CONTRIB_LAYERS = (
    _ARRAYS,
    """
    from tensorflow.contrib import layers
    from tensorflow.contrib.layers import fully_connected, l2_regularizer, xavier_initializer

    regularizer = l2_regularizer(scale=1e-4)
    x = layers.flatten(images)
    with tf.variable_scope("mlp", regularizer=regularizer,
                           partitioner=tf.fixed_size_partitioner(2)):
        hidden = fully_connected(x, 64, weights_regularizer=regularizer,
                                 weights_initializer=xavier_initializer())
        weights = tf.get_variable("w", [64, 10], initializer=xavier_initializer(uniform=False))
    bias = tf.Variable(tf.zeros([10]), name="b")
    logits = tf.matmul(hidden, weights) + bias
    tf.losses.softmax_cross_entropy(tf.one_hot(labels, 10), logits, weights=1.0)
    tf.losses.add_loss(layers.apply_regularization(regularizer, [weights]))
    loss = tf.losses.get_total_loss() + sum(tf.losses.get_regularization_losses())
    train_op = layers.optimize_loss(
        loss, tf.train.get_or_create_global_step(), learning_rate=0.1, optimizer="SGD",
        summaries=["loss", "gradients"])
    correct = tf.nn.in_top_k(logits, labels, 1)
    accuracy = tf.reduce_mean(tf.cast(correct, tf.float32))
    with tf.Session() as sess:
        sess.run(tf.group(tf.global_variables_initializer(), tf.local_variables_initializer()))
        coord = tf.train.Coordinator()
        threads = tf.train.start_queue_runners(sess=sess, coord=coord)
        try:
            for step in range(3):
                print("NUMBER", sess.run([train_op, loss, accuracy]))
        finally:
            coord.request_stop()
            coord.join(threads, stop_grace_period_secs=5)
    """,
    ["tensorflow.contrib.layers.fully_connected", "tensorflow.contrib.layers.optimize_loss"],
)

_PTB = (
    """
    import numpy as np
    import tensorflow as tf

    def ptb_producer(raw_data, batch_size, num_steps, name=None):
        with tf.name_scope(name, "PTBProducer", [raw_data, batch_size, num_steps]):
            raw_data = tf.convert_to_tensor(raw_data, name="raw_data", dtype=tf.int32)
            data_len = tf.size(raw_data)
            batch_len = data_len // batch_size
            data = tf.reshape(raw_data[0 : batch_size * batch_len], [batch_size, batch_len])
            epoch_size = (batch_len - 1) // num_steps
            assertion = tf.assert_positive(epoch_size, message="epoch_size == 0")
            with tf.control_dependencies([assertion]):
                epoch_size = tf.identity(epoch_size, name="epoch_size")
            i = tf.train.range_input_producer(epoch_size, shuffle=False).dequeue()
            x = tf.strided_slice(data, [0, i * num_steps], [batch_size, (i + 1) * num_steps])
            x.set_shape([batch_size, num_steps])
            y = tf.strided_slice(data, [0, i * num_steps + 1],
                                 [batch_size, (i + 1) * num_steps + 1])
            y.set_shape([batch_size, num_steps])
            return x, y

    batch = x, y = ptb_producer(np.arange(200) % 50, 4, 5)
    """,
    """
    size, vocab = 16, 50
    with tf.variable_scope("Model", initializer=tf.random_uniform_initializer(-0.1, 0.1)):
        def cell():
            lstm = tf.contrib.rnn.BasicLSTMCell(size, forget_bias=0.0, state_is_tuple=True)
            return tf.contrib.rnn.DropoutWrapper(lstm, output_keep_prob=0.5)
        cells = tf.contrib.rnn.MultiRNNCell([cell() for _ in range(2)], state_is_tuple=True)
        initial_state = cells.zero_state(4, tf.float32)
        with tf.device("/cpu:0"):
            embedding = tf.get_variable("embedding", [vocab, size], dtype=tf.float32)
            inputs = tf.nn.embedding_lookup(embedding, x)
        inputs = tf.nn.dropout(inputs, 0.5)
        outputs = []
        state = initial_state
        with tf.variable_scope("RNN"):
            for time_step in range(5):
                if time_step > 0:
                    tf.get_variable_scope().reuse_variables()
                (cell_output, state) = cells(inputs[:, time_step, :], state)
                outputs.append(cell_output)
        output = tf.reshape(tf.concat(axis=1, values=outputs), [-1, size])
        dynamic, final = tf.nn.dynamic_rnn(cells, inputs, initial_state=initial_state)
        softmax_w = tf.get_variable("softmax_w", [size, vocab])
        softmax_b = tf.get_variable("softmax_b", [vocab])
        logits = tf.nn.xw_plus_b(output, softmax_w, softmax_b)
        logits = tf.reshape(logits, [4, 5, vocab])
        loss = tf.contrib.seq2seq.sequence_loss(
            logits, y, tf.ones([4, 5]), average_across_timesteps=False, average_across_batch=True)
        cost = tf.reduce_sum(loss)
        lr = tf.Variable(0.0, trainable=False)
        tvars = tf.trainable_variables()
        grads, _ = tf.clip_by_global_norm(tf.gradients(cost, tvars), 5)
        optimizer = tf.train.GradientDescentOptimizer(lr)
        train_op = optimizer.apply_gradients(
            zip(grads, tvars), global_step=tf.train.get_or_create_global_step())
        new_lr = tf.placeholder(tf.float32, shape=[], name="new_learning_rate")
        lr_update = tf.assign(lr, new_lr)
    sv = tf.train.Supervisor(logdir=None)
    with sv.managed_session() as session:
        print(session.run(lr_update, feed_dict={new_lr: 0.5}))
        fetches = {"cost": cost, "final_state": state, "eval_op": train_op}
        vals = session.run(fetches)
        print("NUMBER", vals)
    """,
    ["tensorflow.contrib.rnn.BasicLSTMCell", "tensorflow.train.GradientDescentOptimizer"],
)

_SUPERVISOR = (
    _ARRAYS,
    """
    global_step = tf.Variable(0, name="global_step", trainable=False)
    with tf.name_scope("hidden1"):
        weights = tf.Variable(tf.truncated_normal([784, 32], stddev=0.05), name="weights")
        biases = tf.Variable(tf.zeros([32]), name="biases")
        hidden = tf.nn.relu(tf.matmul(tf.reshape(images, [-1, 784]), weights) + biases)
    logits = tf.layers.dense(hidden, 10)
    loss = tf.reduce_mean(tf.nn.sparse_softmax_cross_entropy_with_logits(
        labels=labels, logits=logits))
    tf.summary.scalar("loss", loss)
    tf.summary.image("images", images)
    lr = tf.train.polynomial_decay(0.1, global_step, 100)
    ema = tf.train.ExponentialMovingAverage(0.99, global_step)
    train_step = tf.train.MomentumOptimizer(lr, 0.9).minimize(loss, global_step=global_step)
    with tf.control_dependencies([train_step]):
        train_op = ema.apply(tf.trainable_variables())
    saver = tf.train.Saver(ema.variables_to_restore(), max_to_keep=3)
    summary_op = tf.summary.merge_all()
    sv = tf.train.Supervisor(logdir=tempfile.mkdtemp(), init_op=tf.global_variables_initializer(),
                             summary_op=None, saver=saver, global_step=global_step,
                             save_model_secs=600)
    with sv.managed_session() as sess:
        step = 0
        while not sv.should_stop() and step < 10:
            if step % 5 == 1:
                sv.summary_computed(sess, sess.run(summary_op))
            _, step = sess.run([train_op, global_step])
            print("NUMBER", step)
    """,
    ["tensorflow.layers.dense", "tensorflow.train.MomentumOptimizer"],
)

_KERAS = (
    _ARRAYS,
    """
    from tensorflow.python.keras import backend as K
    from tensorflow.keras.layers import Conv2D, Dense, Flatten, Input, MaxPooling2D
    from tensorflow.keras.models import Model, Sequential

    K.set_learning_phase(1)
    x = Conv2D(16, (3, 3), activation="relu", padding="same")(images)
    x = MaxPooling2D((2, 2))(x)
    x = tf.keras.layers.BatchNormalization()(x, training=True)
    x = Flatten()(x)
    x = Dense(32, activation=tf.nn.relu, kernel_regularizer=tf.keras.regularizers.l2(1e-4))(x)
    preds = Dense(10, activation="softmax")(x)
    model = Sequential([Dense(8, input_shape=(784,)), Dense(10)])
    model.add(tf.keras.layers.Activation("relu"))
    inputs = Input(shape=(784,))
    other = Model(inputs=inputs, outputs=Dense(3)(inputs))
    both = preds + model(tf.reshape(images, [4, 784]))
    loss = tf.reduce_mean(tf.keras.losses.categorical_crossentropy(tf.one_hot(labels, 10), both))
    loss += tf.add_n(model.losses)
    train_step = tf.train.GradientDescentOptimizer(0.5).minimize(
        loss, var_list=model.trainable_weights + other.trainable_weights)
    sess = tf.Session()
    K.set_session(sess)
    sess.run(tf.global_variables_initializer())
    coord = tf.train.Coordinator()
    threads = tf.train.start_queue_runners(sess, coord)
    try:
        with sess.as_default():
            print("NUMBER", train_step.run(feed_dict={}))
    finally:
        coord.request_stop()
        coord.join(threads)
    """,
    ["tensorflow.keras.layers.Conv2D", "tensorflow.train.GradientDescentOptimizer"],
)

_TOWERS = (
    _ARRAYS,
    """
    def tower_loss(scope, images, labels):
        with tf.variable_scope("fc"):
            weights = tf.get_variable("w", [784, 10], initializer=tf.zeros_initializer())
            logits = tf.matmul(tf.reshape(images, [4, 784]), weights)
        losses = tf.nn.sparse_softmax_cross_entropy_with_logits(labels=labels, logits=logits)
        tf.add_to_collection("losses", tf.reduce_mean(losses))
        return tf.add_n(tf.get_collection("losses", scope), name="total_loss")

    def average_gradients(tower_grads):
        average_grads = []
        for grad_and_vars in zip(*tower_grads):
            grads = []
            for g, _ in grad_and_vars:
                grads.append(tf.expand_dims(g, 0))
            grad = tf.reduce_mean(tf.concat(axis=0, values=grads), 0)
            average_grads.append((grad, grad_and_vars[0][1]))
        return average_grads

    with tf.device("/cpu:0"):
        global_step = tf.get_variable(
            "global_step", [], initializer=tf.constant_initializer(0), trainable=False)
        opt = tf.train.GradientDescentOptimizer(0.1)
        queue = tf.contrib.slim.prefetch_queue.prefetch_queue([images, labels], capacity=4)
        tower_grads = []
        with tf.variable_scope(tf.get_variable_scope()):
            for i in range(2):
                with tf.device("/gpu:%d" % i):
                    with tf.name_scope("tower_%d" % i) as scope:
                        image_batch, label_batch = queue.dequeue()
                        loss = tower_loss(scope, image_batch, label_batch)
                        tf.get_variable_scope().reuse_variables()
                        summaries = tf.get_collection(tf.GraphKeys.SUMMARIES, scope)
                        tower_grads.append(opt.compute_gradients(loss))
        grads = average_gradients(tower_grads)
        assert len(grads) == 1 and grads[0][1].op.name == "fc/w"
        for grad, var in grads:
            summaries.append(tf.summary.histogram(var.op.name + "/gradients", grad))
        apply_op = opt.apply_gradients(grads, global_step=global_step)
        train_op = tf.group(apply_op, global_step.assign_add(1))
        saver = tf.train.Saver(tf.global_variables())
        sess = tf.Session(config=tf.ConfigProto(allow_soft_placement=True))
        sess.run(tf.global_variables_initializer())
        writer = tf.summary.FileWriter(tempfile.mkdtemp(), sess.graph)
        coord = tf.train.Coordinator()
        threads = tf.train.start_queue_runners(sess=sess, coord=coord)
        try:
            print("NUMBER", sess.run([train_op, loss]))
        finally:
            coord.request_stop()
            coord.join(threads)
    """,
    ["GradientDescentOptimizer.compute_gradients", "GradientDescentOptimizer.apply_gradients"],
)

_BATCH_NORM = (
    _ARRAYS,
    """
    is_training = tf.placeholder_with_default(True, [], name="is_training")
    eval_images, eval_labels = tf.train.batch([image, label], batch_size=4, capacity=8)
    images, labels = tf.cond(is_training, lambda: (images, labels),
                             lambda: (eval_images, eval_labels))
    images = tf.reshape(images, [-1, 28, 28, 1])

    def batch_norm(x, n_out):
        with tf.variable_scope("bn"):
            beta = tf.Variable(tf.constant(0.0, shape=[n_out]), name="beta")
            gamma = tf.Variable(tf.constant(1.0, shape=[n_out]), name="gamma")
            batch_mean, batch_var = tf.nn.moments(x, [0, 1, 2], name="moments")
            ema = tf.train.ExponentialMovingAverage(decay=0.5)

            def mean_var_with_update():
                ema_apply_op = ema.apply([batch_mean, batch_var])
                with tf.control_dependencies([ema_apply_op]):
                    return tf.identity(batch_mean), tf.identity(batch_var)

            mean, var = tf.cond(is_training, mean_var_with_update,
                                lambda: (ema.average(batch_mean), ema.average(batch_var)))
            return tf.nn.batch_normalization(x, mean, var, beta, gamma, 1e-3)

    xavier = tf.contrib.layers.xavier_initializer_conv2d()
    w = tf.get_variable("w", [3, 3, 1, 8], initializer=xavier)
    net = tf.nn.conv2d(images, w, strides=[1, 2, 2, 1], padding="SAME")
    net = batch_norm(net, 8)
    net = tf.layers.batch_normalization(net, training=is_training, momentum=0.9)
    net = tf.cond(is_training, lambda: tf.nn.dropout(net, 0.5), lambda: net)
    logits = tf.layers.dense(tf.layers.flatten(net), 10)
    loss = tf.reduce_mean(tf.nn.softmax_cross_entropy_with_logits_v2(
        labels=tf.one_hot(labels, 10), logits=logits))
    update_ops = tf.get_collection(tf.GraphKeys.UPDATE_OPS)
    with tf.control_dependencies(update_ops):
        optimizer = tf.train.AdamOptimizer(1e-3)
        gvs = optimizer.compute_gradients(loss)
        capped = [(tf.clip_by_value(grad, -1.0, 1.0), var) for grad, var in gvs]
        train_op = optimizer.apply_gradients(capped)
    total = tf.while_loop(lambda i, s: i < 3, lambda i, s: [i + 1, s + loss], [0, 0.0])
    with tf.Session() as sess:
        sess.run(tf.global_variables_initializer())
        coord = tf.train.Coordinator()
        threads = tf.train.start_queue_runners(sess=sess, coord=coord)
        print(sess.run(labels).shape, sess.run(labels, {is_training: False}).shape)
        try:
            for fetch in (total, logits, ):
                try:
                    print("NUMBER", sess.run(fetch, {is_training: False}))
                except tf.errors.UnimplementedError:
                    pass
            print("NUMBER", sess.run([train_op, loss], feed_dict={is_training: True}))
        finally:
            coord.request_stop()
            coord.join(threads)
    """,
    ["tensorflow.nn.conv2d", "tensorflow.train.AdamOptimizer.apply_gradients"],
)

_WORD2VEC = (
    """
    import numpy as np
    import tensorflow as tf
    import math

    graph = tf.Graph()
    with graph.as_default():
        pairs = np.arange(64) % 20
        word, context = tf.train.slice_input_producer([pairs, (pairs + 1) % 20], shuffle=False)
        inputs, labels = tf.train.batch([word, tf.expand_dims(context, 0)], 8)
    batch = [inputs, labels]
    graph.as_default().__enter__()
    """,
    """
    valid_examples = np.random.choice(10, 4, replace=False)
    with graph.as_default():
        valid_dataset = tf.constant(valid_examples, dtype=tf.int32)
        with tf.device("/cpu:0"):
            embeddings = tf.Variable(tf.random_uniform([20, 8], -1.0, 1.0))
            embed = tf.nn.embedding_lookup(embeddings, inputs)
            nce_weights = tf.Variable(tf.truncated_normal([20, 8], stddev=1.0 / math.sqrt(8)))
            nce_biases = tf.Variable(tf.zeros([20]))
        loss = tf.reduce_mean(tf.nn.nce_loss(
            weights=nce_weights, biases=nce_biases, labels=labels, inputs=embed, num_sampled=4,
            num_classes=20))
        optimizer = tf.train.GradientDescentOptimizer(1.0).minimize(loss)
        norm = tf.sqrt(tf.reduce_sum(tf.square(embeddings), 1, keep_dims=True))
        normalized = embeddings / norm
        valid = tf.nn.embedding_lookup(normalized, valid_dataset)
        similarity = tf.matmul(valid, normalized, transpose_b=True)
        init = tf.global_variables_initializer()
    with tf.Session(graph=graph) as session:
        init.run()
        coord = tf.train.Coordinator()
        threads = tf.train.start_queue_runners(session, coord)
        try:
            print("NUMBER", similarity.eval())
        except tf.errors.UnimplementedError:
            pass
        try:
            _, loss_val = session.run([optimizer, loss])
            print("NUMBER", loss_val)
        finally:
            coord.request_stop()
            coord.join(threads)
    """,
    ["tensorflow.nn.nce_loss", "tensorflow.train.GradientDescentOptimizer"],
)

_GAN = (
    _ARRAYS,
    """
    def generator(z, reuse=None):
        with tf.variable_scope("generator", reuse=reuse):
            h = tf.layers.dense(z, 7 * 7 * 32)
            h = tf.reshape(h, [-1, 7, 7, 32])
            h = tf.nn.relu(tf.contrib.layers.batch_norm(h, is_training=True, scope="bn"))
            h = tf.layers.conv2d_transpose(h, 16, 5, strides=2, padding="same")
            return tf.tanh(tf.layers.conv2d_transpose(h, 1, 5, strides=2, padding="same"))

    def discriminator(x, reuse=False):
        with tf.variable_scope("discriminator") as scope:
            if reuse:
                scope.reuse_variables()
            w = tf.get_variable("w", [5, 5, x.get_shape()[-1], 16],
                                initializer=tf.truncated_normal_initializer(stddev=0.02))
            h = tf.nn.conv2d(x, w, strides=[1, 2, 2, 1], padding="SAME")
            h = tf.maximum(h, 0.2 * h)
            logit = tf.layers.dense(tf.reshape(h, [4, -1]), 1)
            return tf.nn.sigmoid(logit), logit

    z = tf.random_uniform([4, 100], -1, 1)
    fake = generator(z)
    real_prob, real_logit = discriminator(images)
    fake_prob, fake_logit = discriminator(fake, reuse=True)
    cross = tf.nn.sigmoid_cross_entropy_with_logits
    d_loss = tf.reduce_mean(cross(logits=real_logit, labels=tf.ones_like(real_logit)))
    d_loss += tf.reduce_mean(cross(logits=fake_logit, labels=tf.zeros_like(fake_logit)))
    g_loss = tf.reduce_mean(cross(logits=fake_logit, labels=tf.ones_like(fake_logit)))
    t_vars = tf.trainable_variables()
    d_vars = [var for var in t_vars if "discriminator" in var.name]
    g_vars = [var for var in t_vars if "generator" in var.name]
    d_optim = tf.train.AdamOptimizer(2e-4, beta1=0.5).minimize(d_loss, var_list=d_vars)
    g_optim = tf.train.AdamOptimizer(2e-4, beta1=0.5).minimize(g_loss, var_list=g_vars)
    clip = [p.assign(tf.clip_by_value(p, -0.01, 0.01)) for p in d_vars]
    g_sum = tf.summary.merge([tf.summary.scalar("g_loss", g_loss), tf.summary.image("G", fake)])
    saver = tf.train.Saver()
    with tf.Session() as sess:
        tf.global_variables_initializer().run()
        coord = tf.train.Coordinator()
        threads = tf.train.start_queue_runners(sess=sess, coord=coord)
        sess.run(clip)
        errors = []
        try:
            for fetch in ([d_optim, d_loss], g_sum, fake, [g_optim]):
                try:
                    print("NUMBER", sess.run(fetch))
                except tf.errors.UnimplementedError as error:
                    errors.append(error)
            raise errors[0]
        finally:
            coord.request_stop()
            coord.join(threads)
    """,
    ["tensorflow.layers.conv2d_transpose", "tensorflow.train.AdamOptimizer.minimize"],
)

_FLAGS = (
    """
    import tempfile
    import numpy as np
    import tensorflow as tf

    flags = tf.app.flags
    flags.DEFINE_integer("batch_size", 4, "Examples of a batch.")
    flags.DEFINE_float("learning_rate", 0.01, "Learning rate.")
    FLAGS = flags.FLAGS
    FLAGS(["script.py"])
    path = tempfile.mkdtemp() + "/train.tfrecords"
    with tf.python_io.TFRecordWriter(path) as writer:
        for number in range(12):
            writer.write(tf.train.Example(features=tf.train.Features(feature={
                "label": tf.train.Feature(int64_list=tf.train.Int64List(value=[number])),
                "image": tf.train.Feature(bytes_list=tf.train.BytesList(value=[bytes(784)])),
            })).SerializeToString())

    def inputs():
        queue = tf.train.string_input_producer([path])
        _, serialized = tf.TFRecordReader().read(queue)
        features = tf.parse_single_example(serialized, {
            "image": tf.FixedLenFeature([], tf.string),
            "label": tf.FixedLenFeature([], tf.int64)})
        image = tf.decode_raw(features["image"], tf.uint8)
        image.set_shape([784])
        image = tf.cast(image, tf.float32) * (1.0 / 255) - 0.5
        return tf.train.shuffle_batch([image, tf.cast(features["label"], tf.int32)],
                                      FLAGS.batch_size, capacity=20, min_after_dequeue=4)

    batch = inputs()
    """,
    """
    def main(_):
        images, labels = batch
        x = tf.contrib.layers.stack(images, tf.contrib.layers.fully_connected, [32, 10])
        loss = tf.losses.sparse_softmax_cross_entropy(labels, x)
        step = tf.Variable(0, trainable=False)
        train_op = tf.train.AdagradOptimizer(FLAGS.learning_rate).minimize(loss, step)
        acc, update = tf.metrics.accuracy(labels, tf.argmax(x, 1))
        saver = tf.train.Saver()
        init = tf.group(tf.global_variables_initializer(), tf.local_variables_initializer())
        with tf.Session() as sess:
            sess.run(init)
            coord = tf.train.Coordinator()
            threads = tf.train.start_queue_runners(sess=sess, coord=coord)
            try:
                while not coord.should_stop():
                    _, value, _ = sess.run([train_op, loss, update])
                    print("NUMBER", value)
            except tf.errors.OutOfRangeError:
                print("Done training")
            finally:
                coord.request_stop()
                coord.join(threads)

    if __name__ == "__main__":
        tf.app.run(main, argv=["script.py"])
    """,
    ["tensorflow.contrib.layers.stack", "tensorflow.train.AdagradOptimizer"],
)

_CTC = (
    _ARRAYS,
    """
    cells = [tf.nn.rnn_cell.GRUCell(16) for _ in range(2)]
    frames = tf.reshape(images, [4, 28, 28])
    (forward, backward), _ = tf.nn.bidirectional_dynamic_rnn(
        cells[0], cells[1], frames, sequence_length=[28] * 4, dtype=tf.float32)
    logits = tf.transpose(tf.layers.dense(tf.concat([forward, backward], 2), 11), [1, 0, 2])
    where = tf.stack([tf.range(4), tf.zeros([4], tf.int32)], 1)
    targets = tf.SparseTensor(tf.to_int64(where), tf.to_int32(labels), [4, 1])
    cost = tf.reduce_mean(tf.nn.ctc_loss(targets, logits, [28] * 4))
    decoded, log_prob = tf.nn.ctc_beam_search_decoder(logits, [28] * 4)
    dense = tf.sparse_tensor_to_dense(decoded[0], default_value=-1)
    error = tf.reduce_mean(tf.edit_distance(tf.cast(decoded[0], tf.int32), targets))
    train_op = tf.train.MomentumOptimizer(0.01, 0.9).minimize(cost)
    with tf.Session() as sess:
        sess.run(tf.global_variables_initializer())
        coord = tf.train.Coordinator()
        threads = tf.train.start_queue_runners(sess=sess, coord=coord)
        try:
            for fetch in (dense, error, log_prob, decoded[0]):
                try:
                    print("NUMBER", sess.run(fetch))
                except tf.errors.UnimplementedError:
                    pass
            print("NUMBER", sess.run([train_op, cost, error]))
        finally:
            coord.request_stop()
            coord.join(threads)
    """,
    ["tensorflow.nn.bidirectional_dynamic_rnn", "tensorflow.train.MomentumOptimizer.minimize"],
)

_PROGRAMS = {
    "cifar10": _CIFAR,
    "slim": _SLIM,
    "model_fn": _MODEL_FN,
    "contrib_layers": _CONTRIB_LAYERS,
    "ptb": _PTB,
    "supervisor": _SUPERVISOR,
    "keras": _KERAS,
    "towers": _TOWERS,
    "batch_norm": _BATCH_NORM,
    "word2vec": _WORD2VEC,
    "gan": _GAN,
    "flags": _FLAGS,
    "ctc": _CTC,
}


def _run(name, training):
    head, rest = map(textwrap.dedent, _PROGRAMS[name][:2])
    driver = _DRIVER.replace("HEAD", repr(head)).replace("REST", repr(rest))
    lines = run(driver, training=training)
    assert not [line for line in lines if line.startswith(("NUMBER", "ended"))]
    fetched = [line for line in lines if line.startswith("fetched")]
    (report,) = [line for line in lines if line.startswith(("NotImpl", "Unimpl"))]
    return fetched, report


@pytest.mark.parametrize("name", _PROGRAMS)
def test_input_runs_and_the_model_is_rejected(name):
    fetched, report = _run(name, "refuse")
    assert len(fetched) == 4
    assert report.startswith("NotImplementedError tensorflow.")
    assert "because it runs only the input of TensorFlow 1 programs. " in report


@pytest.mark.parametrize("name", _PROGRAMS)
def test_complete_program_builds_and_its_step_reports_replacements(name):
    fetched, report = _run(name, "absorb")
    assert len(fetched) in (2, 4)
    assert set(fetched[:2]) == set(fetched)
    assert report.startswith("UnimplementedError this run needs the model, ")
    for call in _PROGRAMS[name][2]:
        assert call in report
    assert "|  script.py:" in report
    assert "Fetch the model's inputs instead: sess.run([" in report


def test_model_values_stay_absorbed_in_queues_graphs_loops_and_messages():
    program = """
        import numpy as np
        import tensorflow as tf

        graphs = [tf.Graph(), tf.Graph()]
        shared = tf.train.AdamOptimizer()
        for graph in graphs:
            with graph.as_default(), tf.Session() as sess:
                x = tf.placeholder(tf.float32, [2, 2])
                net = tf.layers.dense(x, 2)
                queue = tf.train.batch([net], 2, enqueue_many=True)
                branch = tf.cond(tf.reduce_sum(x) > 0, lambda: tf.layers.dense(x, 2), lambda: x)
                loop = tf.while_loop(lambda i, v: i < 3, lambda i, v: [i + 1, net + v], [0, x])
                variable = tf.Variable(net)
                real = tf.Variable(tf.zeros([2, 2]))
                called = tf.py_func(lambda a: a, [net], tf.float32)
                step = shared.minimize(tf.reduce_sum(net))
                assert step.graph is graph and net.graph is graph
                sess.run(tf.global_variables_initializer())
                fetches = [branch, loop, variable, real.assign(net), called, step,
                           tf.map_fn(lambda row: row + net[0], x), tf.Print(x, [net])]
                for fetch in fetches:
                    try:
                        print("NUMBER", sess.run(fetch, {x: np.ones((2, 2))}))
                    except tf.errors.UnimplementedError as error:
                        print(str(error)[:26])
                coord = tf.train.Coordinator()
                threads = tf.train.start_queue_runners(sess, coord)
                try:
                    print("NUMBER", sess.run(queue))
                except tf.errors.OutOfRangeError as error:
                    print("needs the model" in str(error))
                coord.request_stop()
                try:
                    coord.join(threads)
                except tf.errors.OpError as error:
                    print(type(error).__name__)
                print(sess.run(real).tolist())
        copy = tf.Graph()
        with tf.Graph().as_default() as graph:
            tf.identity(tf.layers.dense(tf.ones([1, 2]), 2), name="y")
        with copy.as_default(), tf.Session() as sess:
            try:
                tf.import_graph_def(graph.as_graph_def(), name="")
                print("NUMBER", sess.run("y:0"))
            except tf.errors.UnimplementedError as error:
                print(str(error)[:26])
    """
    lines = run(program, training="absorb")
    report = "this run needs the model, "
    one = [*[report] * 8, "True", "UnimplementedError", "[[0.0, 0.0], [0.0, 0.0]]"]
    assert lines == [*one, *one, report]


def test_program_from_before_1_0_builds_and_its_step_reports_replacements():
    program = """
        import tempfile
        import tensorflow as tf

        x, y = tf.train.batch([tf.ones([3]), tf.constant(1)], 2)
        weights = tf.Variable(tf.truncated_normal([3, 2]))
        logits = tf.matmul(x, weights) + tf.mul(tf.nn.dropout(x, 0.5)[:, :1], 0.0)
        loss = tf.reduce_mean(tf.nn.sparse_softmax_cross_entropy_with_logits(logits, y))
        one_hot = tf.one_hot(y, 2)
        loss += tf.reduce_mean(tf.nn.softmax_cross_entropy_with_logits(logits, one_hot))
        loss += tf.reduce_mean(tf.nn.sigmoid_cross_entropy_with_logits(logits, one_hot))
        tf.scalar_summary("loss", loss)
        train_op = tf.train.GradientDescentOptimizer(0.1).minimize(loss)
        with tf.Session() as sess:
            writer = tf.train.SummaryWriter(tempfile.mkdtemp(), sess.graph)
            sess.run(tf.initialize_all_variables())
            threads = tf.train.start_queue_runners(sess)
            print(sess.run(y))
            try:
                print("NUMBER", sess.run(train_op))
            except tf.errors.UnimplementedError as error:
                print(str(error).replace("\\n", "|"))
    """
    labels, report = run(program, training="absorb", before_1_0=True)
    assert labels == "[1 1]"
    assert report.startswith("this run needs the model, ")
    assert "<string>:15: tensorflow.train.GradientDescentOptimizer.minimize" in report


def test_split_variables_and_custom_getters_are_absorbed():
    program = """
        import tensorflow as tf

        def variable():
            return tf.get_variable("v", [2], initializer=tf.zeros_initializer())

        with tf.variable_scope("a", custom_getter=lambda getter, *args, **kwargs: None):
            with tf.variable_scope("inside"):
                inside = variable()
        split = tf.get_variable("s", [2], partitioner=tf.fixed_size_partitioner(2))
        with tf.variable_scope("after"):
            after = variable()
        with tf.Session() as sess:
            sess.run(tf.global_variables_initializer())
            for value in (inside, split):
                try:
                    print("NUMBER", sess.run(value))
                except tf.errors.UnimplementedError as error:
                    print(str(error).split("\\n")[1])
            print(sess.run(after).tolist())
    """
    assert run(program, training="absorb") == [
        *("  <string>:7: tensorflow.get_variable", "  <string>:12: tensorflow.get_variable"),
        "[0.0, 0.0]",
    ]
