"""Compaction: a long session is kept inside the model's window by a summary of its older turns.

The summary is written by the model itself, in a request that is announced. The full history stays on disk; the summary
is one more user message, with a header that says from which message on the history is still sent as it is.
"""

from __future__ import annotations

import os
from typing import NamedTuple

from bridoon.errors import BridoonError
from bridoon.loop.chain import run_stage
from bridoon.loop.place import catalog_of
from bridoon.loop.run import Front, Run
from bridoon.model.message import Image, Message, Text, Thinking, ToolCall, ToolResult
from bridoon.session import store
from bridoon.session.view import is_summary, window
from bridoon.wire.digits import whole_number

WINDOW = 128_000
"""Tokens that a model reads when neither its `.conf` (`context=`) nor HARNESS_CONTEXT says."""

LOCAL_WINDOW = 8192
"""The same for the provider `local`, when HARNESS_LOCAL_CONTEXT does not say."""

COMPACT_AT = 0.8
"""Share of the window from which on older turns are summarised (setting `compact_at`)."""

KEEP = 0.25
"""Share of the window that is kept as it is (setting `compact_keep`)."""

BYTES_PER_TOKEN = 3.5
IMAGE_TOKENS = 1500
RESULT_LIMIT = 4000
"""Characters of one tool result that the summariser is shown."""

ATTEMPTS = 2
"""Failures in a row after which a run stops trying."""

ASK = """\
Below is the older part of a conversation between a user and an agent that works with tools. It will be replaced by
your summary, and the agent goes on with the newest part. Write what the agent needs to go on: what the user wants (in
their own words where it matters), what was decided and why, what was done (files with their paths, commands with their
outcome), what was found out, what is still to do. Be exact with names, paths, numbers and error texts. No preamble."""


class Size(NamedTuple):
    """How full the model's window is, in tokens."""

    used: int
    window: int


def size(run: Run, messages: tuple[Message, ...] | None = None) -> Size:
    """An estimate of the next request: what the last answer reported, plus what came since."""
    shown = run.session.view() if messages is None else messages
    since = 0
    for message in reversed(shown):
        if message.usage is not None and message.usage.input_tokens:
            return Size(message.usage.input_tokens + message.usage.output_tokens + since, window_of(run))
        since += tokens(message)
    return Size(since, window_of(run))


def window_of(run: Run) -> int:
    """The model's window in tokens: HARNESS_CONTEXT, the provider's `context=`, else the default."""
    conf = run.catalog.conf(run.env.get("HARNESS_PROVIDER", ""))
    said = run.env.get("HARNESS_CONTEXT") or run.settings.get("context", "") or str(conf.context if conf else 0)
    if not whole_number(said) and run.env.get("HARNESS_PROVIDER") == "local":
        said = run.env.get("HARNESS_LOCAL_CONTEXT") or str(LOCAL_WINDOW)
    return whole_number(said.strip()) or WINDOW


def tokens(message: Message) -> int:
    """A rough count of one message's tokens."""
    total = 0.0
    for part in message.parts:
        match part:
            case Text(text) | Thinking(text):
                total += len(text) / BYTES_PER_TOKEN
            case ToolCall(_, name, given):
                total += (len(name) + len(repr(given))) / BYTES_PER_TOKEN
            case ToolResult(_, _, content, _, images):
                total += len(content) / BYTES_PER_TOKEN + IMAGE_TOKENS * len(images)
            case Image():
                total += IMAGE_TOKENS
    return int(total) + 4


def compact_if_needed(run: Run) -> None:
    """Summarise older turns when the next request would fill too much of the window."""
    setting = run.settings.get("compaction", "on")
    if setting in ("off", "no", "0", "false") or run.compaction_failures >= ATTEMPTS:
        return
    used, limit = size(run)
    if used >= limit * _share(run, "compact_at", COMPACT_AT):
        compact(run)


def compact(run: Run) -> bool:
    """Replace older turns by a summary in what is sent. False, with a notice, when that failed or nothing is older."""
    shown = window(run.session.messages())
    cut = _cut(shown, int(window_of(run) * _share(run, "compact_keep", KEEP)))
    older = shown[:cut]
    if cut == 0 or (cut == 1 and is_summary(older[0])):
        run.compaction_failures += 1
        run.notice("compaction: nothing older than the newest turn is left to summarise")
        return False
    run.notice(
        f"compaction: summarising {len(older)} older messages (the full history stays in the session)",
        once=False,
    )
    try:
        summary = _summarise(run, older)
    except BridoonError as wrong:
        run.compaction_failures += 1
        run.notice(f"compaction failed: {wrong.message}", once=False)
        return False
    run.compaction_failures = 0
    text = f"<summary-of-earlier-conversation>\n{summary}\n</summary-of-earlier-conversation>"
    run.session.append(Message("user", (Text(text),), extra={"compaction": str(shown[cut].seq)}))
    return True


def compact_now(run: Run) -> str:
    """Compact because the user asked; a sentence that says what came of it."""
    before = size(run).used
    if not compact(run):
        return "nothing was compacted"
    after = sum(tokens(message) for message in window(run.session.messages()))
    return f"compacted: about {before:,} tokens became about {after:,}"


def _share(run: Run, name: str, default: float) -> float:
    try:
        value = float(run.settings.get(name, "") or default)
    except ValueError:
        return default
    return value if 0 < value <= 1 else default


def _cut(shown: tuple[Message, ...], keep: int) -> int:
    """Where the kept part begins: at a user or assistant message, so that no call is parted from its result.

    At least the newest such message is kept; everything older than about `keep` tokens goes.
    """
    starts = [place for place, message in enumerate(shown) if message.role != "tool_result"]
    kept, cut = 0, starts[-1] if starts else 0
    for place in range(len(shown) - 1, -1, -1):
        kept += tokens(shown[place])
        if kept > keep:
            break
        if shown[place].role != "tool_result":
            cut = place
    return cut


def _summarise(run: Run, older: tuple[Message, ...]) -> str:
    """Have the model write the summary in a run of its own, without tools. Raises BridoonError when it does not."""
    limit = int(window_of(run) * 0.6 * BYTES_PER_TOKEN)
    material = "\n\n".join(_plain(message) for message in older)
    if len(material) > limit:
        material = material[: limit // 3] + "\n\n[... left out ...]\n\n" + material[-2 * limit // 3 :]
    root = os.path.join(run.session.dir, ".harness", "sessions")
    session = store.create(root, cwd=run.session.cwd, parent=run.session.id)
    env = {**run.env, "HARNESS_LOG": os.path.join(session.dir, "harness.log"), "HARNESS_SESSIONS": root}
    child = Run(session, catalog_of(env, session.cwd, warn=False), env, cancel=run.cancel, front=Front(), parent=run)
    try:
        session.append(Message("user", (Text(f"{ASK}\n\n<conversation>\n{material}\n</conversation>"),)))
        payload = run_stage(child, "assemble", {})
        payload.update(tools=[], system="You summarise conversations. Answer with the summary only.")
        run_stage(
            child,
            "receive",
            {k: v for k, v in run_stage(child, "send", payload).items() if k != "next_state"},
        )
    finally:
        child.close()
    last = session.messages()[-1]
    if last.role != "assistant" or not last.text.strip():
        raise BridoonError("the model wrote no summary")
    return last.text.strip()


def _plain(message: Message) -> str:
    lines = []
    for part in message.parts:
        match part:
            case Text(text):
                lines.append(f"{message.role}: {text}")
            case ToolCall(_, name, given):
                lines.append(f"call {name}: {str(given)[:RESULT_LIMIT]}")
            case ToolResult(_, name, content, failed, _):
                cut = content if len(content) <= RESULT_LIMIT else f"{content[:RESULT_LIMIT]}[...]"
                lines.append(f"{'failed ' if failed else ''}result of {name}: {cut}")
            case _:
                pass
    return "\n".join(lines)
