"""Changes of pictures for training, under the names and with the rules of torchvision."""
