r"""Numbers in two parts, for matrices whose entries stay below two: 80 bits behind the point, by
plain arithmetic.

    x = high + low,     high a multiple of 2^-26,     |low| <= 2^-27

A product of two high parts is a multiple of 2^-52 and is added without any rounding while the sum
stays below two, as it does for rows and columns of length one (Cauchy and Schwarz). What is rounded
are the mixed products, which are 2^-27 times smaller. Nothing here depends on whether the machine
fuses products and sums.
"""

from __future__ import annotations

from ....codegen.native.language import Reals, native

__all__ = ["gram_excess", "normalise", "product_in_parts", "split_parts"]

#: Added and taken away again, this leaves a multiple of 2^-26.
ROUNDER = 1.5 * 2.0**26


@native
def normalise(count: int, high: Reals, low: Reals) -> None:
    """The same sums, with high parts that are multiples of 2^-26."""
    for i in range(count):
        value = high[i]
        rounded = (value + low[i] + ROUNDER) - ROUNDER
        low[i] += value - rounded
        high[i] = rounded


@native
def split_parts(count: int, values: Reals, high: Reals, low: Reals) -> None:
    """Numbers in two parts."""
    for i in range(count):
        high[i] = (values[i] + ROUNDER) - ROUNDER
        low[i] = values[i] - high[i]


@native
def product_in_parts(
    n: int, A: Reals, a: Reals, B: Reals, b: Reals, high: Reals, low: Reals
) -> None:
    """high + low <- (A + a)(B + b), for square matrices (n*n) in other places."""
    for i in range(n):
        row, rest = high + i * n, low + i * n
        for j in range(n):
            row[j], rest[j] = 0.0, 0.0
        for k in range(n):
            first, small = A[i * n + k], a[i * n + k]
            for j in range(n):
                row[j] += first * B[k * n + j]
                rest[j] += first * b[k * n + j] + small * (B[k * n + j] + b[k * n + j])
    normalise(n * n, high, low)


@native
def gram_excess(n: int, A: Reals, a: Reals, excess: Reals, low: Reals) -> float:
    """excess <- (A + a)^T (A + a) - 1; returns its largest entry. What the cancellation leaves is
    known to 2^-78.

    `low` is room for n numbers.
    """
    largest = 0.0
    for i in range(n):
        row = excess + i * n
        for j in range(n):
            row[j], low[j] = 0.0, 0.0
        row[i] = -1.0
        for k in range(n):
            first, small = A[k * n + i], a[k * n + i]
            for j in range(n):
                row[j] += first * A[k * n + j]
                low[j] += first * a[k * n + j] + small * (A[k * n + j] + a[k * n + j])
        for j in range(n):
            row[j] += low[j]
            largest = max(largest, abs(row[j]))
    return largest
