"""Errors for calls that other libraries accept. They suggest a replacement."""

import functools
import inspect
from collections.abc import Callable, Iterable, Mapping
from typing import Any, Final, TypeVar

from headrace.core.tracebacks import hide_own_frames

__all__ = ["advice_on_function", "advice_on_method", "with_explained_calls"]

_Function = TypeVar("_Function", bound=Callable[..., Any])

_DROP_LAST: Final = 'DataLoader\'s `drop_last=True` is called `remainder="drop"` here'
_DROP_REMAINDER: Final = 'tf.data\'s `drop_remainder=True` is called `remainder="drop"` here'
_WORKERS: Final = (
    "Native stages use all cores without it. For a Python function, use `map(f, num_threads=8)` "
    "or `map(f, num_processes=8)`"
)
_PARALLEL_CALLS: Final = "Use `map(f, num_threads=8)` or `map(f, num_processes=8)`"
_BUFFER: Final = "Use `shuffle(window=10_000)`, or `shuffle(seed=7)` to shuffle all examples"
_DELIMITER: Final = "Use `delimiter=`"
_SIZE: Final = "Use `batch(32)`. The argument is named `size`"
_SEED_OF_TORCH: Final = "Use `seed=7`"

# Keyed by the name of the method or function, then by the keyword argument.
_KEYWORDS: Final[Mapping[str, Mapping[str, str]]] = {
    "batch": {
        "batch_size": _SIZE,
        "drop_last": _DROP_LAST,
        "drop_remainder": _DROP_REMAINDER,
        "collate_fn": (
            "Use `padded_batch(32)` to pad lists, `batch(32, lists='boxes')` to keep arrays "
            "apart, or `batch(32).map(f)`"
        ),
        "num_workers": _WORKERS,
        "num_parallel_calls": "It isn't needed, because batches are built on all cores",
        "shuffle": "Use `.shuffle(seed=7).batch(32)`",
        "pin_memory": "Use `to_torch(device, pin_memory=True)`",
    },
    "padded_batch": {
        "batch_size": "Use `padded_batch(32)`. The argument is named `size`",
        "drop_last": _DROP_LAST,
        "drop_remainder": _DROP_REMAINDER,
        "padding_values": "Use `values=`",
        "padding_value": "Use `values=`",
        "pad_value": "Use `values=`",
        "padded_shapes": (
            "Axes of unknown size are padded to the largest size in the batch. To round that "
            "size up, use `multiple_of=`"
        ),
        "pad_to_multiple_of": "Use `multiple_of=`",
    },
    "bucket_by_length": {
        "batch_size": "Use `size=`",
        "bucket_boundaries": "Use `boundaries=`",
        "bucket_batch_sizes": "Use `max_elements=` for batches of about equal size",
        "element_length_func": "Name the component, such as `bucket_by_length('tokens', …)`",
        "drop_last": _DROP_LAST,
        "drop_remainder": _DROP_REMAINDER,
        "padding_values": "Use `values=`",
    },
    "pack": {
        "length_struct": "Use `pack(2048, 'tokens')`",
        "seq_length": "Use `pack(2048, 'tokens')`. The argument is named `length`",
        "max_length": "Use `pack(2048, 'tokens')`. The argument is named `length`",
    },
    "lerobot": {
        "delta_timestamps": "Use `window={'action': range(50)}`. Floats are seconds",
        "delta_indices": "Use `window={'action': range(50)}`. Ints are frames",
        "repo_id": "Use `lerobot('hf://datasets/lerobot/pusht')`",
    },
    "windows": {
        "size": "Use `windows(8)`. The argument is named `length`",
        "shift": "Use `stride=`",
        "window_size": "Use `windows(8)`. The argument is named `length`",
        "drop_remainder": 'Windows are always full, unless `pad="repeat"` or `pad="zero"` is set',
    },
    "shuffle": {
        "buffer_size": _BUFFER,
        "bufsize": _BUFFER,
        "size": _BUFFER,
        "window_size": _BUFFER,
        "reshuffle_each_iteration": "Remove it, because each epoch has a different order anyway",
        "generator": _SEED_OF_TORCH,
        "random_state": _SEED_OF_TORCH,
        "files": 'Use `file_order="sequential"` or `file_order="shuffled"`',
    },
    "map": {
        "num_parallel_calls": _PARALLEL_CALLS,
        "num_workers": _PARALLEL_CALLS,
        "num_proc": "Use `num_processes=`",
        "deterministic": "Use `options(deterministic=False)`",
        "batched": "Use `batch(100).map(f)`, and `.unbatch()` if needed",
        "batch_size": "Use `batch(100).map(f)`, and `.unbatch()` if needed",
        "remove_columns": "Return only the components to keep, or use `select(…)`",
        "fn_kwargs": "Bind arguments with `functools.partial`",
        "input_columns": "The function receives the whole example as a dict",
    },
    "shard": {
        "num_shards": "Use `shard(index, count)`",
        "world_size": "Use `shard(index, count)`",
        "rank": "Use `shard(index, count)`",
        "num_replicas": "Use `shard(index, count)`",
    },
    "sample": {
        "num_samples": "Use `num=`",
        "n": "Use `num=`",
        "k": "Use `num=`",
        "replacement": "Remove it, because `sample` always draws with replacement",
        "random_state": _SEED_OF_TORCH,
        "generator": _SEED_OF_TORCH,
    },
    "split": {"test_size": "Use `split(0.9, 0.1)`", "lengths": "Use `split(0.9, 0.1)`"},
    "epochs": {"num_epochs": "Use `epochs(3)`. The argument is named `count`"},
    "take": {"n": "Use `take(100)`. The argument is named `count`"},
    "skip": {"n": "Use `skip(100)`. The argument is named `count`"},
    "prefetch": {
        "buffer_size": "Use `prefetch(4)`. The argument is named `count`",
        "prefetch_factor": "Use `prefetch(4)`. The argument is named `count`",
    },
    "cache": {
        "filename": "Use `cache(directory=…)`",
        "cache_dir": "Use `cache(directory=…)`",
    },
    "options": {
        "num_workers": _WORKERS,
        "stuck_after_s": "Use `warn_after_s=60`",
        "timeout": "Use `warn_after_s=60` to get a warning that names the slow record",
    },
    "to_torch": {
        "batch_size": "Use `.batch(32).to_torch()`",
        "shuffle": "Use `.shuffle(seed=7).batch(32).to_torch()`",
        "num_workers": _WORKERS,
        "drop_last": _DROP_LAST + " in `batch`",
    },
    "csv": {
        "sep": _DELIMITER,
        "field_delim": _DELIMITER,
        "separator": _DELIMITER,
        "names": "Use `columns=`, a dict of names and types",
        "usecols": "Use `columns=`, a dict of the wanted names and types",
        "column_names": "Use `columns=`, a dict of names and types",
        "column_defaults": "Use `defaults=`",
        "select_cols": "Use `columns=`, a dict of the wanted names and types",
        "has_header": "Use `header=`",
    },
    "parquet": {"filters": "Use `where=`", "filter": "Use `where=`"},
    "tfrecords": {
        "compression_type": "Use `compression=`",
        "num_parallel_reads": "Remove it, because files are read in parallel anyway",
        "description": "Use `tfrecords(paths).parse({'image': bytes, 'label': int})`",
    },
    "image_folder": {"transform": "Use `image_folder(root).map(transform)`"},
    "mix": {
        "probabilities": "Use `weights=`",
        "probs": "Use `weights=`",
        "stopping_strategy": "Use `stop='first'` or `stop='all'`",
        "stop_on_empty_dataset": "Use `stop='first'` or `stop='all'`",
    },
}

_LOOP: Final = "Use a loop, such as `for batch in pipe.batch(1000)`"
_PANDAS: Final = "Use `pipe.to_arrow().read_pandas()`"
_ONE_BATCH: Final = "Use `next(iter(pipe.batch(pipe.count())))`"
_TENSORFLOW: Final = "Use `tf.data.Dataset.from_generator(lambda: pipe, …)`"
_WRITE: Final = "Use `write('out.parquet')`, or `batches.state()` for the position in the data"
_ADD: Final = "Use `map(lambda e: {**e, 'name': …})`"
_SORT: Final = "Sort the data before you read it, or use `bucket_by_length(…)`"

_MANY: Final = ("concat", "mix", "zip")

_METHODS: Final[Mapping[str, str]] = {
    "replayed": "Use `replay(state)`",
    "repeat": "Use `epochs(3)`, or `for epoch in range(3): for batch in pipe.epoch(epoch)`",
    "to_pytorch": "Use `to_torch()`",
    "torch": "Use `to_torch()`",
    "with_format": "Use `to_torch()` or `to_jax()`. Without them, batches are NumPy arrays",
    "set_format": "Use `to_torch()` or `to_jax()`. Without them, batches are NumPy arrays",
    "as_numpy_iterator": "Iterate over the pipeline, which yields dicts of NumPy arrays",
    "apply": "Call the method of the stage, such as `map(f)`",
    "flatmap": "Use `flat_map(f)`",
    "random_map": "Use `map(f, seed=7)`, where f receives the example and a random generator",
    "interleave": "Pass all files to the source, which reads several at the same time",
    "parallel_interleave": "Pass all files to the source, which reads several at the same time",
    "concatenate": "Use `hr.concat([a, b])`",
    "concat": "Use `hr.concat([a, b])`",
    "zip": "Use `hr.zip([a, b])`",
    "mix": "Use `hr.mix([a, b], weights=[0.7, 0.3])`",
    "train_test_split": "Use `train, test = pipe.split(0.9, 0.1)`",
    "random_split": "Use `train, test = pipe.split(0.9, 0.1)`",
    "enumerate": "Use `enumerate(pipe)`, or `with_origin()` for the file and record",
    "unique": "Use `filter(f)` with a function that remembers the examples it has seen",
    "rejection_resample": "Use `sample(by='label')`",
    "weighted_sample": "Use `sample(weights='weight')`",
    "sharding_filter": "Use `shard(index, count)`",
    "window": "Use `windows(8)`",
    "sliding_window": "Use `windows(8)`",
    "rolling": "Use `windows(8)`",
    "split_by_node": "Use `shard(index, count)`",
    "decode": "Use `map(f)` with `hr.ops.decode_image` in a function marked with `@hr.native`",
    "to_tuple": "Use `select('image', 'label')`. Examples and batches are dicts",
    "select_columns": "Use `select('image', 'label')`",
    "remove_columns": "Use `select(…)` with the components to keep",
    "rename_column": "Use `rename(old='new')`",
    "rename_columns": "Use `rename(old='new')`",
    "set_epoch": "Use `for batch in pipe.epoch(number)`",
    "state_dict": "Use `batches = iter(pipe)` and `batches.state()`, or use `to_torch()`",
    "load_state_dict": "Use `pipe.resume(state)`, or use `to_torch()`",
    "to_list": "Use `list(pipe)`",
    "take_all": "Use `list(pipe)`",
    "collect": "Use `list(pipe)`",
    "to_iter_dataset": "Iterate over the pipeline",
    "iter": "Use `iter(pipe)`",
    "iter_rows": "Iterate over the pipeline, which yields examples if there is no `batch`",
    "iter_batches": "Iterate over `pipe.batch(32)`",
    "iter_torch_batches": "Use `pipe.batch(32).to_torch()`",
    "take_batch": "Use `next(iter(pipe.batch(32)))`",
    "head": "Use `show()` to print examples, or `take(5)`",
    "limit": "Use `take(100)`",
    "slice": "Use `skip(100)` and `take(100)`",
    "reduce": _LOOP,
    "fold": _LOOP,
    "scan": _LOOP,
    "aggregate": _LOOP,
    "sum": _LOOP,
    "mean": _LOOP,
    "to_pandas": _PANDAS,
    "to_df": _PANDAS,
    "to_dataframe": _PANDAS,
    "to_polars": "Use `polars.DataFrame(pipe.to_arrow())`",
    "to_arrow_table": "Use `pipe.to_arrow().read_all()`",
    "to_numpy": _ONE_BATCH,
    "to_dict": _ONE_BATCH,
    "to_tf_dataset": _TENSORFLOW,
    "to_tf": _TENSORFLOW,
    "as_dataset": _TENSORFLOW,
    "save": _WRITE,
    "save_to_disk": _WRITE,
    "snapshot": "Use `cache(directory=…)`, or `write('out.parquet')`",
    "to_parquet": "Use `write('out.parquet')`",
    "write_parquet": "Use `write('out.parquet')`",
    "to_json": "Use `write('out.jsonl')`",
    "to_csv": "Use `pipe.to_arrow().read_pandas().to_csv(path)`",
    "columns": "Use `list(pipe.spec)`",
    "column_names": "Use `list(pipe.spec)`",
    "schema": "Use `spec`",
    "shape": "Use `spec` for the shape of each component, and `len(pipe)`",
    "flatten": "Use `unbatch()` for batches, or `flat_map(f)`",
    "map_batches": "Use `batch(100).map(f)`, and `.unbatch()` if needed",
    "with_columns": _ADD,
    "add_column": _ADD,
    "where": "Use `filter(f)`, or `hr.parquet(paths, where=…)`",
    "sort": _SORT,
    "sort_values": _SORT,
    "seed": "Use `shuffle(seed=7)`",
    "ignore_errors": "Use `skip_errors(100)`",
    "element_spec": "Use `spec`",
    "features": "Use `spec`",
    "cardinality": "Use `len(pipe)`, or `pipe.count()`",
    "num_workers": _WORKERS,
}

_LOADER: Final = "Use a source with `.shuffle(seed=7).batch(32)`"
_SOURCE: Final = "Use a source, such as `hr.arrays({'x': x})` or `hr.files(paths)`"

_FUNCTIONS: Final[Mapping[str, str]] = {
    "torch_draws": "Use `hr.torch_generator(rng)`",
    "tfrecord": "Use `hr.tfrecords(paths)`",
    "TFRecordDataset": "Use `hr.tfrecords(paths)`",
    "WeightedRandomSampler": "Use `pipe.sample(weights=weights)`",
    "DataLoader": _LOADER,
    "dataloader": _LOADER,
    "Loader": _LOADER,
    "loader": _LOADER,
    "Dataset": _SOURCE,
    "IterableDataset": "Use `hr.iterable(factory)`",
    "TensorDataset": "Use `hr.arrays({'x': x})`",
    "dataset": _SOURCE,
    "datasets": _SOURCE,
    "from_pandas": "Use `hr.arrays(frame)`",
    "from_arrow": "Use `hr.arrays(table)`",
    "from_numpy": "Use `hr.arrays({'x': x})`",
    "from_dict": "Use `hr.arrays({'x': x})`",
    "from_list": "Use `hr.iterable(lambda: examples)`",
    "load_from_disk": "Use `hr.arrow(directory)`",
    "range": "Use `hr.arrays({'x': range(10)})`",
    "from_tensor_slices": "Use `hr.arrays({'x': x})`",
    "from_generator": "Use `hr.iterable(factory)`",
    "generator": "Use `hr.iterable(factory)`",
    "read_csv": "Use `hr.csv(paths)`",
    "scan_csv": "Use `hr.csv(paths)`",
    "read_parquet": "Use `hr.parquet(paths)`",
    "scan_parquet": "Use `hr.parquet(paths)`",
    "read_text": "Use `hr.text_lines(paths)`",
    "open": "Use the source for the format, such as `hr.parquet(paths)`",
    "feather": "Use `hr.arrow(paths)`",
    "ipc": "Use `hr.arrow(paths)`",
    "load_dataset": "Use `hr.parquet(paths)` or `hr.json_lines(paths)`",
    "jsonl": "Use `hr.json_lines(paths)`",
    "json": "Use `hr.json_lines(paths)`, or `hr.json_array(paths)` if a file is one array",
    "read_json": "Use `hr.json_lines(paths)`, or `hr.json_array(paths)` if a file is one array",
    "imagefolder": "Use `hr.image_folder(root)`",
    "ImageFolder": "Use `hr.image_folder(root)`",
    "LeRobotDataset": "Use `hr.lerobot(path)`",
    "audiofolder": "Use `hr.audio_folder(root)`",
    "CocoDetection": "Use `hr.coco(images, annotations)`",
    "VOCDetection": "Use `hr.pascal_voc(root)`",
    "text": "Use `hr.text_lines(paths)`",
    "textlines": "Use `hr.text_lines(paths)`",
    "interleave_datasets": "Use `hr.mix([a, b], weights=[0.7, 0.3])`",
    "concatenate_datasets": "Use `hr.concat([a, b])`",
    "tar": "Use `hr.webdataset(paths)`",
    "Session": "Graphs, sessions and queue runners are in `headrace.tf1`",
    "QueueRunner": "Graphs, sessions and queue runners are in `headrace.tf1`",
    "Coordinator": "Graphs, sessions and queue runners are in `headrace.tf1`",
}


def advice_on_method(name: str, names: Iterable[str]) -> str:
    """Suggests a replacement for a method that a pipeline doesn't have.

    Args:
        name: The name that the user wrote.
        names: The existing names.
    """
    return _advice(name, _METHODS, names) or "`help(headrace.Pipeline)` lists all stages."


def advice_on_function(name: str, names: Iterable[str]) -> str:
    """Suggests a replacement for a name that `headrace` doesn't have.

    Args:
        name: The name that the user wrote.
        names: The existing names.
    """
    return _advice(name, _FUNCTIONS, names) or "`dir(headrace)` lists all names."


def with_explained_calls(function: _Function) -> _Function:
    """Wraps a function so that its error for wrong arguments suggests a correct call.

    The error uses the function's public name, without the class that defines it.

    Args:
        function: A pipeline method, or a function such as `headrace.csv`.
    """

    @functools.wraps(function)
    def explained(*args: Any, **kwargs: Any) -> Any:
        try:
            return function(*args, **kwargs)
        except TypeError as error:
            traceback = error.__traceback__
            if traceback is not None and traceback.tb_next is not None:
                hide_own_frames(error)
                raise  # The arguments were right, so the error comes from inside the function.
            text = _explanation(function, args, kwargs) or str(error)
        except BaseException as error:
            hide_own_frames(error)
            raise
        raise TypeError(text)

    return explained  # type: ignore[return-value]


def _advice(name: str, advice: Mapping[str, str], names: Iterable[str]) -> str | None:
    if name in advice:
        return f"{advice[name]}."
    from difflib import get_close_matches  # noqa: PLC0415 (loaded for errors only)

    near = get_close_matches(name, [name for name in names if not name.startswith("_")], 1)
    return f"Did you mean `{near[0]}`?" if near else None


def _explanation(
    function: Callable[..., Any], args: tuple[Any, ...], kwargs: Mapping[str, Any]
) -> str | None:
    """Returns the error text for a call whose arguments don't fit the function."""
    signature = inspect.signature(function)
    parameters = {name: p for name, p in signature.parameters.items() if name != "self"}
    is_method = len(parameters) < len(signature.parameters)
    where = function.__name__
    call = f"{where}({', '.join(map(_without_type, parameters.values()))})"
    for name in kwargs:
        if name not in parameters:
            advice = _advice(name, _KEYWORDS.get(where, {}), parameters)
            return (
                f"{where}: got an unexpected argument {name!r}, expected {call}. "
                f"{advice or 'Remove it.'}"
            )
    positional = args[1:] if is_method else args
    is_open = any(p.kind is p.VAR_POSITIONAL for p in parameters.values())
    num_most = sum(p.kind is p.POSITIONAL_OR_KEYWORD for p in parameters.values())
    if len(positional) > num_most and not is_open:
        advice = f"Use {where}([a, b])" if where in _MANY else "Remove the last ones"
        return f"{where}: got {len(positional)} positional arguments, expected {call}. {advice}."
    twice = [name for name in [*parameters][: len(positional)] if name in kwargs]
    if twice:
        return f"{where}: got two values for {twice[0]!r}, expected {call}. Remove one of them."
    missing = [
        repr(name)
        for name, p in [*parameters.items()][len(positional) :]
        if p.default is p.empty and p.kind not in (p.VAR_POSITIONAL, p.VAR_KEYWORD)
        if name not in kwargs
    ]
    return f"{where}: missing {' and '.join(missing)}, expected {call}." if missing else None


def _without_type(parameter: inspect.Parameter) -> str:
    return str(parameter.replace(annotation=inspect.Parameter.empty))
