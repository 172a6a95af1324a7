"""Whole pipelines that hypothesis makes up, and files of records on their way through them."""

from pathlib import Path
from typing import Any

from tensorflow_comparison.cases.pipelines import to_the_end
from tensorflow_comparison.table import case, generated


@generated("pipelines")
def batched(tf: Any, output: dict[str, Any]) -> Any:
    """Numbers of several epochs in batches, to the end."""
    is_shuffled = output["seed"] is not None
    queue = tf.train.range_input_producer(
        output["limit"], output["num_epochs"], shuffle=is_shuffled, seed=output["seed"]
    )
    number = queue.dequeue()
    tensors = [number, tf.as_string(number)]
    if output["enqueue_many"]:
        tensors = [tf.stack([tensor, tensor]) for tensor in tensors]
    options = {
        "enqueue_many": output["enqueue_many"],
        "allow_smaller_final_batch": output["is_smaller_allowed"],
    }
    if not output["is_shuffled"]:
        return to_the_end(tf, tf.train.batch(tensors, output["batch_size"], **options))
    # With room for everything the order depends on nothing but the seed if it is full before the
    # first batch is taken, which is what keeping everything back until the end comes to.
    capacity = 2 * output["limit"] * output["num_epochs"] + output["batch_size"] + 1
    batch = tf.train.shuffle_batch(
        tensors, output["batch_size"], capacity, capacity - output["batch_size"], seed=5, **options
    )
    return to_the_end(tf, batch)


@generated("record_files", with_files=True)
def recorded(tf: Any, records: list[bytes], compression: str, cut: int, directory: Path) -> Any:
    """Files of records written, cut off, and read."""
    path = directory / "records"
    options = tf.python_io.TFRecordOptions(compression)
    with tf.python_io.TFRecordWriter(str(path), options) as writer:
        for record in records:
            writer.write(record)
    data = path.read_bytes()
    path.write_bytes(data[: max(len(data) - cut, 0)])
    results: list[Any] = []
    try:
        results.extend(tf.python_io.tf_record_iterator(str(path), options))
    except tf.errors.OpError as error:
        results.append(type(error).__name__)
    return results, b"" if compression else data


@case(("text",), (b"bytes",), (3,), (None,), ([b"a"],), with_files=True)
def written(tf: Any, record: Any, directory: Path) -> Any:
    """Values that a writer accepts as a record."""
    path = directory / "records"
    with tf.python_io.TFRecordWriter(str(path)) as writer:
        writer.write(record)
    return path.read_bytes()


@case(("",), ("GZIP",), ("ZLIB",), ("bogus",), (None,), (3,), with_files=True)
def compressed(tf: Any, compression: Any, directory: Path) -> Any:
    """Options of files of records."""
    options = tf.python_io.TFRecordOptions(compression)
    with tf.python_io.TFRecordWriter(str(directory / "records"), options) as writer:
        writer.write(b"one")
    return list(tf.python_io.tf_record_iterator(str(directory / "records"), options))
