"""Turns each record into any number of examples, by calling `enqueue_many` with 0 or more rows.

The records are log lines, "STATION,VALUE VALUE VALUE ...". Lines of stations that are switched off
are dropped. Each of the other lines becomes one example per value.
"""

import argparse
from pathlib import Path

import numpy as np

import headrace.tf1 as tf

NUM_STATIONS = 5
SWITCHED_OFF = 3


def write_log(path: Path, num_lines: int) -> dict[int, float]:
    """Writes a log, and returns the sum of each station's values."""
    generator = np.random.default_rng(1)
    sums = dict.fromkeys(range(NUM_STATIONS), 0.0)
    with path.open("w") as file:
        for _ in range(num_lines):
            station = int(generator.integers(NUM_STATIONS))
            values = generator.integers(0, 100, size=generator.integers(0, 6))
            file.write(f"{station},{' '.join(map(str, values))}\n")
            sums[station] += float(values.sum())
    return sums


def examples_of(line: tf.Tensor) -> list[tf.Tensor]:
    """Adds the operations that convert a line to examples: zero, one or several rows.

    Returns:
        Stations, int32, (rows,); values, float32, (rows,).
    """
    station, text = tf.decode_csv(line, record_defaults=[[0], [""]])
    is_kept = tf.not_equal(station, SWITCHED_OFF)
    values = tf.string_to_number(tf.string_split([text]).values)
    kept = tf.boolean_mask(values, tf.fill(tf.shape(values), is_kept))
    return [tf.fill(tf.shape(kept), station), kept]


def main(directory: Path, num_lines: int) -> None:
    """Sums the values of each station in a log, in batches."""
    directory.mkdir(parents=True, exist_ok=True)
    expected = write_log(directory / "log.csv", num_lines)

    names = tf.train.string_input_producer([str(directory / "log.csv")], num_epochs=1)
    _, line = tf.TextLineReader().read(names)
    batch = tf.train.batch(
        examples_of(line), batch_size=32, enqueue_many=True, allow_smaller_final_batch=True
    )
    sums = np.zeros(NUM_STATIONS)
    with tf.Session() as session:
        session.run(tf.local_variables_initializer())
        coord = tf.train.Coordinator()
        threads = tf.train.start_queue_runners(session, coord)
        try:
            while not coord.should_stop():
                stations, values = session.run(batch)
                np.add.at(sums, stations, values)
        except tf.errors.OutOfRangeError:
            pass  # The log has been read.
        finally:
            coord.request_stop()
        coord.join(threads)
    for station, total in enumerate(sums):
        note = "switched off" if station == SWITCHED_OFF else f"{expected[station]:.0f} in the log"
        print(f"station {station}: {total:.0f} ({note})")


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("directory", type=Path)
    parser.add_argument("--lines", type=int, default=10_000)
    arguments = parser.parse_args()
    main(arguments.directory, arguments.lines)
