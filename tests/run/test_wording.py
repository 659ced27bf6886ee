"""Numbers in sentences."""

import pytest

from wormhole_core.run.wording import counted


@pytest.mark.parametrize(
    ("number", "noun", "text"),
    [
        (1, "flow", "1 flow"), (0, "flow", "0 flows"), (3136, "flow", "3,136 flows"), (2, "switch", "2 switches"),
        (2, "entry", "2 entries"), (1, "entry", "1 entry"), (2, "key", "2 keys"), (2, "pause", "2 pauses"),
    ],
)  # fmt: skip
def test_plural(number, noun, text):
    assert counted(number, noun) == text
