"""What a child finds in its environment."""

from __future__ import annotations

import os
import sys

from bridoon.proc.environment import CALL, OWNER, child_env, mark
from bridoon.proc.table import identity


def test_the_users_environment_arrives_whole_with_ours_on_top() -> None:
    env = child_env({"LANG": "C", "EMPTY": "", "PATH": "/bin"}, root="/r", extra={"HARNESS_DEPTH": 2})
    assert env == {
        "LANG": "C",
        "EMPTY": "",
        "PATH": "/r/bin:/bin",
        "HARNESS_DEPTH": "2",
        "HARNESS_PYTHON": sys.executable,
        OWNER: identity(),
    }


def test_our_programs_come_first_in_path_and_once() -> None:
    once = child_env({"PATH": "/bin:/r/bin:/usr/bin"}, root="/r")
    assert once["PATH"] == "/r/bin:/bin:/usr/bin"
    assert child_env(once, root="/r") == once


def test_without_a_path_the_systems_own_is_kept() -> None:
    assert child_env({}, root="/r")["PATH"] == f"/r/bin:{os.defpath}"
    assert child_env({"PATH": ""}, root="/r")["PATH"] == f"/r/bin:{os.defpath}"


def test_what_no_process_can_be_given_is_left_out() -> None:
    env = child_env({"": "x", "A=B": "x", "N\0": "x", "V": "x\0", "OK": "é\udcff"}, root="/r")
    assert {"", "A=B", "N\0", "V"} & env.keys() == set()
    assert env["OK"] == "é\udcff"


def test_a_variable_can_be_taken_away() -> None:
    assert "SECRET" not in child_env({"SECRET": "x"}, root="/r", extra={"SECRET": None, "ABSENT": None})


def test_marks_are_chained_from_the_outermost_to_the_innermost() -> None:
    outer = {OWNER: "1.2", CALL: "1.2.3"}
    inner = mark(outer, "9.9.1")
    assert (inner[OWNER], inner[CALL]) == (f"1.2/{identity()}", "1.2.3/9.9.1")
    assert mark(inner, "9.9.1") == inner
    assert outer == {OWNER: "1.2", CALL: "1.2.3"}
