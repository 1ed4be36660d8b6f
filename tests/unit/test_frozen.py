"""A public frozen record that holds arrays stays read-only and compact when it is pickled or copied."""

import copy
import importlib
import pickle
import pkgutil
import re
from dataclasses import fields, is_dataclass

import numpy as np
import pytest

import aggbandit as ab
from aggbandit._arrays import reduce_frozen


def public_frozen_records_with_arrays():
    for module in pkgutil.walk_packages(ab.__path__, "aggbandit."):
        for thing in vars(importlib.import_module(module.name)).values():
            if isinstance(thing, type) and thing.__module__ == module.name and is_dataclass(thing):
                arrays = any(re.search(r"Array\b", str(field.type)) for field in fields(thing))
                public = not (thing.__name__.startswith("_") or module.name == reduce_frozen.__module__)
                if arrays and public and thing.__dataclass_params__.frozen:
                    yield thing


RECORDS = sorted(public_frozen_records_with_arrays(), key=lambda kind: (kind.__module__, kind.__name__))
CLONES = {"pickle": lambda x: pickle.loads(pickle.dumps(x)), "copy": copy.copy, "deepcopy": copy.deepcopy}


def test_there_are_such_records():
    assert {ab.FiniteHorizonMDP, ab.LossSequence, ab.Trajectory, ab.World} <= set(RECORDS)


@pytest.mark.parametrize("clone", CLONES.values(), ids=CLONES)
@pytest.mark.parametrize("kind", RECORDS, ids=lambda kind: kind.__name__)
def test_what_was_read_only_and_compact_stays_so(kind, clone):
    """Every field filled with one array, whatever it is for. The remedy: `__reduce__ = reduce_frozen`."""
    once = np.array([[1.0, 2.0, 3.0]])
    once.setflags(write=False)
    instance = object.__new__(kind)
    for field in fields(kind):
        object.__setattr__(instance, field.name, np.broadcast_to(once, (10_000, 3)))
    assert len(pickle.dumps(instance)) < 10_000
    again = clone(instance)
    assert type(again) is kind
    for field in fields(kind):
        table = getattr(again, field.name)
        assert table.shape == (10_000, 3)
        assert table.strides[0] == 0
        assert not table.flags.writeable
        np.testing.assert_array_equal(table[-1], once[0])


def test_a_cache_is_left_behind_and_found_again():
    mdp = ab.worlds.chain(3, 4).mdp
    reachable = mdp.reachable
    again = pickle.loads(pickle.dumps(mdp))
    assert "reachable" not in vars(again)
    np.testing.assert_array_equal(again.reachable, reachable)
