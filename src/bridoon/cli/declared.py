"""The bundled commands and the options of a run, declared once: for parsing, help and completion."""

from __future__ import annotations

from typing import NamedTuple

from bridoon.catalog.conf import MODES
from bridoon.cli.declare import JSON, Command, Option

RUN_OPTIONS = (
    Option("--provider", "the provider or variant to talk to", "NAME", short="-p", completes="provider"),
    Option("--model", "the model, by the provider's name for it", "NAME", short="-m", completes="model"),
    Option("--session", "continue a session", "ID", completes="session"),
    Option("--cwd", "work in this directory", "DIR", completes="directory"),
    Option("--attach", "send a file along (an image as an image); may be repeated", "FILE", completes="file"),
    Option("--max-turns", "stop after N calls of the model", "N"),
    Option("--permissions", "which tools run without asking", "MODE", choices=MODES),
    Option("--json", "one event per line on standard output, and one result at the end"),
    Option("--quiet", "nothing but the answer", short="-q"),
)
"""What every way of starting a run takes."""

AGENT = Command(
    "agent",
    "send a message to the agent and print its answer",
    "[SESSION] MESSAGE...",
    0,
    None,
    RUN_OPTIONS,
    "`hs MESSAGE` is the same. The message can also be piped in; with both, what is piped is attached to it.",
    completes="session",
)
TOOLS = Command(
    "tools",
    "list the tools that the model can call",
    options=(JSON,),
    more="Tools that another file replaces are marked. What nearly is a tool stands below, with the reason.",
)
HOOKS = Command(
    "hooks",
    "list the hooks of every stage, or of one, in the order in which they run",
    "[STAGE]",
    0,
    1,
    (JSON,),
    completes="stage",
)
SKILLS = Command("skills", "list the skills that the model can load", options=(JSON,))
PROVIDERS = Command("providers", "list the providers, and which of them are ready", options=(JSON,))
PERMISSIONS = Command(
    "permissions",
    "show which tool calls run, ask or are refused, and where that is said",
    "[TOOL [ARGUMENT]]",
    0,
    2,
    (JSON, *(option for option in RUN_OPTIONS if option.name == "--permissions")),
    "With a tool and its argument (a shell command, a path): what would happen to that call.",
    completes="tool",
)
HELP = Command("help", "show how to use hs, or one of its commands", "[COMMAND]", 0, 2, completes="command")
DOCTOR = Command(
    "doctor",
    "look for what could be wrong: environment, providers, sources, near misses, trust",
    options=(JSON,),
    more="Exits 1 when nothing here could run a model.",
)
CONFIG = Command(
    "config",
    "show every setting, its value and where that comes from",
    "[KEY]",
    0,
    1,
    (JSON,),
    "Settings come from the environment, then from settings.conf files, the most local first. With KEY, only "
    "the value is printed. Secrets are masked.",
    completes="setting",
)
MODELS = Command(
    "models",
    "list the models that could be used now",
    "[PROVIDER]",
    0,
    1,
    (JSON,),
    "Servers on this machine are asked which models they have; any other service is asked when it is named.",
    completes="provider",
)
TRUST = Command(
    "trust",
    "let the .harness directory of a checkout run its code",
    "[DIR]",
    0,
    1,
    (
        Option("--list", "show what is recorded, and what is not trusted here"),
        Option("--dry-run", "only show what would run"),
        JSON,
    ),
    "DIR is a .harness directory or the directory that holds it; without it, every one from here up to / "
    "that waits for an answer. What would run is listed first.",
    completes="directory",
)
UNTRUST = Command(
    "untrust",
    "take the trust in a .harness directory back",
    "[DIR]",
    0,
    1,
    completes="directory",
)
COMPLETION = Command(
    "completion",
    "print a script that completes hs command lines",
    "bash|zsh|fish",
    1,
    1,
    more='bash: eval "$(hs completion bash)" in ~/.bashrc\n'
    'zsh: eval "$(hs completion zsh)" in ~/.zshrc, after compinit\n'
    "fish: hs completion fish > ~/.config/fish/completions/hs.fish",
)

SESSION_LIST = Command(
    "session list",
    "one line a session, the newest first: id, time, beginning of the first message",
    options=(JSON,),
)
SESSION_SHOW = Command(
    "session show",
    "show a session's configuration and its files, or the conversation",
    "ID",
    1,
    1,
    (Option("--messages", "print the conversation"), JSON),
    completes="session",
)
SESSION_DIR = Command(
    "session dir", "print the directory of a session, or of all sessions", "[ID]", 0, 1, completes="session"
)
SESSION_FORK = Command(
    "session fork",
    "copy a session to a new one and print its id",
    "ID",
    1,
    1,
    (Option("--at", "copy the messages up to and including number N, and the results of its calls", "N"),),
    completes="session",
)
SESSION_EXPORT = Command(
    "session export",
    "print a whole session",
    "ID",
    1,
    1,
    (
        Option(
            "--format",
            "md (the default), json, or jsonl: one message per line",
            "FORMAT",
            ("md", "json", "jsonl"),
        ),
    ),
    completes="session",
)
SESSION_RM = Command(
    "session rm",
    "remove sessions",
    "[ID...]",
    0,
    None,
    (Option("--older-than", "remove what has not been used for this long: 30d, 12h, 2w", "AGE"),),
    "Asks nothing and says what it removed. A session that is in use stays.",
    completes="session",
)
SESSION = (SESSION_LIST, SESSION_SHOW, SESSION_DIR, SESSION_FORK, SESSION_EXPORT, SESSION_RM)
SESSION_ABOUT = "list, show, copy, export and remove sessions"

DEMO = Command(
    "demo",
    "see the loop at work in a throw-away project, without an API key",
    options=(
        Option("--keep", "leave the project for a look around"),
        *(option for option in RUN_OPTIONS if option.name not in ("--session", "--cwd", "--attach")),
    ),
    more="Without --provider the model's part is played by a script; the loop, the tools and the gate are real.",
)

COMMANDS = {
    each.name: each
    for each in (
        AGENT,
        DEMO,
        TOOLS,
        HOOKS,
        SKILLS,
        PROVIDERS,
        PERMISSIONS,
        HELP,
        DOCTOR,
        CONFIG,
        MODELS,
        TRUST,
        UNTRUST,
        COMPLETION,
        *SESSION,
    )
}
"""By name. Commands that are not here describe themselves."""

ELSEWHERE = {
    "new": ("bridoon.cli.new", "NEW"),
    "check": ("bridoon.cli.check", "CHECK"),
    "repl": ("bridoon.cli.repl", "REPL"),
    "resume": ("bridoon.cli.repl", "RESUME"),
}
"""Commands that are declared beside their bodies: module and name."""


class Group(NamedTuple):
    """A command that has sub-commands."""

    about: str
    commands: tuple[Command, ...]


def command_of(name: str) -> Command | None:
    """The declaration of a bundled command or sub-command; None for one that has none."""
    found = COMMANDS.get(name)
    if found is None and name in ELSEWHERE:
        from importlib import import_module

        module, constant = ELSEWHERE[name]
        found = getattr(import_module(module), constant, None)
    group = group_of(name.split(" ")[0]) if found is None and " " in name else None
    return next((each for each in group.commands if each.name == name), None) if group else found


def group_of(name: str) -> Group | None:
    """The sub-commands of a bundled command; None for one that has none."""
    if name == "session":
        return Group(SESSION_ABOUT, SESSION)
    if name == "auth":
        from bridoon.cli import auth

        return Group(auth.ABOUT, auth.AUTH)
    return None


RUNS = ("agent", "repl", "resume", "demo")
"""Commands that take RUN_OPTIONS."""

EXIT_CODES = (
    ("0", "the run completed"),
    ("1", "something went wrong"),
    ("2", "the command line or a configuration file is wrong"),
    ("3", "no provider, or no credentials for it"),
    ("4", "a limit was reached"),
    ("130, 143", "interrupted (Ctrl-C, SIGTERM)"),
    ("141", "whoever read the output went away"),
)
