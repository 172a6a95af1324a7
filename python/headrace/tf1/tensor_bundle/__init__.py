"""TensorFlow's V2 checkpoint format: a tensor bundle, with an index file and data files.

`PREFIX.index` is a sorted table that contains the name and position of each tensor.
`PREFIX.data-00000-of-00001` contains the elements of all tensors, one tensor after another,
little-endian and in row-major order.

Source: `tensorflow/core/util/tensor_bundle/tensor_bundle.h` in TensorFlow 1.15.
"""

from headrace.tf1.tensor_bundle.reader import BundleReader
from headrace.tf1.tensor_bundle.writer import write_bundle

__all__ = ["BundleReader", "write_bundle"]
