"""Mixtures whose parts and weights may change."""
