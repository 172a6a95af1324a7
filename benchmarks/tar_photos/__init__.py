"""Small pictures in tar files, in shuffled batches, measured beside other libraries (W12)."""
