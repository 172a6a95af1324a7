"""Lowering, which compiles the operations of a graph to native programs."""
