"""The metric's web page, started on loopback and asked as a browser would."""

from __future__ import annotations

import json
import os
import socket
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import requests

START_TIMEOUT_S = 90


@pytest.fixture(scope="module")
def page(project_dir: Path, tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    """The address of a running page over the embedded benchmark, in caches of its own."""
    home = tmp_path_factory.mktemp("app")
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port = probe.getsockname()[1]
    environment = os.environ | {
        "HF_HOME": str(home / "huggingface"),
        "NCLUE_CACHE": str(home / "nclue"),
        "GRADIO_SERVER_NAME": "127.0.0.1",
        "GRADIO_SERVER_PORT": str(port),
        "GRADIO_ANALYTICS_ENABLED": "False",
        "GRADIO_TEMP_DIR": str(home / "gradio"),
    }
    prepare = [sys.executable, "-m", "nclue_cli.main", "prepare"]
    subprocess.run(prepare, check=True, env=environment, capture_output=True)
    log = (home / "log").open("w")
    app = [sys.executable, str(project_dir / "metrics" / "n_clue" / "app.py")]
    process = subprocess.Popen(app, env=environment, cwd=home, stdout=log, stderr=log)
    try:
        address = f"http://127.0.0.1:{port}"
        wait_for(address, process, home / "log")
        yield address
    finally:
        process.terminate()
        process.wait(20)
        log.close()


def wait_for(address: str, process: subprocess.Popen[bytes], log: Path) -> None:
    deadline = time.monotonic() + START_TIMEOUT_S
    while time.monotonic() < deadline:
        assert process.poll() is None, log.read_text()
        try:
            if requests.get(address, timeout=5).ok:
                return
        except requests.ConnectionError:
            time.sleep(0.3)
    pytest.fail(f"the page did not start: {log.read_text()}")


def ask(address: str, *values: Any) -> tuple[str, Any]:
    """Call the page's function; returns the last event and its data."""
    url = f"{address}/gradio_api/call/score"
    event = requests.post(url, json={"data": list(values)}, timeout=30).json()["event_id"]
    answer = requests.get(f"{url}/{event}", timeout=60).text
    kind, data = answer.strip().splitlines()[-2:]
    return kind.removeprefix("event: "), json.loads(data.removeprefix("data: "))


def test_the_page_scores_a_pasted_run(page: str) -> None:
    run = {"mini_0000": ["nothing"], "mini_0001": []}
    kind, data = ask(page, json.dumps(run), None, "mini", "raw", 10)
    assert kind == "complete", data
    table, note = data
    scores = dict(table["data"])
    assert (scores["n_clue_score@10"], scores["miss@10"]) == (0, 100)
    assert "queries have no ranking and count as misses" in note
    assert "judgments:" in note


def test_the_page_says_what_is_wrong_with_a_run(page: str) -> None:
    kind, data = ask(page, "q1 Q0 a\n", None, "mini", "raw", 10)
    assert kind == "error"
    assert "expected a TREC line" in json.dumps(data)


def test_the_page_offers_the_inputs(page: str) -> None:
    assert "n-Clue" in requests.get(page, timeout=10).text
