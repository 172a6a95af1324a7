"""Trains on data in constants: the whole data set is part of the graph.

`slice_input_producer` yields examples in a new order in each epoch, and two threads batch them. Use
this only for data that fits into memory several times, because both the graph and the session hold
a copy.
"""

import argparse

from digits import Learner, load

import headrace.tf1 as tf


def main(num_examples: int, num_epochs: int, batch_size: int) -> None:
    """Trains on digits in constants of the graph."""
    (images, labels), test = load(num_examples)
    with tf.name_scope("input"):
        pair = tf.train.slice_input_producer(
            [tf.constant(images), tf.constant(labels)], num_epochs=num_epochs, seed=1
        )
        batch = tf.train.batch(pair, batch_size, num_threads=2, allow_smaller_final_batch=True)

    learner = Learner()
    num_seen = 0
    with tf.Session() as session:
        session.run([tf.global_variables_initializer(), tf.local_variables_initializer()])
        coord = tf.train.Coordinator()
        threads = tf.train.start_queue_runners(session, coord)
        try:
            while not coord.should_stop():
                images, labels = session.run(batch)
                learner.step(images, labels)
                num_seen += len(labels)
        except tf.errors.OutOfRangeError:
            print(f"{num_epochs} epochs are over: {num_seen} examples")
        finally:
            coord.request_stop()
        coord.join(threads)
    print(f"{learner.num_steps} steps, accuracy {learner.accuracy(*test):.3f}")


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--examples", type=int, default=4_000)
    parser.add_argument("--epochs", type=int, default=8)
    parser.add_argument("--batch-size", type=int, default=100)
    arguments = parser.parse_args()
    main(arguments.examples, arguments.epochs, arguments.batch_size)
