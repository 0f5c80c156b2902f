"""Attributes of samples that are multiplied by weights without being stored; any other operation sees them dense."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import torch
from torch import Tensor
from torch.nn import functional
from torch.utils import _pytree

#: What does not read the numbers in a table.
_ABOUT = frozenset({"size", "dim", "numel", "__len__", "is_floating_point", "ndimension", "stride", "is_contiguous"})
_PROPERTIES = frozenset({"shape", "dtype", "device", "ndim", "layout", "is_sparse", "requires_grad", "is_cuda"})
_PRODUCTS = frozenset({"matmul", "__matmul__", "mm"})


class SparseTable(Tensor):
    """A table that most networks multiply by weights first: `product` does it, `dense` makes the whole table.

    Once it was made dense it stays so, because the network may have written into it.
    """

    product: Callable[[Tensor], Tensor]
    make: Callable[[], Tensor]
    made: Tensor | None

    @staticmethod
    def __new__(
        cls, shape: tuple[int, int], product: Callable[[Tensor], Tensor], make: Callable[[], Tensor]
    ) -> SparseTable:
        table: SparseTable = torch.Tensor._make_wrapper_subclass(cls, shape, dtype=torch.float32)
        table.product, table.make, table.made = product, make, None
        return table

    def dense(self) -> Tensor:
        if self.made is None:
            self.made = self.make()
        return self.made

    @classmethod
    def __torch_function__(cls, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        kwargs = kwargs or {}
        name = getattr(func, "__name__", "")
        table = args[0] if args and isinstance(args[0], SparseTable) else None
        if table is not None and table.made is None:
            about = getattr(func.__self__, "__name__", "") in _PROPERTIES if name == "__get__" else name in _ABOUT
            if about:
                with torch._C.DisableTorchFunctionSubclass():
                    return func(*args, **kwargs)
            if func is functional.dropout and not (args[2] if len(args) > 2 else kwargs.get("training", True)):
                return table
            if name in _PRODUCTS and len(args) == 2 and not kwargs and _fits(table, args[1], 0):
                return table.product(args[1])
            if func is functional.linear and len(args) > 1 and _fits(table, args[1], 1):
                found = table.product(args[1].T)
                bias = args[2] if len(args) > 2 else kwargs.get("bias")
                return found if bias is None else found + bias
        return cls.__torch_dispatch__(func, types, args, kwargs)

    @classmethod
    def __torch_dispatch__(cls, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        """Everything else, also from compiled code."""
        args, kwargs = _pytree.tree_map_only(SparseTable, SparseTable.dense, (args, kwargs or {}))
        return func(*args, **kwargs)


def _fits(table: SparseTable, weights: Any, side: int) -> bool:
    """Whether weights, with attributes on one side, are such as compiled code can multiply."""
    plain = type(weights) in (Tensor, torch.nn.Parameter) and weights.dim() == 2 and weights.device.type == "cpu"
    return bool(plain and weights.dtype is torch.float32 and weights.shape[side] == table.shape[1])
