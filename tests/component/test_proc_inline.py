"""Drop-ins of ours are loaded once, from a compiled copy, and say where they are wrong."""

from __future__ import annotations

import os
import threading
from pathlib import Path

import pytest
from processes import python

from bridoon.errors import ConfigError
from bridoon.proc import inline

TOOL = '''#!/usr/bin/env -S hs py
"""greets"""
from bridoon.sdk.script import tool

LOADS = __import__("builtins").__dict__.setdefault("loads", [])
LOADS.append(__name__)

@tool(input_schema={"type": "object"})
def greet(given, context):
    """Say hello."""
    return "hello " + given["name"]
'''


def drop_in(folder: Path, text: str, name: str = "10-thing") -> str:
    folder.mkdir(exist_ok=True)
    path = folder / name
    path.write_text(text, encoding="utf-8")
    return str(path)


def test_what_the_file_declares_is_found(tmp_path: Path) -> None:
    loaded = inline.load(drop_in(tmp_path, TOOL))
    assert (loaded.kind, loaded.schema["name"], loaded({"name": "you"}, None)) == (
        "tool",
        "greet",
        "hello you",
    )


def test_a_file_is_loaded_once_however_many_ask_at_once(tmp_path: Path) -> None:
    path, found = drop_in(tmp_path, TOOL), []
    ready = threading.Barrier(8)

    def ask() -> None:
        ready.wait()
        found.append(inline.load(path))

    threads = [threading.Thread(target=ask) for _ in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len({id(each) for each in found}) == 1
    assert found[0].run.__globals__["LOADS"].count("bridoon.dropin:" + path) == 1


def test_it_is_compiled_once_for_all_processes(tmp_path: Path) -> None:
    path = drop_in(tmp_path / "tools", TOOL)
    env = {name: value for name, value in os.environ.items() if not name.startswith("PYTHON")}
    source = "import sys; from bridoon.proc import inline; print(inline.load(sys.argv[1]).describe)"
    said = [python(source, path, env=env).stdout for _ in range(2)]
    assert said == ["Say hello.\n"] * 2
    (compiled,) = (tmp_path / "tools" / "__pycache__").iterdir()
    assert compiled.name.startswith("10-thing")


def test_a_drop_in_of_its_own_counts_and_not_one_that_it_imports(tmp_path: Path) -> None:
    other = drop_in(tmp_path, TOOL, "other")
    text = (
        f"from bridoon.proc import inline\nother = inline.load({other!r})\n"
        "from bridoon.sdk.script import hook\n@hook\ndef mine(payload, context):\n    return payload\n"
    )
    assert inline.load(drop_in(tmp_path, text)).kind == "hook"


@pytest.mark.parametrize(
    ("text", "place", "message"),
    [
        ("a = 1\nb = = 2\n", "line 2: ", "invalid syntax"),
        ("\n\nimport no_such_module\n", "line 3: ", "ModuleNotFoundError: No module named 'no_such_module'"),
        ("def f():\n    raise KeyError('x')\nf()\n", "line 2: ", "KeyError: 'x'"),
        ("raise SystemExit('no')\n", "line 1: ", "SystemExit: no"),
        ("x = 1\n", "", "it must declare one @tool, @hook, @provider or @command, and declares none"),
        (
            TOOL + "other = greet._replace(describe='')\n",
            "",
            "it must declare one @tool, @hook, @provider or",
        ),
    ],
)
def test_a_wrong_file_is_named_with_the_line(tmp_path: Path, text: str, place: str, message: str) -> None:
    path = drop_in(tmp_path, text)
    with pytest.raises(ConfigError) as caught:
        inline.load(path)
    assert caught.value.message.startswith(f"{path}: {place}{message}")


def test_a_missing_file_is_named(tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match=f"{tmp_path}/none: No such file or directory"):
        inline.load(f"{tmp_path}/none")


def test_a_file_that_failed_can_be_mended(tmp_path: Path) -> None:
    path = drop_in(tmp_path, "broken =\n")
    with pytest.raises(ConfigError):
        inline.load(path)
    drop_in(tmp_path, TOOL)
    assert inline.load(path).kind == "tool"


@pytest.mark.parametrize(
    ("head", "marked"),
    [
        (b"#!/usr/bin/env -S hs py\nx", True),
        (b"#!/usr/bin/env -S hs py\r\nx", True),
        (b"#!/usr/bin/env -S hs py", True),
        (b"#!/usr/bin/env -S hs pyx\n", False),
        (b"#!/usr/bin/env -S hs py -v\n", False),
        (b"\n#!/usr/bin/env -S hs py\n", False),
        (b"", False),
    ],
)
def test_the_mark_is_the_whole_first_line(tmp_path: Path, head: bytes, marked: bool) -> None:
    (tmp_path / "f").write_bytes(head)
    assert inline.is_marked(str(tmp_path / "f")) is marked


def test_what_cannot_be_read_is_not_marked(tmp_path: Path) -> None:
    assert [inline.is_marked(str(path)) for path in (tmp_path, tmp_path / "none")] == [False, False]
