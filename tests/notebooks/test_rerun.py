"""A chapter that is run again is compared beyond what nbval looks at: pictures, and the widgets' frames."""

from __future__ import annotations

import base64
import io
import subprocess
import sys
import xml.etree.ElementTree as ElementTree
from pathlib import Path

import nbformat
import nbformat.v4 as nbf
import pytest
from comparison import WIDGET_STATE
from execute import deterministic_kernels, execute_all
from PIL import Image, ImageOps

HERE = Path(__file__).parent
CELLS = (
    "print('one')\n'two'",
    "import matplotlib.pyplot as plt\nplt.plot([1, 3, 2])\nplt.show()",
    "import ipywidgets\nipywidgets.HTML('three')",
)
TESTS = ["Cell 0", "Cell 1", "Cell 2", "Pictures and widgets"]


def damaged(notebook: nbformat.NotebookNode) -> nbformat.NotebookNode:
    """The executed notebook with another text, its picture upside down, and another frame in its widget."""
    notebook.cells[0].outputs[0].text = "four\n"
    (shown,) = (o.data for o in notebook.cells[1].outputs if "image/png" in o.get("data", {}))
    file = io.BytesIO()
    with Image.open(io.BytesIO(base64.b64decode(shown["image/png"]))) as image:
        ImageOps.flip(image).save(file, "PNG")
    shown["image/png"] = base64.b64encode(file.getvalue()).decode()
    models = notebook.metadata["widgets"][WIDGET_STATE]["state"].values()
    (frame,) = (model["state"] for model in models if model["model_name"] == "HTMLModel")
    frame["value"] = "five"
    return notebook


@pytest.fixture(scope="module")
def complaints(tmp_path_factory: pytest.TempPathFactory) -> tuple[dict[str, str], dict[str, str]]:
    """By test, what pytest says against an executed chapter and against its damaged copy; '' is nothing."""
    folder = tmp_path_factory.mktemp("chapters")
    source, whole, copy = (folder / f"{name}.ipynb" for name in ("source", "whole", "damaged"))
    cells = [nbf.new_code_cell(cell, id=f"cell-{index}") for index, cell in enumerate(CELLS)]
    nbformat.write(nbf.new_notebook(cells=cells), source)
    (outcome,) = execute_all([(source, whole)], report=lambda outcome: None)
    assert outcome.error is None
    nbformat.write(damaged(nbformat.read(whole, as_version=4)), copy)

    report = folder / "report.xml"
    options = ["-p", "no:cacheprovider", "--nbval", "--nbval-current-env", f"--junitxml={report}"]
    paths = [HERE / "test_comparison.py", whole, copy]  # the first for its conftest, which run.py has as well
    with deterministic_kernels():
        subprocess.run([sys.executable, "-m", "pytest", *options, *paths], capture_output=True, check=False)
    tests = list(ElementTree.parse(report).getroot().iter("testcase"))[-2 * len(TESTS) :]
    assert [test.get("name") for test in tests] == 2 * TESTS
    said = ["".join(failure.get("message", "") for failure in test) for test in tests]
    return dict(zip(TESTS, said, strict=False)), dict(zip(TESTS, said[len(TESTS) :], strict=True))


def test_a_chapter_as_it_was_executed_passes(complaints: tuple[dict[str, str], dict[str, str]]) -> None:
    assert complaints[0] == dict.fromkeys(TESTS, "")


def test_nbval_sees_another_text_and_the_comparison_everything(
    complaints: tuple[dict[str, str], dict[str, str]],
) -> None:
    said = complaints[1]
    assert {test for test in TESTS if said[test]} == {TESTS[0], TESTS[-1]}
    for place in (
        "cell 1, output 0 text",
        "cell 2, output 0 data image/png: picture differs",
        "widget state",
    ):
        assert place in said[TESTS[-1]]
