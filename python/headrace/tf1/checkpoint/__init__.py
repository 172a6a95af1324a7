"""Session checkpoints, from which a program can continue in another process.

A checkpoint contains everything that a session keeps between two runs: queue elements, reader
positions, variables (including epoch counters) and the states of random number generators.

The file has the TFRecord format, so each record has a checksum. The first record is a JSON object
with the version, the resources of the graph and the list of saved resources. The records of each
saved resource follow, written by the engine, with an empty record after each resource. The last
record is `end`.
"""

from headrace.tf1.checkpoint.checkpoint import restore, save

__all__ = ["restore", "save"]
