"""Instruction counts of small programs: a regression shows without timing anything."""
