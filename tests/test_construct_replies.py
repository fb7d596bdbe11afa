"""Endpoints as they are today: what their replies say, what they refuse, what it costs."""

from __future__ import annotations

import contextlib
import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from construct_corpus import write_corpus
from nclue_cli.main import main
from nclue_construct.judge_client import Unclear
from nclue_construct.judge_progress import JudgePace
from nclue_construct.judge_replies import Malformed, objects_in, parse_reply
from nclue_construct.llm_judge import FIRST_UNCLEAR, LlmJudge
from nclue_core.errors import NClueError
from test_construct_judge import (
    PAGES,
    anthropic_reply,
    client,
    judge,
    obliging,
    openai_reply,
    searched,
    serve,
)

__all__ = ["serve"]  # the fixture
KEEP = '{"verdict":"KEEP"}'


def verdict(serve, tmp_path, *contents, protocol="openai"):
    """Verdict of replies whose message holds these contents; and the server."""
    server = serve(*[(200, {}, content) for content in contents])
    decision, _ = LlmJudge(client(server, tmp_path, protocol)).judge_condition(searched(), PAGES)
    return decision, server


def message(finish="stop", **fields):
    return {"choices": [{"message": fields, "finish_reason": finish}]}


CHUNKS = [{"choices": [{"delta": {"content": piece}}]} for piece in ('{"verdict":', '"KEEP"}')]
STREAM = b"".join(b"data: " + json.dumps(chunk).encode() + b"\n\n" for chunk in CHUNKS)
END = b'data: {"choices":[{"delta":{},"finish_reason":"stop"}]}\n\ndata: [DONE]\n\n'
CALL = {"function": {"name": "answer", "arguments": KEEP}}


@pytest.mark.parametrize(
    "reply",
    [
        # N13 and its relatives
        openai_reply(f"<think>It is a clear name.</think>\n{KEEP}"),
        openai_reply([{"type": "text", "text": KEEP}]),
        openai_reply(f"Sure:\n```json\n{KEEP}\n```"),
        openai_reply('{"verdict":"KEEP","reason":null}'),
        openai_reply(f'Reject {{"verdict":"REJECT"}}? No.</think>{KEEP}'),
        openai_reply([{"type": "thinking", "thinking": '{"verdict":"REJECT"}'},
                      {"type": "text", "text": '{"verdict":'},
                      {"type": "text", "text": '"KEEP"}'}]),
        openai_reply(f"<|channel|>analysis<|message|>x {{<|channel|>final<|message|>{KEEP}"),
        openai_reply('{"verdict": " keep "}'),
        openai_reply(f'{{"confidence": 1}} {KEEP} I hope this helps {{smile}}.'),
        openai_reply(f"{KEEP}\n{KEEP}"),
        message(content=KEEP, reasoning_content='{"verdict":"REJECT"}'),
        message(content="", tool_calls=[CALL]),
        message(finish="length", content=KEEP),
        STREAM + END,
        b": waiting\n\n" + STREAM + END,
    ],
)  # fmt: skip
def test_an_unambiguous_answer_is_taken(serve, tmp_path, reply):
    decision, server = verdict(serve, tmp_path, reply)
    assert (decision.verdict, len(server.requests)) == ("KEEP", 1)


@pytest.mark.parametrize(
    "reply",
    [
        openai_reply(f'{KEEP} or {{"verdict":"REJECT"}}'),
        openai_reply('{"verdict":"KEEP","verdict":"REJECT"}'),
        openai_reply(f"<think>The answer is {KEEP}"),
        openai_reply('{"verdict":"KE'),
        openai_reply(f'{{"answer": {KEEP}, "conf'),
        message(content=None, tool_calls=[CALL, CALL]),
        message(content=None, reasoning_content=KEEP),
        message(finish="length", content=""),
        openai_reply(""),
        STREAM,
        {"error": {"message": "overloaded", "code": 503}},
        b"",
    ],
)
def test_what_is_no_clear_answer_is_asked_again(serve, tmp_path, reply):
    decision, server = verdict(serve, tmp_path, reply, openai_reply('{"verdict":"REJECT"}'))
    assert (decision.verdict, len(server.requests)) == ("REJECT", 2)


def test_the_anthropic_protocol_has_the_same_forms(serve, tmp_path):
    thinking = {"content": [{"type": "thinking", "thinking": "REJECT?"},
                            {"type": "text", "text": KEEP}], "stop_reason": "end_turn"}  # fmt: skip
    used = {"content": [{"type": "tool_use", "input": {"verdict": "KEEP"}}]}
    events = [{"type": "content_block_delta", "delta": {"type": "thinking_delta", "thinking": "?"}},
              {"type": "content_block_delta", "delta": {"type": "text_delta", "text": KEEP}},
              {"type": "message_delta", "delta": {"stop_reason": "end_turn"},
               "usage": {"output_tokens": 7}}]  # fmt: skip
    stream = b"".join(b"event: x\ndata: " + json.dumps(e).encode() + b"\n\n" for e in events)
    for number, reply in enumerate((thinking, used, stream)):
        decision, _ = verdict(serve, tmp_path / str(number), reply, protocol="anthropic")
        assert decision.verdict == "KEEP"
    assert parse_reply(stream).tokens_out == 7


@given(st.text(alphabet='{}":,[]abKEP<think/> \n\\', max_size=60))
def test_any_text_gives_objects_or_is_malformed(text):
    with contextlib.suppress(Malformed):
        assert all(isinstance(value, dict) for value in objects_in(text))


@given(st.binary(max_size=60) | st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(max_size=5),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(
        st.sampled_from(["choices", "message", "content", "text", "usage", "delta"]), inner),
    max_leaves=12,
).map(lambda value: json.dumps(value).encode()))  # fmt: skip
def test_any_body_is_a_reply_or_none(content):
    reply = parse_reply(content)
    assert reply is None or isinstance(reply.text, str)


def test_deep_nesting_is_no_reply():
    assert parse_reply(b'{"choices":' * 5000) is None
    with pytest.raises(Malformed):
        objects_in('{"a":' * 5000)


class TestRetries:
    def test_every_try_is_a_new_request(self, serve, tmp_path):
        decision, server = verdict(serve, tmp_path, *[openai_reply("hm")] * 3)
        assert (decision.rule, len(server.requests)) == ("judge_unclear", 3)
        assert not list((tmp_path / "cache").rglob("*.json"))  # a bad reply is not kept

    def test_asking_again_later_asks_again_but_frozen_repeats_the_outcome(self, serve, tmp_path):
        server = serve(*[(200, {}, openai_reply("hm"))] * 3, (200, {}, openai_reply(KEEP)))
        for frozen, expected in ((False, "REJECT"), (True, "REJECT"), (False, "KEEP")):
            judging = LlmJudge(client(server, tmp_path, frozen=frozen))
            assert judging.judge_condition(searched(), PAGES)[0].verdict == expected
        assert len(server.requests) == 4

    def test_a_bad_reply_in_an_old_cache_is_asked_again(self, serve, tmp_path):
        server = serve((200, {}, openai_reply("hm")), (200, {}, openai_reply(KEEP)))
        asker = client(server, tmp_path)
        judging = LlmJudge(asker)
        asker.ask(*_question(judging))  # kept as any text
        assert judging.judge_condition(searched(), PAGES)[0].verdict == "KEEP"

    def test_a_cut_reply_is_given_more_room(self, serve, tmp_path):
        server = serve((200, {}, message("length", content="")), (200, {}, openai_reply("yes")))
        client(server, tmp_path, max_tokens=100).ask("s", "q")
        assert [request[2]["max_tokens"] for request in server.requests] == [100, 200]

    def test_replies_without_text_cost_one_question(self, serve, tmp_path):
        server = serve(answer=lambda body: (200, {}, openai_reply("")))
        with pytest.raises(Unclear, match="no text in 2 replies"):
            client(server, tmp_path, attempts=2).ask("s", "q")


def _question(judging):
    seen = {}

    def ask(system, question, read):
        seen["asked"] = (system, question)
        return "KEEP", ""

    kept, judging.client.ask = judging.client.ask, ask
    judging.judge_condition(searched(), PAGES)
    judging.client.ask = kept
    return seen["asked"]


def refuses(*names):
    """An endpoint that takes none of these parameters, one error at a time (N15)."""

    def answer(body):
        bad = next((name for name in names if name in body), None)
        if bad is None:
            return (200, {}, openai_reply("yes"))
        error = {"code": "unsupported_parameter", "param": bad, "message": "not supported"}
        return (400, {}, {"error": error})

    return answer


class TestParameters:
    @pytest.mark.parametrize(
        "names",
        [
            ("max_tokens",),
            ("max_tokens", "temperature"),  # N15
            ("max_completion_tokens", "max_tokens", "response_format"),
        ],
    )
    def test_what_is_refused_is_left_out_and_stays_out(self, serve, tmp_path, names):
        server = serve(answer=refuses(*names))
        asker = client(server, tmp_path, json_mode=True)
        assert asker.ask("s", "q") == "yes"
        n_first = len(server.requests)
        asker.ask("s", "another")
        client(server, tmp_path, json_mode=True).ask("s", "a third, in another run")
        assert len(server.requests) == n_first + 2
        assert not set(names) & set(server.requests[-1][2])

    def test_a_message_that_names_two_parameters_is_understood(self, serve, tmp_path):
        text = "Unsupported parameter: 'max_tokens'. Use 'max_completion_tokens' instead."
        server = serve((400, {}, {"detail": text}), (200, {}, openai_reply("yes")))
        client(server, tmp_path).ask("s", "q")
        last = server.requests[-1][2]
        assert ("max_tokens" in last, "max_completion_tokens" in last) == (False, True)

    def test_a_model_without_system_messages_gets_one_message(self, serve, tmp_path):
        text = "System role not supported"
        server = serve((400, {}, {"error": {"message": text}}), (200, {}, openai_reply("yes")))
        client(server, tmp_path).ask("be strict", "q")
        (only,) = server.requests[-1][2]["messages"]
        assert (only["role"], "be strict" in only["content"]) == ("user", True)

    def test_they_can_be_set(self, serve, tmp_path):
        server = serve((200, {}, openai_reply("yes")))
        asker = client(server, tmp_path, token_field=None, temperature=None)
        asker.ask("s", "q")
        assert set(server.requests[0][2]) == {"model", "messages"}


class TestOnePrompt:
    @pytest.mark.parametrize(
        "answer",
        [
            (400, {}, {"error": {"code": "content_filter", "message": "blocked"}}),
            (200, {}, message("content_filter", content="")),
            (200, {}, {"error": {"innererror": {"code": "ResponsibleAIPolicyViolation"}}}),
            (400, {}, {"error": {"message": "the prompt is too long"}}),
            (413, {}, b"too large"),
        ],
    )
    def test_a_refused_prompt_is_one_rejected_condition(self, serve, tmp_path, answer):
        server = serve(answer)
        decision, _ = LlmJudge(client(server, tmp_path)).judge_condition(searched(), PAGES)
        assert (decision.verdict, decision.rule) == ("REJECT", "judge_unclear")

    def test_a_judge_that_never_answers_stops_the_run_with_an_example(self, serve, tmp_path):
        server = serve(answer=lambda body: (200, {}, openai_reply("I am a <b>teapot</b>")))
        judging = LlmJudge(client(server, tmp_path))
        for _ in range(FIRST_UNCLEAR - 1):
            judging.judge_condition(searched(), PAGES)
        with pytest.raises(NClueError, match="teapot"):
            judging.judge_condition(searched(), PAGES)

    def test_answers_between_keep_a_run_going(self, serve, tmp_path):
        texts = [KEEP, *["hm"] * 3 * (FIRST_UNCLEAR + 1)]
        judging, _ = judge(serve, tmp_path, *texts)
        judging.judge_condition(searched(), PAGES)
        for path in (tmp_path / "cache").rglob("*.json"):
            path.unlink()
        for _ in range(FIRST_UNCLEAR + 1):
            assert judging.judge_condition(searched(), PAGES)[0].verdict == "REJECT"


def build(server, tmp_path, *more):
    pages, corpus = write_corpus(tmp_path / "in")
    call = ["construct", "--pages", str(pages), "--corpus", str(corpus), "--name", "own"]
    call += ["--out", str(tmp_path / "out"), "--judge-url", server.url("openai")]
    return main([*call, "--judge-model", "m", *more])


def test_no_query_is_a_failure_and_no_release(serve, tmp_path, capsys):
    server = serve(answer=lambda body: (200, {}, openai_reply('{"verdict":"REJECT"}')))
    assert build(server, tmp_path) == 1
    assert "no query came out" in capsys.readouterr().err
    assert not (tmp_path / "out" / "release").exists()


def test_calls_tokens_and_cost_are_told(serve, tmp_path, capsys):
    def answer(body):
        status, headers, reply = obliging(body)
        return status, headers, {**reply, "usage": {"prompt_tokens": 1000, "completion_tokens": 50}}

    server = serve(answer=answer)
    assert build(server, tmp_path, "--judge-price", "1,10") == 0
    n_gate = sum("Does this page" not in r[2]["messages"][-1]["content"] for r in server.requests)
    n_all = len(server.requests)
    said = capsys.readouterr().err
    assert f"judge, gate: {n_gate} of {n_gate} questions, {n_gate} calls" in said
    assert f"; {n_all * 1000:,} + {n_all * 50:,} tokens, ${n_all * 0.0015:.2f}" in said


@pytest.mark.parametrize("option", [("--judge-price", "1"), ("--judge-temperature", "hot")])
def test_wrong_options_of_the_judge_are_named(serve, tmp_path, option, capsys):
    assert build(serve(), tmp_path, *option) == 2
    assert option[0] in capsys.readouterr().err


def test_time_left_and_cost_to_come_go_by_what_was_asked(tmp_path):
    from nclue_construct.judge_client import Usage

    now = [0.0]
    usage = Usage()
    pace = JudgePace(usage, (2.0, 0.0), clock=lambda: now[0])
    pace.begin("gate", 10)
    for number in range(4):
        if number < 2:
            usage.from_cache += 1
        else:
            usage.calls, usage.tokens_in, now[0] = usage.calls + 1, usage.tokens_in + 500_000, 20.0
        pace.done()
    # 2 of 4 were asked, in 20 s, for 1 dollar each: 6 more may take 60 s and 6 dollars
    assert pace.text() == (
        "judge, gate: 4 of 10 questions, 2 calls (0.1/s), 2 from cache, at most 60 s left; "
        "1,000,000 + 0 tokens, $2.00, about $8.00 after this step"
    )


@pytest.mark.parametrize("case", ["N13", "N15"])
def test_the_recorded_cases_end_in_an_answer(serve, tmp_path, shared_dir, case):
    recorded = json.loads((shared_dir / "cases" / "dev" / case / "reply.json").read_text())
    replies = [(r["status"], {}, r["json"]) for r in recorded["replies"]]
    if case == "N15":  # two refusals, then the model answers
        server = serve(*replies, (200, {}, openai_reply("yes")))
        assert client(server, tmp_path).ask("s", "q") == "yes"
        return
    for number, reply in enumerate(replies):
        decision, _ = verdict(serve, tmp_path / str(number), reply[2])
        assert decision.verdict == "KEEP"


def test_both_protocols_say_when_they_are_refused(serve, tmp_path):
    server = serve((200, {}, anthropic_reply("no", "refusal")))
    judging = LlmJudge(client(server, tmp_path, "anthropic"))
    assert judging.judge_condition(searched(), PAGES)[0].detail == "refused"
