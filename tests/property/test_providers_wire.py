"""Where chunks are cut does not matter: lines, server-sent events, HTTP answers. Numbers survive JSON."""

from __future__ import annotations

import itertools
import json
from decimal import Decimal

import pytest
from hypothesis import given
from hypothesis import strategies as st

from bridoon.catalog import variants
from bridoon.errors import ConfigError
from bridoon.providers import address
from bridoon.wire import http1, jsontext, sse
from bridoon.wire.lines import LineSplitter, LineTooLong

ODD_TEXT = st.text(st.sampled_from('ab :\u2028\u0085é😀\t{}"\\'), max_size=20)


def cuts(data: bytes, places: list[int]) -> list[bytes]:
    """The data in pieces, cut at some places."""
    ends = sorted({place % (len(data) + 1) for place in places} | {0, len(data)})
    return [data[one:other] for one, other in itertools.pairwise(ends)]


PLACES = st.lists(st.integers(0, 5000), max_size=12)


@given(st.lists(st.binary(max_size=20).map(lambda line: line.replace(b"\n", b"")), max_size=8), PLACES)
def test_lines_survive_any_cut(lines: list[bytes], places: list[int]) -> None:
    splitter = LineSplitter()
    found = [line for chunk in cuts(b"\n".join(lines), places) for line in splitter.feed(chunk)]
    assert [*found, splitter.end()] == (lines or [b""])


def test_a_line_that_never_ends_is_refused_before_it_fills_the_memory() -> None:
    splitter = LineSplitter(limit=100)
    splitter.feed(b"x" * 60)
    with pytest.raises(LineTooLong):
        splitter.feed(b"x" * 60)


@given(
    st.lists(st.tuples(ODD_TEXT.filter(bool), st.sampled_from(["", "message", "error"])), max_size=5),
    st.sampled_from([b"\n", b"\r\n", b"\r"]),
    PLACES,
)
def test_events_survive_any_cut_and_any_line_end(events: list[tuple[str, str]], end: bytes, places: list[int]) -> None:
    wanted = [sse.Event(data, name) for data, name in events]
    data = b"".join(sse.encode(event.data, event.name) for event in wanted).replace(b"\n", end)
    decoder = sse.Decoder()
    found = [event for chunk in cuts(data, places) for event in decoder.feed(chunk)]
    assert [*found, *decoder.end()] == wanted


@given(st.binary(max_size=200), PLACES)
def test_no_bytes_break_the_decoder(data: bytes, places: list[int]) -> None:
    decoder, whole = sse.Decoder(), sse.Decoder()
    found = [event for chunk in cuts(data, places) for event in decoder.feed(chunk)] + decoder.end()
    assert found == whole.feed(data) + whole.end()


def test_an_event_without_a_blank_after_the_colon_and_comments_are_read() -> None:
    decoder = sse.Decoder()
    assert decoder.feed(b'\xef\xbb\xbf: ping\ndata:one\nid: 3\nretry: 5\n\n{"error": 1}\n\n') == [sse.Event("one")]
    assert decoder.stray == '{"error": 1}\n'


# ---- HTTP


def chunked(pieces: list[bytes]) -> bytes:
    return b"".join(b"%x;x=y\r\n%s\r\n" % (len(piece), piece) for piece in pieces) + b"0\r\nTrailer: t\r\n\r\n"


@given(
    st.lists(st.binary(min_size=1, max_size=30), max_size=6),
    st.sampled_from(["chunked", "length", "end"]),
    PLACES,
)
def test_a_body_survives_any_cut(pieces: list[bytes], framing: str, places: list[int]) -> None:
    body = b"".join(pieces)
    head = {
        "chunked": b"Transfer-Encoding: chunked\r\n",
        "length": b"Content-Length: %d\r\n" % len(body),
        "end": b"",
    }[framing]
    data = b"HTTP/1.1 200 OK\r\n" + head + b"\r\n" + (chunked(pieces) if framing == "chunked" else body)
    response = http1.Response()
    found = b"".join(piece for chunk in cuts(data, places) for piece in response.feed(chunk))
    response.end()
    assert found == body
    assert response.done
    assert response.keep_alive is (framing != "end")
    assert response.surplus == 0


@given(st.binary(max_size=300), PLACES)
def test_any_bytes_are_an_answer_or_a_bad_response(data: bytes, places: list[int]) -> None:
    response = http1.Response()
    try:
        for chunk in cuts(b"HTTP/1.1 200 OK\r\n" + data, places):
            response.feed(chunk)
        response.end()
    except http1.BadResponse:
        pass


@pytest.mark.parametrize("value", ["a\r\nX: y", "a\nb", "\x00", "é"])
def test_a_header_value_that_would_break_the_framing_is_refused(value: str) -> None:
    with pytest.raises(ValueError, match="characters that a header cannot hold"):
        http1.request_head("POST", "/", {"X-Key": value})


# ---- numbers

NUMBERS = st.one_of(
    st.integers(-(10**40), 10**40).map(str),
    st.decimals(allow_nan=False, allow_infinity=False, places=25).map(lambda number: f"{number:f}"),
    st.from_regex(r"-?(0|[1-9][0-9]{0,30})\.[0-9]{1,30}(e-?[0-9]{1,3})?", fullmatch=True),
)


@given(NUMBERS)
def test_a_number_keeps_its_value(text: str) -> None:
    again = jsontext.dump(jsontext.load(f'{{"n": [{text}]}}'))
    assert json.loads(again, parse_float=Decimal, parse_int=Decimal)["n"][0] == Decimal(text)


def test_strings_that_look_like_marks_are_left_alone() -> None:
    value = {"n": Decimal("0.1234567890123456789012345"), "s": "0.1"}
    assert jsontext.dump(value) == '{"n":0.1234567890123456789012345,"s":"0.1"}'


@pytest.mark.parametrize("text", ["NaN", "Infinity", "1e999999", "[" * 100000])
def test_what_json_cannot_hold_is_refused(text: str) -> None:
    with pytest.raises((ValueError, RecursionError)):
        jsontext.load(text)


# ---- the host that a key goes to

URLS = st.builds(
    "{}{}{}".format,
    st.sampled_from(["http://", "https://", "HTTPS://", "http:/", "//", ""]),
    st.text("ab.@:/\\?#[]%-1\t é", max_size=12),
    st.sampled_from(["", "/v1", "api.example.com/v1", "@evil.example", ":80"]),
)


@given(URLS)
def test_the_rule_for_keys_and_the_client_agree_about_the_host(url: str) -> None:
    try:
        host = address.parse(url).host
    except ConfigError:
        return
    scheme, judged = variants.host_of(url.strip())
    # No host is the rule's word for a URL that it does not trust with any key that is meant for somebody.
    assert judged in ("", host.rstrip("."))
    assert scheme in ("", "http", "https")
