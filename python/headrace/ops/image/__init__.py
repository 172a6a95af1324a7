"""Operations on images (pixels of shape (height, width, channels)) or batches of images."""
