"""Changes images for training, with the names and rules of torchvision."""
