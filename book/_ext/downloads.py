"""Sphinx extension: a chapter that leaves the book says where its package is to be had.

In a clone of the book, in its JupyterLab and in the reader's browser the package is there. A chapter that
went out alone is opened somewhere else, and its first cell stops at the first import. So the copy that the
page's download button gives has one comment more, before that import. Where the book has a public repository
(`repository` in _config.yml) there is a second copy of each chapter, for Google Colab, in the folder `colab`
of the site: it begins with a cell that installs the package, and its text is plain Markdown. Colab opens
notebooks of GitHub alone, so the workflow that publishes the site puts that folder on a branch of the same
name.
"""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import Any

from repository import COPIES, Repository, repository

sys.path.append(str(Path(__file__).resolve().parents[1] / "_tools"))
from live_contents import Words, live_chapters, words_of_the_book
from plain_contents import plain_notebook

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
    site = Path(app.outdir)
    for copy in sorted((site / "_sources").rglob("*.ipynb")):
        copy.write_text(hinted(copy.read_text(encoding="utf-8"), hint(public)), encoding="utf-8")
    if public is not None and public.colab(""):
        (site / COPIES).mkdir(exist_ok=True)
        words = words_of_the_book()
        for chapter in live_chapters():
            text = installing(chapter.read_text(encoding="utf-8"), public, words)
            (site / COPIES / chapter.name).write_text(text, encoding="utf-8")


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


def installing(notebook: str, public: Repository, words: Words) -> str:
    """The text of a notebook as Colab needs it: in plain Markdown, and it installs the package first."""
    content = plain_notebook(json.loads(notebook), words)
    source = INSTALLING.format(requirement=public.requirement("fast", "figures", "sweep"))
    first = {"cell_type": "code", "execution_count": None, "id": "install", "metadata": {}, "outputs": []}
    content["cells"].insert(0, first | {"source": source.splitlines(keepends=True)})
    return json.dumps(content, indent=1, ensure_ascii=False) + "\n"


def setup(app: Any) -> dict[str, bool]:
    app.connect("build-finished", amend)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
