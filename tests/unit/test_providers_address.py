"""URLs, proxies, and what a refusal of an API means."""

from __future__ import annotations

import json

import pytest

from bridoon.errors import ConfigError
from bridoon.providers import address, failures, knobs
from bridoon.providers.address import Address


@pytest.mark.parametrize(
    ("url", "parts"),
    [
        ("https://api.example.com/v1/x?y=1#z", Address("https", "api.example.com", 443, "/v1/x?y=1")),
        ("HTTP://Localhost:8080", Address("http", "localhost", 8080, "/")),
        ("http://[::1]:11434/v1", Address("http", "::1", 11434, "/v1")),
        ("http://host?q", Address("http", "host", 80, "/?q")),
        ("http://host/pfäd", Address("http", "host", 80, "/pf%C3%A4d")),
        ("http://bücher.example/", Address("http", "xn--bcher-kva.example", 80, "/")),
    ],
)
def test_a_url_is_taken_apart(url: str, parts: Address) -> None:
    assert address.parse(url) == parts


@pytest.mark.parametrize(
    "url",
    ["", "api.example.com", "ftp://x/", "http://", "http:///x", "http://x:0/", "http://x:99999/", "http://x:1:2/",
     "http://x y/", "http://x\\@y/", "http://x\r\ny/", "http://[::1]x/", "https://user:secret@x/"],
)  # fmt: skip
def test_what_is_no_url_is_refused_without_its_password(url: str) -> None:
    with pytest.raises(ConfigError) as caught:
        address.parse(url)
    assert "secret" not in str(caught.value)


def test_origins_are_written_as_headers_want_them() -> None:
    assert address.parse("http://[::1]:80/").authority == "[::1]"
    assert address.parse("https://x:8443/").origin == "https://x:8443"


@pytest.mark.parametrize(
    ("no_proxy", "direct"),
    [
        ("", False),
        ("*", True),
        ("example.com", True),
        (".example.com", True),
        ("*.example.com", True),
        ("ample.com", False),
        ("other, api.example.com:443", True),
        ("api.example.com:80", False),
        ("10.0.0.0/8", False),
    ],
)
def test_no_proxy_names_what_is_reached_directly(no_proxy: str, direct: bool) -> None:
    assert address.bypassed(address.parse("https://api.example.com/"), no_proxy) is direct


def test_no_proxy_may_name_a_network() -> None:
    assert address.bypassed(address.parse("http://10.1.2.3/"), "10.0.0.0/8")


def test_the_proxy_of_the_scheme_comes_first_and_small_letters_before_capitals() -> None:
    env = {"ALL_PROXY": "http://all:1", "HTTPS_PROXY": "http://big:2", "https_proxy": "small:3"}
    target = address.parse("https://x/")
    assert address.proxy_for(target, env) == Address("http", "small", 3, "/")
    assert address.proxy_for(address.parse("http://x/"), env) == Address("http", "all", 1, "/")
    assert address.proxy_for(target, {}) is None


@pytest.mark.parametrize(
    ("env", "url"),
    [
        ({}, "https://standard/v1/messages"),
        ({"A_BASE_URL": "http://b"}, "http://b/v1/messages"),
        ({"A_BASE_URL": "http://b/v1/"}, "http://b/v1/messages"),
        ({"A_BASE_URL": "http://b/v1/messages"}, "http://b/v1/messages"),
        ({"A_BASE_URL": "http://b", "A_API_URL": "http://c/full"}, "http://c/full"),
    ],
)
def test_the_full_endpoint_beats_the_base(env: dict[str, str], url: str) -> None:
    assert knobs.full_url(env, "A", "https://standard/v1/messages", "/v1/messages") == url


def test_a_base_for_openai_gets_the_path_of_chat_completions() -> None:
    assert knobs.full_url({"O_BASE_URL": "http://b/v1"}, "O", "", "/chat/completions") == "http://b/v1/chat/completions"


# ---- refusals


@pytest.mark.parametrize(
    ("status", "body", "kind"),
    [
        (400, {"error": {"message": "prompt is too long: 300000 tokens > 200000 maximum"}}, "overflow"),
        (400, {"error": {"code": "context_length_exceeded", "message": "Too big"}}, "overflow"),
        (400, {"error": {"type": "exceed_context_size_error", "message": "it exceeds the context size"}},
         "overflow"),
        (413, {}, "overflow"),
        (400, {"error": {"message": "max_tokens: 9 > 8"}}, "invalid"),
        (401, {}, "auth"),
        (402, {}, "invalid"),
        (429, {}, "rate_limit"),
        (529, {}, "server"),
    ],
)  # fmt: skip
def test_the_kind_of_a_refusal(status: int, body: object, kind: str) -> None:
    assert failures.refusal(status, {}, json.dumps(body).encode(), "http://x", ()).kind == kind


@pytest.mark.parametrize(
    ("body", "words"),
    [
        (b'{"error":{"message":"m"}}', "m"),
        (b'{"error":"m"}', "m"),
        (b'{"message":"m"}', "m"),
        (b'{"detail":"m"}', "m"),
        (b'[{"error":{"message":"m","code":400}}]', "m"),
        (
            b'{"error":{"message":"Provider returned error","metadata":{"raw":"m"}}}',
            "Provider returned error (m)",
        ),
        (b"m", "m"),
        (b"<html><title>Bad\nGateway</title>", "a web page (Bad Gateway)"),
        (b"\xff\xfe", "\ufffd\ufffd"),
    ],
)
def test_the_words_of_an_api_are_found_in_every_shape(body: bytes, words: str) -> None:
    assert str(failures.refusal(400, {}, body, "http://x", ())) == f"http://x answered 400: {words}"


def test_keys_are_taken_out_of_what_an_api_says() -> None:
    said = "bad key my-secret-key and sk-abc123def456 and Bearer abcdefgh1234 and the key provided"
    assert failures.scrub(said, ["my-secret-key"]) == "bad key [key] and [key] and Bearer [key] and the key provided"


@pytest.mark.parametrize(
    ("headers", "seconds"),
    [
        ({"retry-after": "7"}, 7.0),
        ({"retry-after-ms": "1500"}, 1.5),
        ({"retry-after": "-3"}, 0.0),
        ({"retry-after": "Wed, 21 Oct 2015 07:28:00 GMT"}, 0.0),
        ({"retry-after": "soon"}, None),
        ({}, None),
    ],
)
def test_retry_after_is_a_number_or_a_date(headers: dict[str, str], seconds: float | None) -> None:
    assert failures.retry_after(headers) == seconds


def test_a_server_may_say_that_trying_again_is_useless() -> None:
    assert failures.refusal(503, {}, b"", "http://x", ()).retried
    assert not failures.refusal(503, {"x-should-retry": "false"}, b"", "http://x", ()).retried
