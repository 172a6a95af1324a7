"""Errors for calls that other libraries accept. They show what to write instead."""

import functools
import inspect
from collections.abc import Callable, Iterable, Mapping
from difflib import get_close_matches
from typing import Any, Final, TypeVar

from headrace.core.tracebacks import hide_own_frames

__all__ = ["advice_on_function", "advice_on_method", "with_explained_calls"]

_Function = TypeVar("_Function", bound=Callable[..., Any])

_DROP_LAST: Final = 'DataLoader\'s `drop_last=True` is `remainder="drop"`'
_DROP_REMAINDER: Final = 'tf.data\'s `drop_remainder=True` is `remainder="drop"`'
_WORKERS: Final = (
    "Native stages use all cores without it. For a Python function write `map(f, num_threads=8)` "
    "or `map(f, num_processes=8)`"
)
_PARALLEL_CALLS: Final = "Write `map(f, num_threads=8)` or `map(f, num_processes=8)`"
_BUFFER: Final = "Write `shuffle(window=10_000)`, or `shuffle(seed=7)` to shuffle all examples"
_DELIMITER: Final = "Write `delimiter=`"
_SIZE: Final = "Write `batch(32)`: the argument is named `size`"
_SEED_OF_TORCH: Final = "Write `seed=7`"

# Keyed by the name of the method or function, then by the keyword argument.
_KEYWORDS: Final[Mapping[str, Mapping[str, str]]] = {
    "batch": {
        "batch_size": _SIZE,
        "drop_last": _DROP_LAST,
        "drop_remainder": _DROP_REMAINDER,
        "collate_fn": (
            "Write `padded_batch(32)` to pad lists, `batch(32, lists='boxes')` to keep arrays "
            "apart, or `batch(32).map(f)`"
        ),
        "num_workers": _WORKERS,
        "num_parallel_calls": "It isn't needed: batches are made on all cores",
        "shuffle": "Write `.shuffle(seed=7).batch(32)`",
        "pin_memory": "Write `to_torch(device, pin_memory=True)`",
    },
    "padded_batch": {
        "batch_size": "Write `padded_batch(32)`: the argument is named `size`",
        "drop_last": _DROP_LAST,
        "drop_remainder": _DROP_REMAINDER,
        "padding_values": "Write `values=`",
        "padding_value": "Write `values=`",
        "pad_value": "Write `values=`",
        "padded_shapes": (
            "Axes of unknown size are padded to the largest of the batch; `multiple_of=` rounds up"
        ),
        "pad_to_multiple_of": "Write `multiple_of=`",
    },
    "bucket_by_length": {
        "batch_size": "Write `size=`",
        "bucket_boundaries": "Write `boundaries=`",
        "bucket_batch_sizes": "Write `max_elements=` for batches of about equal size",
        "element_length_func": "Name the component, such as `bucket_by_length('tokens', …)`",
        "drop_last": _DROP_LAST,
        "drop_remainder": _DROP_REMAINDER,
        "padding_values": "Write `values=`",
    },
    "pack": {
        "length_struct": "Write `pack(2048, 'tokens')`",
        "seq_length": "Write `pack(2048, 'tokens')`: the argument is named `length`",
        "max_length": "Write `pack(2048, 'tokens')`: the argument is named `length`",
    },
    "shuffle": {
        "buffer_size": _BUFFER,
        "bufsize": _BUFFER,
        "size": _BUFFER,
        "window_size": _BUFFER,
        "reshuffle_each_iteration": "Each epoch has a different order",
        "generator": _SEED_OF_TORCH,
        "random_state": _SEED_OF_TORCH,
        "files": 'Write `file_order="sequential"` or `file_order="shuffled"`',
    },
    "map": {
        "num_parallel_calls": _PARALLEL_CALLS,
        "num_workers": _PARALLEL_CALLS,
        "num_proc": "Write `num_processes=`",
        "deterministic": "Write `options(deterministic=False)`",
        "batched": "Write `batch(100).map(f)`, and `.unbatch()` if needed",
        "batch_size": "Write `batch(100).map(f)`, and `.unbatch()` if needed",
        "remove_columns": "The function returns the components to keep; or write `select(…)`",
        "fn_kwargs": "Bind arguments with `functools.partial`",
        "input_columns": "The function receives the whole example as a dict",
    },
    "shard": {
        "num_shards": "Write `shard(index, count)`",
        "world_size": "Write `shard(index, count)`",
        "rank": "Write `shard(index, count)`",
        "num_replicas": "Write `shard(index, count)`",
    },
    "split": {"test_size": "Write `split(0.9, 0.1)`", "lengths": "Write `split(0.9, 0.1)`"},
    "epochs": {"num_epochs": "Write `epochs(3)`: the argument is named `count`"},
    "take": {"n": "Write `take(100)`: the argument is named `count`"},
    "skip": {"n": "Write `skip(100)`: the argument is named `count`"},
    "prefetch": {
        "buffer_size": "Write `prefetch(4)`: the argument is named `count`",
        "prefetch_factor": "Write `prefetch(4)`: the argument is named `count`",
    },
    "cache": {
        "filename": "Write `cache(directory=…)`",
        "cache_dir": "Write `cache(directory=…)`",
    },
    "options": {
        "num_workers": _WORKERS,
        "stuck_after_s": "Write `warn_after_s=60`",
        "timeout": "Write `warn_after_s=60` for a warning that names the slow record",
    },
    "to_torch": {
        "batch_size": "Write `.batch(32).to_torch()`",
        "shuffle": "Write `.shuffle(seed=7).batch(32).to_torch()`",
        "num_workers": _WORKERS,
        "drop_last": _DROP_LAST + " of `batch`",
    },
    "csv": {
        "sep": _DELIMITER,
        "field_delim": _DELIMITER,
        "separator": _DELIMITER,
        "names": "Write `columns=`, a dict of names and types",
        "usecols": "Write `columns=`, a dict of the wanted names and types",
        "column_names": "Write `columns=`, a dict of names and types",
        "column_defaults": "Write `defaults=`",
        "select_cols": "Write `columns=`, a dict of the wanted names and types",
        "has_header": "Write `header=`",
    },
    "parquet": {"filters": "Write `where=`", "filter": "Write `where=`"},
    "tfrecords": {
        "compression_type": "Write `compression=`",
        "num_parallel_reads": "Files are read in parallel without it",
        "description": "Write `tfrecords(paths).parse({'image': bytes, 'label': int})`",
    },
    "image_folder": {"transform": "Write `image_folder(root).map(transform)`"},
    "mix": {
        "probabilities": "Write `weights=`",
        "probs": "Write `weights=`",
        "stopping_strategy": "Write `stop='first'` or `stop='all'`",
        "stop_on_empty_dataset": "Write `stop='first'` or `stop='all'`",
    },
}

_MANY: Final = ("concat", "mix", "zip")

_METHODS: Final[Mapping[str, str]] = {
    "replayed": "Write `replay(state)`",
    "repeat": "Write `epochs(3)`, or `for epoch in range(3): for batch in pipe.epoch(epoch)`",
    "to_pytorch": "Write `to_torch()`",
    "torch": "Write `to_torch()`",
    "with_format": "Write `to_torch()` or `to_jax()`; batches are NumPy arrays without it",
    "set_format": "Write `to_torch()` or `to_jax()`; batches are NumPy arrays without it",
    "as_numpy_iterator": "Iterate over the pipeline: batches are dicts of NumPy arrays",
    "apply": "Write the method, such as `map(f)`",
    "flatmap": "Write `flat_map(f)`",
    "random_map": "Write `map(f, seed=7)`: f receives the example and a generator",
    "interleave": "Pass all files to the source: several are read at the same time",
    "parallel_interleave": "Pass all files to the source: several are read at the same time",
    "concatenate": "Write `hr.concat([a, b])`",
    "concat": "Write `hr.concat([a, b])`",
    "zip": "Write `hr.zip([a, b])`",
    "mix": "Write `hr.mix([a, b], weights=[0.7, 0.3])`",
    "train_test_split": "Write `train, test = pipe.split(0.9, 0.1)`",
    "random_split": "Write `train, test = pipe.split(0.9, 0.1)`",
    "enumerate": "Write `enumerate(pipe)`, or `with_origin()` for the file and record",
    "unique": "Write `filter(f)` with a function that remembers",
    "sharding_filter": "Write `shard(index, count)`",
    "split_by_node": "Write `shard(index, count)`",
    "decode": "Write `map(f)` with `hr.ops.decode_image` in a function marked with `@hr.native`",
    "to_tuple": "Write `select('image', 'label')`; examples and batches are dicts",
    "select_columns": "Write `select('image', 'label')`",
    "remove_columns": "Write `select(…)` with the names to keep",
    "rename_column": "Write `rename(old='new')`",
    "rename_columns": "Write `rename(old='new')`",
    "set_epoch": "Write `for batch in pipe.epoch(number)`",
    "state_dict": "Write `batches = iter(pipe)`, then `batches.state()`; or use `to_torch()`",
    "load_state_dict": "Write `pipe.resume(state)`; or use `to_torch()`",
    "to_list": "Write `list(pipe)`",
    "collect": "Write `list(pipe)`",
    "to_iter_dataset": "Iterate over the pipeline",
    "ignore_errors": "Write `skip_errors(100)`",
    "element_spec": "Write `spec`",
    "features": "Write `spec`",
    "cardinality": "Write `len(pipe)`, or `pipe.count()`",
    "num_workers": _WORKERS,
}

_FUNCTIONS: Final[Mapping[str, str]] = {
    "torch_draws": "Write `hr.torch_generator(rng)`",
    "tfrecord": "Write `hr.tfrecords(paths)`",
    "TFRecordDataset": "Write `hr.tfrecords(paths)`",
    "DataLoader": "Write a source and `.shuffle(seed=7).batch(32)`",
    "Dataset": "Write a source, such as `hr.arrays({'x': x})` or `hr.files(paths)`",
    "from_tensor_slices": "Write `hr.arrays({'x': x})`",
    "from_generator": "Write `hr.iterable(factory)`",
    "generator": "Write `hr.iterable(factory)`",
    "read_csv": "Write `hr.csv(paths)`",
    "read_parquet": "Write `hr.parquet(paths)`",
    "load_dataset": "Write `hr.parquet(paths)` or `hr.json_lines(paths)`",
    "jsonl": "Write `hr.json_lines(paths)`",
    "json": "Write `hr.json_lines(paths)`, or `hr.json_array(paths)` for files of one array",
    "read_json": "Write `hr.json_lines(paths)`, or `hr.json_array(paths)` for files of one array",
    "imagefolder": "Write `hr.image_folder(root)`",
    "ImageFolder": "Write `hr.image_folder(root)`",
    "audiofolder": "Write `hr.audio_folder(root)`",
    "text": "Write `hr.text_lines(paths)`",
    "textlines": "Write `hr.text_lines(paths)`",
    "interleave_datasets": "Write `hr.mix([a, b], weights=[0.7, 0.3])`",
    "concatenate_datasets": "Write `hr.concat([a, b])`",
    "tar": "Write `hr.webdataset(paths)`",
    "Session": "Graphs, sessions and queue runners are in `headrace.tf1`",
    "QueueRunner": "Graphs, sessions and queue runners are in `headrace.tf1`",
    "Coordinator": "Graphs, sessions and queue runners are in `headrace.tf1`",
}


def advice_on_method(name: str, names: Iterable[str]) -> str:
    """Returns what to write instead of a method that a pipeline doesn't have.

    Args:
        name: The name that the user wrote.
        names: The existing names.
    """
    return _advice(name, _METHODS, names) or "See the list of stages in `help(headrace.Pipeline)`."


def advice_on_function(name: str, names: Iterable[str]) -> str:
    """Returns what to write instead of a name that `headrace` doesn't have.

    Args:
        name: The name that the user wrote.
        names: The existing names.
    """
    return _advice(name, _FUNCTIONS, names) or "`dir(headrace)` lists the names."


def with_explained_calls(function: _Function) -> _Function:
    """Wraps a function so that its error for wrong arguments shows what to write instead.

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
                f"{advice or 'Leave it out.'}"
            )
    positional = args[1:] if is_method else args
    is_open = any(p.kind is p.VAR_POSITIONAL for p in parameters.values())
    num_most = sum(p.kind is p.POSITIONAL_OR_KEYWORD for p in parameters.values())
    if len(positional) > num_most and not is_open:
        advice = f"Write {where}([a, b])" if where in _MANY else "Leave out the last ones"
        return f"{where}: got {len(positional)} positional arguments, expected {call}. {advice}."
    twice = [name for name in [*parameters][: len(positional)] if name in kwargs]
    if twice:
        return f"{where}: got two values for {twice[0]!r}, expected {call}. Leave one out."
    missing = [
        repr(name)
        for name, p in [*parameters.items()][len(positional) :]
        if p.default is p.empty and p.kind not in (p.VAR_POSITIONAL, p.VAR_KEYWORD)
        if name not in kwargs
    ]
    return f"{where}: got no {' and no '.join(missing)}, expected {call}." if missing else None


def _without_type(parameter: inspect.Parameter) -> str:
    return str(parameter.replace(annotation=inspect.Parameter.empty))
