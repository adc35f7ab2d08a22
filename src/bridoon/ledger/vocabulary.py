"""The closed words of the ledger, how they may be written, and what is said when they are not."""

from __future__ import annotations

import re

from bridoon.ledger.errors import Invalid
from bridoon.ledger.store.cells import compact

INPUT_TYPES = ("new_spec", "spec_slice", "change_request", "new_initiative", "maintenance", "harness_improvement")
LANES = ("tiny", "normal", "high_risk")
STORY_STATUSES = ("planned", "in_progress", "implemented", "changed", "retired")
DECISION_STATUSES = ("proposed", "accepted", "superseded", "rejected")
BACKLOG_STATUSES = ("proposed", "accepted", "implemented", "rejected")
OUTCOMES = ("completed", "blocked", "partial", "failed")
INTERVENTION_TYPES = ("correction", "override", "escalation", "approval")
INTERVENTION_SOURCES = ("human", "reviewer", "ci", "agent")
TOOL_KINDS = ("cli", "binary", "mcp", "skill", "http")
TOOL_STATUSES = ("present", "missing", "unknown")
OBSERVATIONS = ("confirmed", "ineffective", "reverted")
RELATIONSHIPS = ("resolves", "references")
RESPONSIBILITIES = (
    "Task specification",
    "Context selection",
    "Tool access",
    "Project memory",
    "Task state",
    "Observability",
    "Failure attribution",
    "Verification",
    "Permissions",
    "Entropy auditing",
    "Intervention recording",
)
CAPABILITIES = (
    "impact-analysis",
    "deploy-verification",
    "coverage",
    "security-scan",
    "performance-benchmark",
    "documentation-lookup",
)
"""Capabilities whose names are recommended; any other in kebab-case will do."""

LARGEST = 2**63 - 1
"""The largest integer that a row can hold."""


def token(text: str) -> str:
    """A text for comparison: lower-case letters and digits, everything else one `_` between them."""
    return re.sub(r"[\W_]+", "_", text.strip().lower()).strip("_")


def input_type(text: str) -> str:
    """The stored word of an input type. Raises Invalid."""
    found = token(text)
    found = "maintenance" if found == "maintenance_request" else found
    if found not in INPUT_TYPES:
        raise Invalid(f"intake: --type {_shown(text)} is no input type", "one of: " + _spelt(INPUT_TYPES))
    return found


def lane(text: str, label: str) -> str:
    """The stored word of a lane. Raises Invalid."""
    found = token(text)
    if found not in LANES:
        hint = "use tiny for little risk; " if found == "low" else ""
        raise Invalid(f"{label} {_shown(text)} is no lane", f"{hint}one of: {_spelt(LANES)}")
    return found


def responsibility(text: str) -> str:
    """The canonical spelling of a responsibility. Raises Invalid."""
    found = token(text)
    for name in RESPONSIBILITIES:
        if token(name) == found:
            return name
    raise Invalid(f"{_shown(text)} is no responsibility", "one of: " + ", ".join(RESPONSIBILITIES))


def capability(text: str) -> str:
    """A capability in kebab-case: blanks and underscores become hyphens. Raises Invalid."""
    found = re.sub(r"[ _]", "-", text.strip().lower())
    if not re.fullmatch(r"[a-z0-9]+(-[a-z0-9]+)*", found):
        raise Invalid(
            f"{_shown(text)} is no capability",
            "lower-case letters, digits and single hyphens, such as " + ", ".join(CAPABILITIES[:3]),
        )
    return found


def one_of(text: str, words: tuple[str, ...], label: str) -> str:
    """A word that must be written exactly so. Raises Invalid."""
    if text not in words:
        raise Invalid(f"{label} {_shown(text)}", "one of: " + ", ".join(words))
    return text


def integer(text: str | None, label: str) -> int | None:
    """A whole number of 64 bits; None for None. Raises Invalid."""
    if text is None:
        return None
    if not re.fullmatch(r"[+-]?[0-9]{1,30}", text) or not -LARGEST - 1 <= int(text) <= LARGEST:
        option = label.split()[-1]
        example = f"{option} 1" if option.startswith("-") else "1"
        raise Invalid(f"{label} must be an integer, not {_shown(text)}", f"give a whole number, such as {example}")
    return int(text)


def proof(text: str | None, label: str) -> int | None:
    """A proof flag: 0 or 1; None for None. Raises Invalid."""
    if text not in ("0", "1", None):
        raise Invalid(f"{label} must be 0 or 1, not {_shown(text)}", f"for example {label.split()[-1]} 1")
    return None if text is None else int(text)


def listed(text: str | None, label: str) -> str | None:
    """A list as it is stored: JSON text; None for none.

    The text is a JSON array of texts, or items between commas. Raises Invalid for other JSON.
    """
    import json

    if not text or not text.strip():
        return None
    if text.lstrip()[:1] in ("[", "{"):
        try:
            items = json.loads(text)
        except (ValueError, RecursionError) as wrong:
            if text.lstrip()[0] == "{" or '"' in text:
                raise Invalid(f"{label} is no JSON list: {wrong}", 'give ["one","two"] or one,two') from None
            items = None
        if items is not None:
            if not isinstance(items, list) or not all(isinstance(item, str) for item in items):
                raise Invalid(f"{label} must be a JSON list of texts", 'give ["one","two"] or one,two')
            return compact(items)
    return compact([item.strip() for item in text.split(",")])


def unlisted(text: str | None) -> list[str]:
    """The items of a stored list; what is no list counts as one item, blank ones as none."""
    import json

    if not text or not text.strip():
        return []
    try:
        items = json.loads(text)
    except (ValueError, RecursionError):
        items = None
    if not isinstance(items, list):
        return [text.strip()]
    return [str(item).strip() for item in items if str(item).strip()]


def _shown(text: str | None) -> str:
    return repr((text or "")[:80])


def _spelt(words: tuple[str, ...]) -> str:
    return ", ".join(word.replace("_", "-") for word in words)
