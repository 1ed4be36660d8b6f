"""The files that describe the project agree with one another, and with what a fresh clone needs."""

from __future__ import annotations

import json
import re
import subprocess
import sys
import tomllib
from pathlib import Path

import pytest
import yaml
from packaging.markers import Marker
from packaging.requirements import Requirement
from packaging.utils import canonicalize_name
from packaging.version import Version

ROOT = Path(__file__).resolve().parents[2]
PYPROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text())
PROJECT = PYPROJECT["project"]
EXTRAS = PROJECT["optional-dependencies"]
ENVIRONMENT = yaml.safe_load((ROOT / "environment.yml").read_text())
MAKEFILE = (ROOT / "Makefile").read_text()
TOOLS = ROOT / "book" / "_tools"
TOP_LEVEL_FOLDERS = {"book", "src", "tests"}


def pins() -> dict[str, list[Requirement]]:
    """The lines of constraints.txt by package; a package may have one for each Python version."""
    found: dict[str, list[Requirement]] = {}
    for line in (ROOT / "constraints.txt").read_text().splitlines():
        if line and not line.startswith("#"):
            pin = Requirement(line)
            found.setdefault(canonicalize_name(pin.name), []).append(pin)
    return found


def requirements(without: str = "") -> list[Requirement]:
    """Everything that pyproject.toml asks for, in the package itself and in every extra but one."""
    extras = [lines for extra, lines in EXTRAS.items() if extra != without]
    lines = [*PROJECT["dependencies"], *(line for lines in extras for line in lines)]
    return [Requirement(line) for line in lines]


def tracked() -> list[Path]:
    """The files a fresh clone would hold."""
    listed = subprocess.run(["git", "ls-files"], cwd=ROOT, capture_output=True, text=True, check=True)
    return [ROOT / line for line in listed.stdout.splitlines()]


@pytest.mark.parametrize("requirement", requirements(), ids=str)
def test_a_pin_satisfies_every_requirement(requirement: Requirement) -> None:
    if requirement.name == PROJECT["name"]:
        assert requirement.extras <= set(EXTRAS)
        return
    matching = pins().get(canonicalize_name(requirement.name), [])
    assert matching, f"{requirement} has no pin in constraints.txt; run `make lock`"
    for pin in matching:
        assert requirement.specifier.contains(version(pin)), f"{pin} does not satisfy {requirement}"


def version(pin: Requirement) -> Version:
    """The one version of `name==version`."""
    (specifier,) = pin.specifier
    assert specifier.operator == "==", f"{pin} is not an exact pin"
    return Version(specifier.version)


def test_every_pin_is_exact_and_names_no_host() -> None:
    for name, lines in pins().items():
        for pin in lines:
            assert pin.url is None, name
            assert version(pin)
    for lock in ("constraints.txt", "book/_tools/package-lock.json", "book/_tools/.npmrc"):
        assert "://" not in (ROOT / lock).read_text(), lock


def test_several_pins_of_a_package_never_apply_together() -> None:
    for name, lines in pins().items():
        for python in ("3.11.7", "3.12.0", "3.13.0"):
            here = {"python_version": python[:4], "python_full_version": python}
            applying = [pin for pin in lines if applies(pin.marker, here)]
            assert len(applying) <= 1, f"{name}: {applying}"


def applies(marker: Marker | None, here: dict[str, str]) -> bool:
    return marker is None or marker.evaluate(here)


def test_the_environment_that_runs_this_has_the_pinned_versions() -> None:
    from importlib.metadata import version as installed

    for requirement in requirements(without="teach"):
        if requirement.name != PROJECT["name"]:
            (wanted,) = (
                pin for pin in pins()[canonicalize_name(requirement.name)] if applies(pin.marker, {})
            )
            assert Version(installed(requirement.name)) == version(wanted)


def test_environment_yml_installs_the_same_pins() -> None:
    python, pip, install = ENVIRONMENT["dependencies"]
    assert pip == "pip"
    assert install["pip"] == ["-c constraints.txt", "-e .[student]"]
    number = python.removeprefix("python=")
    assert Requirement(f"python{PROJECT['requires-python']}").specifier.contains(number)


def test_makefile_installs_the_same_pins() -> None:
    assert "-c constraints.txt -e '.[test]'" in MAKEFILE
    assert re.search(r"^UV\s*:= uv==[\d.]+$", MAKEFILE, re.MULTILINE)


def test_each_extra_includes_what_it_stands_on() -> None:
    def names(extra: str) -> set[str]:
        own = [Requirement(line) for line in EXTRAS[extra]]
        below = [names(other) for r in own if r.name == PROJECT["name"] for other in r.extras]
        return {r.name for r in own}.union(*below)

    assert names("fast") | names("figures") | names("sweep") < names("student") < names("book")
    assert names("book") < names("test")
    assert names("student") < names("teach") < names("test")
    assert {Requirement(line).name for line in PROJECT["dependencies"]} == {"numpy", "scipy"}


def test_the_browser_files_are_pinned_and_name_no_host() -> None:
    asked = json.loads((TOOLS / "package.json").read_text())["dependencies"]
    packages = json.loads((TOOLS / "package-lock.json").read_text())["packages"]
    for name, number in asked.items():
        assert packages[f"node_modules/{name}"]["version"] == number
    for name, entry in packages.items():
        assert "resolved" not in entry, f"{name} names a host"
        assert not name or entry["integrity"].startswith("sha512-"), f"{name} has no hash"


def test_help_lists_every_target() -> None:
    shown = subprocess.run(["make", "help"], cwd=ROOT, capture_output=True, text=True, check=True).stdout
    listed = set(re.findall(r"^make ([\w-]+) ", shown, re.MULTILINE))
    declared = set(re.findall(r"^\.PHONY: (.*)$", MAKEFILE, re.MULTILINE)[0].split())
    assert listed == declared
    assert listed == set(re.findall(r"^([a-z-]+):(?!=)", MAKEFILE, re.MULTILINE))
    default = subprocess.run(["make"], cwd=ROOT, capture_output=True, text=True, check=True).stdout
    assert default == shown


def test_the_only_folders_are_book_src_and_tests() -> None:
    folders = {path.relative_to(ROOT).parts[0] for path in tracked() if path.parent != ROOT}
    assert {folder for folder in folders if not folder.startswith(".")} == TOP_LEVEL_FOLDERS


def test_no_file_is_heavier_than_3_megabytes() -> None:
    heavy = [path.name for path in tracked() if path.is_file() and path.stat().st_size > 3_000_000]
    assert not heavy


def test_sphinx_finds_no_static_folder_of_its_own() -> None:
    # If book/_static exists, Jupyter Book loads every script of every static folder on every page.
    assert not (ROOT / "book" / "_static").exists()


def test_both_licenses_are_there() -> None:
    code, text = (ROOT / "LICENSE").read_text(), (ROOT / "LICENSE-TEXT").read_text()
    assert "MIT License" in code
    assert 'THE SOFTWARE IS PROVIDED "AS IS"' in code
    assert "https://creativecommons.org/licenses/by/4.0/legalcode" in text
    assert PROJECT["license"] == "MIT"


def test_citation_gives_the_version_of_the_package() -> None:
    citation = yaml.safe_load((ROOT / "CITATION.cff").read_text())
    assert citation["version"] == PROJECT["version"]
    assert citation["cff-version"] == "1.2.0"


def test_every_folder_of_tests_is_run_by_make_test() -> None:
    sys.path.insert(0, str(ROOT / "tests"))
    from run import ALL

    run = {folder for together in ALL for folders, _ in together.values() for folder in folders}
    holding = {path.relative_to(ROOT / "tests").parts[0] for path in tracked() if is_test(path)}
    assert holding <= run


def is_test(path: Path) -> bool:
    return path.is_relative_to(ROOT / "tests") and path.name.startswith("test_")


def test_randomness_is_always_seeded() -> None:
    unseeded = re.compile(r"default_rng\(\s*\)|np\.random\.(seed|rand|randn|randint|random|normal|uniform)\b")
    files = [path for path in tracked() if path.suffix in {".py", ".ipynb"} and path.is_file()]
    found = [path.name for path in files if path != Path(__file__) and unseeded.search(path.read_text())]
    assert not found
