"""Moving averages of variables and other tensors.

Source: `tf.train.ExponentialMovingAverage` and `tensorflow.python.training.moving_averages` of
TensorFlow 1.15. Kingma and Ba (2015), section 3, for averages that start at 0.
"""

from __future__ import annotations

import itertools
from collections.abc import Iterable, Sequence
from typing import Final

from headrace.core import dtypes
from headrace.core.shapes import TensorShape
from headrace.graph import (
    GraphKeys,
    Operation,
    Tensor,
    TensorLike,
    add_to_collection,
    colocate_with,
    control_dependencies,
    device,
    get_default_graph,
    name_scope,
)
from headrace.ops.array.fill import zeros, zeros_like
from headrace.ops.control.control_flow import group
from headrace.ops.framework.conversion import convert_to_tensor
from headrace.ops.math.arithmetic import divide, minimum, pow
from headrace.ops.math.arithmetic import truediv as divide_as_floats
from headrace.ops.math.cast import cast
from headrace.tf1.ops.variables.assign import assign, assign_add, assign_sub
from headrace.tf1.ops.variables.initialization import (
    global_variables,
    moving_average_variables,
    trainable_variables,
)
from headrace.tf1.ops.variables.initializers import zeros_initializer
from headrace.tf1.ops.variables.scope import get_variable, get_variable_scope, variable_scope
from headrace.tf1.ops.variables.variable import Variable

__all__ = ["ExponentialMovingAverage", "assign_moving_average", "weighted_moving_average"]

_FLOATS: Final = (dtypes.float16, dtypes.float32, dtypes.float64)


def assign_moving_average(
    variable: Variable,
    value: TensorLike,
    decay: TensorLike,
    zero_debias: bool = True,
    name: str | None = None,
) -> Tensor:
    """Adds an operation that moves a variable towards a value.

    The new value is `variable * decay + value * (1 - decay)`.

    Args:
        variable: The variable.
        value: The value, of the variable's type and shape.
        decay: The weight of the old value, a float scalar.
        zero_debias: Whether to correct for an initial value of 0, so that the variable equals the
            value after the first update. This requires two more variables.
        name: Name of the operation.

    Returns:
        The variable's new value, as a tensor that represents the variable.
    """
    with name_scope(name, "AssignMovingAvg", [value, decay]) as scope, colocate_with(variable.op):
        dtype = variable.dtype.base_dtype
        rate = cast(convert_to_tensor(1.0 - decay, name="decay"), dtype)  # type: ignore[operator]
        tensor = convert_to_tensor(_read_now(value), dtype)
        if zero_debias:
            return _assign_debiased(variable, tensor, rate, scope)
        return assign_sub(variable, (variable.read_value() - tensor) * rate, name=scope)


def weighted_moving_average(
    value: Tensor,
    decay: TensorLike,
    weight: Tensor,
    truediv: bool = True,
    collections: Sequence[str] | None = None,
    name: str | None = None,
) -> Tensor:
    """Adds an operation that updates a weighted average and returns the average.

    The average is the moving average of `value * weight`, divided by the moving average of
    `weight`.

    Args:
        value: Numbers.
        decay: The weight of the old average, a float scalar.
        weight: The weights, which must be broadcastable to the numbers.
        truediv: Whether integers are converted to floats for the division.
        collections: The collections to add the average's two variables to. Defaults to
            `[GraphKeys.GLOBAL_VARIABLES]`.
        name: Name of the variable scope.

    Returns:
        The average after the update.
    """
    keys = [GraphKeys.GLOBAL_VARIABLES] if collections is None else list(collections)
    with variable_scope(name, "WeightedMovingAvg", values=[value, weight]):

        def average(part: str, tensor: Tensor) -> Tensor:
            variable = get_variable(
                part,
                shape=tensor.shape,
                dtype=tensor.dtype.base_dtype,
                initializer=zeros_initializer(),
                trainable=False,
                collections=keys,
            )
            return assign_moving_average(variable, tensor, decay, zero_debias=False)

        numerator = average("value_x_weight", value * weight)
        denominator = average("weight", weight)
        return (divide_as_floats if truediv else divide)(numerator, denominator)


class ExponentialMovingAverage:
    """Keeps moving averages of variables in separate variables.

    Args:
        decay: The weight of the old average in an update, a float scalar near 1, such as 0.999.
        num_updates: The number of updates so far, such as the global step. If given, the weight is
            at most `(1 + num_updates) / (10 + num_updates)`, so that the first averages move
            faster.
        zero_debias: Whether to correct averages of tensors that are not variables for their initial
            value of 0.
        name: The suffix for the names of the averages.
    """

    def __init__(
        self,
        decay: TensorLike,
        num_updates: TensorLike | None = None,
        zero_debias: bool = False,
        name: str = "ExponentialMovingAverage",
    ) -> None:
        self._decay = decay
        self._num_updates = num_updates
        self._zero_debias = zero_debias
        self._name = name
        self._averages: dict[Variable | Tensor, Variable] = {}

    @property
    def name(self) -> str:
        """The suffix for the names of the averages."""
        return self._name

    def apply(self, var_list: Iterable[Variable | Tensor] | None = None) -> Operation:
        """Creates missing averages, and adds an operation that updates all averages.

        The average of a variable starts with its initial value. The average of another tensor
        starts with 0. Variables are added to `GraphKeys.MOVING_AVERAGE_VARIABLES`, and averages to
        `GraphKeys.GLOBAL_VARIABLES`.

        Args:
            var_list: Float variables, or tensors with a known shape. Defaults to all trainable
                variables.

        Raises:
            TypeError: If an item has the wrong type.
        """
        items = trainable_variables() if var_list is None else list(var_list)
        for item in items:
            if item.dtype.base_dtype not in _FLOATS:
                raise TypeError(f"The variables must be half, float, or double: {item.name}")
            if item not in self._averages:
                self._averages[item] = self._create(item)
        with name_scope(self._name) as scope:
            decay = convert_to_tensor(self._decay, dtype=dtypes.float32, name="decay")
            if self._num_updates is not None:
                count = cast(_read_now(self._num_updates), dtypes.float32, name="num_updates")
                decay = minimum(decay, (1.0 + count) / (10.0 + count))
            updates = [
                assign_moving_average(
                    self._averages[item],
                    item,
                    decay,
                    zero_debias=self._zero_debias and not isinstance(item, Variable),
                )
                for item in items
            ]
            return group(*updates, name=scope)

    def average(self, var: Variable | Tensor) -> Variable | None:
        """Returns the variable that holds an average, or None if it does not exist."""
        return self._averages.get(var)

    def average_name(self, var: Variable | Tensor) -> str:
        """Returns the name of an average, even before `apply` creates it.

        `tf.train.Saver({ema.average_name(v): v})` restores a variable from its average.
        """
        average = self._averages.get(var)
        if average is not None:
            return average.op.name
        name = f"{var.op.name}/{self._name}"
        return get_default_graph().unique_name(name, mark_as_used=False)

    def variables_to_restore(
        self, moving_avg_variables: Iterable[Variable] | None = None
    ) -> dict[str, Variable]:
        """Returns the variables to restore, by name in the checkpoint, for `tf.train.Saver`.

        Args:
            moving_avg_variables: The variables that are restored from their averages. Defaults to
                the variables in `GraphKeys.MOVING_AVERAGE_VARIABLES` and the trainable variables.
                All other global variables keep their own names.
        """
        if moving_avg_variables is None:
            moving_avg_variables = [*trainable_variables(), *moving_average_variables()]
        averaged = dict.fromkeys(moving_avg_variables)
        names = {self.average_name(variable): variable for variable in averaged}
        for variable in global_variables():
            if variable not in averaged and variable.op.name not in names:
                names[variable.op.name] = variable
        return names

    def _create(self, item: Variable | Tensor) -> Variable:
        graph = get_default_graph()
        with (
            control_dependencies(None),
            graph.name_scope(None),
            device(item.device),
            colocate_with(item.op),
            variable_scope(None, f"{item.op.name}/{self._name}") as scope,
        ):
            name = f"{scope.name}/"
            if isinstance(item, Variable):
                average = Variable(item.initialized_value(), trainable=False, name=name)
                add_to_collection(GraphKeys.MOVING_AVERAGE_VARIABLES, item)
                return average
            is_known = item.shape.is_fully_defined()
            first = zeros(item.shape, item.dtype) if is_known else zeros_like(item)
            return Variable(first, trainable=False, validate_shape=is_known, name=name)


def _assign_debiased(variable: Variable, value: Tensor, rate: Tensor, scope: str) -> Tensor:
    """Assigns the average of the values so far, excluding the initial 0.

    Args:
        variable: The variable.
        value: The next value.
        rate: The weight of the value.
        scope: The name of the operation that assigns.
    """
    dtype = variable.dtype.base_dtype

    def create(name: str, shape: TensorShape) -> Variable:
        return get_variable(
            _unused(name), shape, dtype, initializer=zeros_initializer(), trainable=False
        )

    with variable_scope(variable.op.name, values=[value, rate]):
        biased = create("biased", variable.shape)
        num_steps = create("local_step", TensorShape([]))
    moved = assign_sub(biased, (biased.read_value() - value) * rate)
    steps = assign_add(num_steps, cast(1, dtype))
    weight = 1.0 - pow(1.0 - rate, steps)
    return assign(variable, moved / weight, name=scope)


def _read_now(value: TensorLike) -> TensorLike:
    """Reads a variable after the control dependencies. Returns other values unchanged."""
    return value.read_value() if isinstance(value, Variable) else value


def _unused(name: str) -> str:
    """Returns a name that no global variable of the current variable scope has."""
    scope = get_variable_scope()
    if scope.reuse:
        return name
    used = {variable.op.name for variable in scope.global_variables()}
    names = (f"{name}_{number}" if number else name for number in itertools.count())
    return next(free for free in names if f"{scope.name}/{free}" not in used)
