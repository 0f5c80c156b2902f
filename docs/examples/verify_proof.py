"""Check somebody else's claim in ten lines: a proof and its instance in, accepted or rejected out. No solver runs.

python docs/examples/verify_proof.py PROOF.json INSTANCE.npz
"""

import sys

from certcore import ThreatModel, load_instance, messages, read_proof, verify_proof

proof = read_proof(sys.argv[1])
instance = load_instance(sys.argv[2], base_rule=proof["base_rule"])
verdict = verify_proof(proof, instance)
if not verdict.accepted:
    sys.exit(f"rejected: {verdict.reason}")
threat = ThreatModel.from_json(proof["threat"])
print(f"accepted: {messages.accepted(instance, threat, verdict.certified, verdict.targets)}")
