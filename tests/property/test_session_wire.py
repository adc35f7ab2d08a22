"""Fences and front matter give back what they were given, whatever it is."""

from __future__ import annotations

import time

import pytest
import yaml
from hypothesis import given
from hypothesis import strategies as st

from bridoon.wire import fence, frontmatter, plainyaml

KINDS = ("thinking", "tool_call", "image")
SPACED = ("tool_call",)

lines = st.one_of(
    st.sampled_from(
        ["", "---", "```", "````", "```python", "```thinking", "```tool_call id=a name=b", "{}", "\\"]
    ),
    st.sampled_from(
        ["\\```image mime=a file=b", "\\\\````thinking signature=x", "a\r", "\u2028", "\x00", "``` "]
    ),
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
    assert [p for p in seen if isinstance(p, fence.Block)] == [
        p for p in pieces if isinstance(p, fence.Block)
    ]


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


# ---- YAML, against PyYAML with every scalar left as text

plain = st.from_regex(r"[A-Za-z0-9/_.][A-Za-z0-9 ,/_.+()-]{0,14}", fullmatch=True).map(str.strip)
quotable = st.text(alphabet="ab'\"\\:#-{}[],é€😀 \t", max_size=12)
paragraph = st.lists(
    st.sampled_from(["one", "two words", "", "  further", "x: y", "# no comment"]), max_size=6
)


def block(style: str, chomp: str, content: list[str], indent: int) -> str:
    first = next((line for line in content if line), "")
    if first.startswith(" "):
        content = ["begin", *content]
    return f"{style}{chomp}\n" + "\n".join(" " * indent + line if line else "" for line in content)


@st.composite
def yaml_value(draw: st.DrawFn, indent: int) -> str:
    """A value as it stands behind a colon."""
    choice = draw(st.integers(0, 7 if indent < 6 else 5))
    match choice:
        case 0:
            return " " + draw(plain)
        case 1:
            return " '" + draw(quotable).replace("'", "''") + "'"
        case 2:
            return " " + yaml.dump(draw(quotable), default_style='"', width=10_000).strip()
        case 3:
            return " " + block(
                draw(st.sampled_from("|>")),
                draw(st.sampled_from(["", "-", "+"])),
                draw(paragraph),
                indent + 2,
            )
        case 4:
            return (
                " ["
                + ", ".join(draw(st.lists(st.from_regex(r"[a-z][a-z0-9 ]{0,5}[a-z]", fullmatch=True))))
                + "]"
            )
        case 5:
            return " " + draw(plain) + "  # a comment"
        case 6:
            return "\n" + draw(yaml_map(indent + 2))
        case _:
            items = draw(st.lists(plain, min_size=1, max_size=3))
            pad = " " * draw(st.sampled_from([indent, indent + 2]))
            return "\n" + "\n".join(f"{pad}- {item}" for item in items)


@st.composite
def yaml_map(draw: st.DrawFn, indent: int = 0) -> str:
    pairs = draw(st.dictionaries(keys, st.just(None), min_size=1, max_size=4))
    return "\n".join(" " * indent + key + ":" + draw(yaml_value(indent)) for key in pairs)


@given(yaml_map())
def test_yaml_is_read_as_pyyaml_reads_it(text: str) -> None:
    assert plainyaml.parse(text + "\n") == yaml.load(text + "\n", yaml.BaseLoader)


@given(st.text(alphabet="ab: -'\"\\|>[]{}#,\n\t&*!?%", max_size=60))
def test_any_yaml_is_read_or_refused_with_a_line(text: str) -> None:
    try:
        plainyaml.parse(text)
        line = 1
    except plainyaml.FrontMatterError as wrong:
        line = wrong.line
    assert 1 <= line <= text.count("\n") + 3


DEEP = ["a: " + "[" * 5000, "".join(" " * n + "a:\n" for n in range(1200)), "a:\n " + "- " * 4000]


@pytest.mark.parametrize("text", DEEP)
def test_deep_nesting_is_refused(text: str) -> None:
    with pytest.raises(plainyaml.FrontMatterError):
        plainyaml.parse(text)
