"""Sums of matrix rows in vector registers: the innermost loops of voting, written as LLVM instructions.

Numba's loops keep a running sum in memory, because two arrays might overlap. As plain Numba loops these functions give
the same votes at 0.42 to 0.48 of the speed. (Best of four, two runs, processor time; GCN on Citeseer with noise on
attributes, and on attributes and edges.) `fastmath` would change votes. Here the sum is one wide vector value, which
LLVM maps to the registers of the processor. Additions follow the order of the list, without fused multiply-add, so the
result does not depend on the machine.
"""

# Numba infers the types of compiled functions from their arguments.
# mypy: disable-error-code="no-untyped-def"
from __future__ import annotations

from collections.abc import Callable
from typing import Any

from llvmlite import ir  # type: ignore[import-untyped]
from numba import types
from numba.extending import intrinsic

#: Hidden units are handled 64 at a time, classes 8 at a time.
WIDE, NARROW = 64, 8

_FLOAT, _INT, _WORD = ir.FloatType(), ir.IntType(32), ir.IntType(64)


def _data(context: Any, builder: Any, kind: Any, value: Any, element: Any) -> Any:
    """Pointer to the first element of a C-contiguous array argument."""
    return builder.bitcast(context.make_array(kind)(context, builder, value).data, element.as_pointer())


def _number(value: int) -> Any:
    return ir.Constant(_WORD, value)


def _loop(builder: Any, start: Any, proceed: Callable[[Any], Any], step: Callable[[Any, Any], Any], first: Any) -> Any:
    """`state = first; while proceed(at): at, state = step(at, state)`; returns the last state."""
    before = builder.block
    head, body, after = (builder.append_basic_block(name) for name in ("head", "body", "after"))
    builder.branch(head)
    builder.position_at_end(head)
    at, state = builder.phi(_WORD), builder.phi(first.type)
    at.add_incoming(start, before)
    state.add_incoming(first, before)
    builder.cbranch(proceed(at), body, after)
    builder.position_at_end(body)
    next_at, next_state = step(at, state)
    at.add_incoming(next_at, builder.block)
    state.add_incoming(next_state, builder.block)
    builder.branch(head)
    builder.position_at_end(after)
    return state


def _row(builder: Any, matrix: Any, index: Any, lanes: int) -> Any:
    """Row `index` of a matrix with `lanes` columns, as one vector."""
    place = builder.gep(matrix, [builder.mul(index, _number(lanes))])
    return builder.load(builder.bitcast(place, ir.VectorType(_FLOAT, lanes).as_pointer()), align=4)


def _make_add_rows(lanes: int) -> Any:
    @intrinsic
    def add_rows(typingctx, matrix, columns, start, stop, out):
        def generate(context, builder, signature, arguments):
            rows = _data(context, builder, signature.args[0], arguments[0], _FLOAT)
            listed = _data(context, builder, signature.args[1], arguments[1], _INT)
            target = _data(context, builder, signature.args[4], arguments[4], _FLOAT)
            vector = builder.bitcast(target, ir.VectorType(_FLOAT, lanes).as_pointer())

            def step(at, total):
                index = builder.sext(builder.load(builder.gep(listed, [at])), _WORD)
                return builder.add(at, _number(1)), builder.fadd(total, _row(builder, rows, index, lanes))

            total = _loop(
                builder,
                arguments[2],
                lambda at: builder.icmp_signed("<", at, arguments[3]),
                step,
                builder.load(vector, align=4),
            )
            builder.store(total, vector, align=4)
            return context.get_dummy_value()

        return types.void(matrix, columns, types.int64, types.int64, out), generate

    return add_rows


#: add_rows(matrix, columns, start, stop, out): out += sum of matrix[columns[i]] for start ≤ i < stop.
add_wide_rows = _make_add_rows(WIDE)
add_narrow_rows = _make_add_rows(NARROW)


@intrinsic
def add_masked_rows(typingctx, matrix, columns, start, bits, out):
    """out += sum of matrix[columns[start + i]] over the set bits i of a word, lowest first (64 columns)."""

    def generate(context, builder, signature, arguments):
        rows = _data(context, builder, signature.args[0], arguments[0], _FLOAT)
        listed = builder.gep(_data(context, builder, signature.args[1], arguments[1], _INT), [arguments[2]])
        target = _data(context, builder, signature.args[4], arguments[4], _FLOAT)
        vector = builder.bitcast(target, ir.VectorType(_FLOAT, WIDE).as_pointer())

        def step(left, total):
            lowest = builder.cttz(left, ir.Constant(ir.IntType(1), 1))
            index = builder.sext(builder.load(builder.gep(listed, [lowest])), _WORD)
            rest = builder.and_(left, builder.sub(left, _number(1)))
            return rest, builder.fadd(total, _row(builder, rows, index, WIDE))

        total = _loop(
            builder,
            arguments[3],
            lambda left: builder.icmp_unsigned("!=", left, _number(0)),
            step,
            builder.load(vector, align=4),
        )
        builder.store(total, vector, align=4)
        return context.get_dummy_value()

    return types.void(matrix, columns, types.int64, types.uint64, out), generate


@intrinsic
def weigh_rows(typingctx, matrix, weights, count, out):
    """out = sum of weights[i]·matrix[i] over i < count (8 columns; count is a multiple of 8).

    Eight running sums, one for each i modulo 8, hide the latency of the additions.
    """

    def generate(context, builder, signature, arguments):
        rows = _data(context, builder, signature.args[0], arguments[0], _FLOAT)
        factors = _data(context, builder, signature.args[1], arguments[1], _FLOAT)
        target = _data(context, builder, signature.args[3], arguments[3], _FLOAT)
        narrow = ir.VectorType(_FLOAT, NARROW)
        sums = ir.ArrayType(narrow, 8)

        def step(at, state):
            for k in range(8):
                index = builder.add(at, _number(k))
                factor = builder.load(builder.gep(factors, [index]))
                spread = builder.insert_element(ir.Constant(narrow, ir.Undefined), factor, ir.Constant(_INT, 0))
                spread = builder.shuffle_vector(spread, spread, ir.Constant(ir.VectorType(_INT, NARROW), [0] * NARROW))
                product = builder.fmul(spread, _row(builder, rows, index, NARROW))
                state = builder.insert_value(state, builder.fadd(builder.extract_value(state, k), product), k)
            return builder.add(at, _number(8)), state

        state = _loop(
            builder, _number(0), lambda at: builder.icmp_signed("<", at, arguments[2]), step, ir.Constant(sums, None)
        )
        parts = [builder.extract_value(state, k) for k in range(8)]
        while len(parts) > 1:
            parts = [builder.fadd(a, b) for a, b in zip(parts[::2], parts[1::2])]
        builder.store(parts[0], builder.bitcast(target, narrow.as_pointer()), align=4)
        return context.get_dummy_value()

    return types.void(matrix, weights, types.int64, out), generate


@intrinsic
def squared_distance(typingctx, matrix, first, second):
    """Σ (matrix[first] − matrix[second])² (64 columns), as a pairwise sum in a fixed order on every processor."""

    def generate(context, builder, signature, arguments):
        rows = _data(context, builder, signature.args[0], arguments[0], _FLOAT)
        apart = builder.fsub(_row(builder, rows, arguments[1], WIDE), _row(builder, rows, arguments[2], WIDE))
        total, lanes = builder.fmul(apart, apart), WIDE
        while lanes > 1:
            lanes //= 2
            halves = (
                builder.shuffle_vector(
                    total, total, ir.Constant(ir.VectorType(_INT, lanes), list(range(begin, begin + lanes)))
                )
                for begin in (0, lanes)
            )
            total = builder.fadd(*halves)
        return builder.extract_element(total, ir.Constant(_INT, 0))

    return types.float32(matrix, types.int64, types.int64), generate


@intrinsic
def add_scaled_row(typingctx, matrix, index, factor, out):
    """out += factor·matrix[index] (64 columns)."""

    def generate(context, builder, signature, arguments):
        rows = _data(context, builder, signature.args[0], arguments[0], _FLOAT)
        target = _data(context, builder, signature.args[3], arguments[3], _FLOAT)
        wide = ir.VectorType(_FLOAT, WIDE)
        spread = builder.insert_element(ir.Constant(wide, ir.Undefined), arguments[2], ir.Constant(_INT, 0))
        spread = builder.shuffle_vector(spread, spread, ir.Constant(ir.VectorType(_INT, WIDE), [0] * WIDE))
        vector = builder.bitcast(target, wide.as_pointer())
        product = builder.fmul(spread, _row(builder, rows, arguments[1], WIDE))
        builder.store(builder.fadd(builder.load(vector, align=4), product), vector, align=4)
        return context.get_dummy_value()

    return types.void(matrix, types.int64, types.float32, out), generate
