"""Checks across the rows of queries, forms, corpus and qrels."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Iterable
from urllib.parse import urlsplit

from nclue_core.assignment import document_grade, gold_failure
from nclue_core.files import SHA256_PATTERN, unsafe_id_reason
from nclue_core.jsonl import shorten
from nclue_core.schema import FORMS, RENDER_FORM, CorpusDocument, Evidence, Qrel, Query
from nclue_dataset.names import split_name_reason
from nclue_dataset.scan import Listener, Problem, Record, Scan, Scanned


def _tell(listen: Listener, item: Scanned[Record], code: str, message: str) -> None:
    listen(Problem(code, item.path, item.line, message))


def _spaced(text: str) -> str:
    return " ".join(text.split())


def check_ids(
    items: Iterable[Scanned[Record]],
    key: Callable[[Record], str],
    what: str,
    listen: Listener,
) -> None:
    """IDs that stand twice, are equal up to letter case, or can't be file names."""
    first: dict[str, Scanned[Record]] = {}
    folded: dict[str, str] = {}
    for item in items:
        identifier = key(item.record)
        if identifier in first:
            where = f"{first[identifier].path.name}:{first[identifier].line}"
            _tell(listen, item, "duplicate-id", f"{what} {identifier!r} stands twice ({where})")
            continue
        first[identifier] = item
        twin = folded.setdefault(identifier.casefold(), identifier)
        if twin != identifier:
            message = f"{what} {identifier!r} differs from {twin!r} by letter case only"
            _tell(listen, item, "id-case", message)
        reason = unsafe_id_reason(identifier)
        if reason:
            _tell(listen, item, "unsafe-id", f"{what} {identifier!r} is no file name: {reason}")


def check_queries(scan: Scan, listen: Listener) -> None:
    """Queries: IDs, conditions, texts."""
    check_ids(scan.queries, lambda query: query.query_id, "the query", listen)
    texts: dict[str, str] = {}
    for item in scan.queries:
        query = item.record
        _check_conditions(item, listen)
        text = _spaced(query.query_text_eval_full)
        if not text:
            if item.is_clean:
                _tell(listen, item, "empty-text", f"{query.query_id}: the query text is empty")
            continue
        other = texts.setdefault(text, query.query_id)
        if other != query.query_id:
            message = f"{query.query_id} repeats the text of {other} (up to spacing)"
            _tell(listen, item, "duplicate-text", message)


def _check_conditions(item: Scanned[Query], listen: Listener) -> None:
    query = item.record
    if item.is_clean and len(query.conditions) not in (2, 3):
        message = f"{query.query_id} has {len(query.conditions)} conditions (the study: 2 or 3)"
        _tell(listen, item, "n-conditions-unusual", message)
    if len({_spaced(c).casefold() for c in query.conditions}) < len(query.conditions):
        message = f"{query.query_id}: a condition stands twice in {list(query.conditions)}"
        _tell(listen, item, "condition-repeated", message)
    for condition in query.conditions:
        if condition != condition.strip():
            message = f"{query.query_id}: blanks around the condition {condition!r}"
            _tell(listen, item, "blanks", message)


def check_forms(scan: Scan, listen: Listener) -> None:
    """Query forms: they cover all queries, hold the conditions, and follow their template."""
    queries = {item.record.query_id: item for item in scan.queries}
    texts: defaultdict[str, dict[str, str]] = defaultdict(dict)
    for item in scan.forms:
        form = item.record
        if form.query_id in texts[form.form]:
            message = f"the form {form.form} of {form.query_id} stands twice"
            _tell(listen, item, "duplicate-id", message)
        texts[form.form][form.query_id] = form.query
        if form.query_id not in queries:
            _tell(listen, item, "dangling-query", f"{form.query_id}: query not in queries")
        else:
            _check_form(item, form.form, form.query, queries[form.query_id].record, listen)
    for row in scan.queries:
        if row.record.query_id not in texts["raw"] and row.record.query_text_eval_full:
            _check_form(row, "raw", row.record.query_text_eval_full, row.record, listen)
    _check_coverage(scan, texts, listen)


def _check_form(
    item: Scanned[Record], form: str, text: str, query: Query, listen: Listener
) -> None:
    name = f"{query.query_id}, {form}"
    if not text.strip():
        _tell(listen, item, "empty-text", f"{name}: the text is empty")
        return
    if form == "raw" and query.query_text_eval_full not in ("", text):
        message = f"{name}: differs from query_text_eval_full, which is the raw form"
        _tell(listen, item, "raw-differs", message)
    if form not in FORMS or not query.conditions:
        return
    for condition in query.conditions:
        if condition not in text:
            message = f"{name}: does not hold the condition {condition!r} verbatim"
            _tell(listen, item, "form-condition", message)
    if form != "raw" and text != RENDER_FORM[form](query.conditions):
        expected = RENDER_FORM[form](query.conditions)
        message = f"{name}: expected {shorten(expected, 80)}, found {shorten(text, 80)}"
        _tell(listen, item, "form-template", message)


def _check_coverage(scan: Scan, texts: dict[str, dict[str, str]], listen: Listener) -> None:
    if not scan.queries:
        return
    place = (scan.files.tables.get("queries_forms") or [scan.files.folder])[0]
    for form in dict.fromkeys([*FORMS, *texts]):
        if form not in FORMS:
            listen(Problem("form-name", place, None, f"{form!r} is not one of {', '.join(FORMS)}"))
        reason = split_name_reason(form)
        if reason:
            listen(Problem("name", place, None, f"the form {form!r} cannot be a split: {reason}"))
        found = texts.get(form, {})
        missing = [
            item.record.query_id
            for item in scan.queries
            if item.record.query_id not in found
            and not (form == "raw" and item.record.query_text_eval_full)
        ]
        if missing:
            shown = ", ".join(missing[:3]) + (", …" if len(missing) > 3 else "")
            message = (
                f"{form}: {len(missing)} of {len(scan.queries)} queries have no text ({shown})"
            )
            listen(Problem("form-coverage", place, None, message))


def check_corpus(scan: Scan, listen: Listener) -> None:
    """Documents: IDs, hashes, addresses, licences, and texts, which don't belong here."""
    check_ids(scan.corpus, lambda document: document.doc_id, "the document", listen)
    hashes: dict[str, str] = {}
    for item in scan.corpus:
        document = item.record
        _check_sha256(item, hashes, listen)
        for field in ("pdf_url", "landing_url"):
            reason = url_fault(getattr(document, field))
            if reason:
                _tell(listen, item, "url", f"{document.doc_id}: {field} {reason}")
        if not document.pdf_url and not document.landing_url:
            _tell(listen, item, "no-url", f"{document.doc_id}: neither pdf_url nor landing_url")
        if not document.license and not document.terms:
            _tell(listen, item, "license", f"{document.doc_id}: neither license nor terms")
    _check_texts(scan, listen)


def _check_sha256(item: Scanned[CorpusDocument], hashes: dict[str, str], listen: Listener) -> None:
    document = item.record
    if document.sha256 is None:
        return
    if not SHA256_PATTERN.fullmatch(document.sha256):
        message = f"expected 64 lower-case hex digits, found {shorten(document.sha256, 70)!r}"
        _tell(listen, item, "sha256", f"{document.doc_id}: {message}")
        return
    other = hashes.setdefault(document.sha256, document.doc_id)
    if other != document.doc_id:
        message = f"{document.doc_id} is the same PDF as {other} (equal sha256)"
        _tell(listen, item, "duplicate-pdf", message)


def url_fault(url: str | None) -> str | None:
    """What is wrong with an address, or None if nothing is (or there is none)."""
    if url is None:
        return None
    try:
        parts = urlsplit(url)
        host, has_user = parts.hostname, parts.username is not None
    except ValueError:
        return f"is no address: {shorten(url)!r}"
    if parts.scheme not in ("http", "https") or not host or any(c.isspace() for c in url):
        return f"is not an http(s) address: {shorten(url)!r}"
    return "carries a user name or password" if has_user else None


def _check_texts(scan: Scan, listen: Listener) -> None:
    """Texts of documents: not to be distributed; two alike may be judged differently."""
    if scan.texts:
        _, _, path, line = scan.texts[0]
        message = "rows carry the documents' text; a release holds annotations only"
        listen(Problem("carries-text", path, line, message))
    judged: defaultdict[str, list[str]] = defaultdict(list)
    for row in scan.qrels.get("final", ()):
        judged[row.record.doc_id].append(row.record.query_id)
    first: dict[str, str] = {}
    for doc_id, text, path, line in scan.texts:
        if not text:
            listen(Problem("empty-document", path, line, f"{doc_id} is empty"))
            continue
        other = first.setdefault(text, doc_id)
        if other != doc_id:
            differing = sorted(set(judged[other]) ^ set(judged[doc_id]))
            for_queries = (
                f"; only one is judged for {', '.join(differing[:3])}" if differing else ""
            )
            message = f"{doc_id} repeats the text of {other} up to spacing{for_queries}"
            listen(Problem("duplicate-text", path, line, message))


def check_qrels(scan: Scan, listen: Listener) -> None:
    """Qrels of every copy: pairs, grades, labels, evidence and the page rule of golds."""
    queries = {item.record.query_id: item.record for item in scan.queries}
    corpus = {item.record.doc_id: item.record for item in scan.corpus}
    for rows in scan.qrels.values():
        has_evidence = any(item.record.evidence for item in rows)
        _check_pairs(rows, queries, corpus, listen)
        for item in rows:
            query = queries.get(item.record.query_id)
            if not item.is_clean or query is None or not query.conditions:
                continue
            _check_grade(item, query, listen)
            if has_evidence and item.record.grade:
                _check_evidence(item, query, corpus.get(item.record.doc_id), listen)
        _check_golds(scan, rows, listen)


def _check_pairs(
    rows: list[Scanned[Qrel]],
    queries: dict[str, Query],
    corpus: dict[str, CorpusDocument],
    listen: Listener,
) -> None:
    first: dict[tuple[str, str], int] = {}
    for item in rows:
        pair = (item.record.query_id, item.record.doc_id)
        line = first.setdefault(pair, item.line)
        if line != item.line:
            message = f"{pair[0]}/{pair[1]}: the pair stands twice (line {line})"
            _tell(listen, item, "duplicate-pair", message)
        if pair[0] not in queries:
            _tell(listen, item, "dangling-query", f"{pair[0]}: query not in queries")
        if pair[1] not in corpus:
            message = f"{pair[0]}/{pair[1]}: document not in corpus"
            _tell(listen, item, "dangling-document", message)


def _check_grade(item: Scanned[Qrel], query: Query, listen: Listener) -> None:
    row, n = item.record, query.n_conditions
    if row.grade == 0:
        message = f"{row.query_id}/{row.doc_id}: grade 0; absent pairs have that grade"
        _tell(listen, item, "zero-grade", message)
    elif (row.label == "gold") != (row.grade == n):
        message = (
            f"{row.query_id}/{row.doc_id}: grade and label disagree: {row.label} with grade "
            f"{row.grade} of {n} (gold means grade {n})"
        )
        _tell(listen, item, "grade-label", message)


def _check_evidence(
    item: Scanned[Qrel], query: Query, document: CorpusDocument | None, listen: Listener
) -> None:
    row = item.record
    name = f"{row.query_id}/{row.doc_id}"
    if not row.evidence:
        _tell(listen, item, "evidence-missing", f"{name}: grade {row.grade} without evidence")
        return
    last = document.n_pages if document else None
    for evidence in row.evidence:
        if evidence.condition not in query.conditions:
            _tell(listen, item, "evidence-condition", _unknown_condition(name, evidence, query))
        if last is not None and evidence.pages[-1] > last:
            message = (
                f"{name}: {evidence.condition}: page {evidence.pages[-1]} of {last}; pages are "
                "positions in the PDF, not the labels printed on them"
            )
            _tell(listen, item, "page-range", message)
    _check_page_rule(item, query, listen)


def _unknown_condition(name: str, evidence: Evidence, query: Query) -> str:
    text = f"{name}: condition {evidence.condition!r} is not one of the query"
    alike = [c for c in query.conditions
             if _spaced(c).casefold() == _spaced(evidence.condition).casefold()]  # fmt: skip
    return f"{text}; it is written {alike[0]!r} there" if alike else text


def _check_page_rule(item: Scanned[Qrel], query: Query, listen: Listener) -> None:
    """The grade follows from the page sets; a gold says which part of the rule fails."""
    row = item.record
    pages_of = {evidence.condition: evidence.pages for evidence in row.evidence}
    page_sets = [pages_of.get(condition, ()) for condition in query.conditions]
    grade = document_grade(page_sets)
    if grade == row.grade:
        return
    name = f"{row.query_id}/{row.doc_id}"
    if row.grade != query.n_conditions:
        message = f"{name}: grade {row.grade}, but the evidence makes it {grade}"
        _tell(listen, item, "grade-evidence", message)
        return
    lacking = [c for c, pages in zip(query.conditions, page_sets) if not pages]
    reason = f"no pages for {', '.join(lacking)}" if lacking else gold_failure(page_sets)
    _tell(listen, item, "gold-rule", f"{name}: not gold: {reason}")


def _check_golds(scan: Scan, rows: list[Scanned[Qrel]], listen: Listener) -> None:
    n_of = {item.record.query_id: item.record.n_conditions for item in scan.queries}
    with_gold = {
        item.record.query_id
        for item in rows
        if item.record.grade and item.record.grade == n_of.get(item.record.query_id)
    }
    name = rows[0].path.name if rows else "the qrels"
    for query in scan.queries:
        if query.record.query_id not in with_gold and query.record.conditions:
            message = f"{query.record.query_id}: no gold document in {name}"
            _tell(listen, query, "no-gold", message)
