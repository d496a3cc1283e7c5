"""Small row-major matrices in native code: products, and the exponential less one."""

from __future__ import annotations

from math import sin, sqrt

from ....codegen.native.language import Reals, native

__all__ = ["add_product", "bracket", "exponential_less_one", "orthogonal_less_one", "transpose"]


@native
def add_product_3(factor: float, a: Reals, b: Reals, out: Reals) -> None:
    """The same for 3 x 3 matrices: with lengths that are known, loops become straight lines."""
    for i in range(3):
        for j in range(3):
            total = a[3 * i] * b[j] + a[3 * i + 1] * b[3 + j] + a[3 * i + 2] * b[6 + j]
            out[3 * i + j] += factor * total


@native
def add_product_4(factor: float, a: Reals, b: Reals, out: Reals) -> None:
    """The same for 4 x 4 matrices."""
    for i in range(4):
        for j in range(4):
            total = (
                a[4 * i] * b[j]
                + a[4 * i + 1] * b[4 + j]
                + a[4 * i + 2] * b[8 + j]
                + a[4 * i + 3] * b[12 + j]
            )
            out[4 * i + j] += factor * total


@native
def add_product(
    rows: int, inner: int, columns: int, factor: float, a: Reals, b: Reals, out: Reals
) -> None:
    """out <- out + factor * a b, with a (rows x inner) and b (inner x columns)."""
    if rows == 3 and inner == 3 and columns == 3:
        add_product_3(factor, a, b, out)
        return
    if rows == 4 and inner == 4 and columns == 4:
        add_product_4(factor, a, b, out)
        return
    for i in range(rows):
        for k in range(inner):
            value = factor * a[i * inner + k]
            for j in range(columns):
                out[i * columns + j] += value * b[k * columns + j]


@native
def transpose(n: int, a: Reals, out: Reals) -> None:
    """out <- the transpose of a."""
    for i in range(n):
        for j in range(n):
            out[i * n + j] = a[j * n + i]


@native
def orthogonal_less_one(n: int, d: Reals, work: Reals) -> None:
    """d <- the nearest d with (1 + d)^T (1 + d) = 1, for one that is so but for rounding; `work`
    has 2 n^2 places.

    With e = d + d^T + d^T d it is d - (1 + d) e / 2. Rounding of e is smaller than that of d by a
    factor |d|, and what is left of it has no preferred sign, so that it does not add up over many
    steps.
    """
    turned, rest = work, work + n * n
    transpose(n, d, turned)
    for i in range(n * n):
        rest[i] = d[i] + turned[i]
    add_product(n, n, n, 1.0, turned, d, rest)
    for i in range(n * n):
        turned[i] = d[i]
        d[i] -= 0.5 * rest[i]
    add_product(n, n, n, -0.5, turned, rest, d)


@native
def bracket(n: int, a: Reals, b: Reals, out: Reals) -> None:
    """out <- a b - b a."""
    for i in range(n * n):
        out[i] = 0.0
    add_product(n, n, n, 1.0, a, b, out)
    add_product(n, n, n, -1.0, b, a, out)


@native
def rotation_less_one(u: Reals, out: Reals) -> None:
    """out <- exp(u) - 1 for a skew 3 x 3 matrix, by Rodrigues' formula.

    exp(u) - 1 = (sin a / a) u + (2 sin^2(a/2) / a^2) u^2,   a^2 = u_12^2 + u_13^2 + u_23^2
    """
    x, y, z = u[7], u[2], u[3]
    square = x * x + y * y + z * z
    angle = sqrt(square)
    first, second = 1.0 - square / 6.0, 0.5 - square / 24.0
    if square > 1e-8:
        half = sin(0.5 * angle) / angle
        first, second = sin(angle) / angle, 2.0 * half * half
    out[0], out[4], out[8] = (
        -second * (y * y + z * z),
        -second * (x * x + z * z),
        -second * (x * x + y * y),
    )
    out[1], out[3] = second * x * y - first * z, second * x * y + first * z
    out[2], out[6] = second * x * z + first * y, second * x * z - first * y
    out[5], out[7] = second * y * z - first * x, second * y * z + first * x


@native
def exponential_less_one(n: int, skew: bool, u: Reals, out: Reals, work: Reals) -> None:
    """out <- exp(u) - 1; in closed form for rotations in space, else by Taylor's series, scaling
    and squaring.

    Working with exp(u) - 1 keeps what a short step adds to the last digit. `work` has 3 n^2 places.
    """
    if n == 3 and skew:
        rotation_less_one(u, out)
        return
    size = 0.0
    for i in range(n):
        total = 0.0
        for j in range(n):
            total += abs(u[i * n + j])
        size = max(size, total)
    squarings, scale = 0, 1.0
    while size * scale > 0.25 and squarings < 60:
        squarings += 1
        scale *= 0.5
    term, following, small = work, work + n * n, work + 2 * n * n
    for i in range(n * n):
        small[i] = scale * u[i]
        term[i] = small[i]
        out[i] = small[i]
    reach = size * scale
    order = 2
    while reach > 1e-18 * size * scale and order < 30:
        for i in range(n * n):
            following[i] = 0.0
        add_product(n, n, n, 1.0 / order, term, small, following)
        for i in range(n * n):
            term[i] = following[i]
            out[i] += following[i]
        reach *= size * scale / order
        order += 1
    for _ in range(squarings):
        for i in range(n * n):
            term[i] = out[i]
            out[i] *= 2.0
        add_product(n, n, n, 1.0, term, term, out)
