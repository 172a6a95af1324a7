"""The workloads of the benchmarks, a file for each."""
