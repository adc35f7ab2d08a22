"""`hs demo`: the real loop, real tools and real files in a throw-away project.

Without `-p` the model's part is played by a script, and the demo says so; everything else is what any run does.
"""

from __future__ import annotations

import os
import shutil
import tempfile
from collections.abc import Mapping

from bridoon.cli import agent
from bridoon.cli.compose import say
from bridoon.cli.declare import help_text
from bridoon.cli.declared import DEMO
from bridoon.cli.options import parse
from bridoon.errors import UsageError

TASK = """\
Look at this project. Then give yourself a tool: write an executable .harness/tools/count_todos that counts the lines
with TODO in a file, with the arguments {"path": string}. Make it executable, and call it as a real tool on notes.py.
Then delete the folder build with `rm -rf build`. If that is refused, leave it. Report what you found."""

FILES = {
    "README.md": "# Tide tables\n\nPrints the tides of a harbour. `notes.py` is where we think aloud.\n",
    "notes.py": "# TODO: read the harbour from the command line\nHARBOUR = 'Cuxhaven'\n\n"
    "def tides():\n    return []  # TODO: ask the service\n\n# TODO: test the leap day\n",
    "build/output.txt": "generated\n",
}

GATE = '''\
#!/usr/bin/env -S hs py
"""A gate: refuses shell commands that delete recursively. Everything else passes."""
from bridoon.sdk.script import hook


@hook
def keep(call, context):
    """Return the call to let it pass."""
    command = call["input"].get("command", "")
    if call["name"] == "bash" and ("rm -rf" in command or "rm -fr" in command):
        raise SystemExit("recursive deletion is not allowed in this project")
    return call
'''


def main(argv: list[str], env: Mapping[str, str]) -> int:
    """Run the demo and return the exit code of its run. `--keep` leaves the project for a look around."""
    if argv[:1] in (["--help"], ["-h"]):
        print(help_text(DEMO))
        return 0
    keep = "--keep" in argv
    options, words, _ = parse([word for word in argv if word != "--keep"])
    if options.session or options.attach:
        raise UsageError("hs demo takes no --session and no --attach", "hs demo --help lists its options")
    if words:
        raise UsageError(f"hs demo takes no message (got {' '.join(words)!r})", "hs demo [-p PROVIDER] [--keep]")
    place = tempfile.mkdtemp(prefix="hs-demo-")
    try:
        _project(place)
        # Only the command line asks a real model: a variable that happens to be set must not cost anything.
        named = env.get("HARNESS_PROVIDER", "")
        chosen = options.provider or ("" if named in ("scripted", os.environ.get("HARNESS_PROVIDER", "")) else named)
        given = {
            **env,
            **options.variables(),
            "HARNESS_SESSIONS": os.path.join(place, ".harness", "sessions"),
        }
        given.setdefault("HARNESS_PERMISSIONS", "auto")
        if not chosen:
            script = os.path.join(os.path.dirname(__file__), "demo_script.json")
            given.update(HARNESS_PROVIDER="scripted", HARNESS_MODEL="", BRIDOON_SCRIPT=script)
        os.environ.update({key: value for key, value in given.items() if os.environ.get(key) != value})
        _introduce(place, chosen, options.json or options.quiet)
        os.chdir(place)
        flags = [word for word, on in (("--json", options.json), ("--quiet", options.quiet)) if on]
        code = agent.main([*flags, "--", TASK], given)
        if not (options.json or options.quiet):
            _farewell(place, keep)
        return code
    finally:
        os.chdir("/")
        if not keep:
            shutil.rmtree(place, ignore_errors=True)


def _project(place: str) -> None:
    for name, text in FILES.items():
        path = os.path.join(place, name)
        os.makedirs(os.path.dirname(path), exist_ok=True)
        with open(path, "w", encoding="utf-8") as file:
            file.write(text)
    gate = os.path.join(place, ".harness", "hooks.d", "tool_exec", "05-no-recursive-delete")
    os.makedirs(os.path.dirname(gate))
    os.makedirs(os.path.join(place, ".harness", "sessions"))
    with open(gate, "w", encoding="utf-8") as file:
        file.write(GATE)
    os.chmod(gate, 0o755)


def _introduce(place: str, provider: str, quiet: bool) -> None:
    if quiet:
        return
    say(f"A throw-away project in {place}, with a gate hook that refuses `rm -rf`.")
    if provider:
        say(f"The model's part is played by {provider}.\n")
    else:
        say("The model's part is played by a SCRIPT, not by a model (hs demo -p NAME asks a real one).")
        say("The loop, the tools, the files, the new tool and the gate are real.\n")


def _farewell(place: str, keep: bool) -> None:
    say("")
    if keep:
        say(f"Left for you: {place} (the tool it wrote is .harness/tools/count_todos)")
    say('Next: export ANTHROPIC_API_KEY or OPENAI_API_KEY, or start a local server, then  hs "..."')
