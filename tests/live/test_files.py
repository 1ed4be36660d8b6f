"""The files of the kernel: each is checked, whatever place it came from."""

from __future__ import annotations

import hashlib
import json
import zipfile
from pathlib import Path

import live_files
import pytest
from live_files import WrongHashError, collect
from live_lock import NEEDED, official_packages, own_wheels, package_files

ROOT = Path(__file__).resolve().parents[2]
BODY = b"a wheel"
ENTRY = {"version": "1.0", "file_name": "one-1.0.whl", "sha256": hashlib.sha256(BODY).hexdigest()}
LIVE = ROOT / "book" / "_tools" / "live"


@pytest.fixture
def places(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder of the reader's, an empty cache, and no network."""
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    monkeypatch.setenv(live_files.OWN_FOLDER, str(tmp_path / "own"))
    monkeypatch.setattr(live_files, "fetch", lambda address, file: False)
    monkeypatch.setattr(live_files, "pip_download", lambda wanted, folder: False)
    (tmp_path / "own").mkdir()
    return tmp_path


def gather(places: Path, name: str = "there") -> list[str]:
    return collect({"one": ENTRY}, {}, "1.0", places / name)


def test_what_no_place_has_is_named(places: Path) -> None:
    assert gather(places) == ["one"]


def test_a_file_that_was_found_once_needs_no_place(places: Path) -> None:
    (places / "own" / "one-1.0.whl").write_bytes(BODY)
    assert gather(places) == []
    (places / "own" / "one-1.0.whl").unlink()
    assert gather(places) == []
    assert gather(places, "another build") == []
    assert (places / "another build" / "one-1.0.whl").read_bytes() == BODY


@pytest.mark.parametrize("place", ["own", "cache/only-the-total/live", "there"])
def test_a_wrong_hash_stops_whatever_the_place(places: Path, place: str) -> None:
    (places / place).mkdir(parents=True, exist_ok=True)
    (places / place / "one-1.0.whl").write_bytes(b"another wheel")
    with pytest.raises(WrongHashError, match=r"one-1.0.whl: its sha256 is .*; the lock says"):
        gather(places)
    assert place == "there" or not (places / "there" / "one-1.0.whl").exists()


def test_a_wrong_hash_stops_what_came_over_the_network(places: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(live_files, "fetch", lambda address, file: bool(file.write_bytes(b"another wheel")))
    with pytest.raises(WrongHashError):
        gather(places)


def test_the_official_release_is_asked_before_the_carrier(
    places: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    asked = []

    def fetch(address: str, file: Path) -> bool:
        asked.append(address)
        return bool(file.write_bytes(BODY))

    def never(wanted: list[str], folder: Path) -> bool:
        raise AssertionError(wanted)

    monkeypatch.setattr(live_files, "fetch", fetch)
    monkeypatch.setattr(live_files, "pip_download", never)
    assert gather(places) == []
    assert [address.rsplit("/", 3)[1:] for address in asked] == [["v1.0", "full", "one-1.0.whl"]]


def test_what_is_needed_brings_what_it_stands_on() -> None:
    names = [*NEEDED, "six", "replaced"]
    packages = {name: {"depends": ["six"] if name == "scipy" else []} for name in names}
    packages["prompt_toolkit"] = {"depends": ["replaced"]}
    packages["ipython"]["depends"] = ["prompt-toolkit"]
    found = official_packages({"packages": packages}, replaced=["replaced"])
    assert set(found) == {*NEEDED, "six", "prompt_toolkit"}


def test_our_wheels_are_the_files_as_they_are(tmp_path: Path) -> None:
    entries = own_wheels(tmp_path)
    assert set(entries) == {"aggbandit", "no-processes"}
    for entry in entries.values():
        body = (tmp_path / entry["file_name"]).read_bytes()
        assert hashlib.sha256(body).hexdigest() == entry["sha256"]
    with zipfile.ZipFile(tmp_path / entries["aggbandit"]["file_name"]) as archive:
        for path in package_files():
            assert archive.read(str(path.relative_to(ROOT / "src"))) == path.read_bytes()
    assert own_wheels(tmp_path) == entries


def test_the_page_has_the_widgets_that_the_notebook_has() -> None:
    """The application's part of a widget library and Python's come in one version."""
    pins = dict(line.split("==") for line in (ROOT / "constraints.txt").read_text().split() if "==" in line)
    pure = json.loads((LIVE / "packages.json").read_text())
    for name in ("anywidget", "ipywidgets", "comm", "gymnasium", "psygnal"):
        assert pure[name]["version"] == pins[name]


def test_the_core_is_pinned_and_names_no_host() -> None:
    asked = json.loads((LIVE / "package.json").read_text())["dependencies"]
    packages = json.loads((LIVE / "package-lock.json").read_text())["packages"]
    for name, number in asked.items():
        assert packages[f"node_modules/{name}"]["version"] == number
    for name, entry in packages.items():
        assert "resolved" not in entry, f"{name} names a host"
        assert not name or entry["integrity"].startswith("sha512-"), f"{name} has no hash"
