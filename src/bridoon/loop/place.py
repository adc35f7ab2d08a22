"""Where a run takes place: the catalog of its working directory."""

from __future__ import annotations

import os
import sys
from collections.abc import Callable, Mapping

from bridoon.catalog.lookup import Catalog

Ask = Callable[[str, list[str]], "bool | None"]
"""Asks a person whether a directory is trusted, given what would run; None when there is nobody to ask."""
Released = Callable[[str], list[str]]
"""Tells what would run besides the files of a directory."""


def catalog_of(
    env: Mapping[str, str],
    cwd: str,
    *,
    warn: bool = True,
    ask_trust: Ask | None = None,
    released: Released | None = None,
) -> Catalog:
    """The catalog for a working directory, read once. Notices go to standard error."""

    def notice(text: str) -> None:
        if warn:
            sys.stderr.write(f"harness: {text}\n")

    catalog = Catalog(
        env,
        cwd if os.path.isdir(cwd) else os.getcwd(),
        home=env["HARNESS_HOME"],
        root=env["HARNESS_ROOT"],
        provider=env.get("HARNESS_PROVIDER", ""),
        notice=notice,
        ask_trust=ask_trust,
        released=released,
    )
    catalog.refresh()
    return catalog
