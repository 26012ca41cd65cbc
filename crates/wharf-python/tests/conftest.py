"""What the tests share."""

from __future__ import annotations

import os
from pathlib import Path

import pytest


@pytest.fixture(scope="session")
def golden() -> Path:
    """The folder of golden files."""
    folder = os.environ.get("WHARF_GOLDEN")
    return Path(folder) if folder else Path(__file__).parents[3] / "tests" / "golden"
