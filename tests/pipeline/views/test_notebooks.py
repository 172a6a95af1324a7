"""Pipelines in a real notebook. Needs nbclient, ipykernel and ipywidgets."""

import pytest

nbformat = pytest.importorskip("nbformat")
nbclient = pytest.importorskip("nbclient")
pytest.importorskip("ipykernel")

CELLS = (
    "import numpy as np, headrace as hr",
    "pipe = hr.arrays({'image': np.zeros((20, 16, 16, 3), np.uint8)}).batch(4)\npipe",
    "pipe.show(1)",
    "list(pipe.progress(description='train'))[-1]['image'].shape",
    "pipe.stats('image')",
    "batches = iter(pipe)\nfirst = next(batches)\nbatches",
    "batches.close()",
)


@pytest.fixture(scope="module")
def outputs():
    cells = [nbformat.v4.new_code_cell(cell) for cell in CELLS]
    metadata = {"kernelspec": {"name": "python3", "language": "python", "display_name": "Python"}}
    notebook = nbformat.v4.new_notebook(cells=cells, metadata=metadata)
    nbclient.NotebookClient(notebook, timeout=50).execute()
    return [
        {kind: text for output in cell.outputs for kind, text in output.get("data", {}).items()}
        for cell in notebook.cells
    ]


@pytest.mark.parametrize(
    ("cell", "text"),
    [
        (1, "5 batches"),
        (2, "data:image/png;base64,"),
        (4, "standard deviation"),
        (5, 'class="bar"'),
    ],
)
def test_cell_shows_html(outputs, cell, text):
    assert text in outputs[cell]["text/html"]


def test_progress_is_a_widget(outputs):
    pytest.importorskip("ipywidgets")
    assert "application/vnd.jupyter.widget-view+json" in outputs[3]
    assert outputs[3]["text/plain"].endswith("(4, 16, 16, 3)")
