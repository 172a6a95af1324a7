"""Runs a toy GRPO loop on the CPU: one process generates answers while another one trains on them.

The policy is a table of logits: one row for each prompt, one column for each answer. The reward is
1 for the right answer. The generator samples a group of answers for each prompt and appends them to
a journal, with the version of the weights that it used. The trainer reads whole groups, compares
each reward with the mean of its group, updates the policy and publishes the new weights. Groups
that are more than two versions old are dropped.

`python grpo.py DIRECTORY` takes a few seconds. Without a directory, it uses a temporary one.
"""

import argparse
import multiprocessing
import tempfile
import time
from pathlib import Path

import numpy as np

import headrace as hr

NUM_PROMPTS, NUM_ANSWERS, GROUP_SIZE = 8, 5, 16
PROMPTS_PER_STEP, NUM_STEPS, MAX_AGE = 4, 120, 2
LEARNING_RATE = 2.0


def probabilities(logits: np.ndarray) -> np.ndarray:
    """Returns the probability of each answer."""
    odds = np.exp(logits - logits.max(axis=-1, keepdims=True))
    return odds / odds.sum(axis=-1, keepdims=True)


def publish(directory: Path, version: int, logits: np.ndarray) -> None:
    """Replaces the weights that the generator uses."""
    unfinished = directory / "weights.new.npz"
    np.savez(unfinished, version=version, logits=logits)
    unfinished.replace(directory / "weights.npz")


def generate(directory: Path) -> None:
    """Samples answers with the latest weights until the trainer has finished."""
    random = np.random.default_rng(0)
    # A group's number is unique, so the answers of several rounds don't mix.
    group = 0
    with hr.Journal(directory / "rollouts") as journal:
        while not (directory / "finished").exists():
            with np.load(directory / "weights.npz") as weights:
                version, chances = int(weights["version"]), probabilities(weights["logits"])
            rows = []
            for prompt in random.permutation(NUM_PROMPTS)[:PROMPTS_PER_STEP]:
                answers = random.choice(NUM_ANSWERS, size=GROUP_SIZE, p=chances[prompt])
                rows += [
                    {
                        "group": group,
                        "prompt": int(prompt),
                        "answer": int(answer),
                        "reward": float(answer == prompt % NUM_ANSWERS),
                    }
                    for answer in answers
                ]
                group += 1
            journal.append(rows, version=version)
            time.sleep(0.02)  # A language model takes much longer.


def train(directory: Path) -> None:
    """Trains on groups of answers, and publishes new weights after each step."""
    logits = np.zeros((NUM_PROMPTS, NUM_ANSWERS))
    publish(directory, 0, logits)
    pipe = hr.journal(
        directory / "rollouts", group="group", group_size=GROUP_SIZE, max_age=MAX_AGE, poll_s=0.05
    ).batch(PROMPTS_PER_STEP)
    with iter(pipe) as batches:
        for step in range(1, NUM_STEPS + 1):
            batch = next(batches)
            rewards = batch["reward"]  # (groups, answers per group)
            spread = rewards.std(axis=1, keepdims=True) + 1e-6
            advantages = (rewards - rewards.mean(axis=1, keepdims=True)) / spread
            # The gradient of the log-probability of the chosen answer.
            gradient = -probabilities(logits[batch["prompt"]])
            np.put_along_axis(
                gradient,
                batch["answer"][..., None],
                np.take_along_axis(gradient, batch["answer"][..., None], -1) + 1,
                -1,
            )
            update = (advantages[..., None] * gradient).mean(axis=1)
            np.add.at(logits, batch["prompt"][:, 0], LEARNING_RATE * update)
            publish(directory, step, logits)
            batches.set_version(step)
            if step % 40 == 0:
                print(f"step {step}: mean reward {rewards.mean():.2f}")
        dropped = batches.statistics().stages[0].too_old
    print(f"dropped {dropped} answers that were more than {MAX_AGE} versions old")


def main(directory: Path) -> None:
    """Runs the generator and the trainer."""
    publish(directory, 0, np.zeros((NUM_PROMPTS, NUM_ANSWERS)))
    generator = multiprocessing.get_context("spawn").Process(target=generate, args=(directory,))
    generator.start()
    try:
        train(directory)
    finally:
        (directory / "finished").touch()
        generator.join()


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("directory", type=Path, nargs="?")
    arguments = parser.parse_args()
    if arguments.directory is not None:
        main(arguments.directory)
    else:
        with tempfile.TemporaryDirectory() as directory:
            main(Path(directory))
