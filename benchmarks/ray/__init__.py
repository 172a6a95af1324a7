"""Readers on Ray: the cost of batches through Ray, and a simulation of many hosts."""
