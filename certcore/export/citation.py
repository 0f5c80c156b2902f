"""BibTeX entries: the paper whose certificate this is, and this version of the tool."""

from __future__ import annotations

from certcore import __version__

PAPER = r"""@inproceedings{schuchardt2021collective,
  title     = {Collective Robustness Certificates: Exploiting Interdependence in Graph Neural Networks},
  author    = {Schuchardt, Jan and Bojchevski, Aleksandar and Gasteiger, Johannes and G{\"u}nnemann, Stephan},
  booktitle = {International Conference on Learning Representations},
  year      = {2021},
  url       = {https://openreview.net/forum?id=ULQdiUTHe3y}
}
"""

SMOOTHING = r"""@inproceedings{bojchevski2020efficient,
  title     = {Efficient Robustness Certificates for Discrete Data: Sparsity-Aware Randomized Smoothing for Graphs,
               Images and More},
  author    = {Bojchevski, Aleksandar and Gasteiger, Johannes and G{\"u}nnemann, Stephan},
  booktitle = {International Conference on Machine Learning},
  year      = {2020}
}
"""


def bibtex(*, smoothing: bool = True) -> str:
    """BibTeX of the paper, of the smoothing certificate if it was used, and of this version of the tool."""
    title = "certcore: collective robustness certificates for graph neural networks"
    tool = f"@software{{certcore,\n  title   = {{{title}}},\n  version = {{{__version__}}}\n}}\n"
    return "\n".join([PAPER, SMOOTHING, tool] if smoothing else [PAPER, tool])
