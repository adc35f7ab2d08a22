"""The bundled hooks of the `resolve` stage: settings, detection, the default model."""

from __future__ import annotations

from typing import Any

from bridoon.catalog.lookup import catalog_for
from bridoon.errors import NoProvider
from bridoon.sdk.script import Context

Payload = dict[str, Any]


def from_settings(payload: Payload, context: Context) -> Payload:
    """Take provider and model from `settings.conf`; a provider that was given never gets the file's model."""
    if payload.get("provider"):
        return payload
    settings = catalog_for(context).settings
    if settings.get("provider"):
        payload["provider"] = settings.get("provider")
    if not payload.get("model") and settings.get("model"):
        payload["model"] = settings.get("model")
    return payload


def found(payload: Payload, context: Context) -> Payload:
    """Choose a provider when there is none; `why` says how it was found. Raises NoProvider."""
    if payload.get("provider"):
        return payload
    from bridoon.providers import detect, select

    catalog = catalog_for(context)
    choice = detect.choose(catalog, context.env, select.stored_credentials(catalog))
    payload["provider"], payload["why"] = choice.provider, choice.why
    if choice.model and not payload.get("model"):
        payload["model"] = choice.model
    return payload


def with_model(payload: Payload, context: Context) -> Payload:
    """Name the provider's default model when there is none. Raises NoProvider for an unknown provider."""
    name = str(payload.get("provider") or "")
    if not name or payload.get("model"):
        return payload
    from bridoon.providers import detect

    catalog = catalog_for(context)
    if catalog.find("providers", name) is None and catalog.conf(name) is None:
        raise NoProvider(f"there is no provider {name!r}", "hs providers lists them")
    payload["model"] = detect.default_model(name, catalog, context.env)
    return payload
