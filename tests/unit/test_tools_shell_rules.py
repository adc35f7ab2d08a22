"""Shell rules: an allow rule never covers more than it says, a deny rule finds what it names."""

from __future__ import annotations

import pytest

from bridoon.toolkit.shellrules import Pattern, allows, prefixes, touches
from bridoon.toolkit.shellscan import SIZE_LIMIT
from bridoon.toolkit.shellwords import Word, simple_commands

GIT = [Pattern.parse("git status*"), Pattern.parse("echo *"), Pattern.parse("make")]


@pytest.mark.parametrize(
    "command",
    [
        "git status",
        "git status -s && echo done",
        "git status; make\necho x | echo y || echo z & echo",
        "git  status\t--short 2>&1",
        "echo 'a; rm -rf /' \"b && c\" d\\;e",
        'echo $HOME "${USER}" *.py ~ $?',
        "( git status; make )",
        "if git status; then echo yes; else echo no; fi",
        "! git status # look first",
        "git status 2>/dev/null",
        "{ echo a; echo b; }",
    ],
)
def test_a_command_line_is_allowed_when_every_command_in_it_is(command: str) -> None:
    assert allows(GIT, command)


@pytest.mark.parametrize(
    "command",
    [
        "rm -rf x",
        "git statu",
        "git -c core.pager=x status",
        "git status; rm x",
        "git status\nrm x",
        "git status & rm x",
        "git status | sh",
        "make install",
        "make clean && make",
        "",
        "# only a comment",
        # what could run something else
        "echo $(rm x)",
        "echo `rm x`",
        'echo "$(rm x)"',
        'echo "`rm x`"',
        "echo <(rm x)",
        "echo ${X:-$(rm x)}",
        "echo ${X@P}",
        "echo $((a[$(rm x)]))",
        "echo $[1]",
        "echo <<E\n$(rm x)\nE",
        "echo <<<x",
        # files
        "echo x > file",
        "echo x >> ~/.bashrc",
        "echo x >&file",
        "echo x &> file",
        "echo < file",
        "echo x >/dev/nullx",
        "echo x 2>&1x",
        # what stands in front, or hides the name
        "X=1 git status",
        "PATH=/tmp git status",
        "env git status",
        "timeout 5 git status",
        "nohup git status",
        "nice git status",
        "sudo git status",
        "command git status",
        "builtin echo x",
        "exec git status",
        "eval git status",
        "xargs git status",
        "time git status",
        "coproc git status",
        "$GIT status",
        "'git' status",
        "g\\it status",
        "gi? status",
        "{git,status}",
        "git {status,x}",
        "$'git' status",
        "git \\\nstatus",
        "git\\\n status",
        # what is not understood
        "git status 'x",
        'git status "x',
        "git status \\",
        "(git status",
        "git status)",
        "git status ;; make",
        "for x in a; do git status; done",
        "case x in x) make;; esac",
        "[[ -f x ]] && make",
        "((x)) && make",
        "git() { make; }",
        "function git { make; }",
        "git status\r",
        "git\u00a0status",
        "git status\x0bx",
        ">/dev/null do",
        "( git status ) >/dev/null",
    ],
)
def test_whatever_else_a_command_line_holds_is_not_allowed(command: str) -> None:
    assert not allows(GIT, command)


@pytest.mark.parametrize(
    ("pattern", "command"),
    [
        ("env *", "env rm x"),
        ("xargs *", "xargs rm"),
        ("find *", "find . -exec rm {} +"),
        ("find *", "find . $X"),
        ("bash *", "bash -c 'rm x'"),
        ("bash *", "bash"),
        ("/bin/sh *", "/bin/sh -c 'rm x'"),
        ("alias *", "alias git=rm"),
        ("export *", "export PATH=/tmp"),
        ("source *", "source x"),
        (". *", ". x"),
        ("printf *", "printf -v PATH /tmp"),
        ("test *", "test -v x[1]"),
        ("trap *", "trap x EXIT"),
        ("./scripts/*", "./scripts/../rm"),
        ("npm run test", "npm 'run test'"),
        ("npm run t*", "npm run 't ; x'"),
        ("git log", "git $X"),
        ("git st*s", "git st$X"),
        ("", "x"),
    ],
)
def test_commands_that_run_other_things_are_not_allowed_by_a_pattern(pattern: str, command: str) -> None:
    assert not allows([Pattern.parse(pattern)], command)


@pytest.mark.parametrize(
    ("pattern", "command"),
    [
        ("npm run *", "npm run build --verbose"),
        ("npm run *", "npm run"),
        ("git st*", "git st$X"),
        ("find *", "find . -name '*.py'"),
        ("bash scripts/*", "bash scripts/build.sh"),
        ("./scripts/*", "./scripts/build --now"),
        ("python -m pytest*", "python -m pytest tests -q"),
        ("*", "anything $(at all)"),
    ],
)
def test_a_pattern_covers_what_it_says(pattern: str, command: str) -> None:
    assert allows([Pattern.parse(pattern)], command)


REMOVES = [
    "rm -rf x", "rm", "/bin/rm x", "\\rm x", "'rm' x", 'r""m x', "$'\\x72m' x", "r\\\nm x", "{rm,-rf,x}",
    "/bin/r? x", "ls; rm x", "ls && rm x", "ls | rm x", "ls & rm x", "ls\nrm x", "(rm x)", "{ rm x; }",
    "! rm x", "f() { rm x; }", "if true; then rm x; fi", "while rm x; do :; done",
    "for i in 1; do rm x; done", "case a in a) rm x;; esac", "function f { rm x; }", "X=1 rm x",
    "2>/dev/null rm x", ">out rm x", "{fd}>x rm x", "time rm x", "coproc rm x", "echo $(rm x)",
    "echo `rm x`", 'echo "$(rm x)"', 'echo "`rm x`"', "cat <(rm x)", "echo ${X:-$(rm x)}", "X=rm; $X y",
    "rm$IFS-rf$IFS/", "${Q:-rm} x", "r$(true)m x", "r${z}m x", "r$@m x", "bash -c 'rm x'", 'sh -c "rm x"',
    "bash -c \"bash -c 'rm x'\"", "bash <<< 'rm x'", "bash <<< rm", "echo rm x | sh", "sh <<EOF\nrm x\nEOF",
    "cat <<EOF\ndon't\nEOF\nrm x", "# don't\nrm x", "eval rm x", "eval 'rm x'", "trap 'rm x' EXIT",
    "alias q=rm", "alias q='rm x'", "env A=1 rm x", "env -S 'rm x'", "timeout -k 3 5 rm x", "nohup rm x",
    "nice -n 5 rm x", "sudo -u me rm x", "sudo nice timeout 5 rm x", "command rm x", "builtin rm x",
    "exec -a n rm x", "ls | xargs -n1 rm", "xargs -I{} sh -c 'rm {}'", "find . -exec rm {} \\;",
    "find . -execdir /bin/rm {} +", "ssh host rm x", "busybox rm x",
]  # fmt: skip


@pytest.mark.parametrize("command", REMOVES)
def test_a_denied_command_is_found_wherever_it_can_be_seen(command: str) -> None:
    assert touches(Pattern.parse("rm *"), command)


@pytest.mark.parametrize(
    "command",
    [
        "rmdir x",
        "git rm x",
        "ls rm",
        "echo rm",
        "find . -name rm",
        "grep 'rm' file",
        "npm run rm",
        "cat rm.txt # rm",
        "",
    ],
)
def test_a_deny_rule_leaves_other_commands_alone(command: str) -> None:
    assert not touches(Pattern.parse("rm *"), command)


@pytest.mark.parametrize(
    "command",
    [
        "git push",
        "git -C dir push --force",
        "git --no-pager -c a=b push",
        "/usr/bin/git push",
        "(cd x && git push)",
    ],
)
def test_options_in_front_of_a_subcommand_do_not_hide_it(command: str) -> None:
    assert touches(Pattern.parse("git push*"), command)


def test_a_deny_pattern_may_look_at_the_whole_text() -> None:
    assert touches(Pattern.parse("*secret*"), "cat /etc/secrets | wc")


def test_a_command_line_too_long_to_check_counts_as_denied() -> None:
    assert "too long" in touches(Pattern.parse("rm *"), "echo " + "x" * SIZE_LIMIT)


def test_the_words_of_a_command_are_what_it_gets() -> None:
    assert simple_commands("a 'b c' d\\ e \"f$X\"g h*") == [
        (Word("a", True), Word("b c", True), Word("d e", True), Word("f", False), Word("h", False))
    ]


@pytest.mark.parametrize(
    ("command", "offered"),
    [
        ("npm run build && git status", ["npm run *", "git status *"]),
        ("make", ["make"]),
        ("ls -la /tmp", ["ls -la *"]),
        ("make; make", ["make"]),
        ("sudo make install", []),
        ("echo $(id)", []),
        ("ls *.py", []),
        ("echo 'a b'", []),
    ],
)
def test_what_is_offered_for_a_session_is_the_first_two_words(command: str, offered: list[str]) -> None:
    assert prefixes(command) == offered
    assert not offered or allows([Pattern.parse(pattern) for pattern in offered], command)
