"""Servers, proxies, certificates and names that are out to break the client: each is told in one sentence."""

from __future__ import annotations

import gzip
import socket
import ssl
import subprocess
import threading
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from fakes.api_answers import Said
from fakes.api_server import Answer, Api, api_server, hang, raw, said, status
from providing import Watched, ask_chat

from bridoon.errors import BridoonError, Cancelled, ConfigError, ProviderError
from bridoon.proc.cancel import Cancel
from bridoon.providers import address, connect, failures, retry, scripted
from bridoon.wire import http1


@pytest.fixture
def api() -> Iterator[Api]:
    with api_server() as served:
        yield served


@pytest.fixture(autouse=True)
def quick(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(retry, "FIRST_PAUSE", 0.01)


def answer(body: bytes, *headers: bytes, code: bytes = b"200 OK") -> Answer:
    return raw(b"HTTP/1.1 " + b"\r\n".join([code, *headers]) + b"\r\n\r\n" + body)


def refused(api: Api, *answers: Answer) -> ProviderError:
    """The error that some answers come to."""
    api.then(*answers)
    with pytest.raises(ProviderError) as caught:
        ask_chat(api.chat_url, Watched({"HARNESS_IDLE_TIMEOUT": "3"}))
    assert str(caught.value).isprintable()
    return caught.value


# ---- heads


def test_interim_answers_do_not_go_on_for_ever() -> None:
    response = http1.Response()
    began = time.monotonic()
    with pytest.raises(http1.BadResponse, match="header is longer"):
        response.feed(b"HTTP/1.1 100 Continue\r\n\r\n" * 10_000)
    assert time.monotonic() - began < 0.5, "each head is looked for where it ends, not in all that follows"


@pytest.mark.parametrize(
    "head",
    [
        b"Content-Length: 5, 5",
        b"Content-Length: 5\r\nContent-Length: 5",
        b"Transfer-Encoding: chunked\r\nContent-Length: 9",
    ],
)
def test_a_length_that_is_told_twice_is_one_length(head: bytes) -> None:
    body = b"5\r\nhello\r\n0\r\n\r\n" if b"chunked" in head else b"hello"
    response = http1.Response()
    assert b"".join(response.feed(b"HTTP/1.1 200 OK\r\n" + head + b"\r\n\r\n" + body)) == b"hello"
    assert response.done


def test_two_lengths_that_differ_are_no_answer() -> None:
    with pytest.raises(http1.BadResponse):
        http1.Response().feed(b"HTTP/1.1 200 OK\r\nContent-Length: 5, 6\r\n\r\nhello")


# ---- what is told


@pytest.mark.parametrize(
    "code",
    [
        b"400 Bad",
        b"401 No",
        b"403 No",
        b"404 No",
        b"307 There\r\nLocation: http://other.example/\x1b]0;x\x07",
    ],
)
def test_nothing_that_a_terminal_acts_on_comes_through_in_a_refusal(api: Api, code: bytes) -> None:
    refused(
        api,
        answer(
            b'{"error": {"message": "\\u001b[2J\\u202e no \\ud800"}}',
            b"Content-Type: application/json",
            code=code,
        ),
    )


def test_a_refusal_in_an_encoding_that_was_not_asked_for_is_told_without_its_bytes(api: Api) -> None:
    wrong = refused(api, answer(gzip.compress(b"{}" * 99), b"Content-Encoding: gzip", code=b"400 Bad"))
    assert str(wrong) == f"{api.url} answered 400"


def test_a_page_of_beginnings_of_titles_is_read_at_once() -> None:
    began = time.monotonic()
    failures.refusal(502, {"content-type": "text/html"}, b"<title>" * 9000, "there", ())
    assert time.monotonic() - began < 0.5


@pytest.mark.parametrize(
    ("headers", "seconds"),
    [
        ({"retry-after-ms": "250"}, 0.25),
        ({"retry-after-ms": "soon", "retry-after": "3"}, 3.0),
        ({"retry-after": "nan"}, None),
        ({"retry-after": "-5"}, 0.0),
        ({"retry-after": "Mon, 01 Jan 0001 00:00:00"}, None),
        ({"retry-after": "Wed, 21 Oct 99999 07:28:00 GMT"}, None),
    ],
)
def test_odd_times_to_try_again_are_understood_or_left_alone(headers: dict[str, str], seconds: float | None) -> None:
    assert failures.retry_after(headers) in (seconds, 0.0 if seconds is None else seconds)


@pytest.mark.parametrize("code", [500, 502, 520, 524, 529, 599])
def test_every_failure_of_a_server_is_tried_again(api: Api, code: int) -> None:
    api.then(status(code), said(Said("in the end")))
    context = Watched()
    ask_chat(api.chat_url, context)
    assert context.text == "in the end"


@pytest.mark.parametrize("code", [501, 505])
def test_what_a_server_cannot_do_is_not_asked_again(api: Api, code: int) -> None:
    refused(api, status(code))
    assert len(api.requests) == 1


OVERFLOWS = [
    (400, "prompt is too long: 215000 tokens > 200000 maximum"),
    (400, "input length and `max_tokens` exceed context limit: 190000 + 32000 > 200000"),
    (
        400,
        "This model's maximum context length is 128000 tokens. However, you sent 130000 tokens.",
    ),
    (400, "Your input exceeds the context window of this model. Please adjust your input and try again."),
    (400, "Invalid 'messages[1].content': string too long. Expected a string with maximum length 10485760"),
    (429, "Request too large for gpt-x on tokens per min (TPM): Limit 30000, Requested 50000."),
    (413, "Request too large for model `x`"),
    (400, "the request exceeds the available context size (4096 tokens), try increasing it"),
    (500, "the request exceeds the available context size. try increasing the context size"),
    (400, "The input token count (1200000) exceeds the maximum number of tokens allowed (1048576)."),
    (
        422,
        "Prompt contains 65673 tokens, too large for model with 32768 maximum context length",
    ),
    (
        422,
        "`inputs` tokens + `max_new_tokens` must be <= 32769. Given: 40000 `inputs` tokens",
    ),
    (400, "The decoder prompt (length 50000) is longer than the maximum model length of 4096."),
    (400, "Prompt exceeds max length"),
    (400, "This model's maximum prompt length is 131072 but the request contains 537812 tokens."),
    (400, "Input is too long for requested model."),
]

OTHERS = [
    (400, "max_tokens: 100000 > 8192, which is the maximum allowed number of output tokens for claude"),
    (400, "max_tokens is too large: 999999. This model supports at most 16384 completion tokens"),
    (400, "Unsupported parameter: 'max_tokens' is not supported with this model."),
    (400, "tools.0.function.description: string too long, maximum length 1024"),
    (400, "image exceeds 5 MB maximum: 6000000 bytes > 5242880 bytes"),
    (429, "This request would exceed your organization's rate limit of 30,000 input tokens per minute"),
]


@pytest.mark.parametrize(("code", "words"), OVERFLOWS)
def test_a_conversation_that_does_not_fit_is_known_by_the_words_of_every_service(code: int, words: str) -> None:
    wrong = failures.refusal(code, {}, b'{"error": {"message": "%s"}}' % words.encode(), "there", ())
    assert (wrong.kind, wrong.retried) == ("overflow", False)


@pytest.mark.parametrize(("code", "words"), OTHERS)
def test_other_limits_are_not_taken_for_it(code: int, words: str) -> None:
    wrong = failures.refusal(code, {}, b'{"error": {"message": "%s"}}' % words.encode(), "there", ())
    assert wrong.kind != "overflow"


# ---- names and numbers


@pytest.mark.parametrize(
    "url",
    [
        "http://a..b",
        "http://.x",
        "http://" + "a" * 64 + ".com",
        "http://[::1",
        "http://x:" + "9" * 5000,
        "http://x:0",
    ],
)
def test_a_host_or_port_that_cannot_be_is_a_wrong_setting(url: str) -> None:
    with pytest.raises(ConfigError):
        address.parse(url)


def test_a_name_below_localhost_is_this_machine_whatever_a_name_server_says(api: Api) -> None:
    api.say("here")
    context = Watched()
    ask_chat(api.chat_url.replace("127.0.0.1", "models.localhost"), context)
    assert context.text == "here"


@pytest.mark.parametrize("seconds", ["1e12", "inf", "1e300"])
def test_a_limit_longer_than_the_system_can_wait_is_a_long_limit(api: Api, seconds: str) -> None:
    api.say("in time")
    context = Watched(cancel=Cancel())
    ask_chat(api.chat_url, context, HARNESS_IDLE_TIMEOUT=seconds)
    assert context.text == "in time"


@pytest.mark.parametrize("seconds", [1e12, float("inf")])
def test_a_pause_longer_than_the_system_can_wait_still_ends_with_a_cancel(seconds: float) -> None:
    cancel = Cancel()
    threading.Timer(0.05, cancel.set).start()
    with pytest.raises(Cancelled):
        retry.sleep(seconds, cancel)
    retry.sleep(-1, Cancel())


# ---- proxies


@pytest.mark.parametrize(("code", "attempts"), [(b"403 No\x1b[31m", 1), (b"502 Bad", 4)])
def test_a_proxy_that_refuses_is_asked_again_only_if_that_may_help(api: Api, code: bytes, attempts: int) -> None:
    api.strict = False  # CONNECT is no endpoint of an API
    api.then(*[answer(b"", b"Content-Length: 0", code=code)] * attempts)
    with pytest.raises(ProviderError, match="refused a tunnel") as caught:
        ask_chat("https://api.example/chat/completions", HTTPS_PROXY=api.url)
    assert len(api.requests) == attempts
    assert str(caught.value).isprintable()


def test_the_name_at_a_proxy_may_have_any_letters() -> None:
    proxy = address.parse("http://%C3%A9%40x:p%3Aw@127.0.0.1:1", credentials=True)
    assert proxy.user == "é@x:p:w"
    assert connect.authorization(proxy) == {"Proxy-Authorization": "Basic w6lAeDpwOnc="}


def test_no_proxy_may_be_parted_by_blanks() -> None:
    assert address.bypassed(address.parse("http://b.example"), "a.example b.example")


# ---- certificates

KEY = "-newkey ec -pkeyopt ec_paramgen_curve:prime256v1 -nodes"
SIGNED = "-CA ca.pem -CAkey ca.key -CAcreateserial"


@pytest.fixture(scope="module")
def authority(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A directory with an authority of our own, `ca.pem`."""
    place = tmp_path_factory.mktemp("authority")
    usage = "-addext keyUsage=critical,keyCertSign,cRLSign"  # newer Pythons want it said
    line = f"openssl req -x509 {KEY} -days 2 -subj /CN=ours {usage} -keyout ca.key -out ca.pem"
    if subprocess.run(line.split(), cwd=place, capture_output=True, check=False).returncode:
        pytest.skip("openssl cannot make a certificate here")
    return place


def certificate(place: Path, names: str, days: int) -> Path:
    (place / "names").write_text(
        f"subjectAltName={names}\nauthorityKeyIdentifier=keyid\nsubjectKeyIdentifier=hash\n", "utf-8"
    )
    for line in (
        f"openssl req {KEY} -subj /CN=x -keyout x.key -out x.csr",
        f"openssl x509 -req -in x.csr {SIGNED} -days {days} -extfile names -out x.pem",
    ):
        if subprocess.run(line.split(), cwd=place, capture_output=True, check=False).returncode:
            pytest.skip("openssl cannot make such a certificate here")
    (place / "both.pem").write_text((place / "x.pem").read_text() + (place / "x.key").read_text(), "utf-8")
    return place / "both.pem"


def wrap(chain: Path) -> Callable[[socket.socket], socket.socket]:
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(chain)
    return lambda sock: context.wrap_socket(sock, server_side=True)


@pytest.mark.parametrize(
    ("names", "days", "told"),
    [("DNS:localhost", 2, ""), ("DNS:other.example", 2, "mismatch"), ("DNS:localhost", -1, "expired")],
)
def test_a_certificate_for_another_name_or_time_is_refused_once(
    authority: Path, names: str, days: int, told: str
) -> None:
    with api_server(wrap(certificate(authority, names, days))) as api:
        url = api.chat_url.replace("http://127.0.0.1", "https://localhost")
        context = Watched({"SSL_CERT_FILE": str(authority / "ca.pem")})
        if not told:
            ask_chat(url, context)
            assert context.text == "ok"
            return
        with pytest.raises(ProviderError, match=told):
            ask_chat(url, context)
        assert context.notices == []
        assert api.requests == []


# ---- scripts


@pytest.mark.parametrize(
    ("text", "place"),
    [
        ("[" * 5000, "nested too deeply|not valid JSON"),
        ('[{"delay": -1}]', r"\$\[0\].delay"),
        ('[{"delay": "nan"}]', r"\$\[0\].delay"),
        ('[{"call": {}}]', r"\$\[0\]: a call"),
        ('[{"calls": "x"}]', r"\$\[0\].calls"),
        ('[{"say": []}]', r"\$\[0\].say"),
        ('[{"fail": 5}]', r"\$\[0\].fail"),
        ('[{"fail": {"kind": "server", "times": "x"}}]', r"\$\[0\].fail.times"),
        ('[{"fail": {"kind": "server", "retry_after": "x"}}]', r"\$\[0\].fail.retry_after"),
        ('[{"expect": "x"}]', r"\$\[0\].expect"),
        ('[{"expect": {"matches": "("}}]', r"\$\[0\].expect"),
        ('[{"usage": {"input_tokens": "x"}}]', r"\$\[0\].usage.input_tokens"),
        ('{"steps": [], "agents": [5]}', r"\$.agents\[0\]"),
    ],
)
@pytest.mark.parametrize("ending", ["json", "yaml"])
def test_what_is_wrong_with_a_script_is_told_with_file_and_place(
    tmp_path: Path, text: str, place: str, ending: str
) -> None:
    path = tmp_path / f"script.{ending}"
    path.write_text(text, "utf-8")
    with pytest.raises(BridoonError, match=place) as caught:
        scripted.load(str(path), "task")
    assert str(path) in str(caught.value)


def test_a_server_that_is_silent_after_a_stop_is_let_go_at_once(api: Api) -> None:
    api.then(hang)
    cancel = Cancel()
    threading.Timer(0.1, cancel.set).start()
    began = time.monotonic()
    with pytest.raises(Cancelled):
        ask_chat(api.chat_url, Watched(cancel=cancel))
    assert time.monotonic() - began < 0.6
