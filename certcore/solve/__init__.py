"""Solving the adversary's program with HiGHS; solver output is unverified until `certcore.verify` has checked it."""
