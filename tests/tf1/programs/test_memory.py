"""Programs with text or data in memory, as TensorFlow 1 users wrote them."""

import collections
import threading

import numpy as np
import pytest

import headrace.tf1 as tf

# The Penn Treebank: ids cut into windows, by a queue of indices


def ptb_producer(raw_data, batch_size, num_steps, name=None):
    with tf.name_scope(name, "PTBProducer", [raw_data, batch_size, num_steps]):
        raw_data = tf.convert_to_tensor(raw_data, name="raw_data", dtype=tf.int32)
        data_len = tf.size(raw_data)
        batch_len = data_len // batch_size
        data = tf.reshape(raw_data[0 : batch_size * batch_len], [batch_size, batch_len])
        epoch_size = (batch_len - 1) // num_steps
        assertion = tf.assert_positive(
            epoch_size, message="epoch_size == 0, decrease batch_size or num_steps"
        )
        with tf.control_dependencies([assertion]):
            epoch_size = tf.identity(epoch_size, name="epoch_size")
        i = tf.train.range_input_producer(epoch_size, shuffle=False).dequeue()
        x = tf.strided_slice(data, [0, i * num_steps], [batch_size, (i + 1) * num_steps])
        x.set_shape([batch_size, num_steps])
        y = tf.strided_slice(data, [0, i * num_steps + 1], [batch_size, (i + 1) * num_steps + 1])
        y.set_shape([batch_size, num_steps])
        return x, y


def _read_words(filename):
    with tf.gfile.GFile(filename, "r") as f:
        return f.read().replace("\n", "<eos>").split()


def test_penn_treebank_is_cut_into_windows(tmp_path):
    (tmp_path / "train.txt").write_text(" a b c d \n b c \n a a d c b \n" * 3)
    words = _read_words(str(tmp_path / "train.txt"))
    count_pairs = sorted(collections.Counter(words).items(), key=lambda x: (-x[1], x[0]))
    word_to_id = {word: number for number, (word, _) in enumerate(count_pairs)}
    raw_data = [word_to_id[word] for word in words]
    x, y = ptb_producer(raw_data, batch_size=2, num_steps=3, name="TrainInput")
    assert x.get_shape().as_list() == [2, 3]
    batch_len = len(raw_data) // 2
    data = np.reshape(raw_data[: 2 * batch_len], [2, batch_len])
    with tf.Session() as session:
        coord = tf.train.Coordinator()
        tf.train.start_queue_runners(session, coord=coord)
        for step in range(2 * ((batch_len - 1) // 3)):
            start = 3 * (step % ((batch_len - 1) // 3))
            inputs, targets = session.run([x, y])
            assert np.array_equal(inputs, data[:, start : start + 3])
            assert np.array_equal(targets, data[:, start + 1 : start + 4])
        coord.request_stop()
        coord.join()


def test_text_shorter_than_a_batch_is_an_error():
    with pytest.raises(
        tf.errors.InvalidArgumentError, match="epoch_size == 0, decrease batch_size"
    ):
        ptb_producer(list(range(4)), batch_size=2, num_steps=3)


# Pairs of words, of which a Python function returns many at a time


def test_python_function_generates_pairs_of_words():
    sentences = ["the quick brown fox", "jumps", "over the lazy dog"]
    vocabulary = sorted({word for sentence in sentences for word in sentence.split()})

    def skip_grams(sentence):
        ids = [vocabulary.index(word) for word in sentence.decode().split()]
        pairs = [(w, c) for k, w in enumerate(ids) for c in ids[max(k - 1, 0) : k + 2] if c != w]
        return np.array(pairs, np.int32).reshape(-1, 2)

    sentence = tf.train.string_input_producer(sentences, num_epochs=2, seed=1).dequeue()
    pairs = tf.py_func(skip_grams, [sentence], tf.int32)
    pairs.set_shape([None, 2])
    inputs, labels = tf.train.shuffle_batch(
        [pairs[:, 0], pairs[:, 1:]], 4, capacity=50, min_after_dequeue=10, enqueue_many=True
    )
    table = tf.Variable(tf.random_uniform([len(vocabulary), 5], -1.0, 1.0), name="embeddings")
    vectors = tf.gather(table, inputs)
    assert (labels.shape.as_list(), vectors.shape.as_list()) == ([4, 1], [4, 5])
    taken = []
    with tf.Session() as sess:
        sess.run([tf.global_variables_initializer(), tf.local_variables_initializer()])
        coord = tf.train.Coordinator()
        threads = tf.train.start_queue_runners(sess, coord)
        try:
            while not coord.should_stop():
                words, context, _ = sess.run([inputs, labels, vectors])
                taken += zip(words.tolist(), context[:, 0].tolist(), strict=True)
        except tf.errors.OutOfRangeError:
            coord.request_stop()
        coord.join(threads)
    expected = [tuple(pair) for s in sentences for pair in skip_grams(s.encode()).tolist()] * 2
    assert sorted(taken) == sorted(expected)


# Text of many lengths: sequence examples, padded, by length


def make_example(sequence, label):
    ex = tf.train.SequenceExample()
    ex.context.feature["length"].int64_list.value.append(len(sequence))
    ex.context.feature["label"].bytes_list.value.append(tf.compat.as_bytes(label))
    fl_tokens = ex.feature_lists.feature_list["tokens"]
    for token in sequence:
        fl_tokens.feature.add().int64_list.value.append(token)
    return ex


@pytest.fixture
def sequences(tmp_path):
    path = str(tmp_path / "sequences")
    with tf.python_io.TFRecordWriter(path) as writer:
        for number in range(20):
            tokens = [number] * (1 + number * 7 % 10)
            writer.write(make_example(tokens, "odd" if number % 2 else "even").SerializeToString())
    return path


def read_sequence(path):
    _, serialized = tf.TFRecordReader().read(tf.train.string_input_producer([path], num_epochs=1))
    context, sequence = tf.parse_single_sequence_example(
        serialized,
        context_features={
            "length": tf.FixedLenFeature([], dtype=tf.int64),
            "label": tf.FixedLenFeature([], dtype=tf.string),
        },
        sequence_features={"tokens": tf.FixedLenSequenceFeature([], dtype=tf.int64)},
    )
    return context["length"], context["label"], sequence["tokens"]


def test_sequences_are_padded_to_the_longest_in_their_batch(sequences):
    length, label, tokens = read_sequence(sequences)
    batch = tf.train.batch(
        {"length": length, "label": label, "tokens": tokens},
        batch_size=6,
        dynamic_pad=True,
        allow_smaller_final_batch=True,
    )
    sizes = []
    with tf.Session() as sess:
        sess.run(tf.local_variables_initializer())
        coord = tf.train.Coordinator()
        threads = tf.train.start_queue_runners(sess, coord)
        try:
            while True:
                values = sess.run(batch)
                sizes.append(len(values["length"]))
                assert values["tokens"].shape == (sizes[-1], max(values["length"]))
                assert np.array_equal((values["tokens"] > 0).sum(1)[1:], values["length"][1:])
                assert set(values["label"]) <= {b"odd", b"even"}
        except tf.errors.OutOfRangeError:
            pass
        coord.request_stop()
        coord.join(threads)
    assert sizes == [6, 6, 6, 2]


def test_sequences_of_similar_length_are_batched_together(sequences):
    """Bucketing by hand: a queue for each range of lengths, and one operation that chooses."""
    length, _, tokens = read_sequence(sequences)
    queues = [
        tf.PaddingFIFOQueue(40, [tf.int64, tf.int64], shapes=[(), (None,)], name=f"bucket_{i}")
        for i in range(3)
    ]
    which = tf.reduce_sum(tf.cast(tf.greater(length, [3, 7]), tf.int32))
    enqueue = tf.QueueBase.from_list(which, queues).enqueue([length, tokens])
    runner = tf.train.QueueRunner(
        queues[0],
        [enqueue] * 2,
        close_op=tf.group(*[queue.close() for queue in queues]),
        cancel_op=tf.group(*[queue.close(cancel_pending_enqueues=True) for queue in queues]),
    )
    tf.train.add_queue_runner(runner)
    batches = [queue.dequeue_up_to(4) for queue in queues]
    lengths = collections.defaultdict(list)
    with tf.Session() as sess:
        sess.run(tf.local_variables_initializer())
        coord = tf.train.Coordinator()
        threads = tf.train.start_queue_runners(sess, coord)
        for bucket, batch in enumerate(batches):
            try:
                while True:
                    lengths_value, tokens_value = sess.run(batch)
                    assert tokens_value.shape == (len(lengths_value), max(lengths_value))
                    lengths[bucket] += lengths_value.tolist()
            except tf.errors.OutOfRangeError:
                pass
        coord.request_stop()
        coord.join(threads)
    assert [set(lengths[bucket]) for bucket in range(3)] == [{1, 2, 3}, {4, 5, 6, 7}, {8, 9, 10}]
    assert sum(len(values) for values in lengths.values()) == 20


# Data in memory


@pytest.mark.parametrize("as_variables", [False, True])
def test_preloaded_data_is_sliced(as_variables):
    training_data = np.arange(80, dtype=np.float32).reshape(20, 4)
    training_labels = np.arange(20, dtype=np.int64)
    with tf.Session() as sess:
        with tf.name_scope("input"):
            if as_variables:
                data_initializer = tf.placeholder(training_data.dtype, training_data.shape)
                label_initializer = tf.placeholder(training_labels.dtype, training_labels.shape)
                input_data = tf.Variable(data_initializer, trainable=False, collections=[])
                input_labels = tf.Variable(label_initializer, trainable=False, collections=[])
            else:
                input_data = tf.constant(training_data)
                input_labels = tf.constant(training_labels)
            image, label = tf.train.slice_input_producer([input_data, input_labels], num_epochs=3)
            images, labels = tf.train.batch(
                [image, tf.cast(label, tf.int32)], batch_size=4, num_threads=3
            )
        saver = tf.train.Saver([tf.Variable(0, name="step")])
        sess.run(tf.initialize_all_variables())
        sess.run(tf.initialize_local_variables())
        if as_variables:
            sess.run(input_data.initializer, feed_dict={data_initializer: training_data})
            sess.run(input_labels.initializer, feed_dict={label_initializer: training_labels})
        coord = tf.train.Coordinator()
        threads = tf.train.start_queue_runners(sess=sess, coord=coord)
        taken = []
        try:
            while not coord.should_stop():
                batch, numbers = sess.run([images, labels])
                assert (batch[:, 0] == numbers * 4).all()
                taken += numbers.tolist()
        except tf.errors.OutOfRangeError:
            pass
        finally:
            coord.request_stop()
        coord.join(threads)
    assert saver is not None
    assert sorted(taken) == sorted(list(range(20)) * 3)


def test_course_notes_program_enqueues_from_four_threads():
    N_SAMPLES = 1000
    NUM_THREADS = 4
    data = 10 * np.random.default_rng(1).normal(size=(N_SAMPLES, 4)) + 1
    target = np.random.default_rng(2).integers(0, 2, size=N_SAMPLES)
    queue = tf.FIFOQueue(capacity=50, dtypes=[tf.float32, tf.int32], shapes=[[4], []])
    enqueue_op = queue.enqueue_many([data, target])
    data_sample, label_sample = queue.dequeue()
    qr = tf.train.QueueRunner(queue, [enqueue_op] * NUM_THREADS)
    with tf.Session() as sess:
        coord = tf.train.Coordinator()
        enqueue_threads = qr.create_threads(sess, coord=coord, start=True)
        try:
            for _ in range(100):
                if coord.should_stop():
                    break
                one_data, one_label = sess.run([data_sample, label_sample])
        except Exception as e:
            coord.request_stop(e)
        finally:
            coord.request_stop()
            coord.join(enqueue_threads)
    assert one_data.tolist() in data.astype(np.float32).tolist()
    assert one_label in (0, 1)


class CustomRunner:
    """Threads of the program feed a shuffling queue, in place of a runner."""

    def __init__(self):
        self.dataX = tf.placeholder(dtype=tf.float32, shape=[None, 4])
        self.dataY = tf.placeholder(dtype=tf.int64, shape=[None])
        self.queue = tf.RandomShuffleQueue(
            shapes=[[4], []], dtypes=[tf.float32, tf.int64], capacity=60, min_after_dequeue=10
        )
        self.enqueue_op = self.queue.enqueue_many([self.dataX, self.dataY])
        self.close_op = self.queue.close(cancel_pending_enqueues=True)

    def get_inputs(self):
        return self.queue.dequeue_many(8)

    def thread_main(self, sess):
        try:
            while True:
                dataX = np.random.default_rng().random((16, 4))
                sess.run(self.enqueue_op, {self.dataX: dataX, self.dataY: dataX[:, 0] > 0.5})
        except tf.errors.CancelledError:
            pass

    def start_threads(self, sess, n_threads=1):
        threads = []
        for _ in range(n_threads):
            t = threading.Thread(target=self.thread_main, args=(sess,))
            t.daemon = True
            t.start()
            threads.append(t)
        return threads


def test_program_threads_feed_a_queue():
    custom_runner = CustomRunner()
    images_batch, labels_batch = custom_runner.get_inputs()
    with tf.Session() as sess:
        threads = custom_runner.start_threads(sess, n_threads=3)
        for _ in range(30):
            images, labels = sess.run([images_batch, labels_batch])
            assert ((images[:, 0] > 0.5) == labels).all()
        sess.run(custom_runner.close_op)
        for t in threads:
            t.join()
