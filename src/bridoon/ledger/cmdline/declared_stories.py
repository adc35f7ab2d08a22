"""The commands for intakes, stories and decisions."""

from __future__ import annotations

from bridoon.ledger.cmdline.command import Command, Option
from bridoon.ledger.cmdline.options import ADDED, JSON, LANES, LIST_NOTE, PAGE, STORY, TIMEOUT

LANE = Option("--lane", "how risky it is", LANES, required=True, type="enum")
NOTES = Option("--notes", "anything else", "TEXT")
PROOFS = tuple(
    Option(f"--{name}", f"whether there is {about} proof", "0|1", type="integer")
    for name, about in (
        ("unit", "unit"),
        ("integration", "integration"),
        ("e2e", "end-to-end"),
        ("platform", "platform"),
    )
)
EDGE = (
    Option("--blocker", "the story that has to be implemented first", "ID", required=True),
    Option("--blocked", "the story that waits for it", "ID", required=True),
    JSON,
)
FAMILY = (
    Option("--parent", "the story that is made up of others", "ID", required=True),
    Option("--child", "the story that is a part of it", "ID", required=True),
    JSON,
)
VERIFIED = "id, verify_command, result: pass|fail, recorded, exit_code, timed_out, seconds, reasons, output"
LINK_STORY = Option("--story", "the story", "ID", required=True)
LINK_BACKLOG = Option("--backlog", "the backlog item", "NUMBER", required=True, type="integer")

COMMANDS = (
    Command(
        "intake", "Record a feature intake classification.", "Task specification", "intake:add",
        (
            Option("--type", "what kind of work is asked for", "new-spec|spec-slice|change-request|new-initiative|"
                   "maintenance|harness-improvement", required=True),
            Option("--summary", "what is asked for", "TEXT", required=True),
            LANE,
            Option("--flags", f"risk flags: {LIST_NOTE}", "LIST", type="list"),
            Option("--docs", f"documents that it touches: {LIST_NOTE}", "LIST", type="list"),
            Option("--story", "the story that it belongs to", "ID"),
            NOTES,
            JSON,
        ),
        shape="{id}",
    ),
    Command(
        "story add", "Create a durable story record.", "Task state", "story:add",
        (
            Option("--id", "its name", "ID", required=True),
            Option("--title", "what it is about", "TEXT", required=True),
            LANE,
            Option("--contract", "the document that says what is promised", "PATH"),
            Option("--verify", "the command that proves it", "COMMAND"),
            NOTES,
            JSON,
        ),
        shape="{id, status}",
    ),
    Command(
        "story update", "Update story status, proof flags, evidence, or verification command.", "Task state",
        "story:update",
        (
            Option("--id", "the story", "ID", required=True),
            Option("--status", "how far it is", "planned|in_progress|implemented|changed|retired", type="enum"),
            Option("--evidence", "what shows it", "TEXT"),
            *PROOFS,
            Option("--verify", "the command that proves it; empty for none", "COMMAND"),
            Option("--contract", "the document that says what is promised", "PATH"),
            Option("--expected-status", "change the status only if it is this one now (with --json)", "STATUS"),
            Option("--require-runnable", "change the status only if the story is runnable (with --json)", type="flag"),
            JSON,
        ),
        shape="{id, before_status, after_status, runnable_before}",
        more="Options that are not given leave what is there. With --expected-status or --require-runnable nothing "
        "but the status can be changed.",
    ),
    Command(
        "story verify", "Run one story verify_command and record pass/fail.", "Verification", "story:verify",
        (TIMEOUT, JSON), (STORY,), since="0.1.6",
        more="Exit code 1 when the verification fails.",
        shape=f"{{{VERIFIED}}}",
    ),
    Command(
        "story verify-all",
        "Run all configured story verification commands and skip stories without one.",
        "Verification", "story:verify_all", (TIMEOUT, JSON), since="0.1.8",
        more="Exit code 1 when one of them fails.",
        shape=f"{{stories: [{{{VERIFIED}}} or {{id, verify_command, result: skipped}}], total, passed, failed, "
        "skipped}",
    ),
    Command(
        "decision add", "Create a durable decision record.", "Project memory", "decision:add",
        (
            Option("--id", "its name", "ID", required=True),
            Option("--title", "what is decided", "TEXT", required=True),
            Option("--status", "whether it holds (accepted)", "proposed|accepted|superseded|rejected", type="enum",
                   default="accepted"),
            Option("--doc", "the document that says more", "PATH"),
            Option("--verify", "the command that shows whether it is kept", "COMMAND"),
            Option("--predicted", "what is expected of it", "TEXT"),
            NOTES,
            JSON,
        ),
        shape="{id, status}",
    ),
    Command(
        "decision verify", "Run one decision verification command.", "Verification", "decision:verify",
        (TIMEOUT, JSON), (Option("id", "the decision", "ID", required=True),), since="0.1.6",
        more="Exit code 1 when the verification fails.",
        shape=f"{{{VERIFIED}}}",
    ),
    Command(
        "story complete", "Verify a story, and close it with the backlog items that it resolves.", "Verification",
        "completion:complete", (TIMEOUT, JSON), (STORY,), since=ADDED,
        more="The story has to be in_progress or changed and to have a verify command.",
        shape="{id, result: pass|already-completed, closed_backlog, already_closed, references}",
    ),
    Command(
        "story dependency add", "Say that one story has to wait for another.", "Task state", "graph:dependency_add",
        EDGE, since=ADDED,
        shape="{blocker, blocked, change: added|unchanged}",
    ),
    Command(
        "story dependency remove", "Say that one story need not wait for another any more.", "Task state",
        "graph:dependency_remove", EDGE, since=ADDED,
        shape="{blocker, blocked, change: removed|unchanged}",
    ),
    Command(
        "story hierarchy add", "Make one story a part of another.", "Task state", "graph:hierarchy_add",
        FAMILY, since=ADDED,
        shape="{parent, child, change: added|unchanged}",
    ),
    Command(
        "story hierarchy remove", "Make one story no longer a part of another.", "Task state",
        "graph:hierarchy_remove", FAMILY, since=ADDED,
        shape="{parent, child, change: removed|unchanged}",
    ),
    Command(
        "story backlog link", "Say that a story resolves or mentions a backlog item.", "Task state", "link:link",
        (
            LINK_STORY, LINK_BACKLOG,
            Option("--relationship", "what the story does for it", "resolves|references", required=True, type="enum"),
            JSON,
        ),
        since=ADDED,
        shape="{story, backlog, relationship: resolves|references, change: added|changed|unchanged}",
    ),
    Command(
        "story backlog unlink", "Take back what was said with `story backlog link`.", "Task state", "link:unlink",
        (LINK_STORY, LINK_BACKLOG, JSON), since=ADDED,
        shape="{story, backlog, change: removed|unchanged}",
    ),
    Command(
        "story backlog list", "Show which stories resolve or mention which backlog items.", "Task state",
        "link:listing",
        (LINK_STORY._replace(required=False), LINK_BACKLOG._replace(required=False), *PAGE), since=ADDED,
        shape="{links: [{story, backlog, relationship, status, title, linked_at}], total, limit, offset}",
    ),
)  # fmt: skip
