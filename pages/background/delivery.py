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

from streamlit.runtime.app_session import AppSession, AppSessionState
from streamlit.runtime.scriptrunner_utils.script_requests import RerunData

_plain = AppSession._create_scriptrunner
#: Seconds until a poll looks again whether the runner before it has ended.
_MOMENT = 0.01


def _create_scriptrunner(session: AppSession, asked: RerunData) -> None:
    """Called when there is no runner, or when the present one is ending and has refused what was asked."""
    if asked.fragment_id and session._scriptrunner is not None:
        session._event_loop.call_later(_MOMENT, _ask_again, session, asked)
    else:
        _plain(session, asked)


def _ask_again(session: AppSession, asked: RerunData) -> None:
    # A session lets go of its runner when it has handled the last of its messages.
    runner = session._scriptrunner
    gone = session._state is AppSessionState.SHUTDOWN_REQUESTED or not session.has_fragment(str(asked.fragment_id))
    if not gone and (runner is None or not runner.request_rerun(asked)):
        _create_scriptrunner(session, asked)


def keep_in_order() -> None:
    """Install the repair; once is enough, more does no harm."""
    AppSession._create_scriptrunner = _create_scriptrunner
