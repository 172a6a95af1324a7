"""Instruction counts of three small programs: a regression shows without timing anything."""
