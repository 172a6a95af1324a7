"""Creates batches of resampled examples: each example is kept with a certain probability.

Source: `tf.contrib.training.rejection_sample` and `stratified_sample` in TensorFlow 1.15.
"""

from collections.abc import Callable, Sequence
from typing import Any, Final

import numpy as np

from headrace.core.dtypes import float32, int64
from headrace.graph import GraphKeys, name_scope
from headrace.tf1 import ops
from headrace.tf1.input import batch, maybe_batch

__all__ = ["rejection_sample", "stratified_sample"]

# The initial number of examples of each class when a distribution is estimated.
_SMOOTHING: Final = 10.0


def rejection_sample(
    tensors: Sequence[Any],
    accept_prob_fn: Callable[[list[Any]], Any],
    batch_size: int,
    queue_threads: int = 1,
    enqueue_many: bool = False,
    prebatch_capacity: int = 16,
    prebatch_threads: int = 1,
    runtime_checks: bool = False,
    name: str | None = None,
) -> list[Any]:
    """Creates batches of examples, each kept with its own probability.

    Args:
        tensors: One example, or several along the first axis if `enqueue_many` is True.
        accept_prob_fn: A function that accepts the tensors of one example and returns the
            probability of keeping the example, a float32 scalar from 0 to 1.
        batch_size: The number of examples in a batch.
        queue_threads: The number of threads that fill the queue.
        enqueue_many: Whether the tensors contain several examples.
        prebatch_capacity: The number of examples that wait for selection, if `enqueue_many` is
            True.
        prebatch_threads: The number of threads that compute these examples.
        runtime_checks: Whether each probability is checked.
        name: Name scope of the operations.

    Returns:
        The tensors of a batch.
    """
    with name_scope(name, "rejection_sample", tensors):
        converted = [ops.convert_to_tensor(tensor) for tensor in tensors]
        if enqueue_many:
            converted = _one_by_one(converted, prebatch_threads, prebatch_capacity)
        probability = ops.cast(ops.convert_to_tensor(accept_prob_fn(converted)), float32)
        if runtime_checks:
            checks = [
                ops.assert_less_equal(probability, ops.constant(1.0)),
                ops.assert_non_negative(probability),
            ]
            with ops.control_dependencies(checks):
                probability = ops.identity(probability)
        keep = ops.less(ops.random_uniform([]), probability)
        return _batch(converted, keep, batch_size, queue_threads)


def stratified_sample(
    tensors: Sequence[Any],
    labels: Any,
    target_probs: Any,
    batch_size: int,
    init_probs: Any = None,
    enqueue_many: bool = False,
    queue_capacity: int = 16,
    threads_per_queue: int = 1,
    name: str | None = None,
) -> tuple[list[Any], Any]:
    """Creates batches in which classes have the given probabilities. Surplus examples are dropped.

    Args:
        tensors: One example, or several along the first axis if `enqueue_many` is True.
        labels: The class number of the example, an integer scalar starting at 0, or a vector of
            class numbers for several examples.
        target_probs: The probability of each class in batches: a vector that sums to 1.
        batch_size: The number of examples in a batch.
        init_probs: The probability of each class in the input. By default, the probabilities are
            estimated.
        enqueue_many: Whether the tensors contain several examples.
        queue_capacity: The number of examples that wait for selection, if `enqueue_many` is True.
        threads_per_queue: The number of threads that fill each queue.
        name: Name scope of the operations.

    Returns:
        The tensors of a batch and the class numbers, with the dtype of `labels`.

    Raises:
        TypeError: If the labels are not integers.
        ValueError: If the probabilities are invalid.
    """
    target = _checked("target_probs", target_probs)
    with name_scope(name, "stratified_sample", [*tensors, labels]):
        converted = [ops.convert_to_tensor(tensor) for tensor in [labels, *tensors]]
        if not converted[0].dtype.is_integer:
            raise TypeError(
                f"stratified_sample: the labels have dtype {converted[0].dtype.name}, "
                "expected integers. Convert them with tf.cast."
            )
        if enqueue_many:
            converted = _one_by_one(converted, threads_per_queue, queue_capacity)
        label = ops.cast(converted[0], int64)
        if init_probs is None:
            rates = target / _estimate(label, len(target))
            accept = rates / ops.reduce_max(rates)
        else:
            accept = ops.constant(_acceptance(_checked("init_probs", init_probs), target))
        keep = ops.less(ops.random_uniform([]), ops.gather(accept, label))
        classes, *rest = _batch(converted, keep, batch_size, threads_per_queue)
        return rest, classes


def _batch(tensors: list[Any], keep: Any, batch_size: int, num_threads: int) -> list[Any]:
    batches = maybe_batch(tensors, keep, batch_size, num_threads=num_threads)
    return batches if isinstance(batches, list) else [batches]


def _one_by_one(tensors: list[Any], num_threads: int, capacity: int) -> list[Any]:
    batches = batch(tensors, 1, num_threads=num_threads, capacity=capacity, enqueue_many=True)
    parts = batches if isinstance(batches, list) else [batches]
    return [ops.squeeze(part, [0]) for part in parts]


def _checked(what: str, probabilities: Any) -> np.ndarray[Any, np.dtype[np.float32]]:
    array = np.asarray(probabilities, np.float32)
    if array.ndim != 1 or (array < 0).any() or not np.isclose(array.sum(), 1, atol=1e-3):
        raise ValueError(
            f"stratified_sample: {what} is {probabilities}, expected a vector of "
            "probabilities that sum to 1."
        )
    return array


def _acceptance(
    initial: np.ndarray[Any, np.dtype[np.float32]], target: np.ndarray[Any, np.dtype[np.float32]]
) -> np.ndarray[Any, np.dtype[np.float32]]:
    """Returns the probability with which an example of each class is kept."""
    if len(initial) != len(target):
        raise ValueError(
            f"stratified_sample: init_probs has {len(initial)} classes, but target_probs has "
            f"{len(target)}. Pass the same number for both."
        )
    if (target[initial == 0] > 0).any():
        raise ValueError(
            "stratified_sample: target_probs is positive for a class that the input never "
            "contains (its init_probs is 0). Set its target_probs to 0."
        )
    rates = np.zeros_like(target)
    np.divide(target, initial, out=rates, where=initial > 0)
    rates /= rates.max()
    return rates


def _estimate(label: Any, num_classes: int) -> Any:
    """Adds a variable that counts classes. Returns their frequencies, including the new label."""
    seen = ops.Variable(
        np.full(num_classes, _SMOOTHING, np.float32),
        trainable=False,
        collections=[GraphKeys.LOCAL_VARIABLES],
        name="examples_seen",
    )
    counts = ops.assign_add(seen, ops.one_hot(label, num_classes, dtype=float32))
    return counts / ops.reduce_sum(counts)
