"""Solving the adversary's program with HiGHS; what comes out is a proposal, checked in `certcore.verify`."""
