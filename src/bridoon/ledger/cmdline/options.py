"""Options that many commands have, and the words that stand for their values."""

from __future__ import annotations

from bridoon.ledger.cmdline.command import Option

ADDED = "0.2.0"
"""Since when there are the commands that no other harness-cli had in its first releases."""

LANES = "tiny|normal|high-risk"
RESPONSIBILITY = "RESPONSIBILITY"
LIST_NOTE = "items between commas, or a JSON list of texts"

JSON = Option("--json", "answer with one line of JSON", type="flag")
LIMIT = Option("--limit", "show at most so many rows", "N", type="integer")
LATEST = LIMIT._replace(about="show at most so many rows (20)", default="20")
OFFSET = Option("--offset", "leave out so many rows at the beginning", "N", type="integer")
PAGE = (LIMIT, OFFSET, JSON)
LATEST_PAGE = (LATEST, OFFSET, JSON)
TIMEOUT = Option("--timeout", "end a command after so many seconds (600)", "SECONDS", type="integer", default="600")
STORY = Option("id", "the story", "ID", required=True)
