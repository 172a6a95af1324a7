"""TensorFlow's checkpoint format, V2: a tensor bundle of one index file and its data files.

`PREFIX.index` is a sorted table of names and of the place of each tensor;
`PREFIX.data-00000-of-00001` is the tensors' elements one after another, little-endian, rows first.

Source: `tensorflow/core/util/tensor_bundle/tensor_bundle.h` of TensorFlow 1.15.
"""

from headrace.tf1.tensor_bundle.reader import BundleReader
from headrace.tf1.tensor_bundle.writer import write_bundle

__all__ = ["BundleReader", "write_bundle"]
