"""Imports go downwards only: a module uses its own floor of the house and the floors below it."""

import ast
from pathlib import Path

import pytest

PACKAGE = Path(__file__).resolve().parents[2] / "src" / "aggbandit"
FLOORS = [
    {"_archive", "_arrays", "theory", "cost"},
    {"mdp", "occupancy", "feedback", "losses", "worlds"},
    {"geometry"},
    {"learners"},
    {"game"},
    {"engine", "history", "simulation", "checks", "sweeps"},
    {"figures"},
]
FLOOR_OF = {room: number for number, rooms in enumerate(FLOORS) for room in rooms}
MODULES = sorted(path for path in PACKAGE.rglob("*.py") if path != PACKAGE / "__init__.py")


def room(path: Path) -> str:
    return path.relative_to(PACKAGE).parts[0].removesuffix(".py")


def rooms_used(path: Path) -> set[str]:
    """The rooms of this package that a file imports, anywhere in it."""
    used = set()
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        if isinstance(node, ast.ImportFrom) and node.module and node.module.split(".")[0] == "aggbandit":
            names = node.module.split(".")[1:2] or [alias.name for alias in node.names]
            used.update(names)
    return used


@pytest.mark.parametrize("path", MODULES, ids=lambda path: str(path.relative_to(PACKAGE)))
def test_imports_go_downwards(path: Path) -> None:
    floor = FLOOR_OF[room(path)]
    upwards = {name for name in rooms_used(path) if name in FLOOR_OF and FLOOR_OF[name] > floor}
    assert not upwards, f"{path.relative_to(PACKAGE)} imports {', '.join(sorted(upwards))} from above"


def test_every_room_has_its_floor() -> None:
    assert {room(path) for path in MODULES} == set(FLOOR_OF)
