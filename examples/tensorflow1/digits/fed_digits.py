"""Feeds batches: the program creates each batch and passes it to `Session.run` in `feed_dict`.

This is the simplest kind of input: nothing runs in the background. The graph normalizes the images,
to show that fed values pass through the same operations as values that are read.
"""

import argparse

import numpy as np
from digits import Learner, load

import headrace.tf1 as tf


def main(num_examples: int, num_epochs: int, batch_size: int) -> None:
    """Trains on fed digits."""
    (images, labels), test = load(num_examples)
    fed_images = tf.placeholder(tf.float32, [None, 784], name="images")
    fed_labels = tf.placeholder(tf.int64, [None], name="labels")
    centred = fed_images - tf.reduce_mean(fed_images, axis=1, keepdims=True)

    learner = Learner()
    generator = np.random.default_rng(1)
    with tf.Session() as session:
        for _ in range(num_epochs):
            order = generator.permutation(len(labels))
            for rows in np.array_split(order, max(1, len(order) // batch_size)):
                feeds = {fed_images: images[rows], fed_labels: labels[rows]}
                learner.step(*session.run([centred, fed_labels], feed_dict=feeds))
        test_images = session.run(centred, {fed_images: test[0]})
    print(f"{learner.num_steps} steps, accuracy {learner.accuracy(test_images, test[1]):.3f}")


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--examples", type=int, default=4_000)
    parser.add_argument("--epochs", type=int, default=8)
    parser.add_argument("--batch-size", type=int, default=100)
    arguments = parser.parse_args()
    main(arguments.examples, arguments.epochs, arguments.batch_size)
