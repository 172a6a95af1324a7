"""Decoding records: `Example`, CSV, raw bytes, JSON, `TensorProto`, compressed strings."""
