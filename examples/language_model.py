"""Trains a small PyTorch language model on JSON lines, packed into full rows.

The model predicts the next byte. `segment_ids` contains the number of each byte's document, so that
attention stays within a document, and no byte predicts the first byte of the next document. Needs
PyTorch.
"""

import json
import tempfile
from pathlib import Path

import numpy as np
import torch

import headrace as hr

WORDS = ("queue", "thread", "batch", "record", "shard", "epoch", "window", "reader")
LENGTH = 128


def write(path: Path, num_documents: int) -> None:
    """Writes documents of random words, one JSON object per line."""
    rng = np.random.default_rng(1)
    with path.open("w") as file:
        for _ in range(num_documents):
            text = " ".join(rng.choice(WORDS, rng.integers(3, 20)))
            file.write(json.dumps({"text": text[: LENGTH - 1] + "\n"}) + "\n")


@hr.native
def tokenized(example: dict[str, hr.Tensor]) -> dict[str, hr.Tensor]:
    """Returns the bytes of a text as tokens: int64, (bytes,), 0 to 255."""
    return {"tokens": hr.ops.cast(hr.ops.decode_raw(example["text"], "uint8"), "int64")}


class Model(torch.nn.Module):
    """A layer of causal attention within each document."""

    def __init__(self, width: int = 32) -> None:
        super().__init__()
        self.token = torch.nn.Embedding(256, width)
        self.position = torch.nn.Embedding(LENGTH, width)
        self.layer = torch.nn.TransformerEncoderLayer(width, 1, 64, 0.0, batch_first=True)
        self.scores = torch.nn.Linear(width, 256)

    def forward(self, batch: dict[str, torch.Tensor]) -> torch.Tensor:
        """Returns the scores of each next byte: float32, (batch, length, 256)."""
        segments = batch["segment_ids"]
        is_hidden = (segments[:, :, None] != segments[:, None, :]) | torch.ones(
            LENGTH, LENGTH, dtype=torch.bool
        ).triu(1)
        x = self.token(batch["tokens"]) + self.position(batch["positions"])
        return self.scores(self.layer(x, src_mask=is_hidden))


def main(path: Path, num_epochs: int) -> None:
    """Trains on the documents in a file."""
    documents = hr.json_lines(path, {"text": str}).shuffle(seed=1).map(tokenized)
    train = documents.pack(LENGTH, "tokens").batch(16).to_torch()
    torch.manual_seed(1)
    model = Model()
    optimizer = torch.optim.Adam(model.parameters(), lr=3e-3)
    for epoch in range(num_epochs):
        losses, filled = [], []
        for batch in train:
            segments = batch["segment_ids"]
            is_counted = (segments[:, 1:] == segments[:, :-1]) & (segments[:, 1:] > 0)
            loss = torch.nn.functional.cross_entropy(
                model(batch)[:, :-1][is_counted], batch["tokens"][:, 1:][is_counted]
            )
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
            losses.append(loss.item())
            filled.append((segments > 0).float().mean().item())
        print(f"epoch {epoch}: {np.mean(losses):.2f} nats a byte, {np.mean(filled):.0%} filled")


if __name__ == "__main__":
    torch.set_num_threads(2)
    with tempfile.TemporaryDirectory() as folder:
        write(Path(folder) / "train.jsonl", 300)
        main(Path(folder) / "train.jsonl", num_epochs=4)
