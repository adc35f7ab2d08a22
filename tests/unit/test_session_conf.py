"""`session.conf` and the YAML of skills."""

from __future__ import annotations

import pytest

from bridoon.catalog import skillhead
from bridoon.session import conf


def test_a_configuration_is_lines_of_keys_and_values() -> None:
    assert conf.encode({"id": "x", "cwd": "/a=b c"}) == b"id=x\ncwd=/a=b c\n"


@pytest.mark.parametrize("cwd", ["/a\nb", "/a%0Ab", "/a%\r\n25", "/\udcff", "/ends ", "/é\u2028"])
def test_any_directory_survives(cwd: str) -> None:
    assert conf.decode(conf.encode({"id": "x", "cwd": cwd})) == {"id": "x", "cwd": cwd}


def test_a_line_end_is_marked_and_cannot_make_a_key() -> None:
    data = conf.encode({"cwd": "/a\nmodel=evil", "model": "50%"})
    assert data == b"cwd=/a%0Amodel=evil\nmodel=50%25\nencoding=pct\n"


def test_a_file_of_a_windows_editor_is_read() -> None:
    assert conf.decode(b"\xef\xbb\xbfid=x\r\n# note\r\nmodel=m\r\nnonsense\r\n") == {"id": "x", "model": "m"}


SKILL = """\ufeff---\r
# about this skill\r
name: "pdf-tools"   # quoted\r
description: >-\r
  Read and write PDF files.\r
  Use when: someone says "PDF".\r
license: 'It''s free'\r
allowed-tools: [bash, "read_file"]\r
metadata:\r
  author: me\r
  tags:\r
  - a: 1\r
    b: x # y\r
  - two\r
---\r
body\r
---\r
more\r
"""


def test_the_front_matter_of_a_skill_is_read() -> None:
    front, body = skillhead.read(SKILL)
    assert front == {
        "name": "pdf-tools",
        "description": 'Read and write PDF files. Use when: someone says "PDF".',
        "license": "It's free",
        "allowed-tools": ["bash", "read_file"],
        "metadata": {"author": "me", "tags": [{"a": "1", "b": "x"}, "two"]},
    }
    assert body == "body\n---\nmore\n"


def test_a_plain_value_may_contain_a_colon_and_go_on_below() -> None:
    assert skillhead.parse("description: Use when: asked\n  and also # then\n") == {
        "description": "Use when: asked and also"
    }


def test_a_literal_block_keeps_its_lines() -> None:
    assert skillhead.parse("a: |\n  one\n    two\n\n  # three\nb: x\n") == {
        "a": "one\n  two\n\n# three\n",
        "b": "x",
    }


def test_escapes_in_double_quotes_are_read() -> None:
    assert skillhead.parse(r'a: "\u00e9\n\x41 \"q\" \\"') == {"a": 'é\nA "q" \\'}


def test_a_file_without_front_matter_is_all_body() -> None:
    assert skillhead.read("# Title\n---\n") == ({}, "# Title\n---\n")


@pytest.mark.parametrize(
    ("front", "line"),
    [
        ("name: x\nnonsense\n", 4),
        ("name: 'x\n", 3),
        ("name: *x\n", 2),
        ("name: 'x' y\n", 2),
        ("a: [1, 2\nb: 3\n", 3),
        ("- one\n", 2),
        ("a: " + "[" * 5000, 2),
    ],
)
def test_what_cannot_be_read_is_named_with_its_line(front: str, line: int) -> None:
    with pytest.raises(skillhead.FrontMatterError) as wrong:
        skillhead.parse(front)
    assert wrong.value.line == line
    assert wrong.value.message
