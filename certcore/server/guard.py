"""Who is let in: one middleware before pages, websocket, uploads and API.

It checks the name and the origin of every request, the password if CERTCORE_PASSWORD is set, and sizes before a body is
read. A visitor is a signed cookie; scripts may send the password as HTTP Basic instead.
"""

from __future__ import annotations

import base64
import binascii
import hashlib
import hmac
import html
import ipaddress
import json
import logging
import os
import secrets
import time
from collections.abc import Callable
from http.cookies import CookieError, SimpleCookie
from typing import Any
from urllib.parse import parse_qs, quote, urlsplit

import anyio
from starlette.datastructures import Headers
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from certcore.server.shelf import MB, UPLOAD_MB, number_from

_log = logging.getLogger("certcore.server")
#: What may be sent in one body, but for uploads, and in one message over a websocket.
MOST_BODY, MOST_MESSAGE = MB, 8 * MB
UPLOADS = ("/_stcore/upload_file", "/api/instances")
#: Answers "ok" to everybody: a container's health check knows no password.
OPEN = ("/api/health", "/api/login")
POLICY = (
    "default-src 'self'; script-src 'self' 'unsafe-inline' 'unsafe-eval' blob:; style-src 'self' 'unsafe-inline'; "
    "img-src 'self' data: blob:; font-src 'self' data:; connect-src 'self'; worker-src 'self' blob:; "
    "frame-src 'self' blob: data:; object-src 'none'; base-uri 'self'; form-action 'self'; frame-ancestors 'self'"
)
HEADERS = [
    (b"content-security-policy", POLICY.encode()),
    (b"x-content-type-options", b"nosniff"),
    (b"referrer-policy", b"same-origin"),
    (b"cross-origin-opener-policy", b"same-origin"),
]
FORM = """<!doctype html><html lang="en"><meta charset="utf-8"><meta name="viewport" content="width=device-width">
<title>Collective certificates</title><style>body{{font:1rem/1.5 system-ui;max-width:22rem;margin:20vh auto}}
input,button{{font:inherit;padding:.4rem .6rem;width:100%;box-sizing:border-box;margin:.3rem 0}}</style>
<h1>Collective certificates</h1><p role="status">{said}</p><form method="post" action="{action}">
<label>Password <input type="password" name="password" autofocus autocomplete="current-password"></label>
<input type="hidden" name="next" value="{next}"><button>Enter</button></form></html>"""


class Throttle:
    """Slows guesses down over all visitors together: another session or address is no new start.

    Every attempt waits before it is looked at, the right password as long as a wrong one: if only wrong ones waited, a
    guesser would give each attempt a moment and try the next. The wait grows with the wrong guesses of the last
    minutes and never beyond `LONGEST`, so nobody is shut out. Only `PLACES` attempts wait at once; the others are not
    looked at. Together: at most PLACES / LONGEST guesses a second.
    """

    PLACES = 20
    LONGEST = 5.0
    #: Seconds that each recent wrong guess adds to the wait of everybody, until it is forgotten.
    STEP, FORGOTTEN_AFTER = 0.25, 6.0

    def __init__(
        self, clock: Callable[[], float] = time.monotonic, sleep: Callable[[float], Any] = anyio.sleep
    ) -> None:
        self._clock, self._sleep = clock, sleep
        self._guesses, self._at = 0.0, 0.0
        self.waiting = self.turned_away = 0

    async def wait(self) -> bool:
        """Wait for one's turn; False if there is no place to wait."""
        if self.waiting >= self.PLACES:
            self.turned_away += 1
            return False
        now = self._clock()
        forgotten = (now - self._at) / self.FORGOTTEN_AFTER
        self._guesses = min(self.LONGEST / self.STEP, max(0.0, self._guesses - forgotten))
        self._at = now
        delay = self._guesses * self.STEP
        # It counts from now on, not when it has failed: attempts at the same moment wait for one another.
        self._guesses += 1
        self.waiting += 1
        try:
            await self._sleep(delay)
        finally:
            self.waiting -= 1
        return True

    def forgive(self) -> None:
        """What was counted as a guess was none."""
        self._guesses = max(0.0, self._guesses - 1)

    def refused(self) -> None:
        """Log that there was a wrong guess, not what it was."""
        turned_away, self.turned_away = self.turned_away, 0
        _log.warning("password refused", extra={"waiting": self.waiting, "turned_away": turned_away})


class TooLarge(Exception):
    """More was sent than this route takes."""


class Guard:
    """The middleware; settings come from the environment when it is made."""

    def __init__(self, app: ASGIApp, base: str = "", throttle: Throttle | None = None) -> None:
        self.app = app
        self.base = f"/{base.strip('/')}" if base.strip("/") else ""
        self.password = os.environ.get("CERTCORE_PASSWORD", "")
        self.hosts = {name.strip().lower() for name in os.environ.get("CERTCORE_HOSTS", "").split(",")} - {""}
        self.throttle = throttle or Throttle()
        self._key = secrets.token_bytes(32)

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] not in ("http", "websocket"):
            return await self.app(scope, receive, send)
        head = Headers(scope=scope)
        path = scope["path"].removeprefix(self.base)
        refusal = self._foreign(scope, head, path)
        if refusal is not None:
            return await refuse(scope, receive, send, *refusal)
        visitor = self._visitor(head)
        if path == "/api/login" and scope["type"] == "http":
            return await self._login(scope, receive, send, head)
        free = path in OPEN and scope["type"] == "http"
        if visitor is None and self.password and not free and not await self._basic(head):
            return await self._ask(scope, receive, send, head)
        most = MOST_BODY
        if path.startswith(UPLOADS):
            most += MB * number_from("CERTCORE_UPLOAD_MB", UPLOAD_MB)
        told = head.get("content-length", "0")
        if not told.isascii() or not told.isdigit() or int(told) > most:
            return await refuse(scope, receive, send, 413, f"the request is larger than {most // MB} MB")
        cookie = None
        if visitor is None:
            visitor = secrets.token_urlsafe(16)
            if path not in OPEN and "text/html" in head.get("accept", ""):
                cookie = self._cookie(visitor, scope, head)
            elif not self.password:
                visitor = scope["client"][0] if scope.get("client") else "somebody"
        scope["visitor"] = visitor
        await self._pass_on(scope, receive, send, most, cookie)

    # Checks.

    def _foreign(self, scope: Scope, head: Headers, path: str) -> tuple[int, str] | None:
        """Refuse other names of this server (DNS rebinding) and what other sites ask for."""
        host = head.get("host", "")
        origin = head.get("origin")
        try:
            name, asker = urlsplit(f"//{host}").hostname or "", urlsplit(origin or "").netloc
        except ValueError:  # such as "[::1"
            return 400, "the host or the origin is no address"
        if not self._known(name):
            return 421, "this server does not answer to that name; whoever runs it can add it to CERTCORE_HOSTS"
        unsafe = scope["type"] == "websocket" or scope["method"] not in ("GET", "HEAD", "OPTIONS")
        if unsafe and origin is not None and asker.lower() != host.lower():
            return 403, "another site asked for this"
        api = path.startswith("/api") or unsafe
        if api and head.get("sec-fetch-site") == "cross-site":
            return 403, "another site asked for this"
        return None

    def _known(self, name: str) -> bool:
        """Whether this may be a name of this server: a page elsewhere can take any name, but no number."""
        try:
            ipaddress.ip_address(name)
        except ValueError:
            return name in self.hosts or name == "localhost" or name.endswith(".localhost")
        return True

    def _sign(self, visitor: str) -> str:
        told = f"{visitor}\0{self.password}".encode()
        return f"{visitor}.{hmac.new(self._key, told, hashlib.sha256).hexdigest()}"

    def _name(self, head: Headers) -> str:
        """Cookies do not know ports: each dashboard of one machine has a name of its own."""
        port = head.get("host", "").rpartition(":")[2]
        return f"certcore_{port}" if port.isdigit() else "certcore"

    def _visitor(self, head: Headers) -> str | None:
        """Who comes again; None for strangers."""
        try:
            found = SimpleCookie(head.get("cookie", "")).get(self._name(head))
        except CookieError:
            return None
        text = "" if found is None else found.value
        visitor = text.partition(".")[0]
        return visitor if visitor and hmac.compare_digest(self._sign(visitor).encode(), text.encode()) else None

    def _cookie(self, visitor: str, scope: Scope, head: Headers) -> bytes:
        secure = "; Secure" if scope.get("scheme") in ("https", "wss") else ""
        path = self.base or "/"
        return f"{self._name(head)}={self._sign(visitor)}; Path={path}; HttpOnly; SameSite=Lax{secure}".encode()

    # The password.

    def _right(self, given: bytes) -> bool:
        """Compare digests, so that the time tells no length."""
        wanted = hashlib.sha256(os.fsencode(self.password)).digest()
        return hmac.compare_digest(hashlib.sha256(given).digest(), wanted)

    async def _admit(self, given: bytes) -> bool | None:
        """Whether this is the password; None if it was not looked at."""
        if not await self.throttle.wait():
            return None
        if self._right(given):
            self.throttle.forgive()
            return True
        self.throttle.refused()
        return False

    async def _basic(self, head: Headers) -> bool:
        kind, _, coded = head.get("authorization", "").partition(" ")
        if kind.lower() != "basic":
            return False
        try:
            given = base64.b64decode(coded, validate=True).partition(b":")[2]
        except (binascii.Error, ValueError):
            return False
        return bool(await self._admit(given))

    async def _login(self, scope: Scope, receive: Receive, send: Send, head: Headers) -> None:
        if scope["method"] != "POST":
            return await self._ask(scope, receive, send, head, "")
        try:
            sent = parse_qs((await _body(receive)).decode("utf-8", "replace"), max_num_fields=4)
        except (TooLarge, ValueError):
            return await refuse(scope, receive, send, 413, "the form is larger than a password")
        onward = sent.get("next", ["/"])[0]
        if not onward.startswith("/") or onward.startswith("//") or "\\" in onward or not onward.isprintable():
            onward = f"{self.base}/"
        admitted = await self._admit(sent.get("password", [""])[0].encode()) if self.password else True
        if admitted:
            onward = quote(onward, safe="/?&=%,:;@+-._~!$'()*")
            more = [
                (b"location", onward.encode()),
                (b"set-cookie", self._cookie(secrets.token_urlsafe(16), scope, head)),
            ]
            return await answer(send, 303, b"", b"text/plain", more)
        said = "That is not the password. Ask the person who runs this server."
        if admitted is None:
            said = "Too many others are trying at this moment; your password was not looked at. Try again."
        await self._ask(scope, receive, send, head, said, onward, 401 if admitted is False else 429)

    async def _ask(
        self,
        scope: Scope,
        receive: Receive,
        send: Send,
        head: Headers,
        said: str = "This server asks for a password.",
        onward: str = "",
        status: int = 401,
    ) -> None:
        """A form for people, and a sentence for everybody else."""
        if scope["type"] == "websocket" or "text/html" not in head.get("accept", ""):
            return await refuse(scope, receive, send, status, said or "the password, please")
        query = scope.get("query_string", b"").decode("latin-1")
        here = onward or (
            f"{self.base}/" if scope["path"].endswith("/api/login") else scope["path"] + "?" * bool(query) + query
        )
        shown = FORM.format(said=html.escape(said), action=f"{self.base}/api/login", next=html.escape(here, quote=True))
        await answer(send, status, shown.encode(), b"text/html; charset=utf-8")

    # Passing on.

    async def _pass_on(self, scope: Scope, receive: Receive, send: Send, most: int, cookie: bytes | None) -> None:
        left, started = most, False

        async def counted() -> Message:
            nonlocal left
            message = await receive()
            if message["type"] == "http.request":
                left -= len(message.get("body", b""))
                if left < 0:
                    raise TooLarge
            elif len(message.get("text") or message.get("bytes") or b"") > MOST_MESSAGE:
                await send({"type": "websocket.close", "code": 1009})
                return {"type": "websocket.disconnect", "code": 1009}
            return message

        async def headed(message: Message) -> None:
            nonlocal started
            if message["type"] == "http.response.start":
                started = True
                more = [*HEADERS, *([(b"set-cookie", cookie)] if cookie else [])]
                message = {**message, "headers": [*message.get("headers", []), *more]}
            await send(message)

        try:
            await self.app(scope, counted, headed)
        except TooLarge:
            if not started:
                await refuse(scope, receive, send, 413, "the request is larger than this server takes")


async def _body(receive: Receive, most: int = 4096) -> bytes:
    data = b""
    while True:
        message = await receive()
        data += message.get("body", b"")
        if len(data) > most:
            raise TooLarge
        if message["type"] == "http.disconnect" or not message.get("more_body"):
            return data


async def answer(
    send: Send, status: int, body: bytes, kind: bytes, more: list[tuple[bytes, bytes]] | None = None
) -> None:
    head = [(b"content-type", kind), (b"content-length", str(len(body)).encode()), (b"cache-control", b"no-store")]
    await send({"type": "http.response.start", "status": status, "headers": [*head, *HEADERS, *(more or [])]})
    await send({"type": "http.response.body", "body": body})


async def refuse(scope: Scope, receive: Receive, send: Send, status: int, sentence: str) -> None:
    """One sentence; a websocket is refused in its handshake."""
    body = json.dumps({"error": sentence}).encode()
    if scope["type"] == "http":
        more = [(b"connection", b"close")]
        if status == 401 and Headers(scope=scope).get("sec-fetch-mode") is None:
            more.append((b"www-authenticate", b'Basic realm="certcore"'))
        return await answer(send, status, body, b"application/json", more)
    await receive()
    if "websocket.http.response" not in scope.get("extensions", {}):
        return await send({"type": "websocket.close", "code": 4403})
    head = [(b"content-type", b"application/json"), *HEADERS]
    await send({"type": "websocket.http.response.start", "status": status, "headers": head})
    await send({"type": "websocket.http.response.body", "body": body})
