"""Fences and front matter give back what they were given, whatever it is."""

from __future__ import annotations

import time

import yaml
from hypothesis import given
from hypothesis import strategies as st

from bridoon.catalog import skillhead
from bridoon.wire import fence, frontmatter

KINDS = ("thinking", "tool_call", "image")
SPACED = ("tool_call",)

lines = st.one_of(
    st.sampled_from(["", "---", "```", "````", "```python", "```thinking", "```tool_call id=a name=b", "{}", "\\"]),
    st.sampled_from(["\\```image mime=a file=b", "\\\\````thinking signature=x", "a\r", "\u2028", "\x00", "``` "]),
    st.text(alphabet="`\\ \ta\u2029\x0b-=", max_size=6),
    st.text(max_size=6).filter(lambda text: "\n" not in text),
)
texts = st.lists(lines, min_size=1, max_size=6).map("\n".join)
words = st.text(alphabet="abcXYZ019+/=-_.%", max_size=12)
blocks = st.builds(
    fence.Block,
    st.sampled_from(KINDS),
    st.dictionaries(st.sampled_from(["id", "name", "x"]), words),
    texts | st.just(""),
)


def readable(pieces: list[fence.Piece]) -> list[fence.Piece]:
    """What is left of pieces when empty texts vanish and neighbours become one."""
    out: list[fence.Piece] = []
    for piece in pieces:
        if isinstance(piece, str) and out and isinstance(out[-1], str):
            out[-1] += "\n" + piece
        elif piece != "":
            out.append(piece)
    return out


def alternating(pieces: list[fence.Piece]) -> list[fence.Piece]:
    """Pieces without neighbouring texts, which `join` does not keep apart."""
    return [
        piece
        for before, piece in zip([None, *pieces], pieces, strict=False)
        if not (isinstance(piece, str) and isinstance(before, str))
    ]


@given(st.lists(texts | blocks, max_size=6))
def test_any_text_and_any_blocks_survive_the_fences(pieces: list[fence.Piece]) -> None:
    pieces = alternating(pieces)
    text, escaped = fence.join(pieces, KINDS, SPACED)
    assert fence.split(text, KINDS, SPACED, escaped=escaped) == readable(pieces)


@given(st.lists(texts | blocks, max_size=6))
def test_no_text_becomes_a_block_even_where_escapes_are_unknown(pieces: list[fence.Piece]) -> None:
    pieces = alternating(pieces)
    seen = fence.split(fence.join(pieces, KINDS, SPACED).text, KINDS, SPACED)
    assert [p for p in seen if isinstance(p, fence.Block)] == [p for p in pieces if isinstance(p, fence.Block)]


@given(texts)
def test_any_text_can_be_split(text: str) -> None:
    for escaped in (False, True):
        fence.split(text, KINDS, SPACED, escaped=escaped)


def test_a_megabyte_of_openers_is_read_in_linear_time() -> None:
    text = "".join("`" * (3 + n % 50) + "thinking\n" for n in range(30_000))
    started = time.process_time()
    assert fence.split(text, KINDS) == [text.removesuffix("\n")]
    assert time.process_time() - started < 5


keys = st.from_regex(r"[A-Za-z_][A-Za-z0-9_.-]{0,8}", fullmatch=True)
values = st.text(alphabet=st.characters(exclude_categories=("Cc", "Cs")), max_size=20).map(str.strip)


@given(st.dictionaries(keys, values), texts)
def test_headers_and_body_survive(headers: dict[str, str], body: str) -> None:
    assert frontmatter.read_headers(frontmatter.write_headers(headers, body)) == (headers, body)


@given(st.dictionaries(keys, st.text(max_size=20)), texts)
def test_no_header_value_can_add_a_header_or_end_the_front_matter(headers: dict[str, str], body: str) -> None:
    seen, rest = frontmatter.read_headers(frontmatter.write_headers(headers, body))
    assert list(seen) == list(headers)
    assert rest == body


@given(st.text(alphabet="-\n\r a:#", max_size=40))
def test_any_file_can_be_split(text: str) -> None:
    front, body = frontmatter.split(text)
    if front is None:
        assert body in (text, text.replace("\r\n", "\n"))
    frontmatter.read_headers(text)


# ---- the heads of skills

plain = st.from_regex(r"[A-Za-z0-9/_.][A-Za-z0-9 ,/_.+()-]{0,14}", fullmatch=True).map(str.strip)


@given(st.dictionaries(keys, plain, min_size=1), st.sampled_from(["", "  # a comment"]))
def test_plain_lines_are_read_as_pyyaml_reads_them(head: dict[str, str], aside: str) -> None:
    text = "".join(f"{key}: {value}{aside}\n" for key, value in head.items())
    assert skillhead.parse(text) == yaml.load(text, yaml.BaseLoader) == head


@given(st.text(alphabet="ab: -'\"\\|>[]{}#,\n\t&*!?%", max_size=60))
def test_any_head_is_read_or_refused_with_a_line(text: str) -> None:
    try:
        skillhead.parse(text)
        line = 1
    except skillhead.FrontMatterError as wrong:
        line = wrong.line
    assert 1 <= line <= text.count("\n") + 4
