"""Skills: instruction packs that a model loads when a task asks for one. One resolver for list and tool."""

from __future__ import annotations

import os
import stat
from collections.abc import Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, NamedTuple

from bridoon.catalog import skillhead
from bridoon.catalog.files import Watch, decode, entries, exposed, foreign_link, is_folder, read_file
from bridoon.catalog.prompts import STRAYS, strays
from bridoon.catalog.sources import HARNESS, NearMiss, upward

if TYPE_CHECKING:
    from bridoon.catalog.lookup import Catalog

FILE = "SKILL.md"

RESOURCES = ("scripts", "references", "assets")
"""Folders beside SKILL.md whose entries the model is told of, in this order."""

GUIDE = """\
Skills are guides that somebody wrote for particular kinds of task. Before you start on a task, compare it
with the descriptions below. If one fits, load it first by calling the `skill` tool with its name, and work
as it says instead of improvising."""


class Skill(NamedTuple):
    """One SKILL.md that can be loaded."""

    name: str
    description: str
    """On one line."""
    path: str
    """Of its SKILL.md."""

    @property
    def directory(self) -> str:
        """Relative paths in the skill count from here."""
        return os.path.dirname(self.path)


class Skills:
    """Finds the skills that take part. Everything it looks at is remembered in `watch`."""

    def __init__(self, catalog: Catalog, watch: Watch) -> None:
        self._catalog = catalog
        self._watch = watch
        self.misses: list[NearMiss] = []

    def find(self) -> dict[str, Skill]:
        """The skills by name, in bytewise order of names; a skill in a later place hides one of the same
        name."""
        found: dict[str, Skill] = {}
        for folder, bundled in self._folders():
            here: dict[str, Skill] = {}
            for skill in self._read_folder(folder, bundled):
                if skill.name in here:
                    reason = f"name clash: {here[skill.name].path} has the name {skill.name!r} too, and counts"
                    self.misses.append(NearMiss(skill.path, "skills", reason))
                else:
                    here[skill.name] = skill
            found.update(here)
        return {name: found[name] for name in sorted(found, key=_bytes)}

    # ---- where

    def _folders(self) -> Iterator[tuple[str, bool]]:
        """Directories of skills from the lowest to the highest place, and whether each is bundled.

        Bundled packs; packs of the home and of what is above it; the skills of those places; packs of
        projects; the skills of projects. A deeper directory counts more; in one directory `.agents/skills`
        counts more than `.harness/skills`.
        """
        packs = [source for source in self._catalog.sources if source.pack]
        for outer in (True, False):
            for source in packs:
                bundled = source.scope == "bundled"
                if (source.scope != "project") is outer:
                    yield os.path.join(source.path, "skills"), bundled
            for folder in self._of_places(outer):
                yield folder, False

    def _of_places(self, outer: bool) -> Iterator[str]:
        user_home = self._user_home
        walk = list(reversed(upward(self._catalog.cwd)))
        above = [place for place in walk if user_home and f"{user_home}/".startswith(place.rstrip("/") + "/")]
        if outer:
            places = above if not user_home or user_home in above else [*above, user_home]
            home = self._catalog.home
            met = os.path.basename(home) == HARNESS and os.path.dirname(home) in (*places, *walk)
            if not met and self._harness_counts(home):
                yield os.path.join(home, "skills")
        else:
            places = [place for place in walk if place not in above]
        for place in places:
            if self._harness_counts(os.path.join(place, HARNESS)):
                yield os.path.join(place, HARNESS, "skills")
            if self._fit(os.path.join(place, ".agents")):
                yield os.path.join(place, ".agents", "skills")

    @property
    def _user_home(self) -> str:
        return self._catalog.env.get("HOME", "").rstrip("/")

    def _harness_counts(self, path: str) -> bool:
        if any(source.path == path for source in self._catalog.harness_dirs):
            return True
        if any(source.path == path for source in self._catalog.untrusted):
            skills = os.path.join(path, "skills")
            if self._watch.look(skills) is not None:
                self._miss(skills, "not loaded: not trusted (hs trust)")
            return False
        # The user's own `.harness` when $HARNESS_HOME is elsewhere and the working directory is not below it.
        own = bool(self._user_home) and path == os.path.join(self._user_home, HARNESS)
        return own and self._fit(path) and self._catalog.trust.allowed(path)

    # ---- what

    def _fit(self, path: str) -> bool:
        """Whether this is a directory that nobody else can change."""
        status = self._watch.look(path)
        if status is None or not stat.S_ISDIR(status.st_mode):
            return False
        reason = exposed(status) or foreign_link(path)
        if reason:
            self.misses.append(NearMiss(path, "skills", f"skipped: {reason}"))
        return not reason

    def _read_folder(self, folder: str, bundled: bool) -> Iterator[Skill]:
        if not bundled and not self._fit(folder):
            return
        for entry in entries(folder):
            if entry.name.startswith((".", "__")):
                continue
            if not is_folder(entry):
                if entry.name.endswith(".md"):
                    self._miss(entry.path, f"a skill is a folder: {entry.name[:-3]}/{FILE}")
                continue
            path = os.path.join(entry.path, FILE)
            if bundled or (self._fit(entry.path) and self._fit_file(path) and self._stays(path)):
                skill = self._read(path)
                if skill is not None:
                    yield skill

    def _fit_file(self, path: str) -> bool:
        status = self._watch.look(path)
        if status is None or not stat.S_ISREG(status.st_mode):
            self._miss(os.path.dirname(path), f"there is no {FILE} in it")
            return False
        reason = exposed(status)
        if reason:
            self._miss(path, f"skipped: {reason}")
        return not reason

    def _stays(self, path: str) -> bool:
        """Whether the text is the checkout's own; only `.agents` is read without trust."""
        stray = f"{os.sep}.agents{os.sep}" in path and strays(path, self._catalog.env)
        if stray:
            self._miss(path, STRAYS)
        return not stray

    def _read(self, path: str) -> Skill | None:
        try:
            head, _ = skillhead.read(decode(read_file(path)))
        except OSError as wrong:
            self._miss(path, f"cannot be read: {wrong.strerror or wrong}")
            return None
        except ValueError as wrong:
            line = getattr(wrong, "line", 0)
            self._miss(path, "bad front matter: " + (f"line {line}: {wrong}" if line else str(wrong)))
            return None
        name, description = (_one_line(head.get(key)) for key in ("name", "description"))
        if name and description:
            return Skill(name, description, path)
        missing = " and no ".join(key for key, value in (("name", name), ("description", description)) if not value)
        self._miss(path, f"bad front matter: no {missing} between two --- lines at its start")
        return None

    def _miss(self, path: str, reason: str) -> None:
        self.misses.append(NearMiss(path, "skills", reason))


def _one_line(value: object) -> str:
    return " ".join(value.split()) if isinstance(value, str) else ""


def _bytes(text: str) -> bytes:
    return text.encode("utf-8", "surrogateescape")


def catalog_text(skills: Mapping[str, Skill]) -> str:
    """What the system prompt says about the skills that can be loaded; empty when there are none."""
    if not skills:
        return ""
    lines = [GUIDE, "", "<available-skills>"]
    for skill in skills.values():
        lines += [
            f'  <skill name="{escape(skill.name)}" path="{escape(skill.path)}">',
            f"    {escape(skill.description)}",
            "  </skill>",
        ]
    return "\n".join([*lines, "</available-skills>"])


def load_skill_text(skill: Skill) -> str:
    """The whole of a skill as the `skill` tool prints it: its body, where it lies, and the files that
    belong to it.

    Raises OSError when the file is gone.
    """
    from bridoon.wire.frontmatter import split

    body = split(decode(read_file(skill.path))).body
    lines = [
        f'<skill name="{escape(skill.name)}">',
        body.strip("\n"),
        "",
        f"Skill directory: {skill.directory}",
        "Relative paths in this skill count from that directory.",
    ]
    resources = list(_resources(skill.directory, RESOURCES))
    if resources:
        lines += ["", "<skill-resources>", *(f"  {each}" for each in resources), "</skill-resources>"]
    return "\n".join([*lines, "</skill>"])


def _resources(directory: str, folders: Sequence[str]) -> Iterator[str]:
    for folder in folders:
        for entry in entries(os.path.join(directory, folder)):
            if not entry.name.startswith("."):
                yield f"{folder}/{entry.name}"


def escape(text: str) -> str:
    """Text that is safe between tags and inside double quotes of XML."""
    for plain, name in (("&", "amp"), ("<", "lt"), (">", "gt"), ('"', "quot")):
        text = text.replace(plain, f"&{name};")
    return text
