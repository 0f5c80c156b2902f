"""Attacks on the model itself: which labels change in fact, beside what is proven and what is open.

A perturbation is searched for that changes as many labels as possible of the classifier that was certified (the
smoothed one, or the plain one of a convex certificate), and counted with samples that the search has not seen. What it
changes is a lower limit on the worst case, as a certificate is an upper one: an attack that changes a label which a
certificate covers would refute the program, and ends with a `SoundnessError`. Importing this does not import torch.
"""
