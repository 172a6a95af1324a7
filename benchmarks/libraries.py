"""Each library's configuration, which all workloads share."""

from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import Any

from benchmarks.manual_loaders import POOL

NUM_THREADS = 2
NUM_BATCHES = 8
"""The number of batches in SPDL's sink."""
PREFETCH = 4
"""The number of batches that a PyTorch worker prefetches."""
READ_BYTES = 1 << 20


def torch_loader(data: Any, batch_size: int | None, num_workers: int, **more: Any) -> Iterable[Any]:
    """Returns a PyTorch DataLoader, with or without worker processes."""
    import torch
    from torch.utils.data import DataLoader

    torch.set_num_threads(1)
    if num_workers:
        # The data sets contain functions that can't be pickled.
        more |= {"prefetch_factor": PREFETCH, "multiprocessing_context": "fork"}
    return DataLoader(data, batch_size, num_workers=num_workers, **more)


def torch_batches(
    files: Sequence[str], batches: Callable[..., Iterable[Any]], num_workers: int
) -> Iterable[Any]:
    """Returns a DataLoader of whole batches. Each worker makes batches from its share of the files.

    Args:
        files: The files of all epochs.
        batches: Returns batches, given files, the size of the shuffle pool, and a seed.
        num_workers: The number of processes. 0 to use only this process.
    """
    import torch
    from torch.utils.data import IterableDataset, get_worker_info

    class Batches(IterableDataset[Any]):
        def __iter__(self) -> Iterator[Any]:
            worker = get_worker_info()
            number, count = (worker.id, worker.num_workers) if worker else (0, 1)
            for batch in batches(files[number::count], POOL // count, number):
                is_rows = isinstance(batch, tuple)
                yield [torch.from_numpy(part) for part in batch] if is_rows else batch

    return torch_loader(Batches(), None, num_workers)


class MappedDataset:
    """A map-style PyTorch data set that applies a function to each element of a sequence."""

    def __init__(self, function: Callable[[Any], Any], elements: Sequence[Any]) -> None:
        self._function = function
        self._elements = elements

    def __len__(self) -> int:
        return len(self._elements)

    def __getitem__(self, number: int) -> Any:
        return self._function(self._elements[number])


def spdl_batches(
    source: Iterable[Any],
    work: Callable[[Any], Any] | None = None,
    batch_size: int = 0,
    collate: Callable[[Any], Any] | None = None,
    **options: Any,
) -> Iterator[Any]:
    """Yields the batches of an SPDL pipeline.

    Args:
        source: The pipeline's source.
        work: A function that two threads apply to each element.
        batch_size: The number of elements in a batch. 0 for no batching.
        collate: Combines a list of elements into a batch.
        options: Options of `pipe`.
    """
    from spdl.pipeline import PipelineBuilder

    builder = PipelineBuilder().add_source(source)
    if work is not None:
        builder = builder.pipe(work, concurrency=NUM_THREADS, **options)
    if collate is not None:
        builder = builder.aggregate(batch_size).pipe(collate)
    pipeline = builder.add_sink(NUM_BATCHES).build(num_threads=NUM_THREADS + 1)
    with pipeline.auto_stop():
        yield from pipeline.get_iterator()


def grain_reading(prefetch: int, num_threads: int = NUM_THREADS) -> Any:
    """Returns Grain's read options."""
    import grain

    return grain.ReadOptions(num_threads=num_threads, prefetch_buffer_size=prefetch)


def tfdata_files(files: Sequence[str], num_epochs: int, read: Callable[[Any], Any]) -> Any:
    """Returns the records of files. The file order differs in each epoch."""
    import tensorflow as tf

    names = tf.data.Dataset.from_tensor_slices(list(files))
    shuffled = names.shuffle(len(files), reshuffle_each_iteration=True)
    return shuffled.repeat(num_epochs).flat_map(read)


def tfdata_batches(data: Any) -> Iterable[Any]:
    """Returns a `tf.data` data set's batches as arrays, in any order."""
    import tensorflow as tf

    options = tf.data.Options()
    options.deterministic = False
    return data.prefetch(tf.data.AUTOTUNE).with_options(options).as_numpy_iterator()


def datasets_stream(
    kind: str, files: Sequence[str], cache: str, num_epochs: int, window: int, batch_size: int
) -> Iterator[Any]:
    """Yields batches from Hugging Face datasets as Arrow tables: a stream with a shuffle buffer.

    Args:
        kind: "json" or "parquet".
        files: The files to read.
        cache: The library's cache directory.
        num_epochs: The number of passes over the files.
        window: The number of examples in the buffer.
        batch_size: The number of rows in a table.
    """
    import datasets

    datasets.disable_progress_bars()
    # Otherwise, it waits up to five seconds after each epoch for its threads to end.
    datasets.config.SLEEP_TIME_ON_THREADS_SHUTDOWN = 0
    data = datasets.load_dataset(
        kind, data_files={"train": list(files)}, split="train", streaming=True, cache_dir=cache
    ).with_format("arrow")
    for epoch in range(num_epochs):
        yield from data.shuffle(seed=epoch, buffer_size=window).iter(batch_size)


def polars_slices(
    files: Iterable[str], read: Callable[[str], Any], window: int, batch_size: int
) -> Iterator[Any]:
    """Yields slices of polars frames. The rows of several files are shuffled with leftover rows."""
    import polars as pl

    waiting = None
    for number, name in enumerate(files):
        frame = read(name)
        waiting = frame if waiting is None else pl.concat([waiting, frame])
        if len(waiting) >= 2 * window:
            rows = waiting.sample(fraction=1.0, shuffle=True, seed=number)
            ready = (len(rows) - window) // batch_size * batch_size
            yield from rows[:ready].iter_slices(batch_size)
            waiting = rows[ready:]
    if waiting is not None:
        yield from waiting.sample(fraction=1.0, shuffle=True, seed=0).iter_slices(batch_size)


def text_bytes(texts: Any) -> int:
    """Returns the number of bytes of all strings: ASCII `str`, or pyarrow or polars columns."""
    if hasattr(texts, "combine_chunks"):
        texts = texts.combine_chunks()
    if hasattr(texts, "buffers"):
        width = 8 if str(texts.type).startswith("large") else 4
        ends = memoryview(texts.buffers()[1]).cast("B").cast("q" if width == 8 else "i")
        return int(ends[texts.offset + len(texts)] - ends[texts.offset])
    if hasattr(texts, "str"):
        return int(texts.str.len_bytes().sum())
    return sum(map(len, texts.tolist() if hasattr(texts, "tolist") else texts))
