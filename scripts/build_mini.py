"""Build the embedded benchmark ``mini``: the construction, and the rankings of the systems.

    python scripts/build_mini.py --pages DIR/ocr_text --corpus corpus.jsonl --work DIR

The same page texts give the same bytes.
"""

from __future__ import annotations

import argparse
import gzip
import shutil
import sys
import tempfile
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from nclue_construct.config import ConstructConfig
from nclue_construct.corpus_rows import read_corpus
from nclue_construct.pipeline import Construction
from nclue_core.pages import read_document
from nclue_core.schema import FORMS, Query, Ranking
from nclue_dataset.collection_writer import write_checksums, write_release
from nclue_dataset.paths import MINI_RELEASE
from nclue_systems import build_index, expand_names, run_system

if TYPE_CHECKING:
    from nclue_systems import CorpusIndex

SYSTEMS = (
    "bm25_or", "bm25_and", "bm25_decompose_min", "bm25_decompose_product", "bm25_decompose_hmean",
    "bm25_decompose_sdr", "bm25_condition_text", "bm25_page_aggregated", "bm25_and_tuned",
    "rrf(bm25_or,bm25_decompose_min)", "rrf(bm25_and,bm25_decompose_sdr)", "frequency_prior",
    "random",
)  # fmt: skip
DEPTH = 20


def main() -> int:
    """Build, and replace the embedded release."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--pages", type=Path, required=True, help="folder ocr_<engine>")
    parser.add_argument("--corpus", type=Path, required=True, help="rows of the documents")
    parser.add_argument("--work", type=Path, required=True, help="the steps' files (kept)")
    parser.add_argument("--out", type=Path, default=MINI_RELEASE)
    args = parser.parse_args()
    build(args.pages, args.corpus, args.work, args.out)
    return 0


def build(
    pages: Path, corpus: Path, work: Path, out: Path, config: ConstructConfig | None = None
) -> None:
    """Write the release with its rankings to ``out``, replacing what is there."""
    made = Construction(
        pages, read_corpus(corpus), work, config or ConstructConfig(name="mini"), say=_say
    )  # fmt: skip
    made.run()
    collection = made.collection()
    texts = {
        doc_id: [(page.page, page.text) for page in read_document(pages, doc_id)]
        for doc_id in made.documents
    }
    collection.rankings.extend(_rankings(build_index(texts), collection.queries))
    with tempfile.TemporaryDirectory() as scratch:
        release = Path(scratch) / "release"
        write_release(release, {collection.name: collection}, made.manifest())
        made.write_conditions(release)
        _pack(release)
        shutil.rmtree(out, ignore_errors=True)
        shutil.copytree(release, out)


def _rankings(index: CorpusIndex, queries: Sequence[Query]) -> Iterator[Ranking]:
    for form in FORMS:
        for spec in expand_names(SYSTEMS):
            for row in run_system(spec.name, index, queries, form, depth=DEPTH, seed=11):
                yield Ranking(spec.file_stem, form, row.query_id, row.doc_ids, None)


def _pack(release: Path) -> None:
    """Compress the rankings, which repeat long document IDs; without a time, so reproducibly."""
    for path in sorted((release / "reference_runs").rglob("*.jsonl")):
        path.with_name(f"{path.name}.gz").write_bytes(gzip.compress(path.read_bytes(), mtime=0))
        path.unlink()
    write_checksums(release)


def _say(line: str) -> None:
    print(line, file=sys.stderr)


if __name__ == "__main__":
    sys.exit(main())
