"""Trains on data in variables: the data set is fed once, through the variables' initializers.

The graph stays small, because it contains placeholders instead of the data. The variables are not
trainable, so no optimizer changes them. They are in no collection, so no saver writes them, and
`global_variables_initializer` does not set them.
"""

import argparse

from digits import Learner, load

import headrace.tf1 as tf


def main(num_examples: int, num_epochs: int, batch_size: int) -> None:
    """Trains on digits in variables of the graph."""
    (images, labels), test = load(num_examples)
    with tf.name_scope("input"):
        image_values = tf.placeholder(tf.float32, images.shape)
        label_values = tf.placeholder(tf.int64, labels.shape)
        all_images = tf.Variable(image_values, trainable=False, collections=[], name="images")
        all_labels = tf.Variable(label_values, trainable=False, collections=[], name="labels")
        pair = tf.train.slice_input_producer(
            [all_images, all_labels], num_epochs=num_epochs, seed=1
        )
        batch = tf.train.batch(pair, batch_size, num_threads=2, allow_smaller_final_batch=True)

    learner = Learner()
    num_seen = 0
    with tf.Session() as session:
        session.run([tf.global_variables_initializer(), tf.local_variables_initializer()])
        session.run(all_images.initializer, {image_values: images})
        session.run(all_labels.initializer, {label_values: labels})
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
