"""Trains on distorted images and saves checkpoints, like CIFAR-10's classic training program.

`cifar_eval.py` runs in another process and evaluates each new checkpoint.
"""

import argparse
from pathlib import Path

from cifar_input import distorted_batches, write_files
from cifar_model import initial_parameters, make_variables

import headrace.tf1 as tf
from headrace.demo.model import Adam, loss_and_gradients


def main(directory: Path, num_steps: int, checkpoint_every: int, num_examples: int) -> None:
    """Trains, and writes checkpoints to the directory of the data."""
    write_files(directory, num_examples)
    batch = distorted_batches(directory, batch_size=100, min_after_dequeue=num_examples // 4)
    variables = make_variables()
    global_step = tf.train.get_or_create_global_step()
    saver = tf.train.Saver()
    parameters = initial_parameters()
    optimizer = Adam(parameters, rate=1e-3)
    with tf.Session() as session:
        session.run([tf.global_variables_initializer(), tf.local_variables_initializer()])
        coord = tf.train.Coordinator()
        threads = tf.train.start_queue_runners(session, coord)
        try:
            for step in range(1, num_steps + 1):
                pictures, labels = session.run(batch)
                loss, gradients = loss_and_gradients(
                    parameters, pictures.reshape(len(pictures), -1), labels
                )
                optimizer.step(gradients)
                if step % checkpoint_every == 0 or step == num_steps:
                    for name, variable in variables.items():
                        variable.load(parameters[name], session)
                    global_step.load(step, session)
                    saver.save(session, str(directory / "model.ckpt"), global_step=step)
                    print(f"step {step}: loss {loss:.2f}", flush=True)
        finally:
            coord.request_stop()
        coord.join(threads)


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("directory", type=Path)
    parser.add_argument("--steps", type=int, default=1_000)
    parser.add_argument("--checkpoint-every", type=int, default=200)
    parser.add_argument("--examples", type=int, default=4_000)
    arguments = parser.parse_args()
    main(arguments.directory, arguments.steps, arguments.checkpoint_every, arguments.examples)
