"""What other machines need: a host's workflow, Binder, Colab, a hub. And what all readers are promised."""

from __future__ import annotations

import ast
import json
import os
import re
import shutil
import subprocess
import sys
import tomllib
from collections.abc import Iterator
from importlib.metadata import version
from pathlib import Path
from types import SimpleNamespace
from typing import Any
from urllib.parse import parse_qs, unquote, urlsplit

import pytest
import yaml
from packaging.requirements import Requirement
from packaging.utils import canonicalize_name
from sphinx.errors import ConfigError

ROOT = Path(__file__).resolve().parents[2]
BOOK = ROOT / "book"
sys.path[:0] = [str(BOOK / "_ext"), str(BOOK / "_tools"), str(ROOT / "tests")]
import downloads  # noqa: E402  (the paths are set just above)
import launch  # noqa: E402
import repository  # noqa: E402
from execute import chapters_of_the_book  # noqa: E402
from live_contents import words_of_the_book  # noqa: E402

from needed import needed  # noqa: E402

WORKFLOW = yaml.safe_load((ROOT / ".github" / "workflows" / "book.yml").read_text())
STEPS = [step for job in WORKFLOW["jobs"].values() for step in job["steps"]]
PLACES = [
    "https://github.com/OWNER/NAME",
    "https://gitlab.com/OWNER/NAME",
    "https://git.example.org/OWNER/NAME",
]
CHAPTER = "03-barriers"


# ------------------------------------------------------------------------------------------ the workflow


def test_the_workflow_runs_the_projects_two_commands() -> None:
    ran = [step["run"].strip() for step in STEPS if step.get("run", "").startswith("make")]
    assert ran == ["make test", "make book"]
    assert WORKFLOW["jobs"]["publish"]["needs"] == "test"


def test_the_workflow_installs_what_a_bare_debian_lacks() -> None:
    """But for what an Ubuntu of the host brings: Chrome, make, and Python with venv by setup-python."""
    lacking = packages((ROOT / ".ci" / "run").read_text())
    brought = {"chromium", "make", "python3-venv"}
    assert brought < lacking
    assert {name for step in STEPS for name in packages(step.get("run", ""))} == lacking - brought


def packages(script: str) -> set[str]:
    """What a script installs by apt-get."""
    joined = script.replace("\\\n", " ")
    return {
        word
        for line in re.findall(r"apt-get install (.*)", joined)
        for word in line.split()
        if not word.startswith("-")
    }


def test_the_workflow_may_do_no_more_than_it_must() -> None:
    assert WORKFLOW["permissions"] == {"contents": "read"}
    assert "permissions" not in WORKFLOW["jobs"]["test"]
    assert set(WORKFLOW["jobs"]["publish"]["permissions"]) == {"contents", "pages", "id-token"}
    for step in STEPS:
        assert re.fullmatch(r"actions/[\w-]+@v\d+", step.get("uses", "actions/none@v1"))


def test_the_workflow_has_the_python_of_the_environment() -> None:
    (asked,) = {step["with"]["python-version"] for step in STEPS if "setup-python" in step.get("uses", "")}
    assert f"python={asked}" in yaml.safe_load((ROOT / "environment.yml").read_text())["dependencies"]


def test_the_workflow_puts_colabs_copies_and_nothing_else_on_their_branch(tmp_path: Path) -> None:
    (script,) = (step["run"] for step in STEPS if "orphan" in step.get("run", ""))
    origin, clone = tmp_path / "origin", tmp_path / "clone"
    (clone / "_build" / "html" / repository.COPIES).mkdir(parents=True)
    (clone / ".gitignore").write_text("_build/\n")
    (clone / "book.ipynb").write_text("of the main branch")

    def run(*command: str, where: Path = clone) -> str:
        environment = {**os.environ, "RUNNER_TEMP": str(tmp_path)}
        done = subprocess.run(command, cwd=where, env=environment, capture_output=True, text=True, check=True)
        return done.stdout

    run("git", "init", "-q", "--bare", str(origin))
    run("git", "init", "-q", "-b", "main")
    run("git", "remote", "add", "origin", str(origin))
    run("git", "add", ".")
    run("git", "-c", "user.name=me", "-c", "user.email=me@example.org", "commit", "-q", "-m", "A book")
    for chapter in ("chapter.ipynb", "renamed.ipynb"):  # the second time the branch is there
        copies = clone / "_build" / "html" / repository.COPIES
        for old in copies.iterdir():
            old.unlink()
        (copies / chapter).write_text("for Colab")
        run("bash", "-e", "-c", script)
        assert run("git", "ls-tree", "-r", "--name-only", repository.COPIES, where=origin).split() == [
            chapter
        ]
        run("git", "switch", "-q", "main")
        run("git", "branch", "-q", "-D", repository.COPIES)
        shutil.rmtree(tmp_path / repository.COPIES)  # another run is on another machine


# ---------------------------------------------------------------------------------- Binder, Colab, a hub


def config(address: str = "", branch: str = "main") -> Any:
    """The book's settings with another address."""
    options = {"repository_url": address, "repository_branch": branch, "path_to_docs": "book"}
    return SimpleNamespace(html_theme_options=options, root_doc="index", myst_substitutions={})


@pytest.mark.parametrize("address", PLACES)
def test_links_lead_to_the_chapter_at_its_place_in_the_repository(address: str) -> None:
    public = repository.repository(config(address))
    assert public
    for link in (public.binder(CHAPTER), public.pulled(CHAPTER)):
        parts = urlsplit(link)
        assert (parts.scheme, " " in link) == ("https", False)
        (opened,) = parse_qs(parts.query)["urlpath"]
        path = opened.removeprefix("lab/tree/").removeprefix("NAME/")
        assert (ROOT / path).is_file()
    assert "OWNER/NAME" in unquote(public.binder(CHAPTER))
    assert parse_qs(urlsplit(public.pulled(CHAPTER)).query)["repo"] == [address]


def test_binder_is_told_the_host_the_way_it_wants() -> None:
    ways = [repository.repository(config(address, "a/b")).binder(CHAPTER) for address in PLACES]
    assert [way.split("?")[0].removeprefix("https://mybinder.org/v2/") for way in ways] == [
        "gh/OWNER/NAME/a%2Fb",
        "gl/OWNER%2FNAME/a%2Fb",
        "git/https%3A%2F%2Fgit.example.org%2FOWNER%2FNAME/a%2Fb",
    ]


def test_colab_opens_copies_of_github_alone() -> None:
    ways = [repository.repository(config(address)).colab(CHAPTER) for address in PLACES]
    on_github = "https://colab.research.google.com/github/OWNER/NAME/blob/colab/03-barriers.ipynb"
    assert ways == [on_github, None, None]


@pytest.mark.parametrize(
    "address",
    [
        "github.com/OWNER/NAME",
        "https://github.com/OWNER",
        f"{PLACES[0]}/",
        f"{PLACES[0]}.git",
        "https://x/y z/w",
    ],
)
def test_an_address_that_makes_no_links_is_refused(address: str) -> None:
    with pytest.raises(ConfigError, match=re.escape(f"url is {address!r}; it must look like")):
        repository.repository(config(address))


@pytest.mark.parametrize("megabytes", ["", "70"])
@pytest.mark.parametrize("address", ["", *PLACES])
def test_a_chapter_offers_the_ways_there_are(
    monkeypatch: pytest.MonkeyPatch, address: str, megabytes: str
) -> None:
    monkeypatch.setenv(launch.MEGABYTES, megabytes)
    app = SimpleNamespace(
        config=config(address),
        env=SimpleNamespace(doc2path=lambda page: f"{page}.ipynb"),
        builder=SimpleNamespace(get_relative_uri=lambda page, target: f"{target}.html"),
    )
    context: dict[str, str] = {}
    launch.offer(app, CHAPTER, "page.html", context, doctree=object())
    panel = context.get("ab_launch", "")
    assert bool(panel) == bool(address or megabytes)
    assert ("lite/run.html" in panel) == bool(megabytes)
    assert ("mybinder.org" in panel) == bool(address)
    assert ("colab.research.google.com" in panel) == ("github" in address)


def test_without_an_address_pages_say_so_and_give_an_example() -> None:
    blank, named = config(), config(PLACES[0])
    repository.fill_in(None, blank)
    repository.fill_in(None, named)
    assert blank.myst_substitutions["contact"] == repository.NOBODY
    assert f"({PLACES[0]}/issues)" in named.myst_substitutions["contact"]
    assert blank.myst_substitutions["nbgitpuller"] == named.myst_substitutions["nbgitpuller"]


def test_colabs_copy_installs_the_package_and_runs_the_same_code() -> None:
    text = (BOOK / f"{CHAPTER}.ipynb").read_text()
    public = repository.repository(config(PLACES[0]))
    copy = json.loads(downloads.installing(text, public, words_of_the_book()))
    first = "".join(copy["cells"].pop(0)["source"])
    assert code_of(copy) == code_of(json.loads(text))
    assert copy["metadata"] == json.loads(text)["metadata"]
    line = next(line for line in first.splitlines() if line.startswith("%pip install"))
    asked = Requirement(re.findall(r'"(.*)"', line)[0])
    assert (asked.name, asked.url) == ("aggbandit", f"git+{PLACES[0]}@main")
    extras = pyproject_extras()
    assert asked.extras < set(extras)
    # All that chapters need is asked for, but no JupyterLab: Colab has its own.
    there = {Requirement(one).name for extra in asked.extras for one in extras[extra]} | set(line.split())
    wanted = {Requirement(one).name for one in extras["student"]} - {
        "aggbandit",
        "jupyterlab",
        "jupyterlab-myst",
    }
    assert wanted <= there


def code_of(notebook: dict[str, Any]) -> list[Any]:
    return [cell for cell in notebook["cells"] if cell["cell_type"] == "code"]


def pyproject_extras() -> dict[str, list[str]]:
    return tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]["optional-dependencies"]


def test_all_that_the_students_environment_pulls_in_is_pinned() -> None:
    """By the requirements that the installed packages declare: so `environment.yml` resolves at the pins."""
    pins = {
        canonicalize_name(pin.name): pin
        for line in (ROOT / "constraints.txt").read_text().splitlines()
        if line and not line.startswith("#")
        for pin in [Requirement(line)]
        if pin.marker is None or pin.marker.evaluate()
    }
    for name in needed("aggbandit", "student") - {"aggbandit"}:
        assert pins[name].specifier.contains(version(name)), f"{name} is {version(name)}, not {pins[name]}"


def test_the_table_of_memory_is_of_chapters() -> None:
    table = (BOOK / "memory.md").read_text()
    listed = re.findall(r"\]\(([\w.-]+\.ipynb)\) \| \d+ MB \| \d+ s \|", table)
    assert listed
    assert set(listed) <= {chapter.name for chapter in chapters_of_the_book()}


# ------------------------------------------------------------------------------- the accessibility statement

STATEMENT = (BOOK / "accessibility.md").read_text()
HELD, _, OPEN = STATEMENT.partition("## What is known not to work")
NAMED = re.compile(r"`([\w/]+\.py)::(test_\w+)`")


def test_each_sentence_of_the_accessibility_statement_names_its_test() -> None:
    sentences = [line for line in HELD.splitlines() if line.startswith("- ")]
    assert len(sentences) > 15
    assert [line for line in sentences if not NAMED.search(line)] == []
    assert OPEN.count("\n- ") >= 5


@pytest.mark.parametrize(("file", "name"), sorted(set(NAMED.findall(HELD))))
def test_a_test_that_the_accessibility_statement_names_is_there(file: str, name: str) -> None:
    assert name in set(functions(ROOT / "tests" / file))


def functions(path: Path) -> Iterator[str]:
    for node in ast.parse(path.read_text(encoding="utf-8")).body:
        if isinstance(node, ast.FunctionDef):
            yield node.name
