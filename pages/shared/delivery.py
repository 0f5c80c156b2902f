"""Nothing that a finished run has said is lost: a repair of Streamlit's, without which a page may wait for ever.

A run of the page tells the browser through callbacks on the server's event loop: first "a new run begins" (the browser
then drops all its timers), at the end "poll this fragment every so often" for each piece of work that is still under
way. A poll that the browser had sent before may be handled just after the run's thread has ended, but before its last
callbacks. Streamlit then starts a new runner for the poll and ignores every callback of the old one. The timers are
among them: the browser has none any more, nobody polls, and the chart never comes although it is ready. Streamlit
guards against this only where the fragment is gone (see `AppSession.request_rerun`); ours is there again after each
run, under the same name.

The repair: a poll that meets a runner that is ending waits until everything that runner had to say has been passed on.
"""

from __future__ import annotations

from streamlit.proto.ClientState_pb2 import ClientState
from streamlit.runtime.app_session import AppSession
from streamlit.runtime.scriptrunner_utils.script_requests import ScriptRequestType

_plain = AppSession.request_rerun
#: Seconds until a poll looks again whether the runner before it has ended.
_MOMENT = 0.01


def _request_rerun(session: AppSession, client_state: ClientState | None) -> None:
    runner = session._scriptrunner
    poll = client_state is not None and bool(client_state.fragment_id)
    # The session lets go of a runner when it has handled the last of its messages.
    if poll and runner is not None and runner._requests._state is ScriptRequestType.STOP:
        session._event_loop.call_later(_MOMENT, _request_rerun, session, client_state)
    else:
        _plain(session, client_state)


def keep_in_order() -> None:
    """Install the repair; once is enough, more does no harm."""
    AppSession.request_rerun = _request_rerun
