"""An optional password for a server that a group shares: set CERTCORE_PASSWORD and every visit asks for it.

This keeps strangers out of a trusted network. On the open internet put a reverse proxy with TLS and accounts in
front (see docs/how-to/server.md): a password alone travels in clear text.
"""

from __future__ import annotations

import hashlib
import hmac
import os
import threading
import time
from typing import Any

import streamlit as st

from .log import set_up

_log = set_up()


class LoginThrottle:
    """Slows guesses down over all visitors of this process together: a new session or address is no new start.

    Every attempt waits before it is looked at, the right password as long as a wrong one: if only wrong ones waited,
    a guesser would give each attempt a moment and try the next. The wait grows with the wrong guesses of the last
    minutes, whoever made them, and never beyond `LONGEST`: behind a proxy everybody has one address, so nobody can be
    shut out, and who knows the password is in after that long at most. Only `PLACES` attempts wait at once (each holds
    a thread); the next ones are told so at once and are not looked at. Together: at most PLACES / LONGEST guesses a
    second.
    """

    PLACES = 20
    LONGEST = 5.0
    #: Seconds that each recent wrong guess adds to the wait of everybody ...
    STEP = 0.25
    #: ... until it is forgotten, one in so many seconds.
    FORGOTTEN_AFTER = 6.0

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._guesses = 0.0
        self._at = 0.0
        self.waiting = 0
        #: How many found no place since this was last told in the log.
        self.turned_away = 0

    def wait(self) -> bool:
        """Wait for one's turn; False if there is no place to wait. After a right password, call `forgive`."""
        with self._lock:
            if self.waiting >= self.PLACES:
                self.turned_away += 1
                return False
            now = time.monotonic()
            most = self.LONGEST / self.STEP
            self._guesses = min(most, max(0.0, self._guesses - (now - self._at) / self.FORGOTTEN_AFTER))
            self._at = now
            delay = self._guesses * self.STEP
            # It counts from now on, not when it has failed: many attempts at the same moment wait for one another.
            self._guesses += 1
            self.waiting += 1
        try:
            time.sleep(delay)
        finally:
            with self._lock:
                self.waiting -= 1
        return True

    def forgive(self) -> None:
        """What was counted as a guess was none."""
        with self._lock:
            self._guesses = max(0.0, self._guesses - 1)

    def refused(self) -> None:
        """Write a wrong guess into the log: that there was one, not what it was."""
        with self._lock:
            turned_away, self.turned_away = self.turned_away, 0
        _log.warning("password refused", extra={"waiting": self.waiting, "turned_away": turned_away})


LOGIN_THROTTLE = LoginThrottle()


def admitted(remembered: Any) -> bool:
    """Whether somebody is in, by what their session remembers; everybody is where there is no password."""
    secret = os.environ.get("CERTCORE_PASSWORD", "")
    # Of a session's memory, as the server has it, one can ask no more than this.
    known = remembered["_admitted"] if "_admitted" in remembered else None  # noqa: SIM401
    return not secret or known == _mark(os.fsencode(secret))


def login() -> None:
    """Ask for the password if one is set; ends the page until it has been given."""
    if admitted(st.session_state):
        return
    secret = os.environ.get("CERTCORE_PASSWORD", "")
    st.title("Collective certificates", anchor=False)
    with st.form("password", width=420):
        given = st.text_input("Password", type="password", help="The person who runs this server knows it.")
        sent = st.form_submit_button("Enter")
    if sent:
        if not LOGIN_THROTTLE.wait():
            st.warning(
                "Too many people are trying passwords at this moment, so yours was not looked at. Press Enter again in "
                "a few seconds.",
                icon=":material/groups:",
            )
        # Digests are equally long, so the comparison does not tell how long the password is either.
        elif hmac.compare_digest(_mark(given.encode()), _mark(os.fsencode(secret))):
            LOGIN_THROTTLE.forgive()
            st.session_state["_admitted"] = _mark(os.fsencode(secret))
            st.rerun()
        else:
            LOGIN_THROTTLE.refused()
            st.error("That is not the password. Ask the person who runs this server.", icon=":material/lock:")
    st.stop()


def _mark(secret: bytes) -> str:
    """What a session remembers: no password, and nothing that is true for another one."""
    return hashlib.sha256(b"certcore" + secret).hexdigest()
