"""The `messages/` folder of a session: read once, watched cheaply, appended to one whole file at a time."""

from __future__ import annotations

import contextlib
import fcntl
import os
import threading
import time
from collections.abc import Iterator
from typing import Any

from bridoon.errors import BridoonError
from bridoon.model.message import Image, Message
from bridoon.session import exact, files, images, transcript
from bridoon.session.flush import Flusher
from bridoon.session.view import View

RECENT = 4
"""Messages at the end whose files are looked at whenever the history is asked for."""

PATIENCE = 5.0
"""Seconds to wait for another process that is adding a message. It needs less than a millisecond."""

_SETTLED = 50_000_000
"""Nanoseconds after which a folder's time of change is trusted: file systems stamp with a coarse clock."""


class _Taken(Exception):
    """There is a message file of that name."""


class _File:
    """A message file as it was when we read it."""

    __slots__ = ("message", "name", "seen", "seq")

    def __init__(self, name: str, seq: int) -> None:
        self.name, self.seq = name, seq
        self.seen: tuple[int, int, int] | None = None
        self.message: Message | None = None


class Messages:
    """The history on disk. Safe to use from several threads; processes take turns when they append.

    Every append sets the folder's time of change to the clock's nanoseconds, so that a foreign change is seen
    by one `stat`. Edits in place of messages older than the `RECENT` last are seen when a file comes or goes,
    or on `refresh`.
    """

    def __init__(self, session_dir: str) -> None:
        self._dir = session_dir
        self._folder = f"{session_dir}/messages"
        self._mutex = threading.RLock()
        self._files: list[_File] = []
        self._exact: frozenset[str] = frozenset()
        self._stamp = 0
        self._looked = False
        self._unread = True
        self._all: tuple[Message, ...] | None = None
        self._generation = 0
        self._unsynced: list[str] = []
        self._unnamed: dict[str, None] = {}
        """Folders in which names are new."""
        self._flusher = Flusher()
        self._view = View()

    def view(self) -> tuple[Message, ...]:
        """The history as a model may be given it."""
        with self._mutex:
            return self._view.of(self.all(), self._generation)

    def all(self) -> tuple[Message, ...]:
        """Every message in numeric order. Files that are empty or of unknown roles are left out."""
        with self._mutex:
            self._look()
            for file in self._files if self._unread else self._files[-RECENT:]:
                seen = self._signature(file)
                if seen != file.seen:
                    file.message = self._read(file) if seen else None
                    file.seen = seen
                    self._all = None
            self._unread = False
            if self._all is None:
                self._all = tuple(file.message for file in self._files if file.message is not None)
                self._generation += 1
            return self._all

    def refresh(self) -> None:
        """Look at every file the next time."""
        with self._mutex:
            self._stamp, self._unread = 0, True

    def append(self, message: Message) -> Message:
        """Save a message under the next number; return it as it was saved.

        `seq` is filled in, and `at` when it is empty. The file appears whole or not at all, also after a
        kill; after a power failure only what `sync` was called for is certain. Raises BridoonError when
        the disk refuses.
        """
        message = message._replace(parts=tuple(message.parts), at=message.at or now())
        try:
            with self._mutex, self._turn():
                while True:
                    self._look()
                    seq = self._files[-1].seq + 1 if self._files else 1
                    try:
                        return self._add(message._replace(seq=seq))
                    except _Taken:  # a writer that does not take turns was quicker
                        self._stamp = 0
        except OSError as wrong:
            raise BridoonError(
                f"cannot save a message in {self._folder}: {wrong.strerror}",
                "is the disk full, or the folder gone?",
            ) from wrong

    def made(self) -> None:
        """The session itself is new: `sync` has to keep it, too."""
        with self._mutex:
            self._unsynced.append(f"{self._dir}/session.conf")
            self._unnamed.update({self._folder: None, self._dir: None, os.path.dirname(self._dir): None})

    def sync(self, names: bool = True) -> None:
        """Wait until everything that anybody added since the last call is on the disk.

        Without `names` the folders are left for later: on the file systems that people use, the name of a new file
        goes to the disk with its content, and every flush more is a wait of the disk.
        """
        with self._mutex:
            self._look()
            self._flush()
            folders = list(self._unnamed) if names else []
            self._unnamed = {} if names else self._unnamed
        try:
            self._flusher.wait()
            for folder in folders:
                files.flush(folder)
        except OSError as wrong:
            raise BridoonError(f"cannot save {self._dir} to the disk: {wrong.strerror}") from wrong

    def _flush(self) -> None:
        paths, self._unsynced = self._unsynced, []
        self._unnamed.update(dict.fromkeys(map(os.path.dirname, paths)))
        self._flusher.start(paths)

    def _look(self) -> None:
        """Bring the list of files up to date, if the folder changed."""
        try:
            changed = os.stat(self._folder).st_mtime_ns
        except FileNotFoundError:
            self._files, self._all, self._stamp = [], None, 0
            return
        if changed == self._stamp:
            return
        found = []
        try:
            names = os.listdir(self._folder)
        except OSError as wrong:
            raise BridoonError(f"cannot read {self._folder}: {wrong.strerror}") from wrong
        for name in names:
            match = transcript.FILE_NAME.fullmatch(name)
            if match:
                found.append((int(match[1]), name))
        known = {file.name: file for file in self._files}
        if self._looked:  # what was there from the beginning is not ours to sync
            self._unsynced += [f"{self._folder}/{name}" for _, name in found if name not in known]
        self._looked = True
        self._files = [known.get(name) or _File(name, seq) for seq, name in sorted(found)]
        try:
            self._exact = frozenset(os.listdir(f"{self._dir}/.raw"))
        except (FileNotFoundError, NotADirectoryError):
            self._exact = frozenset()
        self._all, self._unread = None, True
        self._stamp = changed if time.time_ns() - changed > _SETTLED else 0

    def _signature(self, file: _File) -> tuple[int, int, int] | None:
        try:
            stat = os.stat(f"{self._folder}/{file.name}")
        except OSError:
            return None
        return stat.st_mtime_ns, stat.st_size, stat.st_ino

    def _read(self, file: _File) -> Message | None:
        try:
            data = files.read(f"{self._folder}/{file.name}")
        except OSError:
            return None
        if not data:  # what a power failure leaves of a message that was not synced
            return None
        saved = self._sidecar(file.seq, data)
        if saved is not None:
            return saved
        try:
            return transcript.decode(data.decode("utf-8", "replace"), file.name, self._load)
        except transcript.UnknownRole:
            return None

    def _load(self, path: str) -> bytes | None:
        return images.load(self._dir, path)

    def _sidecar(self, seq: int, data: bytes) -> Message | None:
        """The exact message, as long as nobody has touched the Markdown since."""
        name = f"{seq:04d}.json"
        if name not in self._exact:
            return None
        try:
            raw = files.read(f"{self._dir}/.raw/{name}") or b""
            value = exact.load(raw.decode("utf-8"))
            if value["sha256"] != _sha256(data):
                return None
            return exact.from_json(value["message"], self._picture)._replace(seq=seq)
        except (OSError, KeyError, TypeError, ValueError):
            return None

    def _picture(self, value: dict[str, Any]) -> Image:
        data = self._load(value["file"])
        if data is None:
            raise ValueError(value["file"])
        return Image(value["mime"], data)

    @contextlib.contextmanager
    def _turn(self) -> Iterator[None]:
        """Keep other processes from adding at the same time. The folder itself is what is locked."""
        flags = os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC
        try:
            fd = os.open(self._folder, flags)
        except FileNotFoundError:
            os.mkdir(self._folder, 0o700)
            fd = os.open(self._folder, flags)
        try:
            give_up = time.monotonic() + PATIENCE
            while True:
                try:
                    fcntl.flock(fd, fcntl.LOCK_EX | fcntl.LOCK_NB)
                    break
                except BlockingIOError:
                    if time.monotonic() > give_up:
                        break
                    time.sleep(0.001)
                except OSError:  # no locks on this file system: names are still exclusive
                    break
            yield
        finally:
            os.close(fd)

    def _add(self, message: Message) -> Message:
        name = transcript.file_name(message)
        pictures = dict(zip(images.names(message), (image.data for image in images.of(message)), strict=True))
        text = transcript.encode(message)
        if not text.isascii() and text != exact.clean(text):
            message = exact.clean_value(message)
            text = transcript.encode(message)
        data = text.encode("utf-8")
        # What no message names is left over from a writer that was killed, so these may replace files.
        for path, content in pictures.items():
            self._beside(path, content)
        if transcript.decode(text, name, pictures.get) != message:
            message = exact.clean_value(message)
            self._beside(f".raw/{message.seq:04d}.json", _exactly(message, data))
        try:
            stat = files.create(self._dir, f"{self._folder}/{name}", data)
        except FileExistsError:
            raise _Taken from None
        self._settle()
        file = _File(name, message.seq)
        file.message, file.seen = message, (stat.st_mtime_ns, stat.st_size, stat.st_ino)
        self._files.append(file)
        if self._all is not None:
            self._all += (message,)
        self._unsynced.append(f"{self._folder}/{name}")
        self._flush()  # in the background: whoever calls `sync` waits for what is left
        return message

    def _beside(self, path: str, data: bytes) -> None:
        path = f"{self._dir}/{path}"
        os.makedirs(os.path.dirname(path), mode=0o700, exist_ok=True)
        files.replace(self._dir, path, data)
        self._unsynced.append(path)

    def _settle(self) -> None:
        """Give the folder a time of change that no other change can have, and remember it."""
        moment = max(time.time_ns(), self._stamp + 1)
        try:
            os.utime(self._folder, ns=(moment, moment))
            kept = os.stat(self._folder).st_mtime_ns
        except OSError:
            kept = 0
        self._stamp = moment if kept == moment else 0


def now() -> str:
    """This moment as ISO 8601 with offset, to the second."""
    text = time.strftime("%Y-%m-%dT%H:%M:%S%z")
    return f"{text[:-2]}:{text[-2:]}"


def _sha256(data: bytes) -> str:
    import hashlib

    return hashlib.sha256(data).hexdigest()


def _exactly(message: Message, data: bytes) -> bytes:
    files_of = iter(images.names(message))

    def picture(image: Image) -> dict[str, str]:
        return {"mime": image.mime_type, "file": next(files_of)}

    value = {"sha256": _sha256(data), "message": exact.to_json(message, picture)}
    return exact.dump(value).encode("utf-8")
