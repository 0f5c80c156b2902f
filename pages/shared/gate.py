"""An optional password for a server that a group shares: set CERTCORE_PASSWORD and every visit asks for it.

This keeps strangers out of a trusted network. On the open internet put a reverse proxy with TLS and accounts in
front (see docs/SERVER.md): a password alone travels in clear text.
"""

from __future__ import annotations

import hashlib
import hmac
import os
import time

import streamlit as st

#: Seconds a wrong guess costs; each visitor waits for itself, nobody else does.
PENALTY = 1.0


def gate() -> None:
    """Ask for the password if one is set; ends the page until it has been given."""
    secret = os.environ.get("CERTCORE_PASSWORD", "")
    if not secret or st.session_state.get("_admitted") == _mark(secret):
        return
    st.title("Collective certificates", anchor=False)
    with st.form("password", width=420):
        given = st.text_input("Password", type="password", help="The person who runs this server knows it.")
        sent = st.form_submit_button("Enter")
    if sent:
        if hmac.compare_digest(given.encode(), os.fsencode(secret)):
            st.session_state["_admitted"] = _mark(secret)
            st.rerun()
        time.sleep(PENALTY)
        st.error("That is not the password. Ask the person who runs this server.", icon=":material/lock:")
    st.stop()


def _mark(secret: str) -> str:
    """What a session remembers: no password, and nothing that is true for another one."""
    return hashlib.sha256(b"certcore" + os.fsencode(secret)).hexdigest()
