"""Image augmentation for training, with torchvision's names and rules."""
