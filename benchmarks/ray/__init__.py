"""Readers on Ray: what the way through Ray costs, and a simulation of more hosts than there are."""
