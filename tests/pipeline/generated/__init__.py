"""Pipelines generated from a number, with stages in any valid order, compared with a model.

`programs.py` draws programs, from the sources and stages in `sources.py`, `steps.py` and
`groups.py`. `model.py` implements each stage in simple Python, and `checks.py` compares. A
printed `Program` shows its stages. The same number always gives the same program.
"""
