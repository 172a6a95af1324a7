"""Trains a network with PyTorch on batches of a pipeline.

There are no worker processes: threads of this process read, parse and shuffle, and batches become
tensors without a copy. Needs PyTorch, and the files that `digits.py` writes.
"""

import argparse
from pathlib import Path

import torch
from digits import load, records


def main(directory: Path, num_epochs: int, batch_size: int) -> None:
    """Trains on the digits in a directory."""
    train = records(directory).shuffle(seed=1).batch(batch_size, "drop").to_torch()
    torch.manual_seed(1)
    model = torch.nn.Sequential(
        torch.nn.Linear(784, 128), torch.nn.ReLU(), torch.nn.Linear(128, 10)
    )
    optimizer = torch.optim.Adam(model.parameters(), lr=2e-3)
    num_steps = 0
    for _ in range(num_epochs):
        for batch in train:
            optimizer.zero_grad()
            torch.nn.functional.cross_entropy(model(batch["image"]), batch["label"]).backward()
            optimizer.step()
            num_steps += 1
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
