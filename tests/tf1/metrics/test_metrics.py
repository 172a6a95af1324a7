"""Metrics over several batches, compared with NumPy over all of them."""

import numpy as np
import pytest

import headrace.tf1 as tf

RANDOM = np.random.default_rng(7)
LABELS = RANDOM.integers(0, 2, (5, 8))
GUESSES = RANDOM.random((5, 8)).astype(np.float32)
WEIGHTS = RANDOM.integers(0, 3, (5, 8)).astype(np.float32)


def over_batches(make, *batches):
    """The value of a metric after all batches, and the result of its last update."""
    inputs = [tf.placeholder(batch.dtype, batch.shape[1:]) for batch in batches]
    value, update = make(*inputs)
    with tf.Session() as session:
        session.run(tf.local_variables_initializer())
        for rows in zip(*batches, strict=True):
            last = session.run(update, dict(zip(inputs, rows, strict=True)))
        return session.run(value), last


def assert_fails(metric, words):
    """The update of a metric fails when it is run."""
    with tf.Session() as session:
        session.run(tf.local_variables_initializer())
        with pytest.raises(tf.errors.InvalidArgumentError, match=words):
            session.run(metric[1])


def weighed(values, weights=WEIGHTS):
    return (values * weights).sum() / weights.sum()


@pytest.mark.parametrize(
    ("name", "expected"),
    [
        ("accuracy", weighed(GUESSES.astype(int) == LABELS)),
        ("mean_absolute_error", weighed(np.abs(LABELS - GUESSES))),
        ("mean_squared_error", weighed((LABELS - GUESSES) ** 2)),
        ("root_mean_squared_error", weighed((LABELS - GUESSES) ** 2) ** 0.5),
    ],
)
def test_means_cover_all_batches(name, expected):
    def make(labels, guesses, weights):
        numbers = labels if name == "accuracy" else tf.to_float(labels)
        return getattr(tf.metrics, name)(numbers, guesses, weights)

    value, last = over_batches(make, LABELS, GUESSES, WEIGHTS)
    np.testing.assert_allclose([value, last], [expected] * 2, rtol=1e-5)


def test_counts_cover_all_batches():
    guesses = GUESSES > 0.4
    pairs = {
        "true_positives": (1, 1),
        "true_negatives": (0, 0),
        "false_positives": (0, 1),
        "false_negatives": (1, 0),
    }
    counts = {
        name: WEIGHTS[(label == LABELS) & (guess == guesses)].sum()
        for name, (label, guess) in pairs.items()
    }
    right = counts["true_positives"]
    counts["precision"] = right / (right + counts["false_positives"])
    counts["recall"] = right / (right + counts["false_negatives"])
    for name, expected in counts.items():
        value, last = over_batches(getattr(tf.metrics, name), LABELS, guesses, WEIGHTS)
        np.testing.assert_allclose([value, last], [expected] * 2, rtol=1e-5)


def test_thresholds_are_counted_separately():
    thresholds = [0.2, 0.5, 0.8]

    def make(labels, guesses, weights):
        return tf.metrics.recall_at_thresholds(labels, guesses, thresholds, weights)

    value, _ = over_batches(make, LABELS, GUESSES, WEIGHTS)
    expected = [weighed(bound < GUESSES, WEIGHTS * LABELS) for bound in thresholds]
    np.testing.assert_allclose(value, expected, rtol=1e-5)


def test_auc_is_the_probability_that_a_true_label_ranks_higher():
    area, last = over_batches(tf.metrics.auc, LABELS, GUESSES)
    ahead = GUESSES[LABELS == 1][:, None] > GUESSES[LABELS == 0]
    np.testing.assert_allclose([area, last], [ahead.mean()] * 2, atol=0.01)
    with pytest.raises(ValueError, match="curve must be either ROC or PR, XY unknown"):
        tf.metrics.auc(LABELS, GUESSES, curve="XY")
    with pytest.raises(ValueError, match="Invalid summation_method: xy"):
        tf.metrics.auc(LABELS, GUESSES, summation_method="xy")
    hidden = tf.placeholder_with_default([1.5], [1])
    assert_fails(tf.metrics.auc([1], hidden), r"predictions must be in \[0, 1\]")


def test_mean_iou_and_per_class_accuracy_use_the_confusion_matrix():
    labels, guesses = RANDOM.integers(0, 4, (2, 3, 50))

    def table(number):
        return (labels == number), (guesses == number)

    shares = [(a & b).sum() / (a | b).sum() for a, b in map(table, range(4))]
    value, counts = over_batches(lambda a, b: tf.metrics.mean_iou(a, b, 4), labels, guesses)
    np.testing.assert_allclose(value, np.mean(shares), rtol=1e-5)
    assert (counts.shape, counts.sum()) == ((4, 4), 150)
    results = [(a & b).sum() / a.sum() for a, b in map(table, range(4))]
    value, last = over_batches(
        lambda a, b: tf.metrics.mean_per_class_accuracy(a, b, 4), labels, guesses
    )
    np.testing.assert_allclose(value, np.mean(results), rtol=1e-5)
    np.testing.assert_allclose(last, results, rtol=1e-5)


def test_top_k_metrics_compare_sets_of_classes():
    scores = np.array([[[0.1, 0.3, 0.2, 0.4], [0.5, 0.1, 0.3, 0.2]]], np.float32)
    labels = np.array([[[3, 1], [2, 1]]])
    for name, expected in (("recall_at_k", 3 / 4), ("precision_at_k", 3 / 4)):
        value, _ = over_batches(
            lambda a, b, n=name: getattr(tf.metrics, n)(a, b, 2), labels, scores
        )
        assert value == expected
    value, _ = over_batches(lambda a, b: tf.metrics.average_precision_at_k(a, b, 2), labels, scores)
    assert value == (1 + 0.5 / 2) / 2
    with pytest.raises(ValueError, match="Invalid k=0"):
        tf.metrics.average_precision_at_k(labels[0], scores[0], 0)
    hidden = tf.placeholder_with_default(labels[0, :1], None)
    assert_fails(tf.metrics.recall_at_k(hidden, scores[0], 2), "Pass labels for each example")


def test_metric_variables_are_local_and_values_are_collected():
    value, update = tf.metrics.mean([1.0], None, ["values"], "updates", "mine")
    names = ["mine/total:0", "mine/count:0"]
    assert [item.name for item in tf.get_collection(tf.GraphKeys.METRIC_VARIABLES)] == names
    assert [item.name for item in tf.local_variables()] == names
    assert tf.global_variables() == tf.trainable_variables() == []
    assert tf.get_collection("values") == [value]
    assert tf.get_collection("updates") == [update]


def test_weights_that_do_not_broadcast_are_rejected():
    with pytest.raises(ValueError, match=r"can not be broadcast to values\. values\.rank=1"):
        tf.metrics.mean([1.0, 2.0], [[[1.0]]])
    with pytest.raises(ValueError, match="Mismatch at dim 0"):
        tf.metrics.mean([1.0, 2.0], [1.0, 2.0, 3.0])
    hidden = tf.placeholder_with_default([1.0, 2.0, 3.0], None)
    assert_fails(tf.metrics.mean([1.0, 2.0], hidden), "Mismatch at dim 0")
    with pytest.raises(ValueError, match="it must be fully known"):
        tf.metrics.mean_tensor(tf.placeholder(tf.float32, [None]))


def test_runner_can_feed_a_metric():
    numbers = tf.train.range_input_producer(10, num_epochs=1, shuffle=False).dequeue()
    value, update = tf.metrics.mean(tf.train.batch([numbers], 5))
    with tf.train.MonitoredSession() as session:
        while not session.should_stop():
            last = session.run(update)
            if last == 4.5:
                break
    assert last == 4.5
    assert value.shape == []


class TestContrib:
    def test_contrib_metrics_accept_predictions_first(self):
        metrics = tf.contrib.metrics
        value, _ = over_batches(metrics.streaming_precision, GUESSES > 0.4, LABELS)
        other, _ = over_batches(tf.metrics.precision, LABELS, GUESSES > 0.4)
        assert value == other
        batches, _ = over_batches(
            lambda a, b: metrics.streaming_recall_at_k(a, b, 1),
            np.array([[[0.1, 0.9], [0.8, 0.2]]], np.float32),
            np.array([[1, 1]]),
        )
        assert batches == 0.5

    def test_batch_accuracy_needs_no_variables(self):
        with tf.Session() as session:
            accuracy = tf.contrib.metrics.accuracy
            assert session.run(accuracy([1, 2, 3, 4], [1, 2, 0, 4])) == 0.75
            assert session.run(accuracy(["a", "b"], ["a", "c"], weights=[3.0, 1.0])) == 0.75
        assert tf.local_variables() == []
        with pytest.raises(ValueError, match="Labels should have bool, integer, or string dtype"):
            accuracy([1.0], [1.0])
        with pytest.raises(ValueError, match="Dtypes of predictions and labels should match"):
            accuracy([1], [True])

    def test_several_metrics_can_be_aggregated(self):
        pairs = {"a": tf.metrics.mean([1.0]), "b": tf.metrics.mean([2.0])}
        values, updates = tf.contrib.metrics.aggregate_metric_map(pairs)
        assert (values["a"], updates["b"]) == (pairs["a"][0], pairs["b"][1])
        listed = tf.contrib.metrics.aggregate_metrics(*pairs.values())
        assert listed == (list(values.values()), list(updates.values()))
        with pytest.raises(ValueError, match="Expected at least one value_tensor/update_op pair"):
            tf.contrib.metrics.aggregate_metrics()
