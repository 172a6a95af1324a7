"""Rows of Parquet files in shuffled batches, measured beside other libraries (W10)."""
