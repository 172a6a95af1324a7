"""Sound: decoding files, resampling, spectrograms."""
