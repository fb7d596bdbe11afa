"""Check a release directory: everything that is wrong, in one pass over its files."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from nclue_core.errors import InputError, UsageError
from nclue_dataset.aliases import check_mapping
from nclue_dataset.check_files import check_encoding, check_folder
from nclue_dataset.check_runs import check_rankings
from nclue_dataset.check_tables import check_corpus, check_forms, check_qrels, check_queries
from nclue_dataset.facts import CLAIMS, Comparison, compare_facts, published_facts
from nclue_dataset.layout import MANIFEST, collection_folders, find_files, read_manifest
from nclue_dataset.names import config_name_reason
from nclue_dataset.release import missing_table
from nclue_dataset.scan import Listener, Problem, Scan, scan_collection

# What a release may have and still be right; everything else is an error.
WARNINGS = frozenset(
    [
        "bom", "crlf", "gzip-name", "unknown-field", "unlisted-file", "left-over-file",
        "no-checksums", "license", "no-url", "duplicate-text", "empty-document", "carries-text",
        "duplicate-pdf", "zero-grade", "page-order", "run-incomplete", "empty-ranking",
        "other-ranking", "form-name", "n-conditions-unusual", "blanks",
    ]
)  # fmt: skip


@dataclass(frozen=True)
class Finding:
    """Something that is wrong, or odd."""

    code: str
    severity: str  # error or warning
    path: str  # relative to the release
    line: int | None
    message: str


@dataclass(frozen=True)
class CheckReport:
    """All findings of a release."""

    path: Path
    collections: dict[str, dict[str, int]]  # name -> number of rows per table
    findings: list[Finding]
    facts: list[Comparison]  # empty where nothing is claimed

    @property
    def errors(self) -> list[Finding]:
        """Findings that make the release wrong."""
        return [finding for finding in self.findings if finding.severity == "error"]

    @property
    def grouped(self) -> dict[str, list[Finding]]:
        """Findings by code: errors first, then in the order found."""
        groups: dict[str, list[Finding]] = {}
        for severity in ("error", "warning"):
            for finding in self.findings:
                if finding.severity == severity:
                    groups.setdefault(finding.code, []).append(finding)
        return groups

    def to_json(self) -> dict[str, Any]:
        """The report as data."""
        return {
            "path": str(self.path),
            "ok": not self.errors,
            "collections": self.collections,
            "findings": [vars(finding) for finding in self.findings],
            "facts": [{**vars(fact), "agrees": fact.agrees} for fact in self.facts],
            "facts_source": published_facts()["citation"] if self.facts else None,
        }


def check_release(
    path: Path, mapping: Mapping[str, str] | None = None, claim: str | None = None
) -> CheckReport:
    """Find everything that is wrong with a release.

    Args:
        path: The release directory.
        mapping: Names of fields and files, as for `read_release`.
        claim: Compare with the published counts of this collection; by default a collection
            called crosspage or sourceshift is compared with its own.

    Raises:
        UsageError: An unknown claim or mapping, or a claim where there are several collections.
        InputError: There is no such directory.
    """
    path = Path(path)
    mapping = check_mapping(mapping)
    if claim is not None and claim not in CLAIMS:
        raise UsageError(f"nothing is published of {claim!r}; claims are {', '.join(CLAIMS)}")
    if not path.is_dir():
        raise InputError("no such directory; expected a release directory", path=path)
    problems: list[Problem] = []
    listen = problems.append
    folders = _collections(path, listen)
    if claim and len(folders) > 1 and claim not in folders:
        raise UsageError(f"the release holds {', '.join(folders)}: which one is {claim}?")
    check_folder(path, listen)
    counts: dict[str, dict[str, int]] = {}
    facts: list[Comparison] = []
    for name, folder in folders.items():
        scan = _check_collection(name, folder, mapping, listen)
        if scan is None:
            continue
        counts[name] = _counts(scan)
        claimed = claim if claim and len(folders) == 1 else name
        if claimed in CLAIMS:
            facts += compare_facts(scan, claimed)
    problems += [_disagreement(fact, folders, path) for fact in facts if not fact.agrees]
    return CheckReport(path, counts, [_finding(item, path) for item in problems], facts)


def _collections(path: Path, listen: Listener) -> dict[str, Path]:
    """Folders of the collections; a broken manifest is told and then ignored."""
    manifest: dict[str, Any] = {}
    try:
        manifest = read_manifest(path)
    except InputError as err:
        listen(Problem("manifest", path / MANIFEST, None, err.message))
    try:
        return collection_folders(path, manifest)
    except InputError as err:
        listen(Problem("manifest", path / MANIFEST if manifest else path, None, err.message))
    try:
        return collection_folders(path, {}) if manifest else {}
    except InputError:
        return {}


def _check_collection(
    name: str, folder: Path, mapping: Mapping[str, str], listen: Listener
) -> Scan | None:
    reason = config_name_reason(name)
    if reason:
        message = f"the collection {name!r} cannot be a configuration: {reason}"
        listen(Problem("name", folder, None, message))
    if not folder.is_dir():
        listen(Problem("missing-file", folder, None, f"no folder for the collection {name!r}"))
        return None
    try:
        files = find_files(name, folder, mapping)
    except InputError as err:
        listen(Problem("ambiguous-file", folder, None, err.message))
        return None
    for table in ("queries", "qrels", "corpus"):
        if table not in files.tables:
            listen(Problem("missing-file", folder, None, missing_table(files, table)))
    for path in files.left_over:
        message = "not part of the format, and not read (--map TABLE=FILE says what it is)"
        listen(Problem("left-over-file", path, None, message))
    for path in files.all_files():
        check_encoding(path, listen)
    scan = scan_collection(files, mapping, listen)
    if "queries" in files.tables and not scan.queries:
        listen(Problem("no-queries", folder, None, f"the collection {name!r} has no query"))
    check_queries(scan, listen)
    check_forms(scan, listen)
    check_corpus(scan, listen)
    check_qrels(scan, listen)
    check_rankings(scan, listen)
    return scan


def _counts(scan: Scan) -> dict[str, int]:
    return {
        "queries": len(scan.queries),
        "documents": len(scan.corpus),
        **{f"qrels_{copy}": len(rows) for copy, rows in scan.qrels.items()},
        "rankings": len(scan.rankings),
    }


def _disagreement(fact: Comparison, folders: Mapping[str, Path], path: Path) -> Problem:
    message = f"{fact.name}: published {fact.claimed}, found {fact.found}"
    folder = folders.get(fact.collection, path)
    return Problem("facts", folder, None, message)


def _finding(problem: Problem, release: Path) -> Finding:
    shown = problem.path
    if shown.is_relative_to(release):
        shown = shown.relative_to(release)
    severity = "warning" if problem.code in WARNINGS else "error"
    return Finding(problem.code, severity, shown.as_posix(), problem.line, problem.message)
