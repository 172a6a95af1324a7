"""The charts and the table of docs/performance.md, from the tables of benchmarks/RESULTS.md."""

import pytest
from tools.docs import benchmark_results, rates

SUMMARY = """
## Everyday work

| | a pipeline, a second | loop by hand | a pipeline ÷ this | its µs | best library \
| a pipeline ÷ this | ÷ Grain |
|---|--:|---|--:|--:|---|--:|--:|
| W8, photos | 659 | OpenCV | 1.3 | 2,065 | SPDL | 0.97 | |
| W10, Parquet, Arrow strings | 2,015 | pyarrow | 1.10 | 3 | polars | 3.0 | 2 |
| W10, strings as `str` | 1,634 | | 0.89 | | | | |
| W14, arrays | 1,000 | | | | | | |
"""
ALONE = """
### W10. Rows: shuffle

| | rows/s | spread | of limit | headrace ÷ this |
|---|--:|--:|--:|--:|
| limit of the machine | 9,000 | 1% | 100% | 0.22 |
| headrace, Arrow strings | 2,000 | 1% | 22% | 1 |
| headrace, strings as `str` | 1,000 | 1% | 11% | 2 |
| PyTorch, two workers | 500 | 1% | 6% | 4 |
| pyarrow and NumPy by hand | 400 | 1% | 5% | 5 |
"""


def others_of(work):
    return [(other.name, other.text, other.is_by_hand) for other in work.others]


RESULTS = benchmark_results.RESULTS.read_text("utf-8")


def test_rates_page_matches_the_measured_figures():
    page = rates.page_of(benchmark_results.works(RESULTS))
    assert rates.PAGE.read_text("utf-8") == page, "run python -m tools.docs.rates"


def test_charts_name_each_workload_and_show_each_ratio():
    works = benchmark_results.works(RESULTS)
    for chart in (
        rates.all_rates(works, benchmark_results.first_batches(RESULTS)),
        rates.rates_in_short(works),
    ):
        axes = chart.axes[0]
        names = [label.get_text() for label in axes.get_yticklabels()]
        for work in works:
            if work.name != "W6":
                assert any(name.startswith(f"{work.name} ") for name in names), work.name
        assert len(axes.containers[0].patches) == len(names)


def test_rows_of_several_workloads_list_competitors_in_order():
    photos, arrow, objects = benchmark_results.works(SUMMARY)
    assert (photos.name, photos.title, photos.rate) == ("W8", "photos", "659")
    assert others_of(photos) == [("SPDL", "0.97", False), ("OpenCV", "1.3", True)]
    assert (arrow.title, objects.title) == ("Parquet, Arrow strings", "strings as `str`")
    assert others_of(arrow) == [
        ("pyarrow", "1.10", True),
        ("Grain", "2", False),
        ("polars", "3.0", False),
    ]
    # Another variant of a workload is compared with the programs of the row above.
    assert others_of(objects) == [("pyarrow", "0.89", True)]


def test_table_of_one_workload_replaces_its_rows():
    photos, rows = benchmark_results.works(SUMMARY + ALONE)
    assert photos.name == "W8"
    assert (rows.title, rows.rate) == ("Rows: shuffle, Arrow strings", "2,000")
    assert others_of(rows) == [("DataLoader", "4", False), ("pyarrow and NumPy", "5", True)]


def test_pipeline_is_compared_if_old_programs_are_also_measured():
    text = """
### W4. Lines: parse

| | lines/s | headrace ÷ this |
|---|--:|--:|
| headrace, a pipeline | 3,000 | 0.33 |
| headrace, the TensorFlow 1 program | 1,000 | 1 |
| polars | 2,910 | 0.34 |
| tf.data | 500 | 2 |
"""
    [work] = benchmark_results.works(text)
    assert (work.title, work.rate) == ("Lines: parse", "3,000")
    assert others_of(work) == [("polars", "1.03", False), ("tf.data", "6", False)]


def test_tables_list_all_libraries_and_faster_ones_by_factor():
    works = benchmark_results.works(SUMMARY)
    assert "| W8 photos | 659 | SPDL 0.97, OpenCV 1.3 |\n" in rates.table(works)
    assert rates.losses(works).splitlines()[2:] == [
        "| W10 strings as `str` | pyarrow | 0.89 |",
        "| W8 photos | SPDL | 0.97 |",
    ]


@pytest.mark.parametrize("count", [1, 5, 8])
def test_best_competitor_and_well_known_libraries_are_shown(count):
    names = ["ours", "x", "y", "Grain", "NumPy", "z", "tf.data", "DataLoader"][:count]
    others = [
        benchmark_results.Other(name, str(number), name == "NumPy")
        for number, name in enumerate(names, 1)
    ]
    shown = [other.name for other in rates.shown(others)]
    expected = ["ours", "Grain", "NumPy", "tf.data", "DataLoader"] if count == 8 else names
    assert shown == expected
