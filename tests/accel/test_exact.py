"""With exact keys and tails off: memo off, cold, warm and stored give what packets give, to the bit."""

from __future__ import annotations

from typing import Any

import pytest


def check(lab: Any, seed: int, path: Any = None) -> dict[str, Any]:
    """One random case in all ways; returns what the cold and warm runs did."""
    case = lab.random_case(seed)
    try:
        base = lab.packet(case)
    except Exception as error:  # what packets cannot do (a dead end), acceleration cannot either
        with pytest.raises(type(error)):
            lab.worm(case, memo=lab.memo())
        return {}
    memo = lab.memo("sqlite", path=str(path)) if path else lab.memo()
    runs = {"off": lab.worm(case), "cold": lab.worm(case, memo=memo)}
    if path:
        memo.close()
        memo = lab.memo("sqlite", path=str(path))
    runs["warm"] = lab.worm(case, memo=memo)
    for name, run in runs.items():
        assert run.times == base.times, f"case {seed}, {name}"
        assert run.links == base.links, f"case {seed}, {name}"
        assert run.did["damaged"] == 0
        run.assert_clean()
    memo.close()
    return {"cold": runs["cold"].did, "warm": runs["warm"].did}


@pytest.mark.parametrize("seed", range(30))
def test_random_cases(lab, seed):
    check(lab, seed)
