"""Every setting and environment variable that we know, declared once for config and help."""

from __future__ import annotations

from typing import NamedTuple


class Setting(NamedTuple):
    """Something that a user can set. It has a key in `settings.conf`, a variable, or both."""

    about: str
    key: str = ""
    variable: str = ""
    default: str = ""
    """Its value when nothing sets it; in brackets when that is not a fixed value."""
    secret: bool = False
    choices: tuple[str, ...] = ()

    @property
    def name(self) -> str:
        """Its key, else its variable."""
        return self.key or self.variable


SETTINGS = (
    Setting("provider or variant to talk to", "provider", "HARNESS_PROVIDER", "(the first that is ready)"),
    Setting("model, by the provider's name for it", "model", "HARNESS_MODEL", "(the provider's)"),
    Setting(
        "which tools run without asking",
        "permissions",
        "HARNESS_PERMISSIONS",
        "auto; ask in the REPL",
        choices=("auto", "ask", "read-only"),
    ),
    Setting("calls of the model in one run", "", "HARNESS_MAX_TURNS", "100"),
    Setting(
        "how hard the model thinks",
        "thinking",
        "HARNESS_THINKING",
        "(the provider's)",
        choices=("off", "low", "medium", "high", "max"),
    ),
    Setting(
        "what a refused call does to the run",
        "on_refuse",
        "HARNESS_ON_REFUSE",
        "continue",
        choices=("continue", "stop"),
    ),
    Setting("seconds that a gate may take", "gate_timeout", "HARNESS_GATE_TIMEOUT", "60; 3600 at a terminal"),
    Setting("seconds that any other hook may take", "", "HARNESS_HOOK_TIMEOUT", "60"),
    Setting("seconds that a tool may take", "", "HARNESS_TOOL_TIMEOUT", "600; 120 for bash"),
    Setting("characters of a tool's result that the model sees", "", "HARNESS_TOOL_OUTPUT_LIMIT", "100000"),
    Setting("lines of a file that read_file shows", "", "HARNESS_READ_LIMIT", "2000"),
    Setting("seconds without a byte before an answer is given up", "", "HARNESS_IDLE_TIMEOUT", "120"),
    Setting(
        "whether answers are streamed", "", "HARNESS_STREAM", "auto", choices=("auto", "always", "never")
    ),
    Setting(
        "tokens that the model's window holds", "context", "HARNESS_CONTEXT", "(the variant's, else 128000)"
    ),
    Setting("summarise older turns when the window fills", "compaction", "", "on", choices=("on", "off")),
    Setting("share of the window at which that begins", "compact_at", "", "0.8"),
    Setting("share of the window that is kept as it is", "compact_keep", "", "0.25"),
    Setting("how deep agents may start agents", "", "HARNESS_MAX_DEPTH", "2"),
    Setting("`keep` leaves background processes alive at the end", "", "HARNESS_BACKGROUND", "(ended)"),
    Setting("1 lets every checkout run its code", "", "HARNESS_TRUST", "(asks)"),
    Setting("your own harness directory", "", "HARNESS_HOME", "~/.harness"),
    Setting(
        "where sessions are kept",
        "",
        "HARNESS_SESSIONS",
        "(the nearest .harness/sessions, else in HARNESS_HOME)",
    ),
    Setting("where notes go", "", "HARNESS_LOG", "/dev/stderr"),
    Setting("the installed files", "", "HARNESS_ROOT", "(this installation)"),
    Setting("the script of the provider `scripted`", "", "BRIDOON_SCRIPT", ""),
)

PROVIDER_VARIABLES = (
    Setting("key for Anthropic", "", "ANTHROPIC_API_KEY", secret=True),
    Setting("endpoint of the Messages API", "", "ANTHROPIC_API_URL", "https://api.anthropic.com/v1/messages"),
    Setting("tokens of an answer", "", "ANTHROPIC_MAX_TOKENS", "(the provider's)"),
    Setting("key for OpenAI", "", "OPENAI_API_KEY", secret=True),
    Setting(
        "endpoint of Chat Completions; beats OPENAI_BASE_URL",
        "",
        "OPENAI_API_URL",
        "https://api.openai.com/v1/chat/completions",
    ),
    Setting("base URL of an OpenAI-compatible service", "", "OPENAI_BASE_URL"),
    Setting("tokens of an answer", "", "OPENAI_MAX_TOKENS", "(the provider's)"),
)

OTHER_VARIABLES = (
    Setting("proxy for https", "", "HTTPS_PROXY"),
    Setting("proxy for http", "", "HTTP_PROXY"),
    Setting("hosts that are reached without a proxy", "", "NO_PROXY"),
    Setting("file with certificates to trust", "", "SSL_CERT_FILE"),
    Setting("any value: no colours", "", "NO_COLOR"),
)

INTERNAL = frozenset(
    f"HARNESS_{name}"
    for name in (
        "VERSION",
        "PYTHON",
        "SOURCES",
        "SESSION",
        "CWD",
        "STAGE",
        "TOOL_FIFO",
        "TOOL_STATUS",
        "OUTPUT_FILE",
        "CALL_ID",
        "CALL",
        "OWNER",
        "DEPTH",
        "PARENT_SESSION",
        "RUN_ID",
        "LOOP_RUN_ID",
        "AUTH_PROVIDER",
        "AGENT_SESSION_ROOT",
    )
)
"""Variables that the harness sets for what it starts. Nobody sets them by hand."""

EVERYTHING = (*SETTINGS, *PROVIDER_VARIABLES, *OTHER_VARIABLES)

KEYS = {setting.key: setting for setting in EVERYTHING if setting.key}
"""By key in `settings.conf`."""


def find(name: str) -> Setting | None:
    """The setting of a key or variable."""
    return next((each for each in EVERYTHING if name in (each.key, each.variable)), None)
