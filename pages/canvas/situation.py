"""Another situation beside the present one: the same labels under another attacker."""

from __future__ import annotations

import json
from dataclasses import replace

from certcore.common.errors import InputError
from certcore.common.packing import unpack
from certcore.domain.threat import ThreatModel
from certcore.messages import threat_words
from certcore.result.certificate import Certificate

from ..background.engine import session
from ..background.jobs import Job
from ..background.work import Work, ask
from ..state.state import View, packed_nodes, write_nodes


def write(threat: ThreatModel) -> str:
    """A situation as the address has it; many protected nodes are packed."""
    told = threat.to_json()
    if "protected" in told:
        listed = write_nodes(told["protected"])
        short = packed_nodes(listed)
        told["protected"] = short if short != listed else told["protected"]
    return json.dumps(told, separators=(",", ":"))


def read(view: View, text: str) -> ThreatModel:
    """The kept attacker against the labels that are counted now; nonsense is refused with one sentence."""
    try:
        told = json.loads(text)
        if isinstance(told, dict) and isinstance(told.get("protected"), str):
            told["protected"] = unpack(told["protected"]).tolist()
    except (ValueError, RecursionError) as error:
        raise InputError("the situation kept in the link is no attacker; keep one again") from error
    threat = ThreatModel.from_json(told, targets=view.threat.targets)
    threat.check(view.instance.graph)
    return threat


def certified(view: View, threat: ThreatModel) -> Work:
    """The certificate of the kept situation, with its attack."""
    other = replace(view, threat=threat)
    relaxation = view.relaxation.relaxed

    def run(job: Job) -> Certificate:
        return session(view.instance).certify(threat, relaxation=relaxation, cancel=job.cancel)

    return ask("beside", ("beside", *other.key), run, "Certifying the kept situation", same=other.key, patience=0.4)


def title(view: View, result: Certificate) -> str:
    """What stands above one of the two pictures."""
    attacker = threat_words(result.threat, directed=view.instance.graph.directed)
    return f"{attacker[:1].upper()}{attacker[1:]}: {result.certified:,} of {result.targets:,} certified"
