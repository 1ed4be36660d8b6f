"""Sphinx extension: a chapter that is downloaded says where its package is to be had.

In a clone of the book, in its JupyterLab and in the reader's browser the package is there. A chapter that
went out alone is opened somewhere else, and its first cell stops at the first import. So the copy that the
page's download button gives has one comment more, before that import: the setting `install_hint` of
_config.yml.
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from sphinx.errors import ConfigError

ALONE = "# Where aggbandit is missing, once: "


def amend(app: Any, exception: Exception | None) -> None:
    """Put the hint into every notebook that the site offers for download."""
    if exception is not None or app.builder.name != "html":
        return
    for copy in sorted(Path(app.outdir, "_sources").rglob("*.ipynb")):
        copy.write_text(hinted(copy.read_text(encoding="utf-8"), app.config.install_hint), encoding="utf-8")


def hinted(notebook: str, hint: str) -> str:
    """A notebook with the hint as the first line of its first code cell.

    Args:
        notebook: Its text.
        hint: What to type, on one line.

    Raises:
        ConfigError: if the hint is empty or has several lines.
    """
    if not hint.strip() or "\n" in hint:
        raise ConfigError(f"install_hint is {hint!r}; it must be one line that says how to get the package")
    content = json.loads(notebook)
    cells = (cell for cell in content["cells"] if cell["cell_type"] == "code")
    first = next(cells, None)
    if first is not None:
        first["source"] = [f"{ALONE}{hint}\n", *"".join(first["source"]).splitlines(keepends=True)]
    return json.dumps(content, indent=1, ensure_ascii=False) + "\n"


def setup(app: Any) -> dict[str, bool]:
    app.add_config_value("install_hint", "", "html")
    app.connect("build-finished", amend)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
