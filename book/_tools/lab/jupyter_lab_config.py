"""The settings of the JupyterLab that opens the chapters: nobody's own."""

import sys
import warnings
from pathlib import Path

LAB = Path(__file__).resolve().parent
sys.path.insert(0, str(LAB.parent))

from contents import settle_chapter, words  # noqa: E402  (the path is set just above)
from execute import BOOK  # noqa: E402

# The server says so of any hook at all: it looks whether there is one when it has already set ours.
warnings.filterwarnings("ignore", message="Overriding existing pre_save_hook")

FOR_AUTHORS = ("accessibility", "bench", "evidence", "jupyterhub", "memory", "teaching", "what-is-new")

c = get_config()  # noqa: F821  (Jupyter provides it)
c.ServerApp.root_dir = str(BOOK)
c.LabApp.app_settings_dir = str(LAB)
c.LabApp.extra_labextensions_path = [str(LAB.parent / "extensions")]
c.ServerApp.tornado_settings = {"page_config_data": words()}  # for our extension
c.FileContentsManager.pre_save_hook = settle_chapter
c.ContentsManager.hide_globs = ["_*", "*.bib", "__pycache__"]  # what builds the book
c.ContentsManager.hide_globs += [f"{page}.md" for page in FOR_AUTHORS]
