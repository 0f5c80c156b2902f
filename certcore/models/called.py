"""A common call for all networks: `scores = called(x, edge_index)`."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import torch
from torch import Tensor, nn

from certcore.common.choice import Choice
from certcore.common.errors import InputError


class EdgeForm(Choice):
    """The form in which a network takes edges."""

    EDGE_INDEX = "edge_index"
    EDGE_WEIGHT = "edge_weight"
    ADJACENCY = "adjacency"


class Called(nn.Module):
    """A network, or any function of torch tensors, and its calling convention.

    `edge_index`: model(x, edge_index). `edge_weight`: model(x, edge_index, ones). `adjacency`: model(x, A) with a
    sparse tensor whose entry (i, j) means that i receives from j. With a wrapper: wrapper(model, x, edge_index).
    """

    def __init__(
        self,
        model: Callable[..., Any],
        wrapper: Callable[..., Any] | None = None,
        form: str = EdgeForm.EDGE_INDEX,
        device: str | None = None,
    ) -> None:
        super().__init__()
        if not callable(model):
            raise InputError(
                f"the model is a {type(model).__name__}; expected a torch module, or a function of tensors"
            )
        given = EdgeForm.parse(form, "the form in which edges are to be given")
        if wrapper is not None and given is not EdgeForm.EDGE_INDEX:
            raise InputError(f"a wrapper calls the model itself; leave edges={form!r} out, or the wrapper")
        self.model, self.wrapper = model, wrapper
        self.form, self.device = str(given), device

    @property
    def place(self) -> torch.device:
        """The device on which it is called: the given one, or that of its weights."""
        held = next((tensor.device for tensor in [*self.parameters(), *self.buffers()]), torch.device("cpu"))
        return held if self.device is None else torch.device(self.device)

    @property
    def dtype(self) -> torch.dtype:
        """The precision of its weights, in which it takes attributes."""
        kinds = (tensor.dtype for tensor in [*self.parameters(), *self.buffers()] if tensor.is_floating_point())
        return next(kinds, torch.float32)

    @property
    def fast(self) -> bool:
        """Whether it is on the CPU and in single precision, as compiled code needs it."""
        return self.place.type == "cpu" and self.dtype is torch.float32

    def forward(self, x: Tensor, edge_index: Tensor) -> Any:
        if self.wrapper is not None:
            return self.wrapper(self.model, x, edge_index)
        if self.form == EdgeForm.EDGE_WEIGHT:
            return self.model(x, edge_index, torch.ones(edge_index.size(1), dtype=x.dtype, device=x.device))
        if self.form == EdgeForm.ADJACENCY:
            return self.model(x, _adjacency(x, edge_index))
        return self.model(x, edge_index)

    def scores(self, x: Tensor, edge_index: Tensor) -> Tensor:
        """The output of the model, checked to be one row of finite scores per node."""
        answer = self(x, edge_index)
        if not isinstance(answer, Tensor) or answer.dim() != 2 or len(answer) != len(x):
            shape = tuple(answer.shape) if isinstance(answer, Tensor) else type(answer).__name__
            raise InputError(
                f"the model returned {shape} for {len(x):,} nodes; expected a tensor with one row of scores per node "
                "(a wrapper can choose it: wrapper=lambda model, x, edge_index: model(x, edge_index)[0])"
            )
        if answer.dtype is torch.bool or answer.is_complex():
            raise InputError(f"the model returned {answer.dtype} for its scores; expected numbers that can be compared")
        if not torch.isfinite(answer).all():
            raise InputError("the model returned NaN or infinite scores; expected finite ones: train it again")
        return answer

    def run(self, x: Tensor, edge_index: Tensor, where: str) -> Tensor:
        """Like `scores`, but exceptions of the model's own code become an InputError."""
        try:
            return self.scores(x, edge_index)
        except InputError:
            raise
        except Exception as error:
            raise not_running(error, where) from error


def not_running(error: Exception, where: str) -> InputError:
    """The error message for a model whose code failed."""
    told = str(error).strip().partition("\n")[0][:160]
    return InputError(
        f"the model does not run on {where} ({type(error).__name__}: {told}); expected one that takes any attributes "
        "and edges: constants with one row per edge, or caches made for one graph, do not fit others"
    )


def _adjacency(x: Tensor, edge_index: Tensor) -> Tensor:
    ones = torch.ones(edge_index.size(1), dtype=x.dtype, device=x.device)
    size = (len(x), len(x))
    return torch.sparse_coo_tensor(edge_index.flip(0), ones, size, check_invariants=False).coalesce()
