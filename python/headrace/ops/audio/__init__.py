"""Audio: decoding files, resampling, spectrograms."""
