"""The adversary's program: how many targets can one perturbed graph break at most?"""
