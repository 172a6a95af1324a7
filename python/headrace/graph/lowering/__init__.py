"""Lowering: from operations of a graph to programs of the native engine."""
