"""Evaluates each new checkpoint of `cifar_train.py`, like CIFAR-10's classic evaluation program.

It runs in a separate process with its own input pipeline, and ends after the checkpoint of the last
step.
"""

import argparse
import time
from pathlib import Path

from cifar_input import evaluation_batches
from cifar_model import make_variables, num_correct

import headrace.tf1 as tf


def evaluate(directory: Path, checkpoint: str) -> tuple[int, float]:
    """Returns the step of a checkpoint and its accuracy on the test set, 0 to 1."""
    with tf.Graph().as_default():
        batch = evaluation_batches(directory, batch_size=100)
        variables = make_variables()
        global_step = tf.train.get_or_create_global_step()
        with tf.Session() as session:
            session.run(tf.local_variables_initializer())
            tf.train.Saver().restore(session, checkpoint)
            parameters, step = session.run([variables, global_step])
            coord = tf.train.Coordinator()
            threads = tf.train.start_queue_runners(session, coord)
            num_right = num_seen = 0
            try:
                while not coord.should_stop():
                    pictures, labels = session.run(batch)
                    num_right += num_correct(parameters, pictures, labels)
                    num_seen += len(labels)
            except tf.errors.OutOfRangeError:
                pass  # The end of the test set.
            finally:
                coord.request_stop()
            coord.join(threads)
    return int(step), num_right / num_seen


def main(directory: Path, until_step: int, interval_secs: float) -> None:
    """Evaluates checkpoints as they are written."""
    done = None
    step = 0
    while step < until_step:
        checkpoint = tf.train.latest_checkpoint(str(directory))
        if checkpoint in (None, done):
            time.sleep(interval_secs)
            continue
        step, accuracy = evaluate(directory, checkpoint)
        print(f"step {step}: accuracy {accuracy:.3f}", flush=True)
        done = checkpoint


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("directory", type=Path)
    parser.add_argument("--until-step", type=int, default=1_000)
    parser.add_argument("--interval-secs", type=float, default=0.5)
    arguments = parser.parse_args()
    main(arguments.directory, arguments.until_step, arguments.interval_secs)
