"""Record inputs. TensorFlow's order varies, so whole epochs are compared."""

from itertools import chain
from pathlib import Path
from typing import Any

from tensorflow_comparison.table import case


def _input_of(tf: Any, *args: Any, **options: Any) -> Any:
    if tf.__name__.startswith("headrace"):
        return tf.contrib.framework.RecordInput(*args, **options)
    from tensorflow.python.ops import data_flow_ops  # noqa: PLC0415

    return data_flow_ops.RecordInput(*args, **options)


def _write(tf: Any, counts: list[int]) -> None:
    for file, count in enumerate(counts):
        with tf.python_io.TFRecordWriter(f"part-{file}") as writer:
            for number in range(count):
                writer.write(f"{file} {number}".encode())


@case((1, 1, None), (10, 3, None), (100, 2, 2))
def epochs_of_records(tf: Any, buffer_size: int, parallelism: int, batches: int | None) -> Any:
    """The records of three epochs, and the names of the operations."""
    _write(tf, [3, 0, 9, 8])
    source = _input_of(tf, "part-*", 5, buffer_size, parallelism, name="r", batches=batches)
    records = source.get_yield_op()
    num_runs = 4 if batches is None else 2
    with tf.Session() as session:
        epochs = [
            sorted(
                record
                for _ in range(num_runs)
                for record in (
                    session.run(records) if batches is None else chain(*session.run(records))
                )
            )
            for _ in range(3)
        ]
    operations = tf.get_default_graph().get_operations()
    attrs = [
        operations[0].get_attr(name)
        for name in ("file_pattern", "batch_size", "compression_type", "file_parallelism")
    ]
    shapes = [str(output.shape) for output in operations[0].outputs]
    return epochs, attrs, shapes, [(op.name, op.type) for op in operations[:1]]


@case(("nothing",), ("damaged",))
def no_records(tf: Any, what: str) -> Any:
    """No files, and a file that is damaged from the start."""
    if what == "damaged":
        Path("damaged").write_bytes(b"x" * 100)
    with tf.Session() as session:
        return session.run(_input_of(tf, what).get_yield_op())
