"""The permission gate: modes, rules about tools and paths, and what a person says."""

from __future__ import annotations

import os
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from bridoon.catalog.conf import Layer, Rule, Settings
from bridoon.catalog.sources import Source
from bridoon.cli.tty import chosen
from bridoon.sdk.script import Context
from bridoon.toolkit import pathrules
from bridoon.toolkit.permissions import Tool, decide, describe, gate, mode_of, policy_of, printable
from bridoon.toolkit.toolrules import Call, ToolRule

HARMLESS = {"read_file", "skill", "agent"}


def settings(*lines: str, mode: str = "", scope: str = "home", more: Settings | None = None) -> Settings:
    path = f"/{scope}/settings.conf"
    rules = tuple(
        Rule(line.split(" ", 1)[0], line.split(" ", 1)[1], path, number) for number, line in enumerate(lines, 1)
    )
    values = {"permissions": mode} if mode else {}
    layers = (*(more.layers if more else ()), Layer(path, Source(f"/{scope}", scope), values, rules))
    merged = {key: value for layer in layers for key, value in layer.values.items()}
    return Settings(merged, tuple(rule for layer in layers for rule in layer.rules), layers)


class FakeRun:
    """A run at whose face somebody gives these answers; None stands for nobody."""

    def __init__(self, start: Settings, *answers: str | None, now: Settings | None = None) -> None:
        self.settings = start
        self.catalog = SimpleNamespace(settings=now or start)
        self.grants: list[Any] = []
        self.answers = list(answers)
        self.asked: list[tuple[str, list[str], str]] = []

    def ask(self, question: str, choices: list[str], detail: str = "") -> str | None:
        self.asked.append((question, choices, detail))
        answer = self.answers.pop(0)
        return next((choice for choice in choices if answer and choice.startswith(answer)), answer)


def outcome(run: FakeRun, name: str, given: dict[str, Any], cwd: Path | str = "/", mode: str = "") -> str:
    """`pass`, or the reason of the refusal."""
    call = {"id": "1", "name": name, "input": given}
    payload = {"tool_calls": [call], "id": "1", "name": name, "input": given}
    env = {"HARNESS_CWD": str(cwd), "HOME": "/home/me"} | ({"HARNESS_PERMISSIONS": mode} if mode else {})
    try:
        passed = gate(payload, Context(env, run=run), run, lambda name: Tool((name,), name in HARMLESS))
    except SystemExit as refusal:
        return str(refusal.code)
    assert passed is payload
    return "pass"


def bash(run: FakeRun, command: str, mode: str = "") -> str:
    return outcome(run, "bash", {"command": command}, mode=mode)


def test_without_rules_the_mode_decides() -> None:
    for mode in ("auto", "ask", "read-only"):
        assert outcome(FakeRun(settings()), "read_file", {"path": "x"}, mode=mode) == "pass"
        assert outcome(FakeRun(settings()), "agent", {"prompt": "x"}, mode=mode) == "pass"
    assert bash(FakeRun(settings()), "ls", "auto") == "pass"
    assert bash(FakeRun(settings(), "yes"), "ls", "ask") == "pass"
    assert "permissions are read-only, and bash can change things" in bash(FakeRun(settings()), "ls", "read-only")
    assert "nobody can be asked" in outcome(FakeRun(settings(), None), "deploy", {}, mode="ask")


def test_deny_wins_over_ask_and_allow_in_every_mode() -> None:
    rules = settings("allow bash(rm *)", "deny bash(rm *)", "ask bash(rm *)")
    for mode in ("auto", "ask", "read-only"):
        assert bash(FakeRun(rules), "rm x", mode) == "denied by the rule `deny bash(rm *)` (/home/settings.conf:2)"
    assert bash(FakeRun(settings("deny read_file")), "ls") == "pass"
    assert "denied" in outcome(FakeRun(settings("deny read*")), "read_file", {"path": "x"})


def test_an_ask_rule_wins_over_an_allow_rule() -> None:
    rules = settings("allow bash(git *)", "ask bash(git push*)")
    run = FakeRun(rules, "no")
    assert bash(run, "git status", "ask") == "pass"
    assert "the user said no" in bash(run, "git push", "auto")
    assert "read-only" in bash(run, "git push", "read-only")
    assert len(run.asked) == 1


def test_an_allow_rule_lets_a_call_pass_in_ask_and_read_only_mode() -> None:
    run = FakeRun(settings("allow bash(git status*)", "allow greet"))
    for mode in ("ask", "read-only"):
        assert bash(run, "git status -s", mode) == "pass"
        assert outcome(run, "greet", {"x": 1}, mode=mode) == "pass"
    assert "read-only" in bash(run, "git status; rm x", "read-only")


def test_a_refusal_says_how_to_allow_the_call() -> None:
    said = bash(FakeRun(settings(), None), "npm run build", "ask")
    assert "(allow bash(npm run *)) or --permissions auto" in said


def test_a_typed_answer_is_the_reason_of_a_refusal() -> None:
    said = bash(FakeRun(settings(), "use yarn here"), "npm i", "ask")
    assert said == "the user said no to this call of bash: use yarn here"


@pytest.mark.parametrize("command", ["ls -l", "make $(x)", "ls | wc; git status"])
def test_yes_and_no_have_the_same_numbers_in_every_question(command: str) -> None:
    run = FakeRun(settings(), "no")
    bash(run, command, "ask")
    choices = run.asked[0][1]
    assert choices[:2] == ["yes", "no"]
    assert all(choice.startswith("always ") for choice in choices[2:])
    assert chosen("", choices) == "no"


def test_always_this_prefix_covers_this_and_no_more() -> None:
    run = FakeRun(settings(), "always bash(npm run *)", "no", "no")
    assert bash(run, "npm run build", "ask") == "pass"
    assert bash(run, "npm run test -- -v", "ask") == "pass"
    assert "no" in bash(run, "npm install", "ask")
    assert "no" in bash(run, "npm run build && rm x", "ask")
    assert len(run.asked) == 3


def test_always_this_tool_covers_the_session_but_no_deny_or_ask_rule() -> None:
    run = FakeRun(settings("deny bash(rm *)", "ask bash(git push*)"), "always bash in", "no")
    assert bash(run, "ls | wc", "ask") == "pass"
    assert bash(run, "make $(x)", "ask") == "pass"
    assert "denied" in bash(run, "rm x", "ask")
    assert "said no" in bash(run, "git push", "ask")
    assert "read-only" in bash(run, "ls", "read-only")


def test_a_word_given_in_passing_does_not_cover_the_leash(tmp_path: Path) -> None:
    run = FakeRun(settings(), "always write_file in", "no", "no")
    assert outcome(run, "write_file", {"path": "a", "content": ""}, tmp_path, "ask") == "pass"
    assert outcome(run, "write_file", {"path": "sub/b", "content": ""}, tmp_path, "ask") == "pass"
    (tmp_path / "elsewhere").mkdir()
    (tmp_path / ".harness").symlink_to("elsewhere")
    assert "said no" in outcome(run, "write_file", {"path": ".harness/settings.conf"}, tmp_path, "ask")


def test_always_in_this_directory_covers_what_is_really_in_it(tmp_path: Path) -> None:
    run = FakeRun(settings(), f"always edit_file({os.path.realpath(tmp_path)}/src/**)", "no", "no")
    (tmp_path / "src").mkdir()
    (tmp_path / "src" / "out").symlink_to("/etc")
    assert outcome(run, "edit_file", {"path": "src/a"}, tmp_path, "ask") == "pass"
    assert outcome(run, "edit_file", {"path": "src/deep/b"}, tmp_path, "ask") == "pass"
    assert "said no" in outcome(run, "edit_file", {"path": "src/../b"}, tmp_path, "ask")
    assert "said no" in outcome(run, "edit_file", {"path": "src/out/passwd"}, tmp_path, "ask")


def test_path_rules_look_at_the_resolved_path(tmp_path: Path) -> None:
    (tmp_path / "src").mkdir()
    (tmp_path / "src" / "link").symlink_to("../secret")
    rules = settings("allow write_file(src/**)", "deny read_file(secret)", "deny read_file(~/.ssh/**)")
    run = FakeRun(rules)
    assert outcome(run, "write_file", {"path": "src/a/b"}, tmp_path, "read-only") == "pass"
    for path in ("src/../b", "src/link", "/etc/src/x", "srcs/a"):
        assert "read-only" in outcome(run, "write_file", {"path": path}, tmp_path, "read-only")
    for path in (
        "secret",
        "src/link",
        "./src/../secret",
        "deep/secret",
        "/home/me/.ssh/id",
        "../../../../home/me/.ssh/x/y",
    ):
        cwd = tmp_path if not path.startswith("..") else "/a/b/c/d"
        assert "denied" in outcome(run, "read_file", {"path": path}, cwd)
    assert outcome(run, "read_file", {"path": "src/a"}, tmp_path) == "pass"


@pytest.mark.parametrize(
    ("pattern", "path", "fits"),
    [
        ("*.py", "a.py", True),
        ("*.py", "sub/a.py", False),
        ("**/*.py", "sub/deep/a.py", True),
        ("**/*.py", "a.py", True),
        ("src/", "src/a/b", True),
        ("src", "src/a", False),
        ("src/[a-c]?.txt", "src/b1.txt", True),
        ("src/[!a-c]*", "src/b1", False),
        ("src/[z-a]", "src/b", False),
        ("/w/src/*", "src/x", True),
        ("~/notes/*", "/home/me/notes/x", True),
        ("**", "/etc/passwd", False),
        ("/**", "/etc/passwd", True),
        ("a.c", "axc", False),
    ],
)
def test_path_patterns(pattern: str, path: str, fits: bool) -> None:
    assert pathrules.allows(pattern, path, "/w", "/home/me") is fits


def test_a_denied_name_is_denied_in_every_directory_and_below_it() -> None:
    for path in (".env", "a/.env", "/x/y/.env", "a/.env/b"):
        assert pathrules.touches(".env", path, "/w", "/home/me")
    assert pathrules.touches("secrets/*", "secrets/a/b", "/w", "/home/me")
    assert not pathrules.touches("secrets/*", "public/a", "/w", "/home/me")


def test_other_tools_are_allowed_by_their_only_argument_and_denied_by_any() -> None:
    run = FakeRun(settings("allow web_get(https://docs.org/*)", "deny *(*password*)"))
    assert outcome(run, "web_get", {"url": "https://docs.org/x"}, mode="read-only") == "pass"
    assert "read-only" in outcome(run, "web_get", {"url": "https://docs.org/x", "to": "/etc"}, mode="read-only")
    assert "denied" in outcome(run, "mail", {"to": ["a"], "body": {"text": "my password"}})


def test_an_alias_of_a_tool_does_not_escape_its_rules() -> None:
    call = Call(("other", "bash"), {"command": "rm x"}, "/", "/")
    policy = policy_of(settings("deny bash(rm *)"), settings("deny bash(rm *)"), {})
    assert decide(call, policy, [], harmless=False).action == "deny"


def test_a_project_can_make_the_mode_stricter_but_not_looser() -> None:
    home = settings(mode="ask")
    assert mode_of(settings(mode="auto", scope="project", more=home), {}) == "ask"
    assert mode_of(settings(mode="read-only", scope="project", more=home), {}) == "read-only"
    assert mode_of(settings(mode="auto", scope="project"), {}, default="ask") == "ask"
    assert mode_of(settings(mode="auto", scope="home"), {}, default="ask") == "auto"
    assert mode_of(home, {"HARNESS_PERMISSIONS": "auto"}) == "auto"


def test_a_word_that_is_no_mode_counts_as_ask() -> None:
    assert mode_of(settings(mode="yolo"), {}) == "ask"
    assert mode_of(settings(), {"HARNESS_PERMISSIONS": "yolo"}) == "ask"


def test_what_changes_during_a_run_only_makes_it_stricter() -> None:
    start = settings("deny bash(rm *)", mode="ask")
    loose = FakeRun(start, "no", now=settings("allow bash", mode="auto"))
    assert "denied" in bash(loose, "rm x")
    assert "said no" in bash(loose, "ls")
    strict = FakeRun(settings(), now=settings("deny bash(ls*)", mode="read-only"))
    assert "denied" in bash(strict, "ls")
    assert "read-only" in bash(strict, "pwd")


def test_a_result_that_an_earlier_hook_gave_passes() -> None:
    run = FakeRun(settings("deny *"))
    payload = {"name": "bash", "input": {}, "tool_calls": [], "result": "soft refusal", "error": True}
    assert gate(payload, Context({}, run=run), run, lambda name: Tool((), False)) is payload


def test_a_call_cannot_draw_over_the_question() -> None:
    run = FakeRun(settings(), "no")
    bash(run, "echo \x1b[2Kls\r\u202ex", "ask")
    assert run.asked[0][2] == "echo \\x1b[2Kls\\r\\u202ex"
    assert printable("é\n\t日") == "é\n\t日"


def test_a_person_sees_where_a_link_leads(tmp_path: Path) -> None:
    (tmp_path / "link").symlink_to("/etc/hosts")
    run = FakeRun(settings(), "no")
    outcome(run, "write_file", {"path": "link", "content": "new text"}, tmp_path, "ask")
    assert run.asked[0][2] == f"{tmp_path}/link (which is /etc/hosts)\nnew text"


def test_the_description_names_mode_rules_and_flaws() -> None:
    found = settings("allow bash(ls *)", "deny bash(rm *)", "allow bash(sudo *)", "deny x()", mode="ask")
    assert describe(found, {}) == [
        "mode: ask (/home/settings.conf)",
        "deny bash(rm *)  (/home/settings.conf:2)",
        "deny x()  (/home/settings.conf:4)  !! an empty pattern matches nothing",
        "allow bash(ls *)  (/home/settings.conf:1)",
        "allow bash(sudo *)  (/home/settings.conf:3)  !! never applies: sudo runs what its arguments say",
    ]
    assert describe(settings(), {"HARNESS_PERMISSIONS": "auto"}) == [
        "mode: auto (HARNESS_PERMISSIONS)",
        "no rules",
    ]


def test_a_rule_is_read_with_blanks_and_parentheses_in_it() -> None:
    assert ToolRule.of(Rule("deny", "bash (echo (x))", "f", 1)) == ToolRule("deny", "bash", "echo (x)", "f:1")
    assert ToolRule.of(Rule("deny", "(x)", "f", 1)) is None
