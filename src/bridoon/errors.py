"""Everything that can go wrong and is told to a person: a message, a hint, an exit code.

BridoonError                 exit 1     something went wrong while doing what was asked
├── UsageError               exit 2     the command line is wrong
├── ConfigError              exit 2     a file is wrong; names the file and the place in it
├── NotFound                 exit 1     no such session, tool, skill ...
├── SessionBusy              exit 1     another process is writing this session
├── NoProvider               exit 3     no model can be reached: none configured, or no credentials
├── LimitReached             exit 4     the run was stopped by a limit
├── HookFailed               exit 1     a hook exited non-zero, crashed or printed nonsense
└── ProviderError            exit 1     the model's API refused or broke off (exit 3 for credentials)
Cancelled (BaseException)    exit 130   the user or the system asked the run to stop (143 for SIGTERM)
"""

from __future__ import annotations

from typing import Any

SIGINT = 2
"""`signal.SIGINT`, without the import."""


class BridoonError(Exception):
    """Something to tell the user. `message` is one sentence, `hint` the way out."""

    exit_code = 1

    def __init__(self, message: str, hint: str = "") -> None:
        super().__init__(message)
        self.message = message
        self.hint = hint


class UsageError(BridoonError):
    """The command line is wrong."""

    exit_code = 2


class ConfigError(BridoonError):
    """A file is wrong. `path` names it, `place` says where in it (`line 3`, `$.steps[0]`)."""

    exit_code = 2

    def __init__(self, message: str, path: str = "", place: str = "", hint: str = "") -> None:
        where = ": ".join(part for part in (path, place) if part)
        super().__init__(f"{where}: {message}" if where else message, hint)
        self.path = path
        self.place = place


class NotFound(BridoonError):
    """There is no thing of that name."""


class SessionBusy(BridoonError):
    """Another process holds the session's lock."""


class NoProvider(BridoonError):
    """No model can be reached: nothing is configured, or credentials are missing."""

    exit_code = 3


class LimitReached(BridoonError):
    """The run was stopped by a limit that its user set."""

    exit_code = 4


class HookFailed(BridoonError):
    """A hook stopped its stage. Carries what the `error` stage is told.

    `refused` holds the call when a gate of `tool_exec` stopped it: the call never started.
    """

    def __init__(
        self,
        message: str,
        *,
        stage: str,
        hook: str,
        code: int = 1,
        stderr: str = "",
        output: dict[str, Any] | None = None,
        refused: dict[str, Any] | None = None,
    ) -> None:
        super().__init__(message)
        self.stage, self.hook, self.code, self.stderr = stage, hook, code, stderr
        self.output = output or {}
        self.refused = refused


class ProviderError(BridoonError):
    """The model's API refused or broke off.

    `kind`: auth | rate_limit | invalid | server | network | incomplete | overflow.
    `retry_after` is in seconds, when the server said so. `partial` is text that had already been shown.
    """

    def __init__(
        self, message: str, kind: str, *, status: int = 0, retry_after: float | None = None, partial: str = ""
    ) -> None:
        super().__init__(message)
        self.kind, self.status, self.retry_after, self.partial = kind, status, retry_after, partial
        if kind == "auth":
            self.exit_code = 3


class Cancelled(BaseException):
    """The run was asked to stop. Not an `Exception`, so that no plugin swallows it by accident."""

    def __init__(self, signum: int = SIGINT) -> None:
        super().__init__(f"cancelled by signal {int(signum)}")
        self.signum = int(signum)

    @property
    def exit_code(self) -> int:
        return 128 + self.signum
