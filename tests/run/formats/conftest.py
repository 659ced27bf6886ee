"""Small files for the readers, and the folder of real ones where it is beside the checkout."""

from __future__ import annotations

from pathlib import Path

import pytest

SHARED = Path(__file__).resolve().parents[4] / "shared"


@pytest.fixture
def shared() -> Path:
    """The folder of real inputs; the test is skipped where there is none."""
    if not (SHARED / "inputs").is_dir():
        pytest.skip(f"no {SHARED.name} folder beside the checkout")
    return SHARED


@pytest.fixture
def write(tmp_path):
    """`write(name, text)` -> path of a file with that content."""

    def write(name: str, content: str | bytes) -> Path:
        path = tmp_path / name
        path.write_bytes(content if isinstance(content, bytes) else content.encode())
        return path

    return write
