"""Settings of a request that come from the environment: limits, sampling, how hard to think."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from bridoon.errors import ConfigError
from bridoon.wire.digits import whole_number

EFFORTS = ("low", "medium", "high", "max")


def count(env: Mapping[str, str], name: str, default: int = 0) -> int:
    """A whole number above 0; the default when the variable is unset or empty. Raises ConfigError."""
    text = env.get(name, "").strip()
    if not text:
        return default
    number = whole_number(text)
    if not number:
        raise ConfigError(f"{name}={text[:40]!r} is not a number above 0")
    return number


def sampling(env: Mapping[str, str], prefix: str) -> dict[str, Any]:
    """`temperature`, `top_p` and `top_k` where `<PREFIX>_TEMPERATURE` and so on are set. Raises
    ConfigError.
    """
    found: dict[str, Any] = {}
    for name in ("temperature", "top_p"):
        variable = f"{prefix}_{name.upper()}"
        text = env.get(variable, "").strip()
        if text:
            try:
                found[name] = float(text)
            except ValueError:
                raise ConfigError(f"{variable}={text[:40]!r} is not a number") from None
    top_k = count(env, f"{prefix}_TOP_K")
    return {**found, "top_k": top_k} if top_k else found


def effort(env: Mapping[str, str]) -> str:
    """How hard the model should think: low, medium, high or max; empty when it is left alone. Raises
    ConfigError.
    """
    word = env.get("HARNESS_THINKING", "").strip().lower()
    if word in ("", "off"):
        return ""
    if word not in EFFORTS:
        raise ConfigError(f"HARNESS_THINKING={word[:40]!r} is none of off, {', '.join(EFFORTS)}")
    return word


def model_of(payload: Mapping[str, Any], env: Mapping[str, str]) -> str:
    """The model that a payload, else the environment, names; empty when neither does."""
    return str(payload.get("model") or env.get("HARNESS_MODEL") or "")


def full_url(env: Mapping[str, str], prefix: str, standard: str, path: str) -> str:
    """The endpoint: `<PREFIX>_API_URL` as it is, else `<PREFIX>_BASE_URL` with the path, else the standard
    one.

    A base that ends with the path, or with the path's first part (`/v1`), is understood.
    """
    if env.get(f"{prefix}_API_URL"):
        return env[f"{prefix}_API_URL"].strip()
    base = env.get(f"{prefix}_BASE_URL", "").strip().rstrip("/")
    if not base:
        return standard
    if base.endswith(path):
        return base
    first = "/" + path.split("/")[1]
    if path.count("/") > 1 and base.endswith(first):
        return base + path.removeprefix(first)
    return base + path
