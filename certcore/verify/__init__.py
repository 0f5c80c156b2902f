"""Checking bounds and proofs in exact arithmetic. Needs the program's rows and no solver, and loads none."""

from certcore.verify.bound import exact_bound
from certcore.verify.proof import Verdict, read_proof, verify_proof

__all__ = ["Verdict", "exact_bound", "read_proof", "verify_proof"]
