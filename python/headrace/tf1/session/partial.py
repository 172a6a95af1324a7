"""Partial runs: each part uses the values computed by earlier parts.

Source: `tf.Session.partial_run_setup` and `tf.Session.partial_run` in TensorFlow 1.15.
"""

from collections.abc import Callable, Mapping, Sequence
from threading import Lock
from typing import Any, TypeAlias

import numpy as np

from headrace.core.errors import InvalidArgumentError
from headrace.graph import Operation, Role, Tensor
from headrace.graph.lowering.lowering import Lowering
from headrace.tf1.session.fetching import FetchPlan

__all__ = ["PartialRun"]

# A function that computes tensors and runs operations, given known tensor values and the operations
# that have already run.
_Compute: TypeAlias = Callable[
    [Sequence[Tensor], Sequence[Operation], Mapping[Tensor, Any], frozenset[Operation]], list[Any]
]


class PartialRun:
    """One run in several parts. Many threads can use it at once, but parts run one at a time.

    Each operation runs only once in all parts together.

    Args:
        plan: The possible fetches of all parts combined.
        feeds: The possible feeds of all parts combined.

    Raises:
        InvalidArgumentError: If there is nothing to fetch, a tensor is fed twice, or a tensor is
            both fed and fetched.
    """

    def __init__(self, plan: FetchPlan, feeds: Sequence[Tensor]) -> None:
        if not (plan.tensors or plan.targets):
            raise _invalid("Must specify at least one target to fetch or execute.")
        for number, tensor in enumerate(feeds):
            if tensor in feeds[:number]:
                raise _invalid(f'Endpoint "{tensor.name}" fed more than once.')
            if tensor in plan.tensors:
                raise _invalid(f"{tensor.name} is both fed and fetched.")
        self._fetches = dict.fromkeys(plan.tensors, False)
        self._feeds = dict.fromkeys(feeds, False)
        self._targets = set(plan.targets)
        # All operations, the operations that have run, and the values known so far.
        self._ops = set(Lowering.needed_ops(plan.tensors, plan.targets, feeds))
        self._done: frozenset[Operation] = frozenset()
        self._values: dict[Tensor, Any] = {}
        self._lock = Lock()

    def run(self, plan: FetchPlan, feeds: Mapping[Tensor, Any], compute: _Compute) -> Any:
        """Runs a part.

        Args:
            plan: The fetches of this part.
            feeds: The values to feed.
            compute: The function that runs operations.

        Returns:
            The fetched values, in the structure of `plan`.

        Raises:
            InvalidArgumentError: If a tensor was already fed or fetched, was not passed to
                `partial_run_setup`, or depends on a tensor that has not been fed yet.
        """
        with self._lock:
            for tensor in feeds:
                _check_new("feed", "fed", tensor, self._feeds)
            for tensor in plan.tensors:
                _check_new("fetch", "fetched", tensor, self._fetches)
            missing = {tensor for tensor, is_fed in self._feeds.items() if not is_fed} - set(feeds)
            values = {**self._values, **feeds}
            for tensor in plan.tensors:
                for lacking in self._lacking([tensor], [], values, missing):
                    raise _invalid(
                        f"Fetch {lacking.name} can't be computed from the feeds that have been fed "
                        "so far."
                    )
            self._feeds |= dict.fromkeys(feeds, True)
            self._values = values
            targets = [op for op in self._targets if not self._lacking([], [op], values, missing)]
            self._compute(plan.tensors, targets, compute)
            self._targets -= set(targets)
            self._fetches |= dict.fromkeys(plan.tensors, True)
            return plan.restore({t: self._values[t].copy()[()] for t in plan.tensors})

    @property
    def is_over(self) -> bool:
        """True if everything has been fed and fetched."""
        return all(self._feeds.values()) and all(self._fetches.values())

    def _needed(
        self, tensors: Sequence[Tensor], targets: Sequence[Operation], values: Mapping[Tensor, Any]
    ) -> list[Operation]:
        return list(Lowering.needed_ops(tensors, targets, tuple(values), self._done))

    def _lacking(
        self,
        tensors: Sequence[Tensor],
        targets: Sequence[Operation],
        values: Mapping[Tensor, Any],
        missing: set[Tensor],
    ) -> set[Tensor]:
        """Returns the tensors that are needed, but have no value yet."""
        needed = self._needed(tensors, targets, values)
        return missing & {tensor for op in needed for tensor in (*op.inputs, *op.outputs)}

    def _compute(
        self, tensors: Sequence[Tensor], targets: Sequence[Operation], compute: _Compute
    ) -> None:
        """Runs operations. Stores the values that are requested now or read later."""
        ops = self._needed(tensors, targets, self._values)
        if not ops:
            return
        now = {op for op in ops if _runs(op)}
        later = self._ops - now - self._done
        kept = dict.fromkeys(tensor for tensor in tensors if tensor not in self._values)
        for op in now:
            if op.branch is None:
                read = (t for t in op.outputs if not later.isdisjoint(t.consumers()))
                kept |= dict.fromkeys(t for t in read if t not in self._values)
        used = {t: value for t, value in self._values.items() if self._is_read(t, ops)}
        values = compute(tuple(kept), tuple(targets), used, self._done)
        results = zip(kept, values, strict=True)
        self._values |= {t: np.asarray(value, t.dtype.as_numpy_dtype) for t, value in results}
        self._done |= {op for op in now if op.branch is None}

    @staticmethod
    def _is_read(tensor: Tensor, ops: Sequence[Operation]) -> bool:
        return not set(ops).isdisjoint(tensor.consumers()) or any(
            part.predicate is tensor for op in ops if op.branch for part in op.branch.path
        )


def _runs(op: Operation) -> bool:
    """Returns whether an operation does any work, rather than just represent a session's object."""
    role = op.definition.role
    return not (role.is_resource or role is Role.SELECTION)


def _check_new(kind: str, done: str, tensor: Tensor, values: Mapping[Tensor, bool]) -> None:
    if tensor not in values:
        raise _invalid(f"The {kind} {tensor.name} was not specified in partial_run_setup.")
    if values[tensor]:
        raise _invalid(f"The {kind} {tensor.name} has already been {done}.")


def _invalid(text: str) -> InvalidArgumentError:
    return InvalidArgumentError(None, None, text)
