"""The tools that run and clean the chapters, importable by the tests of the chapters."""

import sys
from pathlib import Path

import pytest

BOOK = Path(__file__).resolve().parents[2] / "book"
sys.path.insert(0, str(BOOK / "_tools"))


def pytest_configure(config: pytest.Config) -> None:
    """With `--nbval` the chapters are run; they are outside of this folder, hence a plugin of its own."""
    if config.option.nbval:
        import rerun

        config.pluginmanager.register(rerun)


def pytest_generate_tests(metafunc: pytest.Metafunc) -> None:
    """A test with an argument `chapter` runs once for every notebook of the book."""
    if "chapter" in metafunc.fixturenames:
        from execute import chapters_of_the_book

        chapters = list(chapters_of_the_book())
        metafunc.parametrize("chapter", chapters, ids=[chapter.stem for chapter in chapters], scope="session")
