"""What a package needs of this machine's environment, by the requirements that installed packages declare."""

from __future__ import annotations

from collections.abc import Mapping
from functools import cache
from importlib.metadata import packages_distributions, requires

from packaging.requirements import Requirement
from packaging.utils import canonicalize_name


def needed(root: str, *extras: str) -> set[str]:
    """Every package that one needs with some of its extras, itself included."""
    seen: set[tuple[str, frozenset[str]]] = set()
    left = [(root, frozenset(extras))]
    while left:
        name, asked = left.pop()
        if (name, asked) in seen:
            continue
        seen.add((name, asked))
        left += [
            (canonicalize_name(one.name), frozenset(one.extras))
            for one in map(Requirement, requires(name) or [])
            if one.marker is None or any(one.marker.evaluate({"extra": extra}) for extra in asked | {""})
        ]
    return {name for name, _ in seen}


def modules_without(packages: set[str]) -> set[str]:
    """The modules that could not be imported if nothing but these packages were installed."""
    return {
        module
        for module, owners in owners_of_modules().items()
        if not packages & {canonicalize_name(owner) for owner in owners}
    }


@cache
def owners_of_modules() -> Mapping[str, list[str]]:
    """The packages that each module comes from."""
    return packages_distributions()
