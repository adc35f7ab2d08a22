"""Discovery equals a model of ten lines, on random trees that change at random."""

from __future__ import annotations

import os
import shutil
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from hypothesis import given, settings
from hypothesis import strategies as st

from bridoon.catalog.lookup import Catalog
from bridoon.catalog.prompts import Fragment

EXAMPLES = int(os.environ.get("BRIDOON_EXAMPLES", "50"))

LEVELS = ["", "a", "a/b"]
NAMES = ["10-x", "20-y", "x", "X", "é", "z.bak", ".dot", "two\nlines"]
KINDS = ["tools", "hooks.d/send", "hooks.d/tool_exec"]

source_dirs = st.sampled_from(
    ["root/plugins/core", "root/plugins/zed", "home/.harness", "home/.harness/plugins/p"]
    + [f"work/{level}/.harness{pack}" for level in LEVELS for pack in ("", "/plugins/p", "/plugins/q")]
)
files = st.tuples(source_dirs, st.sampled_from(KINDS), st.sampled_from(NAMES), st.booleans())
trees = st.lists(files, max_size=25)


@contextmanager
def place() -> Iterator[Path]:
    path = Path(tempfile.mkdtemp(prefix="bridoon-discovery-"))
    try:
        for folder in ("root/plugins", "home/.harness", "work/a/b"):
            (path / folder).mkdir(parents=True)
        yield path
    finally:
        shutil.rmtree(path)


def write(top: Path, tree: list[tuple[str, str, str, bool]]) -> None:
    for source, kind, name, executable in tree:
        path = top / source / kind / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(f"#!/bin/sh\n# {source}\n", "utf-8")
        path.chmod(0o755 if executable else 0o644)


def model(top: Path, kind: str) -> dict[str, str]:
    """The last executable of each name, over bundled packs, home and walk; packs before their place."""
    harness = [top / "home/.harness", *(top / "work" / level / ".harness" for level in LEVELS)]
    found = {}
    ours = sorted(top.glob("root/plugins/*"))
    for source in [*ours, *(s for h in harness for s in [*sorted(h.glob("plugins/*")), h])]:
        for path in (source / kind).iterdir() if (source / kind).is_dir() else []:
            named = not path.name.startswith(".") and not path.name.endswith(".bak")
            if named and (source in ours or path.stat().st_mode & 0o100):
                found[path.name] = str(path)
    return dict(sorted(found.items(), key=lambda item: os.fsencode(item[0])))


def catalog(top: Path) -> Catalog:
    env = {"HOME": str(top / "home"), "PATH": ""}
    return Catalog(env, str(top / "work/a/b"), str(top / "home/.harness"), str(top / "root"))


def check(found: Catalog, top: Path) -> None:
    for stage in ("send", "tool_exec"):
        assert {hook.name: hook.path for hook in found.hooks(stage)} == model(top, f"hooks.d/{stage}")
        assert [hook.name for hook in found.hooks(stage)] == list(model(top, f"hooks.d/{stage}"))
    for name in NAMES:
        tool = found.find("tools", name)
        assert (tool.path if tool else None) == model(top, "tools").get(name)


@given(trees)
@settings(max_examples=EXAMPLES, deadline=None)
def test_discovery_equals_the_model(tree: list[tuple[str, str, str, bool]]) -> None:
    with place() as top:
        write(top, tree)
        check(catalog(top), top)


@given(
    trees,
    st.lists(st.tuples(files, st.sampled_from(["write", "remove", "chmod", "remove folder"])), max_size=8),
)
@settings(max_examples=EXAMPLES, deadline=None)
def test_a_refresh_sees_every_change(
    tree: list[tuple[str, str, str, bool]], changes: list[tuple[tuple[str, str, str, bool], str]]
) -> None:
    with place() as top:
        write(top, tree)
        found = catalog(top)
        check(found, top)
        for file, what in changes:
            if file[0].startswith("root"):
                continue  # an installation does not change while it runs
            path = top.joinpath(*file[:3])
            if what == "write":
                write(top, [file])
            elif what == "remove folder":
                shutil.rmtree(path.parent, ignore_errors=True)
            elif path.exists():
                path.unlink() if what == "remove" else path.chmod(0o755 if file[3] else 0o644)
            found.refresh()
            check(found, top)


fragments = st.tuples(st.sampled_from(LEVELS), st.sampled_from(["a.md", "b.md"]))


@given(st.dictionaries(fragments, st.text(max_size=8)))
@settings(max_examples=EXAMPLES, deadline=None)
def test_prompts_come_in_the_order_of_the_walk_and_lose_only_line_ends(
    texts: dict[tuple[str, str], str],
) -> None:
    with place() as top:
        want = []
        for (level, name), text in sorted(texts.items(), key=lambda item: (len(item[0][0]), item[0][1])):
            path = top / "work" / level / ".harness" / "prompts" / name
            path.parent.mkdir(parents=True, exist_ok=True)
            content = text.encode("utf-8", "replace")
            path.write_bytes(content)
            shown = content.decode("utf-8").removeprefix("\ufeff").rstrip("\r\n")
            if shown.strip():
                want.append(Fragment(str(path), shown))
        assert catalog(top).fragments() == want
