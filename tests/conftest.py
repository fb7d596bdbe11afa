"""Fixtures shared by all tests."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

PROJECT = Path(__file__).resolve().parents[1]


@pytest.fixture(scope="session")
def shared_dir() -> Path:
    """The folder with real PDFs and cases beside the checkout; skips where it is absent."""
    folder = Path(os.environ.get("NCLUE_SHARED", PROJECT.parent / "shared"))
    if not folder.is_dir():
        pytest.skip(f"no {folder}: set NCLUE_SHARED to the folder with the real PDFs and cases")
    return folder


@pytest.fixture(scope="session")
def project_dir() -> Path:
    """The root of the checkout."""
    return PROJECT


@pytest.fixture(autouse=True)
def _own_caches(tmp_path_factory: pytest.TempPathFactory, monkeypatch: pytest.MonkeyPatch) -> None:
    """No test reads or writes the caches of the person who runs it, nor asks the Hub."""
    monkeypatch.setenv("HF_HUB_OFFLINE", "1")
