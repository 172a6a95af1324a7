"""headrace feeds training loops: queues, readers and batches on native threads, without TensorFlow.

`import headrace.tf1 as tf` has the names of TensorFlow 1.
"""

from headrace import errors
from headrace.engine import version as __version__

__all__ = ["__version__", "errors"]
