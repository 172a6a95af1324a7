"""Norms, activations, cross entropies, losses and metrics."""

from typing import Any

import numpy as np

from tensorflow_comparison.calls import known, unknown
from tensorflow_comparison.table import case

GRID = np.array([[1.0, -2.0, 3.0], [0.5, 0.0, -1.5]], np.float32)
TRUTH = np.array([[0.0, 1.0, 1.0], [1.0, 0.0, 0.0]], np.float32)
GUESS = np.array([[0.2, 0.7, 0.4], [0.9, 0.1, 0.6]], np.float32)

Call = tuple[str, list[Any], dict[str, Any]]

NORMS: list[Call] = [
    *[
        ("norm", [GRID], {"ord": order, "axis": axis, "keepdims": keep})
        for order in ("euclidean", 1, 2, 3, np.inf)
        for axis in (None, 0, 1)
        for keep in (True, False)
    ],
    *[
        ("norm", [GRID], {"ord": order, "axis": [0, 1]})
        for order in ("euclidean", "fro", 1, 2, np.inf, 3)
    ],
    ("norm", [GRID], {"ord": "fro"}),
    ("norm", [GRID], {"ord": -1}),
    ("norm", [GRID], {"axis": [0, 0]}),
    ("norm", [GRID], {"axis": [0, 1, 2]}),
    ("clip_by_norm", [GRID, 2.0], {}),
    ("clip_by_norm", [GRID, 20.0], {}),
    ("clip_by_norm", [GRID, 2.0], {"axes": [1]}),
    ("clip_by_norm", [[0.0, 0.0], 2.0], {}),
    ("clip_by_average_norm", [GRID, 0.1], {}),
    *[("reduce_logsumexp", [GRID], {"axis": axis}) for axis in (None, 0, [0, 1], 2)],
    ("reduce_logsumexp", [GRID], {"axis": 1, "keepdims": True}),
    ("reduce_logsumexp", [[-np.inf, -np.inf]], {}),
    *[("tensordot", [GRID, GRID.T], {"axes": axes}) for axes in (0, 1, 2, [[0], [1]], [1, 0], 3)],
    ("tensordot", [GRID, GRID], {"axes": [[0, 1], [0, 1]]}),
    ("tensordot", [GRID, GRID], {"axes": [[0, 1], [0]]}),
    ("nn.l2_loss", [GRID], {}),
    ("nn.log_softmax", [GRID], {}),
    ("nn.log_softmax", [GRID], {"axis": 0}),
    ("nn.log_softmax", [GRID], {"axis": 2}),
    *[
        (f"nn.{name}", [GRID], {})
        for name in ("elu", "selu", "relu6", "softplus", "softsign", "leaky_relu", "zero_fraction")
    ],
    ("nn.leaky_relu", [[-1, 2]], {"alpha": 0.5}),
    ("nn.elu", [[1, 2]], {}),
    ("log_sigmoid", [GRID], {}),
    *[(f"math.{name}", [GRID], {"axis": 1}) for name in ("reduce_variance", "reduce_std")],
    ("math.reduce_variance", [[1, 2]], {}),
    ("math.reduce_euclidean_norm", [GRID], {"axis": 0}),
]


@case(*[(call,) for call in NORMS], digits=5)
def of_known(tf: Any, call: Call) -> Any:
    """Operations on constants."""
    return known(tf, call[0], *call[1], **call[2])


@case(*[(call,) for call in NORMS if call[0] != "tensordot" and "axis" not in call[2]], digits=5)
def of_unknown(tf: Any, call: Call) -> Any:
    """Operations on tensors whose values and shapes are unknown in the graph."""
    return unknown(tf, call[0], *call[1], **call[2])


@case(((3.0, 4.0), 1.0), ((3.0, None, 4.0), 10.0), ((np.inf, 1.0), 1.0), digits=5)
def clipped_together(tf: Any, values: Any, bound: float) -> Any:
    """`clip_by_global_norm`."""
    tensors = [None if value is None else tf.constant([value, 1.0]) for value in values]
    shorter, length = tf.clip_by_global_norm(tensors, bound)
    results = [tensor for tensor in shorter if tensor is not None]
    return [*results, length], [tensor.name for tensor in results]


@case(
    *[
        (name, labels, logits)
        for name in ("softmax_cross_entropy_with_logits", "sigmoid_cross_entropy_with_logits")
        for labels, logits in ((TRUTH, GRID), (TRUTH[:, :2], GRID), (TRUTH[0], GRID[0]))
    ],
    ("softmax_cross_entropy_with_logits_v2", TRUTH, GRID),
    ("softmax_cross_entropy_with_logits", np.ones([2, 2, 3]), np.ones([2, 2, 3])),
    *[
        ("sparse_softmax_cross_entropy_with_logits", labels, logits)
        for labels, logits in (
            ([1, 2], GRID),
            ([1, 3], GRID),
            ([1], GRID),
            (1, GRID[0]),
            ([[1, 2]], GRID[None]),
            ([1], np.float32(1)),
            ([[1]], GRID),
        )
    ],
    digits=5,
)
def entropies(tf: Any, name: str, labels: Any, logits: Any) -> Any:
    """Cross entropies for each example."""
    return getattr(tf.nn, name)(labels=labels, logits=tf.constant(logits))


@case(("softmax_cross_entropy_with_logits",), ("sigmoid_cross_entropy_with_logits",))
def entropies_by_place(tf: Any, name: str) -> Any:
    """Arguments that must be given by name."""
    return getattr(tf.nn, name)(TRUTH, GRID)


@case((2.0,), (0.5,), digits=5)
def weighted_entropies(tf: Any, weight: float) -> Any:
    """Cross entropies with a higher weight for positive labels, and counts."""
    return (
        tf.nn.weighted_cross_entropy_with_logits(labels=TRUTH, logits=GRID, pos_weight=weight),
        tf.nn.log_poisson_loss(TRUTH * 3, GRID, compute_full_loss=True),
        tf.nn.log_poisson_loss(TRUTH, GRID),
    )


LOSSES: list[tuple[str, dict[str, Any]]] = [
    *[
        (name, {})
        for name in (
            *("absolute_difference", "mean_squared_error", "mean_pairwise_squared_error"),
            *("hinge_loss", "huber_loss", "log_loss", "sigmoid_cross_entropy"),
            "softmax_cross_entropy",
        )
    ],
    ("huber_loss", {"delta": 0.2}),
    ("log_loss", {"epsilon": 0.1}),
    ("cosine_distance", {"axis": 1}),
    ("cosine_distance", {"dim": 0}),
    ("cosine_distance", {}),
    ("sigmoid_cross_entropy", {"label_smoothing": 0.2}),
    ("softmax_cross_entropy", {"label_smoothing": 0.2}),
    *[
        ("mean_squared_error", {"weights": weights})
        for weights in (
            *(0.0, 2.0, [[1.0], [0.0]], [[0.5, 1.0, 2.0]], TRUTH),
            *([1.0, 2.0], [[1.0, 2.0]], [[[1.0]]]),
        )
    ],
    *[("mean_pairwise_squared_error", {"weights": weights}) for weights in (0.0, [[1.0], [0.0]])],
    *[
        ("mean_squared_error", {"weights": [[1.0], [0.5]], "reduction": reduction})
        for reduction in (
            *("none", "weighted_sum", "weighted_mean", "weighted_sum_over_batch_size"),
            *("weighted_sum_by_nonzero_weights", "sum"),
        )
    ],
    ("mean_squared_error", {"scope": "mine", "loss_collection": "others"}),
]


@case(*LOSSES, digits=5)
def losses(tf: Any, name: str, arguments: Any) -> Any:
    """Losses of numbers, and the collection that contains them."""
    loss = getattr(tf.losses, name)(tf.constant(TRUTH), tf.constant(GUESS), **arguments)
    collected = [item.name for item in tf.losses.get_losses()]
    return loss, loss.name, collected, [item.name for item in tf.get_collection("others")]


@case(*LOSSES[:8], digits=5)
def losses_of_unknown(tf: Any, name: str, arguments: Any) -> Any:
    """Losses of tensors whose types and shapes are unknown."""
    inputs = [tf.placeholder_with_default(value, None) for value in (TRUTH, GUESS)]
    weights = tf.placeholder_with_default(np.float32(0.5), None)
    loss = getattr(tf.losses, name)(*inputs, weights=weights, **arguments)
    with tf.Session() as session:
        return session.run(loss)


@case(
    ([1, 2], GRID, {}),
    ([[1], [2]], GRID, {"weights": [[0.5], [1.0]]}),
    ([[1], [2]], GRID, {"weights": [0.5, 0.0]}),
    ([1, 3], GRID, {}),
    (None, GRID, {}),
    digits=5,
)
def sparse_losses(tf: Any, labels: Any, logits: Any, arguments: Any) -> Any:
    """`sparse_softmax_cross_entropy`."""
    tensor = None if labels is None else tf.constant(labels)
    return tf.losses.sparse_softmax_cross_entropy(tensor, tf.constant(logits), **arguments)


@case(digits=5)
def total_loss(tf: Any) -> Any:
    """Sums of losses, and of the losses of regularizers."""
    with tf.name_scope("first"):
        tf.losses.mean_squared_error(TRUTH, GUESS)
    tf.losses.absolute_difference(TRUTH, GUESS)
    none = tf.losses.get_regularization_loss()
    tf.get_variable("v", initializer=[1.0, 2.0], regularizer=tf.reduce_sum)
    total = tf.losses.get_total_loss()
    without = tf.losses.get_total_loss(add_regularization_losses=False, name="plain")
    named = [item.name for item in tf.losses.get_losses("first")]
    added = tf.losses.get_regularization_loss()
    return none, total, without, added, total.name, without.name, named


@case()
def total_of_no_losses(tf: Any) -> Any:
    """Without losses, there is no sum."""
    return tf.losses.get_total_loss()


@case()
def reductions(tf: Any) -> Any:
    """The names of reductions."""
    kinds = tf.losses.Reduction
    return sorted(kinds.all()), kinds.MEAN, kinds.SUM_OVER_NONZERO_WEIGHTS


Metric = tuple[str, dict[str, Any]]

WEIGHTS = ({}, {"weights": 0.5}, {"weights": [[1.0, 0.0, 2.0], [0.5, 0.5, 0.0]]})
METRICS: list[Metric] = [
    *[
        (name, arguments)
        for name in (
            *("accuracy", "mean_squared_error", "mean_absolute_error", "root_mean_squared_error"),
            *("precision", "recall", "true_positives", "true_negatives"),
            *("false_positives", "false_negatives"),
        )
        for arguments in WEIGHTS
    ],
    ("accuracy", {"weights": [[1.0], [0.0]]}),
    ("accuracy", {"weights": [1.0, 0.0]}),
    ("accuracy", {"weights": [[1.0, 0.0]]}),
    ("accuracy", {"name": "mine"}),
    ("mean_relative_error", {"normalizer": np.float32(TRUTH)}),
    ("mean_cosine_distance", {"dim": 1}),
    ("mean_cosine_distance", {"dim": 1, "weights": [[0.5], [1.0]]}),
    *[
        ("auc", {"num_thresholds": 7, "curve": curve, "summation_method": method, **weights})
        for curve in ("ROC", "PR")
        for method in ("trapezoidal", "careful_interpolation", "minoring", "majoring")
        for weights in WEIGHTS[::2]
    ],
    ("auc", {}),
    ("auc", {"thresholds": [0.5, 0.3]}),
    ("auc", {"curve": "XY"}),
    ("auc", {"summation_method": "xy"}),
    *[
        (f"{name}_at_thresholds", {"thresholds": [0.1, 0.5, 0.65], **weights})
        for name in (
            *("precision", "recall", "true_positives", "true_negatives"),
            *("false_positives", "false_negatives"),
        )
        for weights in WEIGHTS
    ],
    *[
        (name, {argument: value, "num_thresholds": 9})
        for name, argument in (
            ("sensitivity_at_specificity", "specificity"),
            ("specificity_at_sensitivity", "sensitivity"),
        )
        for value in (0.2, 0.7, 1.0, 1.5)
    ],
]


def updated(tf: Any, metric: Any, times: int = 2) -> Any:
    """A metric before, between and after updates, and its operations in the graph."""
    value, update = metric
    variables = [[v.name, v.dtype.base_dtype.name] for v in tf.get_collection("metric_variables")]
    shapes = [[t.dtype.base_dtype.name, str(t.shape)] for t in (value, update)]
    names = [value.name, update.name]
    with tf.Session() as session:
        session.run(tf.local_variables_initializer())
        values = [session.run(value)]
        for _ in range(times):
            values += [session.run(update), session.run(value)]
    return values, variables, shapes, names


@case(*METRICS, digits=4)
def metrics(tf: Any, name: str, arguments: Any) -> Any:
    """Metrics of two tensors."""
    return updated(
        tf, getattr(tf.metrics, name)(tf.constant(TRUTH), tf.constant(GUESS), **arguments)
    )


@case(*[metric for metric in METRICS if "normalizer" not in metric[1]][::3], digits=4)
def metrics_of_unknown(tf: Any, name: str, arguments: Any) -> Any:
    """Metrics of tensors whose types and shapes are unknown."""
    inputs = [tf.placeholder_with_default(value, None) for value in (TRUTH, GUESS)]
    return updated(tf, getattr(tf.metrics, name)(*inputs, **arguments))[0]


@case(
    *[(name, arguments) for name in ("mean", "mean_tensor") for arguments in WEIGHTS],
    ("percentage_below", {"threshold": 0.5}),
    ("percentage_below", {"threshold": 0.5, "weights": [[1.0], [2.0]]}),
    ("mean", {"metrics_collections": ["a"], "updates_collections": ["b", "c"], "name": "mine"}),
    digits=4,
)
def metrics_of_one(tf: Any, name: str, arguments: Any) -> Any:
    """Metrics of one tensor, and the collections that contain them."""
    result = updated(tf, getattr(tf.metrics, name)(tf.constant(GUESS), **arguments))
    return result, [[item.name for item in tf.get_collection(key)] for key in "abc"]


@case(
    *[
        (name, labels, predictions, arguments)
        for name in ("mean_iou", "mean_per_class_accuracy")
        for labels, predictions, arguments in (
            ([0, 1, 2, 1], [0, 1, 1, 1], {}),
            ([0, 1, 2, 1], [0, 1, 1, 1], {"weights": [1.0, 0.5, 0.0, 2.0]}),
            ([[0, 1], [3, 1]], [[0, 1], [1, 1]], {}),
        )
    ],
    digits=4,
)
def metrics_of_classes(tf: Any, name: str, labels: Any, predictions: Any, arguments: Any) -> Any:
    """Metrics of labels and predicted classes."""
    inputs = [tf.constant(value) for value in (labels, predictions)]
    weights = {key: tf.constant(value) for key, value in arguments.items()}
    return updated(tf, getattr(tf.metrics, name)(*inputs, num_classes=4, **weights))


SCORES = np.array([[0.1, 0.3, 0.2, 0.4], [0.1, 0.2, 0.3, 0.4], [0.5, 0.1, 0.3, 0.2]], np.float32)


@case(
    *[
        (name, k, labels, arguments)
        for name in ("recall_at_k", "precision_at_k", "average_precision_at_k")
        for k in (1, 2, 3)
        for labels in ([[3], [0], [2]], [[3, 1], [0, 2], [2, 9]], [[2, 2], [1, -1], [9, 9]])
        for arguments in ({}, {"weights": [0.5, 1.0, 2.0]})
    ],
    *[
        (name, 2, [[3, 1], [0, 2], [2, 2]], {"class_id": number})
        for name in ("recall_at_k", "precision_at_k")
        for number in (2, 3, 7)
    ],
    ("recall_at_k", 2, [3, 0, 2], {}),
    ("average_precision_at_k", 0, [[3], [0], [2]], {}),
    ("sparse_precision_at_k", 2, [[3], [0], [2]], {}),
    digits=5,
)
def metrics_of_the_largest(tf: Any, name: str, k: int, labels: Any, arguments: Any) -> Any:
    """Metrics over the k largest predictions."""
    inputs = [tf.constant(labels, tf.int64), tf.constant(SCORES)]
    return updated(tf, getattr(tf.metrics, name)(*inputs, k=k, **arguments))[:3]


@case(*[(name,) for name in ("recall_at_k", "precision_at_k", "average_precision_at_k")], digits=5)
def metrics_of_sparse_labels(tf: Any, name: str) -> Any:
    """Examples with different numbers of labels."""
    positions = [[0, 0], [0, 1], [2, 0]]
    labels = tf.SparseTensor(positions, tf.constant([3, 1, 0], tf.int64), [3, 2])
    return updated(tf, getattr(tf.metrics, name)(labels, tf.constant(SCORES), k=2))[:3]


@case(("recall_at_top_k", 2), ("precision_at_top_k", 2), ("recall_at_top_k", None), digits=5)
def metrics_of_places(tf: Any, name: str, k: Any) -> Any:
    """Metrics of the predicted classes themselves."""
    inputs = tf.constant([[3], [0]], tf.int64), tf.constant([[3, 1], [2, 1]], tf.int64)
    return updated(tf, getattr(tf.metrics, name)(*inputs, k=k))


@case(digits=5)
def metrics_of_predictions_out_of_range(tf: Any) -> Any:
    """Thresholds are for predictions from 0 to 1."""
    return updated(tf, tf.metrics.auc(tf.constant([1, 0]), tf.constant([1.5, 0.2])))
