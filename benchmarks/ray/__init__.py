"""Readers on Ray: the cost of sending batches through Ray, and a simulation of many hosts."""
