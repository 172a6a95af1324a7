from collections.abc import Callable, Iterable, Iterator, Sequence
from pathlib import Path
from typing import Any, Literal, NoReturn, final

import numpy as np
import numpy.typing as npt

_Array = npt.NDArray[Any]

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
    "PythonCall",
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
    "SavedChunks",
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
    "__version__",
    "arrow_columns",
    "arrow_counts",
    "arrow_rows",
    "begin_exit",
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
    "memory_limit",
    "parquet_columns",
    "parquet_counts",
    "parquet_rows",
    "prepare_resource",
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
    "wait_for_python_functions",
    "waits",
    "whole_files",
]
__version__: str

class EngineError(Exception): ...

def codec_of(start: bytes) -> str: ...
def content_of(start: bytes) -> tuple[str, str] | None: ...
def crc32c(data: bytes) -> int: ...

@final
class Component:
    def __new__(
        cls,
        name: str,
        code: int,
        form: str,
        num_lists: int,
        shape: Sequence[int],
        default: Any,
        is_inferred: bool,
        has_mask: bool,
    ) -> Component: ...

@final
class InferredColumn:
    name: str
    code: int
    is_text: bool
    decided: str | None

@final
class InferredKey:
    name: str
    code: int
    is_json: bool
    num_lists: int

def csv_records(
    paths: Sequence[bytes],
    compression: str,
    delimiter: int,
    names: Sequence[str] | None,
    num_columns: int,
) -> Plan: ...
def csv_fields(
    delimiter: int, components: Sequence[Component], missing: Sequence[bytes]
) -> Stage: ...
def infer_csv(
    path: bytes,
    compression: str,
    delimiter: int,
    missing: Sequence[bytes],
) -> list[InferredColumn] | None: ...
def json_records(paths: Sequence[bytes], compression: str, is_array: bool) -> Plan: ...
def json_fields(
    components: Sequence[Component], seen_components: SeenComponents, is_array: bool
) -> Stage: ...
def infer_json(
    path: bytes, compression: str, is_array: bool, typed: Sequence[str]
) -> list[InferredKey] | None: ...
def infer_tar(path: bytes, compression: str) -> list[str] | None: ...
def is_compressed(path: bytes, compression: str) -> bool: ...

@final
class ColumnType:
    code: int
    form: str
    num_lists: int
    shape: list[int]

@final
class TableColumn:
    name: str
    words: str
    component: ColumnType | None
    remedy: str

@final
class Condition:
    def __new__(
        cls, column: Component, op: str, values: Sequence[int | float | bytes | str]
    ) -> Condition: ...

@final
class Constant:
    def __new__(cls, component: int, values: Sequence[Any]) -> Constant: ...

@final
class TableRows:
    plan: Plan
    num_pieces: int

def arrow_columns(path: bytes, names: Sequence[str] | None) -> list[TableColumn]: ...
def arrow_counts(paths: Sequence[bytes]) -> list[int]: ...
def arrow_rows(
    paths: Sequence[bytes],
    components: Sequence[Component],
    conditions: Sequence[Condition],
    constants: Sequence[Constant],
) -> TableRows: ...
def parquet_columns(path: bytes, names: Sequence[str] | None) -> list[TableColumn]: ...
def parquet_counts(paths: Sequence[bytes]) -> list[int]: ...
def parquet_rows(
    paths: Sequence[bytes],
    components: Sequence[Component],
    conditions: Sequence[Condition],
    constants: Sequence[Constant],
) -> TableRows: ...
def megatron_index(path: bytes) -> tuple[int, int]: ...

@final
class TokenFile:
    def __new__(
        cls, path: bytes, first_byte: int, num_tokens: int, index: tuple[str, bytes] | None
    ) -> TokenFile: ...

@final
class TokenWindows:
    plan: Plan
    stage: Stage
    counts: list[int]
    num_left_out: int

def token_windows(
    files: Sequence[TokenFile],
    code: int,
    *,
    length: int,
    stride: int,
    documents: str,
    is_checked: bool,
) -> TokenWindows: ...

@final
class IndexContent:
    kind: str
    file_bytes: int
    modified: tuple[int, int] | None
    tag: str | None
    num_records: int
    is_whole: bool

@final
class IndexFile:
    path: bytes
    num_records: int
    is_new: bool

def index_counts(index_files: IndexFiles, source: Plan) -> list[int | None]: ...
def make_index(source: Plan, number: int, directory: str | None) -> IndexFile: ...
def read_index(path: str) -> tuple[IndexContent | None, str | None]: ...
def tar_samples(
    paths: Sequence[bytes], compression: str, extensions: Sequence[tuple[str, bytes | None]]
) -> Plan: ...
def labelled_files(
    paths: Sequence[bytes],
    root_bytes: int,
    classes: Sequence[bytes],
    archives: Sequence[ZipArchive],
) -> Plan: ...
def whole_files(paths: Sequence[bytes], archives: Sequence[ZipArchive]) -> Plan: ...
def begin_exit() -> None: ...
def linger_at_exit() -> None: ...
def wait_for_python_functions(timeout: float) -> None: ...
def memory_limit() -> tuple[int, str]: ...

@final
class Cancellation:
    def __new__(
        cls, watch: Callable[[list[str]], object], patience_secs: float
    ) -> Cancellation: ...
    def child(self) -> Cancellation: ...
    def cancel(self) -> None: ...
    def is_cancelled(self) -> bool: ...

@final
class StopFlag:
    def __new__(cls) -> StopFlag: ...
    def set(self) -> None: ...
    def clear(self) -> None: ...
    def is_set(self) -> bool: ...

@final
class ShuffleOrder:
    def __new__(cls, min_after_dequeue: int, seed: int, seed2: int) -> ShuffleOrder: ...

@final
class Queue:
    def __new__(
        cls,
        name: str,
        capacity: int | None,
        dtypes: Sequence[int],
        shapes: Sequence[Sequence[int | None]] | None,
        order: str | ShuffleOrder,
    ) -> Queue: ...
    def enqueue(self, element: object, timeout: float | None = None) -> bool: ...
    def enqueue_many(self, batch: object, timeout: float | None = None) -> bool: ...
    def dequeue(self, timeout: float | None = None) -> Any: ...
    def dequeue_many(self, count: int, is_up_to: bool, timeout: float | None = None) -> Any: ...
    def close(self, cancel_pending_enqueues: bool, timeout: float | None = None) -> None: ...
    def accept(self, is_accepting: bool) -> None: ...
    def size(self) -> int: ...
    def is_closed(self) -> bool: ...
    def stats(self) -> dict[str, Any]: ...

@final
class RandomGenerator:
    def __new__(cls, seed: int, seed2: int) -> RandomGenerator: ...
    @staticmethod
    def of_rows(seed: int, number: int) -> RandomGenerator: ...

@final
class Reader:
    def __new__(cls, name: str, op_type: str, attributes: dict[str, Any]) -> Reader: ...

@final
class Barrier:
    def __new__(cls, name: str, dtypes: list[int], shapes: list[list[int | None]]) -> Barrier: ...

@final
class LookupTable:
    def __new__(cls, key_code: int, value_code: int) -> LookupTable: ...

@final
class SparseTable:
    def __new__(cls) -> SparseTable: ...
    def size(self) -> int: ...

@final
class MutableTable:
    def __new__(cls, key_code: int, value_code: int, row: list[int]) -> MutableTable: ...
    def fill(self, keys: _Array, values: _Array) -> None: ...

@final
class RecordInput:
    def __new__(cls, name: str, files: list[bytes], attributes: dict[str, Any]) -> RecordInput: ...

@final
class StagingArea:
    def __new__(cls, name: str, capacity: int | None, memory_limit: int | None) -> StagingArea: ...
    def size(self) -> int: ...

@final
class Variable:
    def __new__(cls, name: str) -> Variable: ...
    def assign(self, value: _Array, code: int) -> None: ...

@final
class SavedChunks:
    def __iter__(self) -> SavedChunks: ...
    def __next__(self) -> bytes: ...

@final
class Prepared:
    @staticmethod
    def apply_all(all: Sequence[Prepared]) -> None: ...

_Resource = (
    Barrier
    | LookupTable
    | MutableTable
    | Queue
    | RandomGenerator
    | Reader
    | RecordInput
    | SparseTable
    | StagingArea
    | Variable
)

def save_resource(resource: _Resource) -> SavedChunks: ...
def prepare_resource(resource: _Resource, chunks: Iterable[bytes], code: int) -> Prepared: ...
def settle_queue(queue: Queue, cancellation: Cancellation) -> None: ...
def storage_requests() -> list[tuple[str, float]]: ...
def untrained_end_of_turn(path: bytes, content: bytes) -> str | None: ...
def waits() -> list[EngineWait]: ...

@final
class EngineWait:
    thread: int
    seconds: float
    awaited: list[AwaitedEvent]
    watch: Any

@final
class AwaitedEvent:
    op: str | None
    text: str | None

@final
class AtomicFile:
    def __new__(cls, path: bytes) -> AtomicFile: ...
    def keep_mode_of(self, path: bytes) -> None: ...
    def write(self, data: bytes) -> None: ...
    def sync(self) -> None: ...
    def upload(self) -> None: ...
    def publish(self) -> None: ...
    def discard(self) -> None: ...

@final
class RecordWriter:
    def __new__(
        cls,
        path: bytes,
        compression: str = "",
        *,
        level: int | None = None,
        method: int | None = None,
        window_bits: int | None = None,
        mem_level: int | None = None,
        strategy: int | None = None,
        flush_mode: int | None = None,
        flush_bytes: int | None = None,
    ) -> RecordWriter: ...
    @staticmethod
    def create_new(path: bytes) -> RecordWriter: ...
    def write(self, record: bytes) -> bool: ...
    def flush(self) -> bool: ...
    def discard(self) -> None: ...
    def close(self) -> bool: ...

@final
class RemoteFile:
    size: int
    seekable: bool
    def __new__(cls, url: bytes) -> RemoteFile: ...
    def read(self, count: int) -> bytes: ...
    def seek(self, offset: int) -> None: ...

@final
class Video:
    codec: str
    config: bytes
    size: tuple[int, int]
    rotation: int
    timescale: int
    def __new__(cls, path: bytes, indexes: IndexFiles | None = None) -> Video: ...
    @staticmethod
    def of_contents(contents: bytes, name: str) -> Video: ...
    def frame_times(self) -> npt.NDArray[np.int64]: ...
    def frame_samples(self) -> npt.NDArray[np.int64]: ...
    def sample_times(self) -> npt.NDArray[np.int64]: ...
    def sample_durations(self) -> npt.NDArray[np.int64]: ...
    def keyframes(self) -> npt.NDArray[np.bool_]: ...
    def starts(self) -> npt.NDArray[np.int64]: ...
    def read_samples(self, first: int, end: int) -> list[bytes]: ...

@final
class RemoteEntry:
    url: str
    num_bytes: int
    modified_ns: int
    is_directory: bool

def remote_statuses(urls: Sequence[str]) -> list[RemoteEntry | None]: ...
def remote_is_directory(url: str) -> bool: ...
def remote_list(url: str, is_deep: bool) -> list[RemoteEntry]: ...
def remote_remove(url: str) -> None: ...
def remote_revision(url: str) -> str | None: ...
def remote_copy(source: str, target: str) -> None: ...

@final
class RecordIterator:
    def __new__(cls, path: bytes, compression: str = "") -> RecordIterator: ...
    def __iter__(self) -> Iterator[bytes]: ...
    def __next__(self) -> bytes: ...

@final
class Kernel: ...

@final
class Lanes:
    def __new__(cls, shards: Sequence[int], is_shared: bool) -> Lanes: ...

@final
class Gate:
    controls: list[int]
    guards: list[tuple[int, bool]]
    def __new__(cls, controls: Sequence[int], guards: Sequence[tuple[int, bool]]) -> Gate: ...

@final
class ProgramBuilder:
    def __new__(cls, rewrites: bool = True, trace: Trace | None = None) -> ProgramBuilder: ...
    def feed(self, code: int) -> int: ...
    def constant(self, value: _Array, code: int) -> int: ...
    @staticmethod
    def kernel(
        op_type: str,
        attributes: dict[str, Any],
        resources: Sequence[_Resource],
    ) -> Kernel | None: ...
    @staticmethod
    def select(kernels: Sequence[Kernel]) -> Kernel: ...
    @staticmethod
    def repeated(
        name: str,
        condition: Program | None,
        body: Program,
        *,
        num_carried: int,
        num_sequences: int,
        collected: Sequence[tuple[int, Sequence[int | None] | None]],
        is_reversed: bool,
        begins_with_carried: bool,
        is_pure: bool,
        max_threads: int,
    ) -> Kernel: ...
    @staticmethod
    def each(
        body: Program,
        num_lists: int,
        results: Sequence[tuple[int, Sequence[int | None] | None, bool]],
    ) -> Kernel: ...
    @staticmethod
    def function(function: Callable[..., Sequence[_Array]], codes: Sequence[int]) -> Kernel: ...
    def node(
        self,
        name: str,
        kernel: Kernel,
        inputs: Sequence[int],
        num_outputs: int,
        gate: Gate,
    ) -> tuple[int, int]: ...
    def merge(
        self,
        name: str,
        predicate: int,
        branches: tuple[int, int],
        gate: Gate,
    ) -> tuple[int, int]: ...
    def build(self, fetches: Sequence[int]) -> Program: ...

@final
class Program:
    def run(
        self, feeds: Sequence[_Array], cancellation: Cancellation, timeout: float | None = None
    ) -> list[Any] | PythonCall: ...
    def run_loop(self, stop: StopFlag, cancellation: Cancellation) -> list[Any] | PythonCall: ...

@final
class Trace:
    def __new__(cls) -> Trace: ...
    def now(self) -> int: ...
    def take(self) -> list[Span]: ...

@final
class Span:
    name: str
    begin: int
    end: int
    outputs: list[SpanOutput]
    def __new__(cls, name: str, begin: int, end: int, outputs: Sequence[SpanOutput]) -> Span: ...

@final
class SpanOutput:
    code: int
    shape: list[int]
    num_bytes: int
    def __new__(cls, code: int, shape: Sequence[int], num_bytes: int) -> SpanOutput: ...

@final
class PythonCall:
    @property
    def function(self) -> Callable[..., Sequence[_Array]]: ...
    @property
    def arguments(self) -> tuple[Any, ...]: ...
    def finish(self, results: Iterable[_Array]) -> list[Any] | PythonCall: ...
    def fail(self, exception: BaseException) -> list[Any] | PythonCall: ...

# A scalar or an array, and the engine's number of its type.
_Typed = tuple[_Array, int]

@final
class NativeFunction:
    def __new__(
        cls,
        name: str,
        inputs: Sequence[int],
        program: Program,
        segments: Sequence[Segment],
        results: Sequence[int],
        is_batched: bool,
        is_random: bool,
    ) -> NativeFunction: ...

@final
class Segment:
    program: Program
    inputs: list[int]
    is_looped: bool
    def __new__(cls, program: Program, inputs: Sequence[int], is_looped: bool) -> Segment: ...

@final
class Padding:
    def __new__(
        cls,
        values: Sequence[_Typed],
        multiples: Sequence[Sequence[int] | None],
        boundaries: Sequence[int],
    ) -> Padding: ...

@final
class Cache: ...

@final
class DiskCache:
    def __new__(
        cls,
        directory: str,
        num_bytes: int | None,
        key: str,
        files: Sequence[bytes],
        is_off: bool,
    ) -> DiskCache: ...
    def messages(self) -> list[str]: ...
    def note_path(self) -> str | None: ...

@final
class Index:
    def counts(self) -> list[ScannedFile]: ...

@final
class ScannedFile:
    part: int
    path: bytes
    num_bytes: int
    num_records: int

@final
class IndexFiles:
    def __new__(cls, mode: str, directories: Sequence[str]) -> IndexFiles: ...
    def report(self) -> IndexReport: ...

@final
class IndexReport:
    num_kept: int
    num_opened: int
    num_scanned: int
    scanned_bytes: int
    num_written: int
    directories: list[Path]
    failure: str | None

@final
class OrderDigest:
    def __new__(cls) -> OrderDigest: ...
    @staticmethod
    def of_lanes(lanes: Sequence[OrderDigest], is_shared: bool) -> OrderDigest: ...
    def begin(self, point: OrderPoint) -> None: ...
    @property
    def is_long(self) -> bool: ...

@final
class OrderPoint:
    pass_number: int
    position: int
    hash: int
    num_hashed: int
    def __new__(cls, pass_number: int, position: int, hash: int, num_hashed: int) -> OrderPoint: ...

@final
class SeenComponents:
    def __new__(cls, stage: str) -> SeenComponents: ...
    @property
    def stage(self) -> str: ...
    @property
    def is_done(self) -> bool: ...
    def unseen(self) -> UnseenComponents | None: ...

@final
class UnseenComponents:
    num_records: int
    names: list[str]
    present: list[str]

@final
class Stage:
    @staticmethod
    def parse(
        features: dict[str, Any],
        defaults: Sequence[_Typed],
        record: int,
        kept: Sequence[int],
        texts: Sequence[str],
        seen_components: SeenComponents,
    ) -> Stage: ...
    @staticmethod
    def check_text(columns: Sequence[tuple[int, str]], remedy: str) -> Stage: ...
    @staticmethod
    def with_file_rows(num_columns: int, columns: Sequence[Column], num_files: int) -> Stage: ...
    @staticmethod
    def draw_masks(column: int, size: int) -> Stage: ...
    @staticmethod
    def select(columns: Sequence[int]) -> Stage: ...
    @staticmethod
    def collate(
        names: Sequence[str],
        is_of_batches: bool,
        pad_to: int | None,
        padding: Padding | None,
        layouts: Sequence[Literal["stacked", "joined", "arrays", "lists"]],
    ) -> Stage: ...
    @staticmethod
    def map_native(function: NativeFunction, columns: Sequence[tuple[int, bool]]) -> Stage: ...
    @staticmethod
    def flat_map_native(function: NativeFunction, columns: Sequence[tuple[int, bool]]) -> Stage: ...
    @staticmethod
    def filter_native(function: NativeFunction) -> Stage: ...
    @staticmethod
    def with_origin(num_columns: int) -> Stage: ...
    @staticmethod
    def origin_files() -> Stage: ...
    @staticmethod
    def split(seed: int, least: int, most: int, depth: int) -> Stage: ...
    @staticmethod
    def keep_records(ranges: Sequence[tuple[int, int]]) -> Stage: ...
    @staticmethod
    def pack_rows(
        lists: Sequence[tuple[str, int]],
        length: int,
        has_starts: bool,
        along: Sequence[tuple[str, int | None]],
        has_ends: bool,
        values: Sequence[_Typed],
    ) -> Stage: ...
    @staticmethod
    def cut_lists(lists: Sequence[tuple[str, int]], num_along: int, length: int) -> Stage: ...
    @staticmethod
    def pack_trees(
        lists: Sequence[tuple[str, int]],
        first_along: int,
        along: Sequence[tuple[str, int | None]],
    ) -> Stage: ...
    @staticmethod
    def split_groups(names: Sequence[str], marks: int) -> Stage: ...
    @staticmethod
    def restore(features: Sequence[StoredFeature], firsts: Sequence[int] | None) -> Stage: ...
    @staticmethod
    def decode_images(
        images: Sequence[tuple[str, int, Sequence[int | None], int, bool]],
    ) -> Stage: ...
    @staticmethod
    def float_images(columns: Sequence[int]) -> Stage: ...
    @staticmethod
    def unbatch() -> Stage: ...
    @staticmethod
    def stack_windows(
        columns: Sequence[tuple[str, int | None, Sequence[int], bool]], fills_zeros: bool
    ) -> Stage: ...
    def metered(self, number: int) -> Stage: ...

@final
class ZipArchive:
    def __new__(cls, path: bytes) -> ZipArchive: ...
    @property
    def names(self) -> list[bytes]: ...

@final
class StoredFeature:
    def __new__(
        cls,
        name: str,
        values: int,
        lengths: Sequence[int],
        sizes: int | None,
        code: int,
        shape: Sequence[int | None],
        num_sequences: int,
        encoding: Literal["none", "bytes", "zlib"],
        is_of_steps: bool,
    ) -> StoredFeature: ...

@final
class Blocks:
    def __new__(cls, block_bytes: int, index: Index, index_files: IndexFiles) -> Blocks: ...

@final
class Sampling:
    def __new__(
        cls,
        ends: _Array,
        num_draws: int | None,
        shard: tuple[int, int],
        even: str | None,
    ) -> Sampling: ...

@final
class Plan:
    @staticmethod
    def files(
        kind: str,
        paths: Sequence[bytes],
        compression: str,
        *,
        header_bytes: int,
        record_bytes: int,
        footer_bytes: int,
    ) -> Plan: ...
    @staticmethod
    def counted_tfrecords(
        paths: Sequence[bytes], counts: Sequence[int], listed_in: str
    ) -> Plan: ...
    def cached(self, directory: str, num_bytes: int) -> Plan: ...
    @staticmethod
    def arrays(arrays: Sequence[_Typed]) -> Plan: ...
    @staticmethod
    def row_numbers(count: int) -> Plan: ...
    @staticmethod
    def python_source(python_worker: int) -> Plan: ...
    @staticmethod
    def concat(plans: Sequence[Plan]) -> Plan: ...
    @staticmethod
    def mix(
        plans: Sequence[Plan],
        schedule: Sequence[tuple[int, Sequence[float]]],
        stop_when: Literal["first", "all"],
        seed: int,
        ids: Sequence[int] | None,
        measured: int | None,
        resumed: list[Any] | None,
    ) -> Plan: ...
    @staticmethod
    def zip(plans: Sequence[Plan], is_strict: bool) -> Plan: ...
    def shuffle_all(
        self, index: Index, index_files: IndexFiles, seed: int, sampling: Sampling | None = None
    ) -> Plan: ...
    def shuffle_numbers(
        self, index: Index, index_files: IndexFiles, seed: int, sampling: Sampling | None = None
    ) -> tuple[Plan, Stage]: ...
    def kept_for(self, stage: Literal["shuffle", "sample"]) -> Plan: ...
    def cache(self, cache: Cache) -> Plan: ...
    def cache_on_disk(self, cache: DiskCache) -> Plan: ...
    def bucket(
        self,
        column: int,
        boundaries: Sequence[int],
        *,
        size: int | None,
        max_elements: int | None,
        pads_to_boundary: bool,
        drops_remainder: bool,
    ) -> Plan: ...
    def pack(
        self,
        lists: Sequence[tuple[str, int]],
        lengths: Sequence[tuple[int, int]],
        turn: tuple[int, int],
        limits: tuple[int, int],
        costs: Sequence[tuple[int, str, float]],
        trees: tuple[int, int | None] | None = None,
    ) -> Plan: ...
    def map(self, stages: Sequence[Stage]) -> Plan: ...
    def map_python(
        self,
        python_worker: int,
        is_one_to_one: bool,
        num_callers: int,
        num_functions: int,
        in_processes: bool,
        in_groups: bool,
    ) -> Plan: ...
    def in_runs(self, column: int, num_keys: int, num_rows: int) -> Plan: ...
    def take(self, count: int) -> Plan: ...
    def skip(self, count: int) -> Plan: ...
    def shard(
        self, index: int, count: int, even: str | None, lanes: Lanes | None = None
    ) -> Plan: ...
    def in_pieces(
        self,
        num_open: int,
        seed: int | None,
        shard: tuple[int, int],
        blocks: Blocks | None = None,
    ) -> Plan: ...
    def window(self, size: int, seed: int) -> Plan: ...
    def windows(
        self,
        distances: Sequence[int],
        stride: int,
        is_padded: bool,
        within: int | None,
        episodes: Sequence[tuple[int, int]] | None,
    ) -> Plan: ...
    def share(self, index: int, count: int, run: int) -> Plan: ...
    def batch(self, size: int, drops_remainder: bool, share: tuple[int, int]) -> Plan: ...
    def batch_by_position(
        self,
        sizes: Sequence[tuple[int, int]],
        num_ranks: int,
        drops_remainder: bool,
        share: tuple[int, int],
    ) -> Plan: ...
    def epochs(self, count: int | None) -> Plan: ...
    def skip_errors(self, number: int) -> Plan: ...
    def digested(self, digest: OrderDigest) -> Plan: ...
    def order_position(self, pass_number: int, checkpoint: list[Any]) -> tuple[int, int] | None: ...
    def metered(self, number: int, counts_rows: bool) -> Plan: ...

@final
class Column:
    @staticmethod
    def dense(array: _Array, code: int) -> Column: ...
    @staticmethod
    def each(arrays: list[_Array], code: int) -> Column: ...
    @staticmethod
    def text(data: _Array, offsets: _Array) -> Column: ...
    @staticmethod
    def ragged(values: _Array, code: int, ends: _Array) -> Column: ...
    @staticmethod
    def lists(inner: Column, ends: _Array) -> Column: ...
    @staticmethod
    def batches(batches: list[_Array | list[_Array]], code: int) -> Column: ...
    def to_python(self) -> Any: ...
    def to_arrow(self) -> tuple[_Array, _Array] | None: ...

def decoded_strings(strings: _Array) -> _Array: ...
def string_objects(data: _Array, offsets: _Array) -> _Array: ...

@final
class ColumnBuilder:
    def __new__(cls, code: int, num_rows: int, is_batched: bool) -> ColumnBuilder: ...
    def push(self, row: Any) -> bool: ...
    def keep(self, num_rows: int) -> None: ...
    def column(self) -> Column: ...

@final
class Job:
    @property
    def number(self) -> int: ...
    @property
    def pass_number(self) -> int: ...
    @property
    def first_row(self) -> int: ...
    @property
    def state(self) -> str | None: ...
    def leave(self, state: str) -> None: ...
    def count(self, stage: int, num_rows: int, num_bytes: int, seconds: float) -> None: ...
    @property
    def skips_errors(self) -> bool: ...
    @property
    def num_rows(self) -> int: ...
    @property
    def target_bytes(self) -> int: ...
    @property
    def limit_bytes(self) -> int: ...
    def needs(self, num_bytes: int) -> None: ...
    def column(self, index: int) -> Column: ...
    def origin(self, row: int) -> str | None: ...
    def row_ids(self) -> npt.NDArray[np.uint64]: ...
    def has_taken(self, seconds: float) -> None: ...
    def finish(
        self,
        columns: Sequence[Column],
        num_rows: int,
        counts: Sequence[int] | None,
        error: BaseException | None,
        state: str | None = None,
        failed: Sequence[FailedRow] | None = None,
        kept: Sequence[int] | None = None,
    ) -> None: ...
    def keep(
        self,
        rows: Sequence[int],
        error: BaseException | None,
        state: str | None = None,
        failed: Sequence[FailedRow] | None = None,
    ) -> None: ...

@final
class FailedRow:
    def __new__(cls, row: int, error: BaseException, stage: int | None) -> FailedRow: ...

@final
class Failure:
    @property
    def skipper(self) -> int: ...
    @property
    def stage(self) -> int: ...
    @property
    def file(self) -> bytes | None: ...
    @property
    def record(self) -> int | None: ...
    @property
    def offset_bytes(self) -> int | None: ...
    @property
    def row_id(self) -> list[int] | None: ...
    @property
    def reason(self) -> str: ...
    @property
    def ends_file(self) -> bool: ...
    @property
    def num_lost(self) -> int | None: ...
    @property
    def num_scanned(self) -> int: ...
    @property
    def passed(self) -> tuple[int, int]: ...
    def throw(self, remedy: str) -> NoReturn: ...

@final
class PassEnd:
    @property
    def skipper(self) -> int: ...
    @property
    def pass_number(self) -> int: ...
    @property
    def num_rows(self) -> int: ...

@final
class Execution:
    @property
    def used_bytes(self) -> int: ...
    def __new__(
        cls,
        plan: Plan,
        *,
        name: str,
        epoch: int,
        checkpoint: list[Any] | None,
        function_states: Sequence[str | None],
        num_threads: int,
        num_callers: int,
        num_python_workers: int,
        num_stages: int,
        memory_bytes: int,
        max_outputs: int,
        is_batched: bool,
        is_deterministic: bool,
        is_synchronous: bool,
        keeps_origins: bool,
        lanes: Lanes | None = None,
    ) -> Execution: ...
    def checkpoint(self, num_left: int, lane: int = 0) -> list[Any]: ...
    def close_lane(self, lane: int) -> None: ...
    def origins(self, num_left: int) -> list[Origin]: ...
    def part_counts(self, num_left: int, lane: int = 0) -> list[int]: ...
    def mix_checkpoint(self, plan: Plan, num_left: int, lane: int = 0) -> list[Any] | None: ...
    def order(
        self, digest: OrderDigest, plan: Plan, pass_number: int, num_left: int, lane: int = 0
    ) -> tuple[OrderPoint, bool]: ...
    def look_ahead(self) -> bool: ...
    def next(self, strings_as_arrow: bool) -> tuple[int, list[Any]] | Failure | PassEnd | None: ...
    def next_of_lane(
        self, strings_as_arrow: bool
    ) -> tuple[int, tuple[int, list[Any]] | Failure | PassEnd | BaseException | None] | None: ...
    def take(self, python_worker: int) -> Job | None: ...
    def reads(self) -> list[ReadInProgress]: ...
    def state(self) -> ExecutionState: ...
    def memory(self) -> tuple[int, int]: ...
    def readings(self) -> Readings: ...
    def close(self) -> None: ...
    def close_or_interrupt(self) -> None: ...
    def hold(self, num_bytes: int) -> None: ...
    def wait_for_gil(self, seconds: float) -> float | None: ...

@final
class Origin:
    file: bytes
    record: int
    offset_bytes: int | None

@final
class ExecutionState:
    workers: list[WorkerState]
    num_tasks: int
    num_python_tasks: list[int]
    num_ready: int
    max_ready: int
    is_memory_short: bool
    is_over: bool
    is_closed: bool

@final
class WorkerState:
    thread: int
    activity: str
    seconds: float
    stage: int | None

@final
class ReadInProgress:
    number: int
    stage: int
    text: str
    thread: int
    seconds: float

@final
class Readings:
    stages: list[StageReadings]
    tasks_busy: float
    tasks_computing: float
    idle: float
    consumer_waiting: float
    budget_waiting: float

@final
class StageReadings:
    examples: int
    num_bytes: int
    busy: float
    computing: float
    starving: float
    fill: float | None
    padding: float | None
    left_out: int
