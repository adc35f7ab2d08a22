"""What the project must do, sentence by sentence: each row has tests, or a reason why it has none."""

from __future__ import annotations

from typing import NamedTuple

import pytest


class Requirement(NamedTuple):
    """One sentence of the document that asks for the loop (`extend`), or of our design (`design`)."""

    id: str
    source: str
    sentence: str
    tests: tuple[str, ...] = ()
    """`file.py::test_name`, relative to `tests/`."""
    reason: str = ""
    """Why there is no test, or how we depart from the sentence."""


REQUIREMENTS: tuple[Requirement, ...] = ()


def requirement(*ids: str) -> pytest.MarkDecorator:
    """Mark a test as proof of these rows. `shape/test_requirements.py` checks that the rows list it."""
    return pytest.mark.requirement(*ids)
