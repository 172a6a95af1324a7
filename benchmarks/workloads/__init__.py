"""The benchmark workloads, one file for each."""
