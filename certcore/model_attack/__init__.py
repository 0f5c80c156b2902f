"""Attacks on the model itself: which labels really change, next to what is certified and what is open.

The search looks for a perturbation that changes as many labels as possible of the certified classifier (the smoothed
one, or the plain one of a convex certificate). Changes are counted with samples that the search has not used. They are
a lower bound on the worst case, while a certificate gives an upper bound. An attack that changes a certified label
would refute the program and raises a `SoundnessError`. Importing this package does not import torch.
"""
