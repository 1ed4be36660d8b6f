"""What a student gets back, and what a person who marks sees: nothing in them runs.

A feedback page is plain HTML in which everything a student wrote is escaped. The copy of a submission for
nbgrader's form grader shows what its cells printed and drew in the jail, not what the student's file says
they did; HTML in its Markdown is cleaned.
"""

from __future__ import annotations

import base64
import html
import re
from collections.abc import Mapping
from pathlib import Path

from nbconvert.preprocessors.sanitize import SanitizeHTML

from classroom.exports import Entry, Result
from classroom.marking import Mark, Reply
from classroom.notebooks import Cell, Notebook, source, with_source, write

LONGEST = 100_000  # characters of a text that are shown
MATH = re.compile(r"\$\$.+?\$\$|\$[^$\n]+\$", re.DOTALL)

PAGE = """<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width">
<meta http-equiv="Content-Security-Policy" content="default-src 'none'; style-src 'unsafe-inline'">
<title>{title}</title>
<style>
body {{ font: 1rem/1.5 system-ui, sans-serif; max-width: 48rem; margin: 2rem auto; padding: 0 1rem }}
table {{ border-collapse: collapse; width: 100% }}
th, td {{ text-align: left; vertical-align: top; padding: .4rem .6rem; border-bottom: 1px solid #ccc }}
td:nth-child(1) {{ min-width: 9rem }}
td:nth-child(2), td:nth-child(3) {{ white-space: nowrap }}
pre {{ white-space: pre-wrap; overflow-wrap: anywhere; margin: 0; font-size: .9rem }}
</style>
</head>
<body>
<h1>{title}</h1>
<p>{summary}</p>
<table>
<thead><tr><th scope="col">Question</th><th scope="col">Points</th><th scope="col">Status</th>
<th scope="col">Remarks</th></tr></thead>
<tbody>
{rows}
</tbody>
</table>
{cells}
</body>
</html>
"""
ROW = "<tr><td>{question}</td><td>{points}</td><td>{status}</td><td><pre>{note}</pre></td></tr>"


def page(result: Result) -> str:
    """The feedback page of one submission."""
    rows = [
        ROW.format(
            question=html.escape(result.titles[mark.question]),
            points=f"{shown(result.entries[mark.question].points)} of {mark.maximum:g}",
            status="marked" if is_marked(mark, result.entries[mark.question]) else mark.status,
            note=html.escape("\n".join(filter(None, [mark.note, result.entries[mark.question].comment]))),
        )
        for mark in result.record.marks
    ]
    return PAGE.format(
        title=html.escape(f"{result.record.set}: {result.student.name or result.student.id}"),
        summary=html.escape(summary(result)),
        rows="\n".join(rows),
        cells=unfinished(result),
    )


def is_marked(mark: Mark, entry: Entry) -> bool:
    """Whether a person has marked this answer."""
    return mark.status == "by hand" and entry.points is not None and not entry.earlier


def summary(result: Result) -> str:
    """The total in a sentence or three."""
    parts = [f"{shown(result.total)} of {result.maximum:g} points."]
    if result.waiting:
        parts.append(f"Not final: {result.waiting} still to be marked by hand.")
    if result.open:
        parts.append(f"Not final: {result.open}.")
    if result.days_late:
        parts.append(f"Handed in {result.days_late} days late; {result.penalty:.0%} is taken off.")
    if result.record.note:
        parts.append(result.record.note[:1].upper() + result.record.note[1:] + ".")
    return " ".join(parts)


def unfinished(result: Result) -> str:
    """The code cells that did not run to their end."""
    lines = [
        f"{name[:1].upper()}{name[1:]}: {outcome}. {text}".strip()
        for name, outcome, text in result.record.cells
        if outcome != "done"
    ]
    text = html.escape("\n".join(lines))
    return f"<h2>Cells that did not run to their end</h2>\n<pre>{text}</pre>" if lines else ""


def shown(points: float | None) -> str:
    return "–" if points is None else f"{points:g}"


def write_copy(
    notebook: Notebook, blank: Notebook, rubrics: Mapping[str, str], runs: Mapping[int, Reply], path: Path
) -> None:
    """Write the copy of a submission that a person marks.

    Args:
        notebook: what was submitted.
        blank: what was released, which says what the questions are.
        rubrics: how questions are marked, shown below the answers.
        runs: what each code cell did.
        path: where the copy goes.
    """
    entries = {
        cell["metadata"]["nbgrader"]["grade_id"]: cell["metadata"]["nbgrader"]
        for cell in blank["cells"]
        if "nbgrader" in cell["metadata"]
    }
    cells, code = [], 0
    for cell in notebook["cells"]:
        cells.append(copied(cell, entries, runs.get(code, Reply("not run"))))
        name = cells[-1]["metadata"].get("nbgrader", {}).get("grade_id")
        if name in rubrics:
            cells.append(with_source({"cell_type": "markdown", "metadata": {}}, rubrics[name]))
        code += cell["cell_type"] == "code"
    metadata = {"kernelspec": blank["metadata"].get("kernelspec", {})}
    write({"cells": cells, "metadata": metadata, "nbformat": 4, "nbformat_minor": 4}, path)


def copied(cell: Cell, entries: dict[str, dict[str, object]], run: Reply) -> Cell:
    """A cell as it is shown to a person; the entry of each question is given once only."""
    metadata = cell.get("metadata")
    claimed = metadata.get("nbgrader") if isinstance(metadata, dict) else None
    name = claimed.get("grade_id") if isinstance(claimed, dict) else None
    entry = entries.pop(name, None) if isinstance(name, str) else None
    made: Cell = {"cell_type": cell["cell_type"], "metadata": {"nbgrader": entry} if entry else {}}
    if cell["cell_type"] == "code":
        return with_source(made, source(cell)) | {"execution_count": None, "outputs": outputs(run)}
    return with_source(made, cleaned(source(cell)[:LONGEST]))


def cleaned(text: str) -> str:
    """Markdown without HTML that could do anything.

    The relations of a formula are written as TeX beforehand, and its `&`, which cleaning escapes and the page
    escapes once more, are put back afterwards: they make entities, never tags.
    """
    as_tex = MATH.sub(lambda found: found[0].replace("<", r"\lt ").replace(">", r"\gt "), text)
    safe = SanitizeHTML().sanitize_html_tags(as_tex)
    return MATH.sub(lambda found: found[0].replace("&amp;", "&"), safe)


def outputs(run: Reply) -> list[dict[str, object]]:
    """What a cell printed, how it ended, and what it drew."""
    text = run.text if run.outcome == "done" else f"{run.outcome}: {run.text}"
    texts = [{"output_type": "stream", "name": "stdout", "text": text}] if text else []
    pictures = [
        {"output_type": "display_data", "metadata": {}, "data": {"image/png": base64.b64encode(png).decode()}}
        for png in run.pictures
    ]
    return [*texts, *pictures]
