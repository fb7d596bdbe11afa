"""Fixtures shared by all tests."""

from __future__ import annotations

import atexit
import os
import shutil
import tempfile
from collections.abc import Iterator
from pathlib import Path

# Before anything imports a Hugging Face library: no test asks the Hub, or reads or writes the
# caches of the person who runs it.
_CACHES = tempfile.mkdtemp(prefix="nclue-tests-")
atexit.register(shutil.rmtree, _CACHES, ignore_errors=True)
os.environ["HF_HUB_OFFLINE"] = "1"
os.environ["HF_HOME"] = f"{_CACHES}/huggingface"
os.environ["NCLUE_CACHE"] = f"{_CACHES}/nclue"
for _name in ("HF_DATASETS_CACHE", "HF_MODULES_CACHE", "HF_EVALUATE_CACHE"):
    os.environ.pop(_name, None)

import pytest

from browser import chromium

PROJECT = Path(__file__).resolve().parents[1]


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Tests marked ``tesseract`` skip, saying so, where the program is absent."""
    if shutil.which("tesseract") is None:
        for item in items:
            if item.get_closest_marker("tesseract"):
                item.add_marker(pytest.mark.skip("apt-get install -y tesseract-ocr"))


@pytest.fixture(scope="session")
def shared_dir() -> Path:
    """The folder with real PDFs and cases beside the checkout; skips where it is absent."""
    folder = Path(os.environ.get("NCLUE_SHARED", PROJECT.parent / "shared"))
    if not folder.is_dir():
        pytest.skip(f"no {folder}: set NCLUE_SHARED to the folder with the real PDFs and cases")
    return folder


@pytest.fixture(scope="session")
def browser() -> Iterator[object]:
    """One headless Chromium for all tests of a process; open a new context in each test."""
    with chromium() as running:
        yield running


@pytest.fixture(scope="session")
def project_dir() -> Path:
    """The root of the checkout."""
    return PROJECT


@pytest.fixture
def own_caches(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Caches of this test alone, for this process and the ones it starts; returns the root."""
    home = tmp_path / "caches"
    settings = {
        "HF_HOME": home / "huggingface",
        "HF_DATASETS_CACHE": home / "huggingface" / "datasets",
        "HF_MODULES_CACHE": home / "huggingface" / "modules",
        "NCLUE_CACHE": home / "nclue",
    }
    for name, folder in settings.items():
        monkeypatch.setenv(name, str(folder))
    return home
