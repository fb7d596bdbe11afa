"""The metric as a web page: paste or upload a run, get the scorecard.

Runs as a Space (with this folder as its repository) and from a clone: ``python app.py``. The
judgments come from the data set named by ``NCLUE_DATASET`` (default ``nclue``).
"""

from __future__ import annotations

import os
import sys
from pathlib import Path
from typing import Any

import evaluate
import gradio as gr
from datasets import load_dataset

HERE = Path(__file__).resolve().parent
COLLECTIONS = ("mini", "crosspage", "sourceshift")
FORMS = ("raw", "clean_v2", "natural")
MAX_RUN_BYTES = 64 * 2**20
COLUMNS = ("measure", "percent")
EXAMPLE = '{"mini_0000": ["some_document", "another_document"]}'


def score(text: str, upload: str | None, collection: str, form: str, k: float) -> Any:
    """Score a pasted or uploaded run; returns the table and a note below it."""
    metric = evaluate.load(str(HERE))
    module = sys.modules[type(metric).__module__]
    try:
        run = module.parse_run(_run_bytes(text, upload), name="run")
        queries = load_dataset(os.environ.get("NCLUE_DATASET", "nclue"), collection, split=form)
        known = set(queries["query_id"])
        if not known.intersection(run.rankings):
            raise ValueError(f"the run has none of the {len(known)} queries of {collection}")
        result = metric.compute(
            predictions=[run.rankings.get(query_id, []) for query_id in queries["query_id"]],
            references=queries["reference"],
            query_ids=queries["query_id"],
            k=int(k),
        )
    except (ValueError, OSError) as err:
        raise gr.Error(str(err), print_exception=False) from err
    rows = [[name, round(value, 2)] for name, value in result.items() if "@" in name]
    missing = len(known) - len(known.intersection(run.rankings))
    note = f"{missing} of {len(known)} queries have no ranking and count as misses. "
    return rows, note + f"`{result['signature']}`"


def _run_bytes(text: str, upload: str | None) -> bytes:
    if upload is None:
        return text.encode("utf-8")
    path = Path(upload)
    if path.stat().st_size > MAX_RUN_BYTES:
        raise ValueError(f"the file is larger than {MAX_RUN_BYTES // 2**20} MB")
    return path.read_bytes()


def build() -> gr.Blocks:
    """The page."""
    with gr.Blocks(title="n-Clue") as page:
        gr.Markdown(
            "# n-Clue\nPaste or upload a run (TREC, JSON, JSONL or Parquet; gzip too). A query "
            "counts when a document with all its conditions comes before every document with "
            "only some."
        )
        with gr.Row():
            text = gr.Textbox(label="Run", lines=8, placeholder=EXAMPLE)
            upload = gr.File(label="or a file", type="filepath")
        with gr.Row():
            collection = gr.Dropdown(COLLECTIONS, value="mini", label="Collection")
            form = gr.Dropdown(FORMS, value="raw", label="Query form")
            k = gr.Number(10, label="k", precision=0, minimum=1)
        button = gr.Button("Score", variant="primary")
        table = gr.Dataframe(headers=list(COLUMNS), label="Scorecard", interactive=False)
        note = gr.Markdown()
        button.click(score, [text, upload, collection, form, k], [table, note], api_name="score")
    return page


if __name__ == "__main__":
    build().launch()
