from collections.abc import Callable, Iterator, Sequence
from typing import Any, final

import numpy as np
import numpy.typing as npt

_Array = npt.NDArray[Any]

__all__ = [
    "Cancellation",
    "EngineError",
    "Kernel",
    "Program",
    "ProgramBuilder",
    "Queue",
    "Reader",
    "RecordIterator",
    "RecordWriter",
    "StopFlag",
    "Variable",
    "__version__",
    "crc32c",
]
__version__: str

class EngineError(Exception): ...

def crc32c(data: bytes) -> int: ...

@final
class Cancellation:
    def __new__(cls) -> Cancellation: ...
    def cancel(self) -> None: ...
    def is_cancelled(self) -> bool: ...

@final
class StopFlag:
    def __new__(cls) -> StopFlag: ...
    def set(self) -> None: ...
    def is_set(self) -> bool: ...

@final
class Queue:
    def __new__(
        cls,
        name: str,
        capacity: int | None,
        dtypes: Sequence[int],
        shapes: Sequence[Sequence[int | None]] | None,
        order: str | tuple[int, int, int],
    ) -> Queue: ...
    def size(self) -> int: ...
    def is_closed(self) -> bool: ...
    def stats(self) -> dict[str, Any]: ...

@final
class Reader:
    def __new__(cls, name: str, format: str) -> Reader: ...

@final
class Variable:
    def __new__(cls, name: str) -> Variable: ...

@final
class RecordWriter:
    def __new__(cls, path: str) -> RecordWriter: ...
    def write(self, record: bytes) -> bool: ...
    def flush(self) -> bool: ...
    def close(self) -> bool: ...

@final
class RecordIterator:
    def __new__(cls, path: str) -> RecordIterator: ...
    def __iter__(self) -> Iterator[bytes]: ...
    def __next__(self) -> bytes: ...

@final
class Kernel: ...

@final
class ProgramBuilder:
    def __new__(cls) -> ProgramBuilder: ...
    def feed(self, code: int) -> int: ...
    def constant(self, value: _Array, code: int) -> int: ...
    @staticmethod
    def kernel(
        op_type: str,
        attributes: dict[str, Any],
        resources: Sequence[Queue | Reader | Variable],
    ) -> Kernel | None: ...
    @staticmethod
    def select(kernels: Sequence[Kernel]) -> Kernel: ...
    @staticmethod
    def function(function: Callable[..., Sequence[_Array]], codes: Sequence[int]) -> Kernel: ...
    def node(
        self,
        name: str,
        kernel: Kernel,
        inputs: Sequence[int],
        num_outputs: int,
        gate: tuple[Sequence[int], Sequence[tuple[int, bool]]],
    ) -> tuple[int, int]: ...
    def merge(
        self,
        name: str,
        predicate: int,
        branches: tuple[int, int],
        gate: tuple[Sequence[int], Sequence[tuple[int, bool]]],
    ) -> tuple[int, int]: ...
    def build(self, fetches: Sequence[int]) -> Program: ...

@final
class Program:
    def run(
        self, feeds: Sequence[_Array], cancellation: Cancellation, timeout: float | None = None
    ) -> list[_Array | np.generic | bytes]: ...
    def run_loop(self, stop: StopFlag, cancellation: Cancellation) -> None: ...
