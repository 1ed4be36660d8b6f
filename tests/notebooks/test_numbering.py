"""Every numbered statement and exercise says the number of its page, for notebooks that stand alone."""

from __future__ import annotations

import re
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest
from execute import BOOK
from labels import CHAPTER, text_of

sys.path.append(str(BOOK / "_ext"))
from numbering import complaint

DIRECTIVE = re.compile(
    r"^:{3,}\{(?:prf:(?!proof)(?P<kind>[a-z]+)|exercise)\}.*\n(?P<options>(?::[a-z]+:.*\n)*)", re.MULTILINE
)
OPTION = re.compile(r"^:([a-z]+): (.*)$", re.MULTILINE)
OWN_COUNT = ("algorithm", "exercise")  # the other kinds of statements share one: see _config.yml


def numbers(text: str) -> Iterator[tuple[str, str, str | None]]:
    """(count, label, number) of each numbered statement and exercise, in order."""
    for found in DIRECTIVE.finditer(text):
        options, kind = dict(OPTION.findall(found["options"])), found["kind"] or "exercise"
        count = kind if kind in OWN_COUNT else "statement"
        yield count, options["label"], options.get("number")


def faults(text: str, chapter: str) -> list[str]:
    """The labels in a chapter's text whose number is not the next of its count."""
    counts: dict[str, int] = {}
    wrong = []
    for count, label, number in numbers(text):
        counts[count] = counts.get(count, 0) + 1
        if number != f"{chapter}.{counts[count]}".lstrip("."):
            wrong.append(label)
    return wrong


def test_every_number_is_there_and_none_is_left_out(chapter: Path) -> None:
    text, numbered = text_of(chapter), CHAPTER.match(chapter.name)
    assert faults(text, numbered[1] if numbered else "") == []
    assert bool(list(numbers(text))) == (numbered is not None or chapter.stem.startswith("appendix"))


@pytest.mark.parametrize(
    ("written", "shown", "words"),
    [
        ("1.2", "1.2", ""),
        ("", "", ""),
        ("2", "1.2", "thm is 1.2 on the page and says `:number: 2`; write `:number: 1.2` below its label"),
        ("", "1.2", "thm is 1.2 on the page and says no `:number:`; write `:number: 1.2` below its label"),
        ("1.2", "", "thm has no number on the page and says `:number: 1.2`; leave that out"),
    ],
)
def test_the_complaint_says_what_to_write(written: str, shown: str, words: str) -> None:
    assert complaint("thm", written, shown) == words


SETTINGS = f"""
import sys
sys.path.append({str(BOOK / "_ext")!r})
extensions = ["myst_parser", "sphinx_proof", "sphinx_exercise", "numbering"]
myst_enable_extensions = ["colon_fence"]
show_warning_types = True
prf_realtyp_to_countertyp = {{"lemma": "theorem"}}
"""
CONTENTS = """# Book

```{toctree}
:numbered:
chapter
```
"""
TEXT = """# Chapter

:::{prf:theorem} Right
:label: thm-right
:number: 1.1

One.
:::

:::{prf:lemma} Counted by itself
:label: lem-own
:number: 1.1

Two.
:::

:::{prf:theorem} Without
:label: thm-without

Three.
:::

:::{prf:remark} Nobody's
:label: rem-none
:nonumber:
:number: 1.4

Four.
:::

:::{exercise} As in a notebook
:label: ex-two
:number: 2

Five.
:::
"""


def test_a_build_names_each_number_that_its_page_does_not_show(tmp_path: Path) -> None:
    (tmp_path / "conf.py").write_text(SETTINGS, encoding="utf-8")
    (tmp_path / "index.md").write_text(CONTENTS, encoding="utf-8")
    (tmp_path / "chapter.md").write_text(TEXT, encoding="utf-8")
    command = [sys.executable, "-m", "sphinx", "--no-color", "-q", "-W", "--keep-going", ".", "_build"]
    built = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, check=False)
    assert built.returncode
    named = re.findall(r"chapter\.md:\d+: WARNING: (.*?) \[numbering\.differs\]", built.stderr)
    assert named == [
        complaint("lem-own", "1.1", "1.2"),
        complaint("thm-without", "", "1.3"),
        complaint("rem-none", "1.4", ""),
        complaint("ex-two", "2", "1.1"),
    ]
    assert built.stderr.count("WARNING") == len(named)
