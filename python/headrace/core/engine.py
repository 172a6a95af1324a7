"""Access to the native engine.

Everything native that Python uses is imported from this module. It also converts the engine's
failures to the errors of `headrace.core.errors`.
"""

import os
from contextlib import ContextDecorator
from typing import Any, NoReturn, Protocol

import numpy as np

from headrace._native import (
    AtomicFile,
    AwaitedEvent,
    Barrier,
    Blocks,
    Cache,
    Cancellation,
    Column,
    ColumnBuilder,
    ColumnType,
    Component,
    Condition,
    Constant,
    DiskCache,
    EngineError,
    EngineWait,
    Execution,
    ExecutionState,
    FailedRow,
    Failure,
    Gate,
    Index,
    IndexContent,
    IndexFile,
    IndexFiles,
    IndexReport,
    InferredColumn,
    InferredKey,
    Job,
    Kernel,
    Lanes,
    LookupTable,
    MutableTable,
    NativeFunction,
    OrderDigest,
    OrderPoint,
    Origin,
    Padding,
    PassEnd,
    Plan,
    Prepared,
    Program,
    ProgramBuilder,
    PythonCall,
    Queue,
    RandomGenerator,
    Reader,
    Readings,
    ReadInProgress,
    RecordInput,
    RecordIterator,
    RecordWriter,
    RemoteEntry,
    RemoteFile,
    Sampling,
    ScannedFile,
    SeenComponents,
    Segment,
    ShuffleOrder,
    Span,
    SpanOutput,
    SparseTable,
    Stage,
    StageReadings,
    StagingArea,
    StopFlag,
    StoredFeature,
    TableColumn,
    TableRows,
    TokenFile,
    TokenWindows,
    Trace,
    UnseenComponents,
    Variable,
    Video,
    WorkerState,
    ZipArchive,
    arrow_columns,
    arrow_counts,
    arrow_rows,
    begin_exit,
    codec_of,
    content_of,
    crc32c,
    csv_fields,
    csv_records,
    decoded_strings,
    index_counts,
    infer_csv,
    infer_json,
    infer_tar,
    is_compressed,
    json_fields,
    json_records,
    labelled_files,
    linger_at_exit,
    make_index,
    megatron_index,
    parquet_columns,
    parquet_counts,
    parquet_rows,
    prepare_resource,
    read_index,
    remote_copy,
    remote_is_directory,
    remote_list,
    remote_remove,
    remote_revision,
    remote_statuses,
    save_resource,
    settle_queue,
    storage_requests,
    string_objects,
    tar_samples,
    token_windows,
    untrained_end_of_turn,
    wait_for_python_functions,
    waits,
    whole_files,
)
from headrace._native import (
    __version__ as version,
)
from headrace.core.errors import NamedNode, OpError, exception_type_from_error_code

__all__ = [
    "AtomicFile",
    "AwaitedEvent",
    "Barrier",
    "Blocks",
    "Cache",
    "Cancellation",
    "Column",
    "ColumnBuilder",
    "ColumnType",
    "Component",
    "Condition",
    "Constant",
    "DiskCache",
    "EngineError",
    "EngineWait",
    "Execution",
    "ExecutionState",
    "FailedRow",
    "Failure",
    "Gate",
    "Index",
    "IndexContent",
    "IndexFile",
    "IndexFiles",
    "IndexReport",
    "InferredColumn",
    "InferredKey",
    "Job",
    "Kernel",
    "Lanes",
    "LookupTable",
    "MutableTable",
    "NativeFunction",
    "OrderDigest",
    "OrderPoint",
    "Origin",
    "Padding",
    "PassEnd",
    "Plan",
    "Prepared",
    "Program",
    "ProgramBuilder",
    "Queue",
    "RandomGenerator",
    "ReadInProgress",
    "Reader",
    "Readings",
    "RecordInput",
    "RecordIterator",
    "RecordWriter",
    "RemoteEntry",
    "RemoteFile",
    "Sampling",
    "ScannedFile",
    "SeenComponents",
    "Segment",
    "ShuffleOrder",
    "Span",
    "SpanOutput",
    "SparseTable",
    "Stage",
    "StageReadings",
    "StagingArea",
    "StopFlag",
    "StoredFeature",
    "TableColumn",
    "TableRows",
    "TokenFile",
    "TokenWindows",
    "Trace",
    "UnseenComponents",
    "Variable",
    "Video",
    "WorkerState",
    "ZipArchive",
    "arrow_columns",
    "arrow_counts",
    "arrow_rows",
    "begin_exit",
    "call_functions",
    "codec_of",
    "content_of",
    "crc32c",
    "csv_fields",
    "csv_records",
    "decoded_strings",
    "index_counts",
    "infer_csv",
    "infer_json",
    "infer_tar",
    "is_compressed",
    "json_fields",
    "json_records",
    "labelled_files",
    "linger_at_exit",
    "make_index",
    "megatron_index",
    "native_array",
    "op_errors",
    "parquet_columns",
    "parquet_counts",
    "parquet_rows",
    "prepare_resource",
    "raise_op_error",
    "read_index",
    "remote_copy",
    "remote_is_directory",
    "remote_list",
    "remote_remove",
    "remote_revision",
    "remote_statuses",
    "save_resource",
    "settle_queue",
    "storage_requests",
    "string_objects",
    "tar_samples",
    "token_windows",
    "untrained_end_of_turn",
    "version",
    "wait_for_python_functions",
    "waits",
    "whole_files",
]


class _OpErrors(ContextDecorator):
    """See `op_errors`. A generator-based context would set attributes of users' exceptions."""

    def __enter__(self) -> None:
        pass

    def __exit__(self, kind: object, error: BaseException | None, trace: object) -> None:
        if isinstance(error, EngineError):
            raise_op_error(error)


def op_errors() -> _OpErrors:
    """Converts engine failures in its body to the errors of `headrace.core.errors`."""
    return _OpErrors()


def call_functions(run: list[Any] | PythonCall) -> list[Any]:
    """Calls each Python function at which a run stops, and then resumes the run.

    The functions are called from here rather than by the engine. When a program exits, Python stops
    its daemon threads wherever they are, which is impossible if there is native code on the stack
    below a Python function.

    Args:
        run: The result of `Program.run`, `Program.run_loop` or a function call.

    Returns:
        The results of the run.

    Raises:
        EngineError: If the run fails. If a function raised an exception, it is the cause.
            Exceptions that are not an `Exception`, such as KeyboardInterrupt, are raised unchanged.
    """
    while isinstance(run, PythonCall):
        try:
            results = run.function(*run.arguments)
        except BaseException as error:
            run = run.fail(error)
        else:
            run = run.finish(results)
    return run


class _Node(NamedNode, Protocol):
    """The part of an operation that an error needs."""

    @property
    def node_def(self) -> Any: ...

    @property
    def defined_at(self) -> str: ...


class _Nodes(Protocol):
    """A graph in which failed operations are looked up."""

    def get_operation_by_name(self, name: str) -> _Node: ...


def raise_op_error(
    error: EngineError,
    graph: _Nodes | None = None,
    remark: str = "",
    failure: BaseException | None = None,
) -> NoReturn:
    """Raises the error of `headrace.core.errors` for an engine failure.

    Args:
        error: The failure. If a Python function failed, its exception becomes the cause.
        graph: The graph in which to look up the failed operation.
        remark: Text to append to the message.
        failure: The original exception, which becomes the cause if no Python function failed.
    """
    code, message, name, cause = error.args
    if isinstance(cause, OpError):
        # The message should start with the kernel's own text, without the class name.
        message = message.removeprefix(f"{type(cause).__name__}: ")
    op = _find_operation(graph, name)
    if name is not None:
        message += f"\n\t [[{{{{node {name}}}}}]]"
    if op is not None and op.defined_at:
        message += f"\n\t defined at {op.defined_at}"
    message += remark
    error_type = type(cause) if isinstance(cause, OpError) else exception_type_from_error_code(code)
    try:
        raised = error_type(None, op, message)
    except Exception:  # A user's subclass may require other arguments.
        raised = exception_type_from_error_code(code)(None, op, message)
    try:
        raise raised from (failure if cause is None else cause)
    finally:
        # Otherwise, this frame and the error would form a reference cycle that keeps callers'
        # objects alive.
        del raised


def _find_operation(graph: _Nodes | None, name: str | None) -> _Node | None:
    if graph is None or name is None:
        return None
    try:
        return graph.get_operation_by_name(name)
    except KeyError:
        return None


def native_array(array: np.ndarray[Any, Any]) -> np.ndarray[Any, Any]:
    """Returns a C-contiguous array in native byte order, with strings and paths as bytes."""
    if array.dtype == object:
        flat = [_as_bytes(item) for item in array.ravel()]
        strings = np.empty(len(flat), dtype=object)
        strings[:] = flat
        return strings.reshape(array.shape)
    if not array.dtype.isnative:
        array = array.astype(array.dtype.newbyteorder("="))
    return array if array.flags.c_contiguous else np.ascontiguousarray(array)


def _as_bytes(item: object) -> bytes:
    if isinstance(item, bytes):
        return bytes(item)
    if isinstance(item, str):
        return item.encode()
    if isinstance(item, os.PathLike):
        return os.fsencode(item)
    raise TypeError(f"Expected a string (str or bytes), got {item!r} of type {type(item).__name__}")
