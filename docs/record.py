"""Records a terminal as a picture: runs a command in a pseudo-terminal and draws what is to be seen then.

    python docs/record.py                             the pictures of these documents, made anew
    python docs/record.py OUT.svg hs tools            any command

The program is really run. Nothing is drawn by hand; only its output decides what the picture shows.
"""

from __future__ import annotations

import argparse
import codecs
import fcntl
import io
import os
import pty
import re
import select
import shlex
import struct
import subprocess
import sys
import tempfile
import termios
import time
import unicodedata
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import NamedTuple

from rich.console import Console
from rich.text import Text

HERE = Path(__file__).parent
COLUMNS = 100
LINES = 400
"""Lines of the terminal of a command that only prints: nothing scrolls away."""

PATIENCE = 60.0
"""Seconds until something that is waited for must have been shown, or the program have ended."""

SETTLED = 0.6
"""Seconds of silence after which a screen counts as drawn."""

PIECE = re.compile(
    r"\x1b\[(?P<arguments>[0-9;?]*)[ -/]*(?P<final>[@-~])|\x1b\][^\x07\x1b]*(?:\x07|\x1b\\)|\x1b[^\[\]]"
    r"|(?P<control>[\x00-\x1f])|(?P<text>[^\x00-\x1f])|(?P<rest>\x1b.*)",
    re.DOTALL,
)
FONT_FACE = re.compile(r"@font-face \{.*?\}\s*", re.DOTALL)
FONTS = "ui-monospace, SFMono-Regular, Menlo, Consolas, DejaVu Sans Mono, monospace"


class Scene(NamedTuple):
    """What is run, and what somebody types: pairs of a pattern to wait for and the keys that follow."""

    name: str
    title: str
    command: Sequence[str]
    typed: Sequence[tuple[str, str]] = ()
    script: str = ""
    """What the provider `scripted` plays, as YAML."""
    files: Mapping[str, str] = {}
    """Files of the directory in which it runs."""


REPL_SCRIPT = """\
- say: I look at the project first.
  calls:
  - {name: read_file, input: {path: notes.py}}
  - {name: bash, input: {command: git status --short}}
  usage: {input_tokens: 1480, output_tokens: 61}
- say: |
    `notes.py` has **two** open points:

    - the harbour is a constant
    - `tides()` returns nothing yet

    Nothing is committed so far.
  usage: {input_tokens: 1790, output_tokens: 48, cache_read_input_tokens: 1480}
"""

SCENES = (
    Scene("demo.svg", "hs demo", ("hs", "demo")),
    Scene(
        "repl.svg",
        "hs (REPL; the provider is scripted, everything else is real)",
        ("hs", "-p", "scripted"),
        (
            ("You:", "what is open here?\r"),
            (r"\? Run bash", "3\r"),
            ("tokens: ", "/permissions\r"),
            (r"permissions: ask, 1 allowed", ""),
        ),
        REPL_SCRIPT,
        {
            "notes.py": "# TODO: read the harbour from the command line\nHARBOUR = 'Cuxhaven'\n\n"
            "def tides():\n    return []  # TODO: ask the service\n"
        },
    ),
)


class Screen:
    """Understands moving, erasing and colours: each cell is a character and the style it was written in."""

    def __init__(self, rows: int) -> None:
        self._rows = rows
        self._lines: list[list[tuple[str, str]]] = [[]]
        self._row = self._column = 0
        self._style = ""
        self._rest = ""

    @property
    def text(self) -> str:
        """All lines without their styles."""
        return "\n".join("".join(cell for cell, _ in line).rstrip() for line in self._lines)

    def styled(self) -> list[str]:
        """All lines with escape sequences for colours only."""
        lines = []
        for line in self._lines:
            styled, style = "", ""
            for cell, wanted in line:
                if wanted != style:
                    styled += "\x1b[0m" + (f"\x1b[{wanted}m" if wanted else "")
                    style = wanted
                styled += cell
            lines.append(f"{styled}\x1b[0m")
        return lines

    def feed(self, text: str) -> None:
        """Take what the program wrote next."""
        text, self._rest = self._rest + text, ""
        for piece in PIECE.finditer(text):
            if piece["rest"] is not None:
                self._rest = piece["rest"]
            elif piece["text"] is not None:
                self._put(piece["text"])
            elif piece["control"] is not None:
                self._control(piece["control"])
            elif piece["final"] is not None:
                self._sequence(piece["final"], piece["arguments"])

    def _put(self, character: str) -> None:
        width = 2 if unicodedata.east_asian_width(character) in "WF" else 1
        if self._column + width > COLUMNS:
            self._control("\r")
            self._control("\n")
        line = self._lines[self._row]
        line += [(" ", "")] * (self._column - len(line))
        line[self._column : self._column + width] = [(character, self._style), ("", self._style)][:width]
        self._column += width

    def _control(self, character: str) -> None:
        if character == "\r":
            self._column = 0
        elif character == "\b":
            self._column = max(0, self._column - 1)
        elif character == "\n":
            self._row += 1
            if self._row == len(self._lines):
                self._lines.append([])

    def _sequence(self, final: str, arguments: str) -> None:
        first = arguments.split(";")[0]
        number = int(first) if first.isdigit() else 0
        step = max(1, number)
        match final:
            case "m":
                kept = self._style if arguments not in ("", "0") and not arguments.startswith("0;") else ""
                added = arguments.removeprefix("0;") if arguments not in ("", "0") else ""
                self._style = ";".join(part for part in (kept, added) if part)
            case "A":
                self._row = max(0, len(self._lines) - self._rows, self._row - step)
            case "B":
                self._row = min(len(self._lines) - 1, self._row + step)
            case "C":
                self._column += step
            case "D":
                self._column = max(0, self._column - step)
            case "K" | "J" if number == 0:
                del self._lines[self._row][self._column :]
                if final == "J":
                    del self._lines[self._row + 1 :]
            case _:
                pass


def watch(
    command: Sequence[str], env: Mapping[str, str], cwd: str, typed: Sequence[tuple[str, str]], rows: int
) -> Screen:
    """Run a command in a terminal until it ends, or until everything was typed; what is to be seen then."""
    screen = Screen(rows)
    pid, terminal = pty.fork()
    if pid == 0:
        try:
            os.chdir(cwd)
            os.execvpe(command[0], list(command), dict(env))
        finally:
            os._exit(127)
    fcntl.ioctl(terminal, termios.TIOCSWINSZ, struct.pack("HHHH", rows, COLUMNS, 0, 0))
    decoder = codecs.getincrementaldecoder("utf-8")("replace")

    def read(patience: float) -> bool:
        if not select.select([terminal], [], [], patience)[0]:
            return False
        try:
            chunk = os.read(terminal, 1 << 16)
        except OSError:  # Linux says so when the program has ended
            return False
        screen.feed(decoder.decode(chunk))
        return bool(chunk)

    for pattern, keys in typed:
        deadline = time.monotonic() + PATIENCE
        while not re.search(pattern, screen.text):
            if not read(deadline - time.monotonic()):
                raise SystemExit(f"{pattern!r} was not shown:\n{screen.text}")
        while read(SETTLED if not keys else 0.2):
            pass
        os.write(terminal, keys.encode())
    while read(SETTLED if typed else PATIENCE):
        pass
    os.close(terminal)  # a program that is still there hears that nobody looks any more
    os.waitpid(pid, 0)
    return screen


def picture(screen: Screen, title: str) -> str:
    """A screen as SVG. It names the fonts that a reader has: nothing is loaded from elsewhere."""
    lines = screen.styled()
    while lines and not lines[-1].removesuffix("\x1b[0m").strip():
        lines.pop()
    console = Console(record=True, width=COLUMNS, file=io.StringIO(), force_terminal=True, color_system="truecolor")
    for line in lines:
        console.print(Text.from_ansi(line), no_wrap=True, crop=True)
    svg = console.export_svg(title=title, unique_id="hs")
    return FONT_FACE.sub("", svg).replace("Fira Code, monospace", FONTS)


def record(scene: Scene, out: Path) -> None:
    """Carry out a scene in a directory and with a home of its own, and write its picture."""
    with tempfile.TemporaryDirectory(prefix="hs-record-") as place:
        cwd, script = Path(place, "tide-tables"), Path(place, "script.yaml")
        cwd.mkdir()
        script.write_text(scene.script, "utf-8")
        for name, text in scene.files.items():
            (cwd / name).write_text(text, "utf-8")
        env = {
            "PATH": f"{Path(sys.executable).parent}:{os.environ.get('PATH', os.defpath)}",
            "HOME": place,
            "LANG": "C.UTF-8",
            "TERM": "xterm-256color",
            **({"BRIDOON_SCRIPT": str(script)} if scene.script else {}),
        }
        subprocess.run(["git", "init", "-q"], cwd=cwd, check=True)
        screen = watch(scene.command, env, str(cwd), scene.typed, 45 if scene.typed else LINES)
        out.write_text(picture(screen, scene.title).replace(place, "~"), "utf-8")
    print(f"{out}: {len(screen.text.splitlines())} lines")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("out", nargs="?", help="the picture to write")
    parser.add_argument("command", nargs=argparse.REMAINDER, help="what to run")
    given = parser.parse_args()
    if given.out and not given.command:
        parser.error("name a command to run")
    if given.out:
        record(Scene(given.out, shlex.join(given.command), given.command), Path(given.out))
    else:
        for scene in SCENES:
            record(scene, HERE / scene.name)


if __name__ == "__main__":
    main()
