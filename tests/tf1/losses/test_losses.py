"""Losses compared with NumPy, their weights and their collection."""

import numpy as np
import pytest

import headrace.tf1 as tf

LABELS = np.array([[0.0, 1.0, 1.0], [1.0, 0.0, 0.0]], np.float32)
GUESSES = np.array([[0.2, 0.7, 0.4], [0.9, 0.1, 0.6]], np.float32)
ERRORS = np.abs(LABELS - GUESSES)


@pytest.fixture
def run():
    with tf.Session() as session:
        yield session.run


@pytest.mark.parametrize(
    ("name", "expected"),
    [
        ("absolute_difference", ERRORS.mean()),
        ("mean_squared_error", (ERRORS**2).mean()),
        ("huber_loss", (ERRORS**2).mean() / 2),
        ("log_loss", -np.log(np.where(LABELS == 1, GUESSES, 1 - GUESSES) + 1e-7).mean()),
        ("hinge_loss", np.maximum(0, 1 - (2 * LABELS - 1) * GUESSES).mean()),
        ("sigmoid_cross_entropy", (np.log1p(np.exp(GUESSES)) - LABELS * GUESSES).mean()),
    ],
)
def test_losses_are_means_of_their_definitions(run, name, expected):
    loss = getattr(tf.losses, name)(LABELS, GUESSES)
    assert (loss.shape, tf.losses.get_losses()) == ([], [loss])
    np.testing.assert_allclose(run(loss), expected, rtol=1e-5)
    if name not in ("hinge_loss", "huber_loss", "sigmoid_cross_entropy"):
        turned = getattr(tf.contrib.losses, name)(GUESSES, LABELS)
        np.testing.assert_allclose(run(turned), expected, rtol=1e-5)
    first = "multi_class_labels" if name.startswith("sigmoid") else "labels"
    with pytest.raises(ValueError, match=f"{first} must not be None"):
        getattr(tf.losses, name)(None, GUESSES)


def test_mean_pairwise_squared_error_compares_pairs_of_elements(run):
    errors = GUESSES - LABELS
    pairs = [
        ((row[:, None] - row) ** 2)[np.triu_indices(3, 1)].mean() for row in errors.astype(float)
    ]
    loss = tf.losses.mean_pairwise_squared_error(LABELS, GUESSES)
    np.testing.assert_allclose(run(loss), np.sum(pairs), rtol=1e-4)
    assert run(tf.losses.mean_pairwise_squared_error(LABELS, GUESSES, weights=0.0)) == 0


def test_cosine_distance_matches_its_definition(run):
    loss = tf.losses.cosine_distance([[1.0, 0.0], [0.0, 1.0]], [[0.0, 1.0], [0.0, 1.0]], axis=1)
    assert run(loss) == 0.5
    with pytest.raises(ValueError, match="You must specify 'axis'"):
        tf.losses.cosine_distance(LABELS, GUESSES)


def test_label_smoothing_changes_the_cross_entropy(run):
    logits = np.array([[2.0, -1.0, 0.5]])
    chances = -(logits - np.logaddexp.reduce(logits, axis=1))
    plain = tf.losses.softmax_cross_entropy([[0, 1, 0]], logits)
    smooth = tf.losses.softmax_cross_entropy([[0, 1, 0]], logits, label_smoothing=0.3)
    by_number = tf.losses.sparse_softmax_cross_entropy([[1]], logits, weights=[[2.0]])
    expected = [chances[0, 1], 0.7 * chances[0, 1] + 0.1 * chances.sum(), 2 * chances[0, 1]]
    np.testing.assert_allclose(run([plain, smooth, by_number]), expected, rtol=1e-5)


@pytest.mark.parametrize(
    ("reduction", "expected"),
    [
        ("NONE", ERRORS * [[2.0], [0.0]]),
        ("SUM", ERRORS[0].sum() * 2),
        ("MEAN", ERRORS[0].mean()),
        ("SUM_OVER_BATCH_SIZE", ERRORS[0].sum() * 2 / 6),
        ("SUM_BY_NONZERO_WEIGHTS", ERRORS[0].sum() * 2 / 3),
        ("SUM_OVER_NONZERO_WEIGHTS", ERRORS[0].sum() * 2 / 3),
    ],
)
def test_weights_are_applied_according_to_the_reduction(run, reduction, expected):
    kind = getattr(tf.losses.Reduction, reduction)
    loss = tf.losses.absolute_difference(LABELS, GUESSES, [[2.0], [0.0]], reduction=kind)
    np.testing.assert_allclose(run(loss), expected, rtol=1e-5)


def test_zero_weights_yield_zero_loss_and_invalid_weights_are_rejected(run):
    assert run(tf.losses.mean_squared_error(LABELS, GUESSES, weights=0.0)) == 0
    with pytest.raises(ValueError, match="Invalid Reduction Key sum"):
        tf.losses.compute_weighted_loss([1.0], reduction="sum")
    with pytest.raises(ValueError, match="weights can not be broadcast to values"):
        tf.losses.compute_weighted_loss(ERRORS, weights=[1.0, 2.0])
    old = tf.contrib.losses.compute_weighted_loss(ERRORS, weights=[1.0, 0.0])
    np.testing.assert_allclose(run(old), ERRORS[0].mean(), rtol=1e-6)
    assert tf.contrib.slim.losses is tf.contrib.losses


def test_total_loss_sums_collected_losses(run):
    with pytest.raises(ValueError, match="inputs must be a list of at least one"):
        tf.losses.get_total_loss()
    assert run(tf.losses.get_regularization_loss()) == 0
    with tf.name_scope("first"):
        first = tf.losses.mean_squared_error(LABELS, GUESSES)
    own = tf.losses.absolute_difference(LABELS, GUESSES, loss_collection=None)
    tf.losses.add_loss(own)
    tf.get_variable("v", initializer=[1.0, 2.0], regularizer=tf.reduce_sum)
    assert tf.losses.get_losses("first") == [first]
    total, plain = tf.losses.get_total_loss(), tf.losses.get_total_loss(False, "plain")
    run(tf.global_variables_initializer())
    np.testing.assert_allclose(run([total, plain]), run([first + own + 3, first + own]))
    assert (total.op.name, plain.op.name) == ("total_loss", "plain")
