"""A PyTorch training loop fed from headrace's queues.

No worker processes: the threads read, parse and shuffle in this process, and `torch.from_numpy`
takes a batch without a copy. Needs PyTorch; `convert_to_records.py` writes the files.
"""

import argparse
from pathlib import Path

import torch
from digits import load
from records_digits import read_and_decode

import headrace.tf1 as tf


def main(directory: Path, num_epochs: int, batch_size: int) -> None:
    """Trains on the digits in a directory."""
    names = tf.train.string_input_producer(
        tf.train.match_filenames_once(str(directory / "train-*.tfrecords")), num_epochs=num_epochs
    )
    batch = tf.train.shuffle_batch(
        read_and_decode(names), batch_size, capacity=3_000, min_after_dequeue=1_000, num_threads=2
    )
    torch.manual_seed(1)
    model = torch.nn.Sequential(
        torch.nn.Linear(784, 128), torch.nn.ReLU(), torch.nn.Linear(128, 10)
    )
    optimizer = torch.optim.Adam(model.parameters(), lr=2e-3)
    num_steps = 0
    with tf.Session() as session:
        session.run([tf.global_variables_initializer(), tf.local_variables_initializer()])
        coord = tf.train.Coordinator()
        threads = tf.train.start_queue_runners(session, coord)
        try:
            while not coord.should_stop():
                images, labels = map(torch.from_numpy, session.run(batch))
                optimizer.zero_grad()
                torch.nn.functional.cross_entropy(model(images), labels.long()).backward()
                optimizer.step()
                num_steps += 1
        except tf.errors.OutOfRangeError:
            pass  # The epochs are over.
        finally:
            coord.request_stop()
        coord.join(threads)
    _, (images, labels) = load(0)
    with torch.no_grad():
        guesses = model(torch.from_numpy(images)).argmax(dim=1).numpy()
    print(f"{num_steps} steps, accuracy {(guesses == labels).mean():.3f}")


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("directory", type=Path)
    parser.add_argument("--epochs", type=int, default=8)
    parser.add_argument("--batch-size", type=int, default=100)
    arguments = parser.parse_args()
    main(arguments.directory, arguments.epochs, arguments.batch_size)
