"""The commands for the database itself and for its changesets."""

from __future__ import annotations

from bridoon.ledger.cmdline.command import Command, Option
from bridoon.ledger.cmdline.options import ADDED, JSON

CHANGESET = Option("path", "the changeset", "PATH", required=True)

COMMANDS = (
    Command(
        "init", "Create the harness database.", "Task state", "setup:init",
        (Option("--shim", "write scripts/bin/harness-cli as well", type="flag"), JSON), database=False,
        shape="{path, created, schema_version, shim}",
        more="A database that is there stays as it is.",
    ),
    Command(
        "migrate", "Apply pending schema migrations.", "Task state", "setup:migrate", (JSON,), database=False,
        shape="{path, before, schema_version, applied, backup}",
        more="The database as it was is kept beside it before the first change.",
    ),
    Command(
        "import brownfield", "Seed durable records from markdown state.", "Project memory", "brownfield:load",
        (Option("--refresh", "overwrite what is there with what the documents say", type="flag"), JSON),
        shape="{refresh, stories: {seen, added, updated, unchanged}, decisions: {seen, added, updated, "
        "unchanged}, backlog: {seen, added, updated, unchanged}}",
    ),
    Command(
        "db changeset apply", "Apply one semantic changeset idempotently.", "Task state",
        "changeset:apply",
        (Option("--grown", "go on with one that was applied in part, leave an older state alone", type="flag"), JSON),
        (Option("path", "the changeset, or the directory of all of them", "PATH", required=True),), since="0.1.8",
        database=False,
        shape="{id, content_sha256, operation_count, result: applied|already-applied}; with a DIRECTORY {changesets: "
        "[{id, content_sha256, operation_count, result: applied|already-applied, carried_out}], total}",
        more="All changesets of a directory are carried out together, all or nothing, in the order of db rebuild.",
    ),
    Command(
        "db rebuild", "Rebuild a fresh harness.db from semantic changesets.", "Task state", "changeset:rebuild",
        (Option("--from", "the directory of the changesets", "DIRECTORY", required=True), JSON), since="0.1.8",
        database=False,
        shape="{database, changeset_count, operation_count}",
    ),
    Command(
        "db changeset status", "Tell whether a changeset has been applied.", "Task state", "changeset:status",
        (JSON,), (CHANGESET,), since=ADDED, database=False,
        shape="{id, content_sha256, applied, operation_count}",
    ),
    Command(
        "db snapshot", "Write a checked copy of the database.", "Task state", "changeset:snapshot",
        (Option("--output", "the file to write, which must not exist", "PATH", required=True), JSON), since=ADDED,
        shape="{output, source_logical_sha256, graph_revision, snapshot_file_sha256}",
    ),
)  # fmt: skip
