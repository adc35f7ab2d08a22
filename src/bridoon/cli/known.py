"""Every setting and environment variable that we know, declared once for config, help and doctor."""

from __future__ import annotations

from typing import NamedTuple

from bridoon.catalog.conf import KNOWN, MODES


class Setting(NamedTuple):
    """Something that a user can set: by a key in `settings.conf`, a variable, or both."""

    key: str
    variable: str
    default: str
    """Its value when nothing sets it; in brackets when that is not a fixed value."""
    about: str
    choices: tuple[str, ...] = ()
    secret: bool = False

    @property
    def name(self) -> str:
        """Its key, else its variable."""
        return self.key or self.variable


EFFORTS, STREAM = KNOWN["thinking"], KNOWN["stream"]

SETTINGS = (
    Setting("provider", "HARNESS_PROVIDER", "(the first that is ready)", "provider or variant to talk to"),
    Setting("model", "HARNESS_MODEL", "(the provider's)", "model, by the provider's name for it"),
    Setting("permissions", "HARNESS_PERMISSIONS", "auto; ask in the REPL", "which tools run unasked", MODES),
    Setting("", "HARNESS_MAX_TURNS", "100", "calls of the model in one run"),
    Setting("thinking", "HARNESS_THINKING", "(the provider's)", "how hard the model thinks", EFFORTS),
    Setting("on_refuse", "HARNESS_ON_REFUSE", "continue", "what a refusal does", ("continue", "stop")),
    Setting("gate_timeout", "HARNESS_GATE_TIMEOUT", "60; 3600 at a terminal", "seconds that a gate may take"),
    Setting("", "HARNESS_HOOK_TIMEOUT", "60", "seconds that any other hook may take"),
    Setting("", "HARNESS_TOOL_TIMEOUT", "600; 120 for bash", "seconds that a tool may take"),
    Setting("", "HARNESS_TOOL_OUTPUT_LIMIT", "100000", "characters of a result that the model sees"),
    Setting("", "HARNESS_READ_LIMIT", "2000", "lines of a file that read_file shows"),
    Setting("idle_timeout", "HARNESS_IDLE_TIMEOUT", "120", "seconds without a byte that end an answer"),
    Setting("stream", "HARNESS_STREAM", "auto", "whether answers are streamed", STREAM),
    Setting("cache", "HARNESS_CACHE", "auto", "whether prompt-cache marks are sent", STREAM),
    Setting("openai_api", "OPENAI_API", "chat", "which of OpenAI's APIs is spoken", ("chat", "responses")),
    Setting("context", "HARNESS_CONTEXT", "(the variant's, else 128000)", "tokens that the window holds"),
    Setting("compaction", "", "on", "summarise older turns when the window fills", ("on", "off")),
    Setting("compact_at", "", "0.8", "share of the window at which that begins"),
    Setting("compact_keep", "", "0.25", "share of the window that is kept as it is"),
    Setting("", "HARNESS_AGENT_TIMEOUT", "600", "seconds that a sub-agent may take"),
    Setting("", "HARNESS_MAX_DEPTH", "2", "how deep agents may start agents"),
    Setting("background", "HARNESS_BACKGROUND", "(ended)", "`keep` leaves background processes alive at the end"),
    Setting("ledger", "HARNESS_LEDGER", "on", "record runs where there is a harness.db", ("on", "off")),
    Setting("", "HARNESS_INTAKE", "", "intake that the traces of runs belong to"),
    Setting("", "HARNESS_STORY", "(the one in progress)", "story that the traces of runs belong to"),
    Setting("", "HARNESS_TRUST", "(asks)", "1 lets every checkout run its code"),
    Setting("", "HARNESS_HOME", "~/.harness", "your own harness directory"),
    Setting("", "HARNESS_SESSIONS", "(the nearest .harness/sessions, else the home's)", "where sessions are"),
    Setting("", "HARNESS_LOG", "/dev/stderr", "where notes go"),
    Setting("", "HARNESS_ROOT", "(this installation)", "the installed files"),
    Setting("detect_local", "HARNESS_DETECT_LOCAL", "on", "look for model servers on this machine", ("on", "off")),
    Setting("script", "BRIDOON_SCRIPT", "", "the script of the provider `scripted`"),
    Setting("local_model", "HARNESS_LOCAL_MODEL", "", "the GGUF file of the provider `local`"),
)

PROVIDER_VARIABLES = (
    Setting("", "ANTHROPIC_API_KEY", "", "key for Anthropic", secret=True),
    Setting("", "ANTHROPIC_AUTH_HEADER", "", "a whole header instead of the key", secret=True),
    Setting("", "ANTHROPIC_API_URL", "", "endpoint of the Messages API"),
    Setting("", "ANTHROPIC_BASE_URL", "", "the same without /v1/messages"),
    Setting("", "ANTHROPIC_MAX_TOKENS", "", "tokens of an answer"),
    Setting("", "ANTHROPIC_API_VERSION", "", "version of the API"),
    Setting("", "ANTHROPIC_BETA", "", "value of the anthropic-beta header"),
    Setting("", "OPENAI_API_KEY", "", "key for OpenAI", secret=True),
    Setting("", "OPENAI_API_URL", "", "endpoint; beats OPENAI_BASE_URL"),
    Setting("", "OPENAI_BASE_URL", "", "the same without /chat/completions"),
    Setting("", "OPENAI_MAX_TOKENS", "", "tokens of an answer"),
    Setting("", "HARNESS_LOCAL_CONTEXT", "", "window of the provider `local`"),
    Setting("", "HARNESS_LOCAL_MAX_TOKENS", "", "tokens of an answer of the provider `local`"),
)
"""What providers read besides; `hs help` leaves these to `hs config` and the documents."""

OTHER_VARIABLES = (
    Setting("", "HTTPS_PROXY", "", "proxy for https"),
    Setting("", "HTTP_PROXY", "", "proxy for http"),
    Setting("", "ALL_PROXY", "", "proxy for both"),
    Setting("", "NO_PROXY", "", "hosts that are reached without a proxy"),
    Setting("", "SSL_CERT_FILE", "", "file with certificates to trust"),
    Setting("", "SSL_CERT_DIR", "", "directory with certificates to trust"),
    Setting("", "NO_COLOR", "", "any value: no colours"),
)

LEDGER_VARIABLES = (
    Setting("", "HARNESS_REPO_ROOT", "(found upward)", "root of the repository whose ledger is meant"),
    Setting("", "HARNESS_DB_PATH", "(harness.db in the root)", "the database of the ledger"),
    Setting("", "HARNESS_DB", "", "the older name of HARNESS_DB_PATH"),
    Setting("", "HARNESS_RUN_ID", "", "the changeset that changes of the ledger are written to"),
    Setting("", "HARNESS_REQUEST_ID", "", "comes back as `request_id` in the JSON of harness-cli"),
    Setting("", "HARNESS_CHANGESET_REVISIONS", "", "1: changesets say which revision of a row they change"),
)
"""What `harness-cli` reads."""

INTERNAL = frozenset(
    {
        *("HARNESS_VERSION", "HARNESS_PYTHON", "HARNESS_SOURCES", "HARNESS_SESSION", "HARNESS_CWD"),
        *("HARNESS_STAGE", "HARNESS_TOOL_FIFO", "HARNESS_TOOL_STATUS", "HARNESS_OUTPUT_FILE"),
        *("HARNESS_CALL_ID", "HARNESS_CALL", "HARNESS_OWNER", "HARNESS_DEPTH", "HARNESS_PARENT_SESSION"),
        *("HARNESS_RUN_MODE", "HARNESS_LOOP_RUN_ID", "HARNESS_AUTH_PROVIDER", "HARNESS_CHECK"),
    }
)
"""Variables that the harness sets for what it starts. Nobody sets them by hand."""

EVERYTHING = (*SETTINGS, *PROVIDER_VARIABLES, *LEDGER_VARIABLES, *OTHER_VARIABLES)

KEYS = {setting.key: setting for setting in EVERYTHING if setting.key}
"""By key in `settings.conf`."""


def find(name: str) -> Setting | None:
    """The setting of a key or variable."""
    return next((each for each in EVERYTHING if name in (each.key, each.variable)), None)
