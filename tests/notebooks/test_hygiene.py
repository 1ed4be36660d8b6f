"""The committed chapters are whole, clean, small, and compared by nbval to the last cell."""

from __future__ import annotations

import re
import subprocess
from pathlib import Path

import nbformat
import pytest
import yaml
from cleanliness import check
from execute import BOOK
from settle import KERNELSPEC, LANGUAGE

MAX_BYTES = 1_000_000

# Cells whose outputs nbval may leave alone, by chapter: how many. Each has its reason beside it.
IGNORED_OUTPUTS: dict[str, int] = {}


def code_cells(chapter: Path) -> list[nbformat.NotebookNode]:
    notebook = nbformat.read(chapter, as_version=4)
    return [cell for cell in notebook.cells if cell.cell_type == "code"]


def test_is_clean_of_noise(chapter: Path) -> None:
    try:
        check(chapter)
    except subprocess.CalledProcessError as error:
        pytest.fail(f"{chapter.name}: run `make execute`; nb-clean says: {error.stdout}{error.stderr}")


def test_metadata_name_no_machine(chapter: Path) -> None:
    metadata = nbformat.read(chapter, as_version=4).metadata
    assert metadata["kernelspec"] == KERNELSPEC
    assert metadata["language_info"] == LANGUAGE
    assert set(metadata) <= {"kernelspec", "language_info", "widgets"}


def test_is_valid_and_small(chapter: Path) -> None:
    nbformat.validate(nbformat.read(chapter, as_version=4))
    assert chapter.stat().st_size < MAX_BYTES, f"{chapter.name} has {chapter.stat().st_size} bytes"


def test_ran_from_top_to_bottom(chapter: Path) -> None:
    counts = [cell.execution_count for cell in code_cells(chapter)]
    assert counts == list(range(1, len(counts) + 1)), f"{chapter.name}: run `make execute`"


def test_shows_outputs_and_no_error(chapter: Path) -> None:
    outputs = [output for cell in code_cells(chapter) for output in cell.outputs]
    assert outputs, f"{chapter.name} shows nothing"
    for output in outputs:
        assert output.output_type != "error"
        assert output.get("name") != "stderr", f"{chapter.name} shows a warning: {output.text[:200]}"


def test_no_formula_is_blank(chapter: Path) -> None:
    """Blanks are text (&emsp;): at a formula of blanks alone a screen reader stops and says nothing."""
    texts = [
        cell.source for cell in nbformat.read(chapter, as_version=4).cells if cell.cell_type == "markdown"
    ]
    blank = r"\$(?:\\q?quad|\\[,;:!])(?:\\q?quad|\\[ ,;:!]|[\s~{}])*\$"
    assert [found for text in texts for found in re.findall(blank, text)] == []


def test_ignored_outputs_are_the_ones_agreed_on(chapter: Path) -> None:
    tagged = sum("nbval-ignore-output" in cell.metadata.get("tags", []) for cell in code_cells(chapter))
    assert tagged == IGNORED_OUTPUTS.get(chapter.name, 0)
    for cell in code_cells(chapter):
        assert not {"nbval-skip", "raises-exception"} & set(cell.metadata.get("tags", []))


def test_every_notebook_is_in_the_table_of_contents() -> None:
    listed = {path.name for path in BOOK.glob("*.ipynb")}
    contents = yaml.safe_dump(yaml.safe_load((BOOK / "_toc.yml").read_text()))
    assert not [name for name in listed if Path(name).stem not in contents]
