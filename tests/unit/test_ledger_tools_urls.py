"""Where a URL leads, and what is said about one that leads nowhere."""

from __future__ import annotations

import pytest

from bridoon.ledger.judge.reach import Endpoint, endpoint, is_url


@pytest.mark.parametrize(
    ("url", "where"),
    [
        ("http://localhost:8080/health", ("localhost", 8080)),
        ("https://localhost", ("localhost", 443)),
        ("http://localhost", ("localhost", 80)),
        ("HTTP://LocalHost/x", ("localhost", 80)),
        ("HTTPS://h", ("h", 443)),
        ("http://[::1]:9/x", ("::1", 9)),
        ("http://[::1]", ("::1", 80)),
        ("http://[fe80::1%25eth0]:9", ("fe80::1%eth0", 9)),
        ("http://user:pa:ss@h:81/", ("h", 81)),
        ("http://user@[::1]:81?x", ("::1", 81)),
        ("http://h:81?query=1:2", ("h", 81)),
        ("http://h:81#part", ("h", 81)),
        ("http://h?a@b:9/", ("h", 80)),
        ("http://h:/x", ("h", 80)),
        ("http://h:65535", ("h", 65535)),
    ],
)
def test_a_url_names_host_and_port(url: str, where: tuple[str, int]) -> None:
    assert is_url(url)
    assert endpoint(url) == Endpoint(*where)


@pytest.mark.parametrize(
    ("url", "reason"),
    [
        ("http://h:eighty/", "bad port: 'eighty'"),
        ("http://h:65536", "bad port: '65536'"),
        ("http://h:-1", "bad port: '-1'"),
        ("http://h:0", "bad port: '0'"),
        ("http://h:٨٠/", "bad port: '٨٠'"),
        ("http://", "it names no host"),
        ("http:///path", "it names no host"),
        ("http://:80/", "it names no host"),
        ("http://user@/", "it names no host"),
        ("http://[::1/", "its brackets hold no IPv6 address"),
        ("http://[zz]/", "its brackets hold no IPv6 address"),
        ("http://a b/", "no URL holds blanks, backslashes or control characters"),
        ("http://a\n.example/", "no URL holds blanks, backslashes or control characters"),
        ("http://a\0/", "no URL holds blanks, backslashes or control characters"),
        ("http://a\\@b/", "no URL holds blanks, backslashes or control characters"),
        ("http://" + "a" * 300, "its host name is too long"),
        ("http://h/" + "a" * 1_000_000, "longer than 8192 characters"),
    ],
)
def test_a_url_that_leads_nowhere_has_a_reason(url: str, reason: str) -> None:
    with pytest.raises(ValueError) as caught:  # noqa: PT011 - its text is compared
        endpoint(url)
    assert str(caught.value) == reason


@pytest.mark.parametrize("text", ["h:80", "http:/h", "ws://h", "httpx://h", ".c3", "~/x", "", "file:///x", "http"])
def test_anything_else_is_a_path(text: str) -> None:
    assert not is_url(text)
