"""What drop-ins say about themselves, read from their text."""

from __future__ import annotations

import pytest

from bridoon.cli.describe import comment, declared, first_sentence


def test_the_docstring_of_the_declared_function_counts() -> None:
    text = '#!x\n"""The file."""\nimport os\n\n@command\ndef f(argv, context):\n    """Does it. And more."""\n'
    assert declared(text) == "Does it."


def test_a_description_given_to_the_decorator_counts_more() -> None:
    assert declared('@tool(input_schema={}, description="Say it")\ndef f(x, y):\n    """No."""\n') == "Say it"


def test_without_a_docstring_the_files_own_counts() -> None:
    assert declared('"""The file."""\n@script.hook\ndef f(x, y): ...\n') == "The file."


@pytest.mark.parametrize("text", ["def (", "\0", "", "x = 1", "@hook\ndef f(): ...\n"])
def test_what_cannot_be_read_has_no_description(text: str) -> None:
    assert declared(text) == ""


def test_a_sentence_may_be_wrapped_and_hold_dots() -> None:
    assert first_sentence("Reads e.g. a.txt\nor v1.2 files. Then stops.\n\nMore.") == "Reads e.g. a.txt or v1.2 files."


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("#!/bin/sh\n# Rings a bell.\nexit\n", "Rings a bell."),
        ('#!/usr/bin/env python3\n# -*- coding: utf-8 -*-\n"""Counts."""\n', "Counts."),
        ("#!/bin/sh\nset -e\n# too late\n", ""),
        ("#!/bin/bash\n\n# shellcheck disable=SC2034\n# Waits\n", "Waits"),
        ("", ""),
    ],
)
def test_the_first_comment_of_a_script_is_its_description(text: str, expected: str) -> None:
    assert comment(text) == expected
