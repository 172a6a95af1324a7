"""Checkpoints of sessions: a program continues in another process where it stood.

A checkpoint holds all that a session keeps between two runs: the elements of its queues, where its
readers are, its variables, the counters of epochs among them, and its random numbers.

The file has the form of TFRecords, so each record has a checksum. The first record is a JSON
object: the version, what the resources of the graph are, and which of them follow. Then come the
records of each of those, written by the engine, and an empty record behind them. The last record is
`end`.
"""

from headrace.tf1.checkpoint.checkpoint import restore, save

__all__ = ["restore", "save"]
