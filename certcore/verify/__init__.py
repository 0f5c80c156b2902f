"""Checks bounds and proofs in exact arithmetic. It needs the program's rows but no solver, and imports none."""

from certcore.verify.bound import exact_bound
from certcore.verify.proof import Verdict, read_proof, verify_proof

__all__ = ["Verdict", "exact_bound", "read_proof", "verify_proof"]
