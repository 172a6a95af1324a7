"""A session's table of sparse tensors. Queues contain handles to its entries.

A queue component has one fixed shape, but a sparse tensor consists of three tensors of varying
shapes.

Source: `AddSparseToTensorsMap`, `AddManySparseToTensorsMap` and `TakeManySparseFromTensorsMap` of
TensorFlow 1.15. In TensorFlow, the table belongs to the operation that adds tensors. Here it is a
separate operation.
"""

from headrace.core.dtypes import DType, int64, resource
from headrace.core.shapes import TensorShape
from headrace.graph import Role, Tensor, define, get_default_graph
from headrace.ops.sparse.tensor import SparseTensor

__all__ = ["SparseTable"]

# All operations of a session use the same table, so handles are valid wherever a queue is shared.
_SHARED_NAME = "_headrace_sparse_tensors"


class SparseTable:
    """The session's table of sparse tensors."""

    def __init__(self) -> None:
        op = get_default_graph().create_op(
            "SparseTensorsMap",
            [],
            [resource],
            output_shapes=[TensorShape([])],
            attrs={"shared_name": _SHARED_NAME},
        )
        self._ref = op.outputs[0]

    def add(self, sparse: SparseTensor) -> Tensor:
        """Adds an operation that stores a sparse tensor.

        Returns:
            The handle of the tensor, an int64 scalar.

        Raises:
            InvalidArgumentError: At run time, if the parts of the tensor do not match each other.
        """
        return self._store("AddSparseToTensorsMap", sparse, [], TensorShape([]))

    def add_many(self, sparse: SparseTensor, keep: Tensor | None = None) -> Tensor:
        """Adds an operation that stores each row of a sparse tensor separately.

        Args:
            sparse: The rows, along the first dimension.
            keep: A bool for each row: whether to keep the row. None keeps all rows.

        Returns:
            The handles of the rows that are kept, an int64 vector.

        Raises:
            InvalidArgumentError: When run, if the parts of the tensor do not match each other, the
                tensor has no rows, or the number of bools in `keep` differs from the number of
                rows.
        """
        inputs = [] if keep is None else [keep]
        return self._store("AddManySparseToTensorsMap", sparse, inputs, TensorShape([None]))

    def take_many(self, handles: Tensor, dtype: DType, rank: int | None) -> SparseTensor:
        """Adds an operation that removes tensors from the table and stacks them.

        Args:
            handles: The handles, an int64 vector.
            dtype: The type of the tensors' elements.
            rank: The number of dimensions of each tensor, or None if unknown.

        Returns:
            A sparse tensor with a new first dimension. Each other dimension has the largest size
            among the tensors.

        Raises:
            InvalidArgumentError: At run time, if `handles` is empty, a handle is not in the table,
                or the ranks differ.
        """
        batch_rank = None if rank is None else rank + 1
        op = get_default_graph().create_op(
            "TakeManySparseFromTensorsMap",
            [self._ref, handles],
            [int64, dtype, int64],
            output_shapes=[
                TensorShape([None, batch_rank]),
                TensorShape([None]),
                TensorShape([batch_rank]),
            ],
            attrs={"dtype": dtype},
        )
        return SparseTensor(*op.outputs)

    def _store(
        self, op_type: str, sparse: SparseTensor, more: list[Tensor], shape: TensorShape
    ) -> Tensor:
        parts = [sparse.indices, sparse.values, sparse.dense_shape]
        op = get_default_graph().create_op(
            op_type, [self._ref, *parts, *more], [int64], output_shapes=[shape]
        )
        return op.outputs[0]


define("SparseTensorsMap", is_own=True, role=Role.SPARSE_TABLE)
define("AddManySparseToTensorsMap", is_own=True, is_stateful=True)
define("AddSparseToTensorsMap", is_own=True, is_stateful=True)
define("TakeManySparseFromTensorsMap", is_own=True, is_stateful=True)
