"""What all listings share: a page of rows, how many there are in all, and a note when some are not shown."""

# Without `from __future__ import annotations`, see cmdline/command.py.

from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

from bridoon.ledger.cmdline.command import Given
from bridoon.ledger.errors import Invalid
from bridoon.ledger.show.cell import plain
from bridoon.ledger.store.db import Read


class Page(NamedTuple):
    """Which rows are wanted."""

    limit: int | None
    """At most so many; None: all."""
    offset: int
    """So many are left out before them."""


class Found(NamedTuple):
    """A page of rows."""

    fields: tuple[str, ...]
    rows: list[Sequence[Any]]
    total: int
    """How many rows there are on all pages."""
    page: Page

    def pick(self, *names: str) -> list[tuple[Any, ...]]:
        """Some columns of all rows, in this order."""
        places = [self.fields.index(name) for name in names]
        return [tuple(row[place] for place in places) for row in self.rows]

    def data(self, key: str) -> dict[str, Any]:
        """The rows for JSON, under the name `key`."""
        rows = [dict(zip(self.fields, map(plain, row), strict=True)) for row in self.rows]
        return {key: rows, "total": self.total, "limit": self.page.limit, "offset": self.page.offset}

    @property
    def note(self) -> str:
        """What to say when rows are missing; empty when all are shown."""
        if len(self.rows) == self.total:
            return ""
        first = self.page.offset + 1
        shown = f"{first} to {self.page.offset + len(self.rows)}" if self.rows else "none"
        return f"showing {shown} of {self.total}; --limit and --offset show others"


def page(given: Given) -> Page:
    """The page that was asked for. Raises Invalid for what is no number, or less than 0."""
    label = given.command.name
    numbers = []
    for name in ("--limit", "--offset"):
        number, text = None, given.get(name)
        if text is not None:
            from bridoon.ledger import vocabulary  # it needs `re`, which takes longer to load than most answers

            number = vocabulary.integer(text, f"{label}: {name}")
        if number is not None and number < 0:
            raise Invalid(f"{label}: {name} must not be less than 0", f"for example {name} 20")
        numbers.append(number)
    return Page(numbers[0], numbers[1] or 0)


def find(
    read: Read, fields: Mapping[str, str], source: str, order: str, values: Sequence[Any] = (), page: Page | None = None
) -> Found:
    """A page of what a query finds.

    `fields`: the expression of each column by its name; `source`: what follows FROM; `values`: for its question marks.
    """
    page = page or Page(None, 0)
    columns = ", ".join(f"{expression} AS {name}" for name, expression in fields.items())
    sql = f"SELECT {columns} FROM {source} ORDER BY {order} LIMIT ? OFFSET ?"
    rows = read.all(sql, *values, -1 if page.limit is None else page.limit, page.offset)
    total = page.offset + len(rows)
    if (page.limit is not None and len(rows) >= page.limit) or not rows:
        total = read.one(f"SELECT count(*) FROM {source}", *values)[0]
    return Found(tuple(fields), rows, total, page)
