"""The garbage collector looks less often during a run, and as before afterwards."""

from __future__ import annotations

import gc

import pytest

from wormhole_core.run.collector import NEW_OBJECTS, rare_collections


@pytest.fixture(autouse=True)
def thresholds():
    before = gc.get_threshold()
    yield
    gc.set_threshold(*before)


def test_rarer_inside_and_as_before_outside():
    gc.set_threshold(700, 11, 12)
    with rare_collections():
        assert gc.get_threshold()[:2] == (NEW_OBJECTS, 11)
    assert gc.get_threshold()[:2] == (700, 11)


def test_as_before_after_an_error():
    gc.set_threshold(700)
    with pytest.raises(KeyError), rare_collections():
        raise KeyError
    assert gc.get_threshold()[0] == 700


@pytest.mark.parametrize("first", [0, NEW_OBJECTS * 2])
def test_what_the_caller_chose_stays(first):
    gc.set_threshold(first)
    with rare_collections():
        assert gc.get_threshold()[0] == first
