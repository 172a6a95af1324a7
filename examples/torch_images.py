"""Trains a PyTorch model on a folder of JPEG files, with one directory per class.

The engine decodes, crops and flips the images on all cores, without worker processes and without
Python. Needs PyTorch.
"""

import tempfile
from pathlib import Path

import numpy as np
import torch

import headrace as hr


@hr.native
def encoded(example: dict[str, hr.Tensor]) -> dict[str, hr.Tensor]:
    """Returns an image as a JPEG file."""
    return {"data": hr.ops.encode_jpeg(example["image"])}


def write(root: Path, num_pictures: int) -> None:
    """Writes images that are mainly red, green or blue."""
    rng = np.random.default_rng(1)
    for number in range(num_pictures):
        name = ("red", "green", "blue")[number % 3]
        pixels = rng.integers(0, 160, (48, 64, 3)).astype(np.uint8)
        pixels[:, :, number % 3] += 80
        path = root / name / f"{number:04}.jpg"
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(encoded({"image": pixels})["data"])


@hr.native
def augmented(example: dict[str, hr.Tensor]) -> dict[str, hr.Tensor]:
    """Decodes, crops and flips an image: float32, (3, 32, 32), 0 to 1."""
    image = hr.ops.decode_jpeg(example["data"], channels=3)
    image = hr.ops.random_flip_left_right(hr.ops.random_crop(image, [32, 32, 3]))
    scaled = hr.ops.cast(hr.ops.transpose(image, [2, 0, 1]), "float32") / 255
    return {"image": scaled, "label": example["label"]}


def main(root: Path, num_epochs: int) -> None:
    """Trains on the images in a folder."""
    device = "cuda" if torch.cuda.is_available() else "cpu"
    pictures = hr.image_folder(root).shuffle(seed=1).map(augmented, seed=2)
    train = pictures.batch(32, "drop").to_torch(device)
    torch.manual_seed(1)
    model = torch.nn.Sequential(
        *(torch.nn.Conv2d(3, 8, 5, stride=2), torch.nn.ReLU(), torch.nn.AdaptiveAvgPool2d(1)),
        *(torch.nn.Flatten(), torch.nn.Linear(8, 3)),
    ).to(device)
    optimizer = torch.optim.Adam(model.parameters(), lr=0.02)
    for epoch in range(num_epochs):
        for batch in train:  # Each epoch has a different order and different crops.
            scores = model(batch["image"])
            loss = torch.nn.functional.cross_entropy(scores, batch["label"])
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
        accuracy = (scores.argmax(1) == batch["label"]).float().mean()
        print(f"epoch {epoch}: loss {loss:.3f}, accuracy {accuracy:.2f}")


if __name__ == "__main__":
    with tempfile.TemporaryDirectory() as folder:
        write(Path(folder), 480)
        main(Path(folder), num_epochs=3)
