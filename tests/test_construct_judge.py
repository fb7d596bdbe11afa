"""The LLM judge against a real server on the loopback, in both protocols."""

import contextlib
import json

import pytest

from construct_corpus import write_corpus, zoned
from http_server import Answer, Server
from nclue_cli.main import main
from nclue_construct.cluster import Condition
from nclue_construct.compose import Candidate
from nclue_construct.judge_client import JudgeClient, Refused, make_endpoint
from nclue_construct.llm_judge import LlmJudge
from nclue_construct.search import Searcher
from nclue_construct.verify import Verification
from nclue_core.errors import InputError, NetworkError, UsageError
from nclue_core.jsonl import read_jsonl

PATHS = {"openai": "/v1/chat/completions", "anthropic": "/v1/messages"}


def openai_reply(text, refusal=None):
    message = {"role": "assistant", "content": text, "refusal": refusal}
    return {"choices": [{"index": 0, "message": message, "finish_reason": "stop"}]}


def anthropic_reply(text, stop_reason="end_turn"):
    return {"content": [{"type": "text", "text": text}], "stop_reason": stop_reason}


REPLY = {"openai": openai_reply, "anthropic": anthropic_reply}


class JudgeServer(Server):
    """Answers each request with the next script entry: (status, headers, body) or seconds."""

    def __init__(self, answer):
        self.answer = answer
        super().__init__(self._reply)

    def _reply(self, seen):
        answer = self.answer(json.loads(seen.body))
        if isinstance(answer, float):
            return Answer(200, b"{}", delay_s=answer)
        status, headers, content = answer
        data = content if isinstance(content, bytes) else json.dumps(content).encode()
        return Answer(status, data, headers)

    @property
    def requests(self):
        return [(seen.path, seen.headers, json.loads(seen.body)) for seen in self.seen]

    def url(self, protocol):
        return f"{self.base}{PATHS[protocol]}"


@pytest.fixture
def serve():
    with contextlib.ExitStack() as servers:

        def start(*script, answer=None):
            rest = list(script)
            server = JudgeServer(answer or (lambda body: rest.pop(0)))
            return servers.enter_context(server.running())

        yield start


def client(server, tmp_path, protocol="openai", frozen=False, waits=None, **limits):
    endpoint = make_endpoint(server.url(protocol), "model-1", **{"timeout_s": 5.0, **limits})
    sleep = waits.append if waits is not None else lambda seconds: None
    return JudgeClient(endpoint, tmp_path / "cache", frozen, sleep)


@pytest.mark.parametrize("protocol", ["openai", "anthropic"])
class TestClient:
    def test_it_speaks_the_protocol(self, serve, tmp_path, protocol, monkeypatch):
        monkeypatch.setenv("NCLUE_JUDGE_KEY", "secret")
        server = serve((200, {}, REPLY[protocol]("yes")))
        assert client(server, tmp_path, protocol).ask("system", "question") == "yes"
        path, headers, body = server.requests[0]
        assert path == PATHS[protocol]
        assert (body["model"], body["temperature"]) == ("model-1", 0)
        if protocol == "openai":
            assert headers["Authorization"] == "Bearer secret"
            assert [m["role"] for m in body["messages"]] == ["system", "user"]
        else:
            assert headers["x-api-key"] == "secret"
            assert body["system"] == "system"
            assert [m["role"] for m in body["messages"]] == ["user"]

    def test_the_key_is_in_no_file(self, serve, tmp_path, protocol, monkeypatch):
        monkeypatch.setenv("NCLUE_JUDGE_KEY", "secret")
        server = serve((200, {}, REPLY[protocol]("yes")))
        client(server, tmp_path, protocol).ask("system", "question")
        assert all("secret" not in p.read_text() for p in tmp_path.rglob("*") if p.is_file())

    def test_a_question_is_asked_once_and_then_read_from_the_cache(self, serve, tmp_path, protocol):
        server = serve((200, {}, REPLY[protocol]("yes")))
        for _ in range(2):
            assert client(server, tmp_path, protocol).ask("s", "q") == "yes"
        assert client(server, tmp_path, protocol, frozen=True).ask("s", "q") == "yes"
        assert len(server.requests) == 1

    def test_refusals_are_remembered(self, serve, tmp_path, protocol):
        refused = (
            openai_reply(None, "I can't help")
            if protocol == "openai"
            else anthropic_reply("I can't help", "refusal")
        )
        server = serve((200, {}, refused))
        for _ in range(2):
            with pytest.raises(Refused, match="can't help"):
                client(server, tmp_path, protocol).ask("s", "q")
        assert len(server.requests) == 1

    @pytest.mark.parametrize(
        "bad",
        [b"not json", {}, [], {"choices": []}, {"content": []}, {"choices": [{"message": None}]}],
    )
    def test_replies_without_text_are_asked_for_again(self, serve, tmp_path, protocol, bad):
        server = serve((200, {}, bad), (200, {}, REPLY[protocol]("yes")))
        assert client(server, tmp_path, protocol).ask("s", "q") == "yes"


def test_too_many_requests_wait_as_long_as_the_server_says(serve, tmp_path):
    waits = []
    busy = (429, {"Retry-After": "7"}, {})
    server = serve(busy, (503, {"Retry-After": "x"}, {}), busy, (200, {}, openai_reply("yes")))
    assert client(server, tmp_path, waits=waits, max_wait_s=5.0).ask("s", "q") == "yes"
    assert waits == [5.0, 2.0, 5.0]


def test_a_timeout_is_tried_again(serve, tmp_path):
    server = serve(0.6, (200, {}, openai_reply("yes")))
    assert client(server, tmp_path, timeout_s=0.2).ask("s", "q") == "yes"


def test_a_wrong_call_is_not_repeated_and_nothing_is_cached(serve, tmp_path):
    server = serve((401, {}, {"error": "bad key"}))
    with pytest.raises(NetworkError, match=r"HTTP 401: .*bad key"):
        client(server, tmp_path).ask("s", "q")
    assert len(server.requests) == 1
    assert not list(tmp_path.rglob("*.json"))


def test_attempts_are_bounded(serve, tmp_path):
    server = serve(answer=lambda body: (500, {}, {}))
    with pytest.raises(NetworkError, match="run the command again"):
        client(server, tmp_path, attempts=3).ask("s", "q")
    assert len(server.requests) == 3


def test_redirects_are_not_followed(serve, tmp_path):
    server = serve((302, {"Location": "http://example.org/"}, {}))
    with pytest.raises(NetworkError, match="HTTP 302"):
        client(server, tmp_path).ask("s", "q")


def test_a_frozen_judge_asks_nobody(serve, tmp_path):
    server = serve()
    with pytest.raises(InputError, match="frozen"):
        client(server, tmp_path, frozen=True).ask("s", "q")
    assert server.requests == []


def test_a_damaged_cache_is_named(serve, tmp_path):
    server = serve((200, {}, openai_reply("yes")))
    asker = client(server, tmp_path)
    asker.ask("s", "q")
    (path,) = tmp_path.rglob("*.json")
    path.write_text("{")
    with pytest.raises(InputError, match="damaged"):
        asker.ask("s", "q")


@pytest.mark.parametrize(
    ("url", "model", "protocol", "message"),
    [
        ("ftp://x/messages", "m", None, "http://"),
        ("http://x/v1/complete", "m", None, "openai or anthropic"),
        ("http://x/messages", "", None, "model"),
    ],
)
def test_wrong_endpoints_are_refused(url, model, protocol, message):
    with pytest.raises(UsageError, match=message):
        make_endpoint(url, model, protocol)


PAGES = {
    "doc": zoned([("text", "The World Food Programme helped. Later the Food Programme left.")])
}
WFP = Condition(
    "World Food Programme", "entity", ("Food Programme", "World Food Programme"), ("WFP",), (), ()
)


def judge(serve, tmp_path, *texts):
    server = serve(*[(200, {}, openai_reply(text)) for text in texts])
    return LlmJudge(client(server, tmp_path)), server


def searched():
    (found,) = Searcher([WFP]).search(PAGES.values())
    return found


@pytest.mark.parametrize(
    ("text", "verdict", "n_kept"),
    [
        ('{"verdict": "KEEP"}', "KEEP", 1),
        ('```json\n{"verdict": "KEEP"}\n```', "KEEP", 1),
        ('{"verdict": "REJECT", "reason": "vague"}', "REJECT", 0),
    ],
)
def test_a_condition_is_kept_or_rejected(serve, tmp_path, text, verdict, n_kept):
    judging, server = judge(serve, tmp_path, text)
    decision, kept = judging.judge_condition(searched(), PAGES)
    assert (decision.verdict, len(kept)) == (verdict, n_kept)
    question = server.requests[0][2]["messages"][1]["content"]
    assert "World Food Programme" in question
    assert "helped" in question  # the line around the match


def test_a_split_is_asked_for_and_must_be_a_partition(serve, tmp_path):
    groups = [["World Food Programme", "WFP"], ["Food Programme"]]
    judging, server = judge(
        serve, tmp_path, '{"verdict": "SPLIT"}',
        '{"groups": [["World Food Programme"], ["WFP"]]}', json.dumps({"groups": groups}),
    )  # fmt: skip
    decision, parts = judging.judge_condition(searched(), PAGES)
    assert decision.verdict == "SPLIT"
    assert [(p.name, p.acronyms) for p in parts] == [
        ("World Food Programme", ("WFP",)), ("Food Programme", ()),
    ]  # fmt: skip
    assert "exactly once" in server.requests[2][2]["messages"][1]["content"]


@pytest.mark.parametrize("text", ["maybe", "[]", '{"verdict": "yes"}', '{"verdict": "KEEP"'])
def test_malformed_verdicts_are_asked_again_and_then_rejected(serve, tmp_path, text):
    judging, server = judge(serve, tmp_path, text, text + " ", text + "  ")
    decision, kept = judging.judge_condition(searched(), PAGES)
    assert (decision.verdict, decision.rule, kept) == ("REJECT", "judge_unclear", [])
    assert "not usable" in server.requests[1][2]["messages"][1]["content"]


def verify(judging):
    candidate = Candidate(("World Food Programme",), ("doc",), ())
    found = {"World Food Programme": searched()}
    passed = [Verification(candidate.conditions, True, "")]
    return judging.verify([candidate], passed, found, PAGES)[0]


def test_an_item_needs_a_verbatim_quote(serve, tmp_path):
    quote = json.dumps({"holds": True, "evidence": "The World Food\nProgramme helped"})
    assert verify(judge(serve, tmp_path, quote)[0]).passed


def test_invented_evidence_drops_the_item(serve, tmp_path):
    invented = json.dumps({"holds": True, "evidence": "The World Food Programme won a prize"})
    result = verify(judge(serve, tmp_path, invented, invented, invented)[0])
    assert (result.passed, "verbatim quote" in result.reason) == (False, True)


def test_a_denied_item_is_dropped(serve, tmp_path):
    result = verify(judge(serve, tmp_path, '{"holds": false, "evidence": ""}')[0])
    assert (result.passed, "does not see it on page 1" in result.reason) == (False, True)


def test_a_refusal_drops_the_item(serve, tmp_path):
    server = serve((200, {}, openai_reply(None, "no")))
    result = verify(LlmJudge(client(server, tmp_path)))
    assert (result.passed, "refused" in result.reason) == (False, True)


def obliging(body):
    """A judge that keeps all but one condition, and quotes the page it is given."""
    question = body["messages"][-1]["content"]
    if "Does this page" not in question:
        return (200, {}, openai_reply('{"verdict": "%s"}' % (
            "REJECT" if "on: Seed Certification" in question else "KEEP"
        )))  # fmt: skip
    text = question.partition("<text>\n")[2].partition("\n</text>")[0]
    quote = text[:60]
    return (200, {}, openai_reply(json.dumps({"holds": True, "evidence": quote})))


def test_a_construction_with_a_judge_can_be_repeated_offline(serve, tmp_path, capsys):
    pages, corpus = write_corpus(tmp_path / "in")
    server = serve(answer=obliging)
    out = tmp_path / "out"
    call = ["construct", "--pages", str(pages), "--corpus", str(corpus), "--out", str(out)]
    call += ["--name", "own", "--judge-url", server.url("openai"), "--judge-model", "model-1"]
    assert main(call) == 0
    kept = {row.value["condition"]["name"] for row in read_jsonl(out / "kept.jsonl")}
    assert "Grievance Mechanism" in kept
    assert "Seed Certification" not in kept
    manifest = json.loads((out / "release" / "MANIFEST.json").read_text())
    assert manifest["gate"] == "rules, then LLM judge model-1 (openai protocol)"
    n_asked = len(server.requests)
    server.answer = lambda body: (500, {}, {})
    (out / "steps.json").unlink()
    before = (out / "select.jsonl").read_bytes()
    assert main([*call, "--judge-frozen"]) == 0
    assert len(server.requests) == n_asked
    assert (out / "select.jsonl").read_bytes() == before
    capsys.readouterr()
