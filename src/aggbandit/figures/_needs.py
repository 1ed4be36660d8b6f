"""What drawing needs besides the core, looked for before anything of it is imported."""

from __future__ import annotations

import logging
import sys
from importlib.util import find_spec

_LIBRARIES = {
    "matplotlib": "matplotlib",
    "ipywidgets": "ipywidgets",
    "anywidget": "anywidget",
    "PIL": "pillow",
}


def _check() -> None:
    missing = [name for name in _LIBRARIES if find_spec(name) is None]
    if missing:
        raise ModuleNotFoundError(
            f"aggbandit.figures needs {', '.join(_LIBRARIES[name] for name in missing)}: "
            "pip install 'aggbandit[figures]'",
            name=missing[0],
        )


def _hush() -> None:
    """In a browser Matplotlib looks for its fonts at every start, and says so on red, as of an error."""
    if sys.platform == "emscripten":
        logging.getLogger("matplotlib.font_manager").setLevel(logging.ERROR)


_check()
_hush()
