"""What the REPL shows of calls, amounts and Markdown, and what Tab offers."""

from __future__ import annotations

import os
import re
from pathlib import Path

import pytest

from bridoon.cli.repl_commands import chosen_model, find, unknown
from bridoon.cli.terminal.calls import amount, duration, result_of, shortened, title
from bridoon.cli.terminal.front import Shown
from bridoon.cli.terminal.paint import COLOUR, Paint, wanted
from bridoon.cli.terminal.plain import Plain
from bridoon.cli.terminal.words import Offer, offers
from bridoon.cli.tty import Terminal, chosen
from bridoon.loop.display import tool_text
from bridoon.model.event import ToolStarted
from bridoon.proc.cancel import Cancel

COLOURED = Paint(True, lambda: 60)
PLAIN = Paint(False, lambda: 60)
CHOICES = ["yes", "no", "always bash", "always bash(ls *)"]


def test_a_call_is_one_line_with_its_telling_argument_first() -> None:
    assert title("bash", {"timeout": 5, "command": "ls\n-l"}, 80) == "bash ls -l timeout=5"
    assert title("edit_file", {"edits": [1], "path": "a.py"}, 80) == "edit_file a.py edits=[1]"


def test_a_long_call_is_cut_to_the_width() -> None:
    assert len(title("bash", {"command": "x" * 500}, 40)) == 40


def test_control_characters_of_a_call_do_not_reach_the_terminal() -> None:
    assert "\x1b" not in title("bash", {"command": "echo \x1b[31m"}, 80)


@pytest.mark.parametrize("failed", [False, True])
def test_the_result_is_found_in_what_is_displayed(failed: bool) -> None:
    given = {"command": "first line\nsecond line"}
    text = tool_text("bash", given, "out 1\nout 2", failed)
    assert result_of(text, "bash", given) == (["out 1", "out 2"], 0)


def test_lines_that_the_display_left_out_are_counted() -> None:
    text = tool_text("bash", {"command": "x"}, "\n".join(map(str, range(100))), False)
    lines, left_out = result_of(text, "bash", {"command": "x"})
    assert len(lines) + left_out == 100
    assert shortened(lines, left_out, "~/f.md") == [*"0123456", "… 93 more lines: ~/f.md"]


def test_a_short_result_is_shown_whole() -> None:
    assert shortened(["a", "b"], 0, "~/f.md") == ["a", "b"]


def test_a_long_line_of_a_result_is_cut() -> None:
    assert shortened(["a" * 99, "b"], 0, "~/f.md", 5) == ["aaaa…", "b", "… whole: ~/f.md"]


@pytest.mark.parametrize(
    ("tokens", "text"),
    [
        (0, "0"),
        (999, "999"),
        (1234, "1.2k"),
        (9949, "9.9k"),
        (64_400, "64k"),
        (999_499, "999k"),
        (1_100_000, "1.1M"),
    ],
)
def test_amounts_of_tokens_are_short(tokens: int, text: str) -> None:
    assert amount(tokens) == text


@pytest.mark.parametrize(("seconds", "text"), [(0.44, "0.4 s"), (12.6, "12 s"), (185, "3 min 05 s")])
def test_times_are_short(seconds: float, text: str) -> None:
    assert duration(seconds) == text


# ---- Markdown


def test_markdown_is_rendered_without_its_marks() -> None:
    shown = COLOURED.markdown("Some **bold** words and `code`.\n\n- one\n- two\n")
    assert COLOUR.sub("", shown) == "Some bold words and code.\n\n • one\n • two"


def test_markdown_without_colours_is_left_as_it_is() -> None:
    assert PLAIN.markdown("Some **bold** words.\n\n") == "Some **bold** words."


def test_escape_sequences_of_a_model_never_reach_the_terminal() -> None:
    hostile = "\x1b]0;title\x07 \x1b[2J`\x1b[31m`\n```\n\x1b[1A\n```\n\x9b31m \u202e"
    for paint in (COLOURED, PLAIN):
        shown = COLOUR.sub("", paint.markdown(hostile))
        assert not any(character in shown for character in "\x1b\x07\x9b\u202e")
    assert "\x1b[2J" not in COLOURED.style("dim", hostile)


def test_there_are_no_colours_where_they_are_not_wanted() -> None:
    assert wanted({"TERM": "xterm-256color"})
    assert not wanted({"TERM": "dumb"})
    assert not wanted({})
    assert not wanted({"TERM": "xterm", "NO_COLOR": "1"})


# ---- slash commands and answers


def test_a_command_is_found_by_its_name_or_a_beginning_that_only_it_has() -> None:
    names = {word: getattr(find(word), "name", None) for word in ("/help", "/comp", "/exit", "/", "/x", "/s")}
    expected = {
        "/help": "/help",
        "/comp": "/compact",
        "/exit": "/quit",
        "/": None,
        "/x": None,
        "/s": "/session",
    }
    assert names == expected


def test_an_unknown_command_is_told_with_the_nearest_one() -> None:
    assert unknown("/permisions") == "there is no /permisions: did you mean /permissions?"
    assert "/help" in unknown("/zzz")


def test_a_model_is_named_with_or_without_its_provider() -> None:
    known = ["openai", "openrouter"]
    assert chosen_model("gpt-9", known, "openai") == ("openai", "gpt-9")
    assert chosen_model("openrouter/meta/llama", known, "openai") == ("openrouter", "meta/llama")
    assert chosen_model("openrouter", known, "openai") == ("openrouter", "")
    assert chosen_model("meta/llama", known, "openrouter") == ("openrouter", "meta/llama")


@pytest.mark.parametrize(
    ("typed", "answer"),
    [("1", "yes"), ("y", "yes"), ("2", "no"), ("N", "no"), ("", "no"), ("4", "always bash(ls *)"),
     ("always bash", CHOICES[2]), ("always bash(", CHOICES[3]), ("no, use git", "no, use git"),
     ("9 lives", "9 lives")],
)  # fmt: skip
def test_an_answer_is_a_number_a_word_or_a_reason(typed: str, answer: str) -> None:
    assert chosen(typed, CHOICES) == answer


@pytest.mark.parametrize("typed", ["always", "a", "0", "5", "9" * 5000, "\N{ARABIC-INDIC DIGIT SEVEN}"])
def test_a_number_or_a_beginning_that_fits_no_single_choice_is_asked_again(typed: str) -> None:
    assert chosen(typed, CHOICES) is None


def test_an_empty_answer_is_the_no_and_without_one_the_last_choice() -> None:
    assert chosen("", ["no", "yes"]) == "no"
    assert chosen(" ", ["left", "right"]) == "right"


def test_a_number_is_an_answer_where_there_are_no_choices() -> None:
    assert chosen("9", []) == "9"


@pytest.mark.parametrize(
    ("typed", "answer", "times"),
    [("7\nalways\n1\n", "yes", 3), ("7\n7\n7\n1\n", "no", 3), ("\n", "no", 1), ("not now\n", "not now", 1)],
)
def test_a_terminal_asks_again_three_times_at_most(typed: str, answer: str, times: int) -> None:
    prompt = "Answer (a number, or words: they count as no): "
    controller, device = os.openpty()
    try:
        os.write(controller, typed.encode())
        assert Terminal(device).ask("Run bash?", CHOICES) == answer
        shown = ""
        while shown.count(prompt) < times:
            shown += os.read(controller, 65536).decode()
    finally:
        os.close(controller)
        os.close(device)
    assert shown.count(prompt) == times


class Thinker(Plain):
    """A screen whose user thinks for a while about every question."""

    def ask(self, question: str, choices: list[str], detail: str, cancel: Cancel) -> str | None:
        cancel.wait(0.4)
        return "yes"


def test_the_time_of_a_call_does_not_count_the_question_about_it() -> None:
    screen, cancel = Thinker(False), Cancel()
    shown = Shown(screen, screen.paint, cancel, "/")
    shown.event(ToolStarted("1", "bash", {"command": "ls"}))
    assert shown.ask("Run bash?", CHOICES, "") == "yes"
    assert re.search(r"bash ls 0\.[0-2] s$", shown.live(5)[-1])


# ---- completion

COMMANDS = {"/help": "show this", "/resume": "go on", "/quit": "leave"}


def offered(line: str, cwd: Path | str = "/") -> list[str]:
    arguments = {"/resume": lambda: [("2026-a", "first"), ("2025-b", "second")]}
    return [offer.text for offer in offers(line, str(cwd), COMMANDS, arguments)]


def test_commands_are_offered_at_the_start_of_a_line() -> None:
    assert offered("/") == ["/help", "/resume", "/quit"]
    assert offers("/he", "/", COMMANDS, {}) == [Offer("/help", 3, "show this")]
    assert offered("say /he") == []


def test_arguments_of_a_command_are_offered() -> None:
    assert offered("/resume ") == ["2026-a", "2025-b"]
    assert offered("/resume 2025") == ["2025-b"]


def test_files_are_offered_after_an_at_sign_and_in_words_with_a_slash(tmp_path: Path) -> None:
    (tmp_path / "src" / "deep").mkdir(parents=True)
    for name in ("src/a.py", "src/.hidden", "src/with blank", "setup.cfg"):
        (tmp_path / name).touch()
    assert offered("look at @s", tmp_path) == ["src/", "setup.cfg"]
    assert offered("look at src/", tmp_path) == ["deep/", "a.py"]
    assert offered("look at @src/.h", tmp_path) == [".hidden"]
    assert offered(f"look at {tmp_path}/se", "/") == ["setup.cfg"]
    assert offered("look at se", tmp_path) == []
    assert offered("nothing/there", tmp_path) == []
