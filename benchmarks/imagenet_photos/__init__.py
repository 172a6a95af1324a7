"""Photos as of ImageNet with the usual augmentation, measured beside other libraries (W8)."""
