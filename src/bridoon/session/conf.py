"""`session.conf`: `key=value` lines that say what a session is.

Values are bytes to us as paths are: what is not UTF-8 survives. A line end inside a value is written as
`%0A`, and the file then says `encoding=pct`.
"""

from __future__ import annotations

from bridoon.session.exact import clean


def encode(conf: dict[str, str]) -> bytes:
    """The file of a configuration, keys in the given order."""
    conf = {key: value for key, value in conf.items() if key != "encoding" or value != "pct"}
    if any("\n" in value or "\r" in value for value in conf.values()):
        conf = {key: _quote(value) for key, value in conf.items()} | {"encoding": "pct"}
    text = "".join(f"{key}={value}\n" for key, value in conf.items())
    try:
        return text.encode("utf-8", "surrogateescape")
    except UnicodeEncodeError:
        return clean(text).encode("utf-8")


def decode(data: bytes) -> dict[str, str]:
    """The keys of a file. Comments and lines without `=` are dropped, `encoding=pct` is undone."""
    conf: dict[str, str] = {}
    for line in data.decode("utf-8", "surrogateescape").removeprefix("\ufeff").split("\n"):
        key, equals, value = line.removesuffix("\r").partition("=")
        if equals and key.strip() and not key.lstrip().startswith("#"):
            conf[key.strip()] = value
    if conf.get("encoding") == "pct":
        del conf["encoding"]
        conf = {key: _unquote(value) for key, value in conf.items()}
    return conf


def _quote(value: str) -> str:
    return value.replace("%", "%25").replace("\r", "%0D").replace("\n", "%0A")


def _unquote(value: str) -> str:
    return value.replace("%0A", "\n").replace("%0D", "\r").replace("%25", "%")
