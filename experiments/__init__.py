"""The paper's experiments with this engine: what it reports, what we get, and where the two differ.

`python -m experiments FIGURE|all` computes what is missing and keeps every result as a small JSON file with its
provenance; "The paper, reproduced" in the documentation and the page "Paper" are made from these files and from
nothing else.
"""
