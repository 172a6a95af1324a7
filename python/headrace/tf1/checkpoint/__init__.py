"""Checkpoints of sessions, from which a program continues in another process.

A checkpoint holds everything that a session keeps between two runs: the elements of its queues, the
positions of its readers, its variables, including the counters of epochs, and the state of its
random numbers.

The file has the form of TFRecords, so each record has a checksum. The first record is a JSON
object: the version, the resources of the graph, and the list of saved ones. Then come the records
of each saved resource, written by the engine, followed by an empty record. The last record is
`end`.
"""

from headrace.tf1.checkpoint.checkpoint import restore, save

__all__ = ["restore", "save"]
