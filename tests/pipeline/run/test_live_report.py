"""The report of an iteration at the end of a notebook cell."""

import json

from tests.markup import Elements

import headrace as hr


def plus_one(example):
    return {"x": example["x"] + 1}


def test_iteration_shows_a_bar_for_each_stage():
    with iter(hr.arrays({"x": list(range(100))}).map(plus_one).batch(10)) as batches:
        next(batches)
        made = Elements(batches._repr_html_())
        assert "map(plus_one)" in made.texts
        assert ("class", "bar") in made.attributes
        assert any("epoch 0, 1 batch in" in text for text in made.texts)
    assert any("ended" in text for text in Elements(batches._repr_html_()).texts)


def test_iteration_that_has_not_started_has_no_stages():
    def numbers():
        yield {"x": 1}

    batches = iter(hr.iterable(numbers))
    assert "0 examples" in batches._repr_html_()
    assert "<table" not in batches._repr_html_()
    batches.close()


def test_report_is_json():
    with iter(hr.arrays({"x": list(range(100))}).shuffle(seed=1).batch(10)) as batches:
        next(batches)
        report = json.loads(json.dumps(batches._live_report()))
    assert (report["count"], report["unit"], report["is_open"]) == (1, "batches", True)
    assert report["memory_limit_bytes"] > 0
    assert report["stages"][0]["name"] == "arrays"
    assert all(0 <= stage["busy"] <= 1 for stage in report["stages"])


def test_function_names_cannot_become_markup():
    def function(example):
        return example

    function.__qualname__ = function.__name__ = "<script>alert(1)</script>"
    with iter(hr.arrays({"x": [1, 2]}).map(function)) as batches:
        next(batches)
        assert "script" not in Elements(batches._repr_html_()).tags
