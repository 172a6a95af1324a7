"""Learning rates that change with the training step.

Source: `tf.train.exponential_decay` and similar functions in TensorFlow 1.15. Loshchilov and Hutter
(2016) for cosine decays, Bello et al. (2017) for linear cosine decays.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from typing import Any

from headrace.core import dtypes
from headrace.graph import Tensor, TensorLike, name_scope
from headrace.ops.array.where import where
from headrace.ops.control.cond import cond
from headrace.ops.framework.conversion import convert_n_to_tensor, convert_to_tensor
from headrace.ops.math.arithmetic import (
    add,
    ceil,
    divide,
    exp,
    floor,
    log,
    minimum,
    multiply,
    pow,
    sqrt,
)
from headrace.ops.math.cast import cast
from headrace.ops.math.compare import equal, logical_and
from headrace.ops.math.trigonometry import cos
from headrace.ops.random.numbers import random_normal
from headrace.tf1.ops.control.case import case

__all__ = [
    "cosine_decay",
    "cosine_decay_restarts",
    "exponential_decay",
    "inverse_time_decay",
    "linear_cosine_decay",
    "natural_exp_decay",
    "noisy_linear_cosine_decay",
    "piecewise_constant",
    "polynomial_decay",
]


def exponential_decay(
    learning_rate: TensorLike,
    global_step: TensorLike | None,
    decay_steps: TensorLike,
    decay_rate: TensorLike,
    staircase: bool = False,
    name: str | None = None,
) -> Tensor:
    """Returns `learning_rate * decay_rate ** (global_step / decay_steps)`.

    Args:
        learning_rate: The rate at step 0, a float scalar.
        global_step: The step, an integer scalar.
        decay_steps: The number of steps after which the rate is multiplied by `decay_rate`.
        decay_rate: The factor.
        staircase: Whether the rate changes only every `decay_steps` steps.
        name: Name of the scope.

    Returns:
        The rate, a scalar of the type of `learning_rate`.

    Raises:
        ValueError: If `global_step` is None.
    """
    with _scope(name, "ExponentialDecay", learning_rate, global_step) as (scope, rate, step, like):
        share = step / like(decay_steps)
        exponent = floor(share) if staircase else share
        return multiply(rate, pow(like(decay_rate), exponent), name=scope)


def natural_exp_decay(
    learning_rate: TensorLike,
    global_step: TensorLike | None,
    decay_steps: TensorLike,
    decay_rate: TensorLike,
    staircase: bool = False,
    name: str | None = None,
) -> Tensor:
    """Returns `learning_rate * exp(-decay_rate * global_step / decay_steps)`.

    Args:
        learning_rate: See `exponential_decay`.
        global_step: See `exponential_decay`.
        decay_steps: The number of steps after which the rate is divided by `exp(decay_rate)`.
        decay_rate: The exponent.
        staircase: See `exponential_decay`.
        name: See `exponential_decay`.

    Raises:
        ValueError: If `global_step` is None.
    """
    base = exp(-convert_to_tensor(decay_rate))
    return exponential_decay(learning_rate, global_step, decay_steps, base, staircase, name)


def inverse_time_decay(
    learning_rate: TensorLike,
    global_step: TensorLike | None,
    decay_steps: TensorLike,
    decay_rate: TensorLike,
    staircase: bool = False,
    name: str | None = None,
) -> Tensor:
    """Returns `learning_rate / (1 + decay_rate * global_step / decay_steps)`.

    Args:
        learning_rate: See `exponential_decay`.
        global_step: See `exponential_decay`.
        decay_steps: The number of steps after which the divisor grows by `decay_rate`.
        decay_rate: The growth of the divisor.
        staircase: See `exponential_decay`.
        name: See `exponential_decay`.

    Raises:
        ValueError: If `global_step` is None.
    """
    with _scope(name, "InverseTimeDecay", learning_rate, global_step) as (scope, rate, step, like):
        share = step / like(decay_steps)
        growth = floor(share) if staircase else share
        return divide(rate, like(decay_rate) * growth + like(1), name=scope)


def piecewise_constant(
    x: TensorLike,
    boundaries: Sequence[TensorLike],
    values: Sequence[TensorLike],
    name: str | None = None,
) -> Tensor:
    """Returns the value of the interval that contains `x`, such as a rate for each phase.

    Args:
        x: The step, a scalar.
        boundaries: The last step of each interval, except for the last interval, in increasing
            order and with the type of `x`.
        values: The value of each interval, all of the same type. There is one more value than
            boundaries.
        name: Name of the scope.

    Returns:
        A scalar with the type of the values.

    Raises:
        InvalidArgumentError: At run time, if the boundaries do not increase.
        ValueError: If the types differ, or the numbers of values and boundaries do not match.
    """
    if len(boundaries) != len(values) - 1:
        raise ValueError(
            "The length of boundaries should be 1 less than the length of values; got "
            f"{len(boundaries)} boundaries and {len(values)} values."
        )
    with name_scope(name, "PiecewiseConstant", [x, *boundaries, *values]):
        step = convert_to_tensor(x)
        limits = [_limit(limit, step) for limit in convert_n_to_tensor(boundaries)]
        rates = convert_n_to_tensor(values)
        for rate in rates[1:]:
            if rate.dtype.base_dtype != rates[0].dtype.base_dtype:
                raise ValueError(
                    f"Values must have elements all with the same dtype ({rate.dtype} vs "
                    f"{rates[0].dtype})."
                )
        if not limits:
            return rates[0]
        conditions = [
            step <= limits[0],
            *(logical_and(step > low, step <= high) for low, high in itertools.pairwise(limits)),
            step > limits[-1],
        ]
        pairs = [
            (condition, _constant_function(rate))
            for condition, rate in zip(conditions, rates, strict=True)
        ]
        result: Tensor = case(pairs, _constant_function(rates[0]), exclusive=True)
        return result


def polynomial_decay(
    learning_rate: TensorLike,
    global_step: TensorLike | None,
    decay_steps: TensorLike,
    end_learning_rate: TensorLike = 0.0001,
    power: TensorLike = 1.0,
    cycle: bool = False,
    name: str | None = None,
) -> Tensor:
    """Returns a rate that falls to `end_learning_rate` within `decay_steps` steps.

    Args:
        learning_rate: See `exponential_decay`.
        global_step: See `exponential_decay`.
        decay_steps: The step at which the rate stops falling.
        end_learning_rate: The rate from `decay_steps` on.
        power: The exponent of the curve. 1 is a straight line.
        cycle: Whether the end moves to the next multiple of `decay_steps` each time it is passed.
        name: See `exponential_decay`.

    Raises:
        ValueError: If `global_step` is None.
    """
    with _scope(name, "PolynomialDecay", learning_rate, global_step) as (scope, rate, step, like):
        last, end = like(decay_steps), like(end_learning_rate)
        if cycle:
            last = last * where(equal(step, like(0)), like(1), ceil(step / last))
        share = pow(like(1) - minimum(step, last) / last, like(power))
        return add((rate - end) * share, end, name=scope)


def cosine_decay(
    learning_rate: TensorLike,
    global_step: TensorLike | None,
    decay_steps: TensorLike,
    alpha: TensorLike = 0.0,
    name: str | None = None,
) -> Tensor:
    """Returns a rate that falls along half a cosine within `decay_steps` steps.

    Args:
        learning_rate: See `exponential_decay`.
        global_step: See `exponential_decay`.
        decay_steps: The step at which the rate stops falling.
        alpha: The rate from `decay_steps` on, as a fraction of `learning_rate`.
        name: See `exponential_decay`.

    Raises:
        ValueError: If `global_step` is None.
    """
    with _scope(name, "CosineDecay", learning_rate, global_step) as (_, rate, step, like):
        last = like(decay_steps)
        return _along_cosine(rate, minimum(step, last) / last, like(1), like(alpha))


def cosine_decay_restarts(
    learning_rate: TensorLike,
    global_step: TensorLike | None,
    first_decay_steps: TensorLike,
    t_mul: TensorLike = 2.0,
    m_mul: TensorLike = 1.0,
    alpha: TensorLike = 0.0,
    name: str | None = None,
) -> Tensor:
    """Returns a rate that falls along half a cosine and then restarts.

    Args:
        learning_rate: See `exponential_decay`.
        global_step: See `exponential_decay`.
        first_decay_steps: The number of steps to the first restart.
        t_mul: The length of a period, as a multiple of the previous period.
        m_mul: The initial rate of a period, as a multiple of the initial rate of the previous
            period.
        alpha: The last rate of a period, as a fraction of `learning_rate`.
        name: See `exponential_decay`.

    Raises:
        ValueError: If `global_step` is None.
    """
    with _scope(name, "SGDRDecay", learning_rate, global_step) as (_, rate, step, like):
        growth, one = like(t_mul), like(1)
        periods = step / like(first_decay_steps)

        def of_one_length() -> tuple[Tensor, Tensor]:
            restarts = floor(periods)
            return restarts, periods - restarts

        def of_growing_length() -> tuple[Tensor, Tensor]:
            restarts = floor(log(one - periods * (one - growth)) / log(growth))
            length = pow(growth, restarts)
            return restarts, (periods - (one - length) / (one - growth)) / length

        restarts, share = cond(equal(growth, one), of_one_length, of_growing_length)
        return _along_cosine(rate, share, pow(like(m_mul), restarts), like(alpha))


def linear_cosine_decay(
    learning_rate: TensorLike,
    global_step: TensorLike | None,
    decay_steps: TensorLike,
    num_periods: TensorLike = 0.5,
    alpha: TensorLike = 0.0,
    beta: TensorLike = 0.001,
    name: str | None = None,
) -> Tensor:
    """Returns a rate that falls along the product of a line and a cosine.

    Args:
        learning_rate: See `exponential_decay`.
        global_step: See `exponential_decay`.
        decay_steps: The step at which the rate stops falling.
        num_periods: The number of periods of the cosine until the end.
        alpha: A number that is added to the line, which falls from 1 to 0.
        beta: A number that is added to the product. The result is multiplied by `learning_rate`.
        name: See `exponential_decay`.

    Raises:
        ValueError: If `global_step` is None.
    """
    with _scope(name, "LinearCosineDecay", learning_rate, global_step) as (scope, rate, step, like):
        share = minimum(step, like(decay_steps)) / like(decay_steps)
        line = like(1) - share + like(alpha)
        height = line * _wave(share * like(num_periods) * like(2)) + like(beta)
        return multiply(rate, height, name=scope)


def noisy_linear_cosine_decay(
    learning_rate: TensorLike,
    global_step: TensorLike | None,
    decay_steps: TensorLike,
    initial_variance: TensorLike = 1.0,
    variance_decay: TensorLike = 0.55,
    num_periods: TensorLike = 0.5,
    alpha: TensorLike = 0.0,
    beta: TensorLike = 0.001,
    name: str | None = None,
) -> Tensor:
    """Returns the rate of `linear_cosine_decay`, with noise added to its line.

    Args:
        learning_rate: See `linear_cosine_decay`.
        global_step: See `linear_cosine_decay`.
        decay_steps: See `linear_cosine_decay`.
        initial_variance: The variance of the noise at step 0. Each run draws new noise.
        variance_decay: The exponent of the decay. The variance at a step is divided by `(1 + step)
            ** variance_decay`.
        num_periods: See `linear_cosine_decay`.
        alpha: See `linear_cosine_decay`.
        beta: See `linear_cosine_decay`.
        name: See `linear_cosine_decay`.

    Raises:
        ValueError: If `global_step` is None.
    """
    with _scope(name, "NoisyLinearCosineDecay", learning_rate, global_step) as (
        scope,
        rate,
        step,
        like,
    ):
        so_far = minimum(step, like(decay_steps))
        share = so_far / like(decay_steps)
        variance = like(initial_variance) / pow(like(1) + so_far, like(variance_decay))
        noise = random_normal([], dtype=rate.dtype.base_dtype) * sqrt(variance)
        line = like(1) - share + noise + like(alpha)
        height = line * _wave(share * like(num_periods) * like(2)) + like(beta)
        return multiply(rate, height, name=scope)


@contextmanager
def _scope(
    name: str | None, default: str, learning_rate: TensorLike, global_step: TensorLike | None
) -> Iterator[tuple[str, Tensor, Tensor, Callable[[Any], Tensor]]]:
    """Yields the scope, the rate, the step in the rate's dtype, and a conversion to that dtype."""
    if global_step is None:
        raise ValueError(f"global_step is required for {default}.")
    with name_scope(name, default, [learning_rate, global_step]) as scope:
        rate = convert_to_tensor(learning_rate, name="learning_rate")
        dtype = rate.dtype.base_dtype

        def like(number: Any) -> Tensor:
            return cast(convert_to_tensor(number), dtype)

        yield scope, rate, like(global_step), like


def _wave(turns: Tensor) -> Tensor:
    """Returns a cosine between 0 and 1. `turns` counts half periods."""
    return 0.5 * (1.0 + cos(math.pi * turns))


def _along_cosine(rate: Tensor, share: Tensor, height: Tensor, alpha: Tensor) -> Tensor:
    return rate * ((1.0 - alpha) * height * _wave(share) + alpha)


def _limit(limit: Tensor, step: Tensor) -> Tensor:
    expected = step.dtype.base_dtype
    if limit.dtype.base_dtype == expected:
        return limit
    if (limit.dtype.base_dtype, expected) == (dtypes.int32, dtypes.int64):
        return cast(limit, expected)
    raise ValueError(f"Boundaries ({limit.dtype}) must have the same dtype as x ({expected}).")


def _constant_function(value: Tensor) -> Callable[[], Tensor]:
    return lambda: value
