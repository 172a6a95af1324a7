import numpy as np
import pytest

import headrace.tf1 as tf

IAE = tf.errors.InvalidArgumentError
LOGITS = np.array([[1.0, 2.0, 1000.0], [3.0, -1.0, 0.5]])
LABELS = np.array([[0.2, 0.3, 0.5], [0.0, 1.0, 0.0]])
LOG_SOFTMAX = LOGITS - np.logaddexp.reduce(LOGITS, axis=1, keepdims=True)


def test_softmax_cross_entropy_matches_its_definition(run, hidden):
    expected = -np.sum(LABELS * LOG_SOFTMAX, axis=1)
    for name in ("softmax_cross_entropy_with_logits", "softmax_cross_entropy_with_logits_v2"):
        losses = getattr(tf.nn, name)(labels=LABELS, logits=LOGITS)
        assert losses.shape == (2,)
        np.testing.assert_allclose(run(losses), expected)
    for axis in (0, -2):
        turned = tf.nn.softmax_cross_entropy_with_logits_v2(LABELS.T, LOGITS.T, axis)
        np.testing.assert_allclose(run(turned), expected)
        unknown = tf.nn.softmax_cross_entropy_with_logits_v2(
            hidden(LABELS.T), hidden(LOGITS.T), dim=axis
        )
        np.testing.assert_allclose(run(unknown), expected)
    half = tf.nn.softmax_cross_entropy_with_logits_v2(LABELS[1:], tf.constant(LOGITS[1:], tf.half))
    assert half.dtype == tf.float16


def test_sparse_softmax_cross_entropy_accepts_class_labels(run, hidden):
    losses = tf.nn.sparse_softmax_cross_entropy_with_logits(labels=[0, 2], logits=LOGITS)
    np.testing.assert_allclose(run(losses), [-LOG_SOFTMAX[0, 0], -LOG_SOFTMAX[1, 2]])
    deep = tf.nn.sparse_softmax_cross_entropy_with_logits(labels=[[0, 2]], logits=LOGITS[None])
    assert (deep.shape, run(deep).shape) == ((1, 2), (1, 2))
    unknown = tf.nn.sparse_softmax_cross_entropy_with_logits(
        labels=hidden([0, 2]), logits=hidden(LOGITS)
    )
    np.testing.assert_allclose(run(unknown), run(losses))
    words = r"Received a label value of 3 which is outside the valid range of \[0, 3\)"
    with pytest.raises(IAE, match=words):
        run(tf.nn.sparse_softmax_cross_entropy_with_logits(labels=[0, 3], logits=LOGITS))


def test_sigmoid_cross_entropy_matches_its_definition(run):
    probabilities = 1 / (1 + np.exp(-LOGITS[1]))
    expected = -(LABELS[1] * np.log(probabilities) + (1 - LABELS[1]) * np.log(1 - probabilities))
    result = tf.nn.sigmoid_cross_entropy_with_logits(labels=LABELS[1], logits=LOGITS[1])
    np.testing.assert_allclose(run(result), expected)
    weighed = tf.nn.weighted_cross_entropy_with_logits(LABELS[1], LOGITS[1], 3.0)
    np.testing.assert_allclose(run(weighed), expected * np.where(LABELS[1] == 1, 3, 1))


def test_log_poisson_loss_matches_its_definition(run):
    result = tf.nn.log_poisson_loss([1.0, 4.0], [0.5, 1.0])
    np.testing.assert_allclose(run(result), [np.exp(0.5) - 0.5, np.exp(1) - 4], rtol=1e-6)
    full = run(tf.nn.log_poisson_loss([1.0, 4.0], [0.5, 1.0], compute_full_loss=True))
    stirling = 4 * np.log(4) - 4 + 0.5 * np.log(2 * np.pi * 4)
    np.testing.assert_allclose(full - run(result), [0, stirling], rtol=1e-5)


@pytest.mark.parametrize(
    "name",
    [f"{kind}_cross_entropy_with_logits" for kind in ("softmax", "sparse_softmax", "sigmoid")],
)
def test_cross_entropy_requires_named_arguments(name):
    function = getattr(tf.nn, name)
    with pytest.raises(ValueError, match=f"Only call `{name}` with named arguments"):
        function(LABELS, LOGITS)
    with pytest.raises(ValueError, match="Both labels and logits must be provided"):
        function(labels=LABELS)


def test_incompatible_shapes_are_rejected(run, hidden):
    def sparse(labels, logits):
        return tf.nn.sparse_softmax_cross_entropy_with_logits(labels=labels, logits=logits)

    for labels, logits, words in (
        ([1], 1.0, "Logits cannot be scalars - received shape"),
        ([[1]], LOGITS, "Rank mismatch: Rank of labels .received 2"),
        ([1], LOGITS, "Shape mismatch: The shape of labels"),
    ):
        with pytest.raises(ValueError, match=words):
            sparse(labels, logits)
    with pytest.raises(ValueError, match="logits and labels must have the same shape"):
        tf.nn.sigmoid_cross_entropy_with_logits(labels=[1.0], logits=[1.0, 2.0])
    with pytest.raises(ValueError, match="log_input and targets must have the same shape"):
        tf.nn.log_poisson_loss([1.0], [1.0, 2.0])
    with pytest.raises(IAE, match="must have the same first dimension"):
        run(sparse(hidden([1]), hidden(LOGITS)))
    with pytest.raises(IAE, match="logits and labels must be broadcastable"):
        run(
            tf.nn.softmax_cross_entropy_with_logits(
                labels=hidden(LABELS[:, :2]), logits=hidden(LOGITS)
            )
        )
