"""Pipelines that are drawn from a number: any legal order of all stages, beside a plain model.

`programs.py` draws, `sources.py`, `steps.py` and `combinations.py` say what there is, `model.py`
says what each stage means in plain Python, and `checks.py` compares. A `Program` is data: printed,
it says which stages it has, and the number that it was drawn from makes it again.
"""
