"""Sphinx extension: a chapter that leaves the book says where its package is to be had.

In a clone of the book, in its JupyterLab and in the reader's browser the package is there. A chapter that
went out alone is opened somewhere else, and its first cell stops at the first import. So the copy that the
page's download button gives has one comment more, before that import. Where the book has a public repository
(`repository` in _config.yml) there is a second copy of each chapter, for Google Colab, in the folder `colab`
of the site: it begins with a cell that installs the package. Colab opens notebooks of GitHub alone, so the
workflow that publishes the site puts that folder on a branch of the same name.
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from launch import is_chapter
from repository import COPIES, Repository, repository

ALONE = "# Where aggbandit is missing, once: "
IN_A_CLONE = "pip install -e '.[student]' in a clone of the book"
# Colab has NumPy, SciPy and Numba in versions that do, and its widgets are of the generation before ours.
INSTALLING = """# Once a session: the package of the book, and widgets that move.
%pip install --quiet "{requirement}" gymnasium
from google.colab import output

output.enable_custom_widget_manager()"""


def amend(app: Any, exception: Exception | None) -> None:
    """Put the hint into every notebook that the site offers for download, and write Colab's copies."""
    if exception is not None or app.builder.name != "html":
        return
    public = repository(app.config)
    for copy in sorted(Path(app.outdir, "_sources").rglob("*.ipynb")):
        text = copy.read_text(encoding="utf-8")
        copy.write_text(hinted(text, hint(public)), encoding="utf-8")
        if public is not None and public.colab(copy.stem) and is_chapter(app, copy.stem):
            folder = Path(app.outdir, COPIES)
            folder.mkdir(exist_ok=True)
            (folder / copy.name).write_text(installing(text, public), encoding="utf-8")


def hint(public: Repository | None) -> str:
    """What to type where the package is missing, on one line."""
    return IN_A_CLONE if public is None else f'%pip install "{public.requirement("student")}"'


def hinted(notebook: str, hint: str) -> str:
    """The text of a notebook, with the hint as the first line of its first code cell."""
    content = json.loads(notebook)
    cells = (cell for cell in content["cells"] if cell["cell_type"] == "code")
    first = next(cells, None)
    if first is not None:
        first["source"] = [f"{ALONE}{hint}\n", *"".join(first["source"]).splitlines(keepends=True)]
    return json.dumps(content, indent=1, ensure_ascii=False) + "\n"


def installing(notebook: str, public: Repository) -> str:
    """The text of a notebook that begins by installing the package, the way Colab needs it."""
    content = json.loads(notebook)
    source = INSTALLING.format(requirement=public.requirement("fast", "figures", "sweep"))
    first = {"cell_type": "code", "execution_count": None, "id": "install", "metadata": {}, "outputs": []}
    content["cells"].insert(0, first | {"source": source.splitlines(keepends=True)})
    return json.dumps(content, indent=1, ensure_ascii=False) + "\n"


def setup(app: Any) -> dict[str, bool]:
    app.connect("build-finished", amend)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
