"""Native code for a dense positive definite solve of a fixed size, for systems too large to unroll.

The array holds the upper triangle of [G f] with rows of length `row_length(n)`, padded to whole
vectors. Tiles of four rows are updated by all rows above them and then factored, so that U^T U = G
appears in place and the column of f turns into U^-T f on the way; back substitution gives z.
"""

from __future__ import annotations

__all__ = ["WIDTH", "dense_solve_text", "padded", "row_length"]

#: Rows and columns of a tile: one vector register of doubles on most processors.
WIDTH = 4
V = "<4 x double>"


def padded(n: int) -> int:
    """n rounded up to whole tiles."""
    return (n + WIDTH - 1) // WIDTH * WIDTH


def row_length(n: int) -> int:
    """The length of a row of [G f]: the padded matrix and one more tile for f."""
    return padded(n) + WIDTH


def dense_solve_text(n: int) -> str:
    """LLVM assembly of ``double @dense_solve(ptr array, ptr z)``: the least relative pivot.

    The function calls nothing but intrinsics. Pivots that are not positive give a NaN, and so does
    anything after them.
    """
    rows, stride = padded(n), row_length(n)
    arguments = "ptr noalias nocapture %array, ptr noalias nocapture %z"
    return f"""
declare {V} @llvm.fma.v4f64({V}, {V}, {V})
declare double @llvm.vector.reduce.fadd.v4f64(double, {V})

define double @dense_solve({arguments}) noinline nounwind {{
{_factor_loop(rows, stride)}
{_back_substitution(rows, stride)}
copy:
  %c = phi i64 [ 0, %back.done ], [ %c.next, %copy ]
  %c.from = getelementptr double, ptr %scale, i64 %c
  %c.value = load double, ptr %c.from
  %c.to = getelementptr double, ptr %z, i64 %c
  store double %c.value, ptr %c.to
  %c.next = add nuw nsw i64 %c, 1
  %c.more = icmp ult i64 %c.next, {n}
  br i1 %c.more, label %copy, label %end
end:
  ret double %least.next
}}
"""


def _factor_loop(rows: int, stride: int) -> str:
    """Keep the diagonal in %scale, then update and factor panel after panel."""
    return f"""\
entry:
  %inverse = alloca [{rows} x double], align 32
  %scale = alloca [{rows} x double], align 32
  br label %remember
remember:
  %m = phi i64 [ 0, %entry ], [ %m.next, %remember ]
  %m.at = mul i64 %m, {stride + 1}
  %m.from = getelementptr double, ptr %array, i64 %m.at
  %m.value = load double, ptr %m.from
  %m.to = getelementptr double, ptr %scale, i64 %m
  store double %m.value, ptr %m.to
  %m.next = add nuw nsw i64 %m, 1
  %m.more = icmp ult i64 %m.next, {rows}
  br i1 %m.more, label %remember, label %panel
panel:
  %i = phi i64 [ 0, %remember ], [ %i.next, %panel.done ]
  %least = phi double [ 1.0, %remember ], [ %least.next, %panel.done ]
{_row_pointers(stride)}
  %no.update = icmp eq i64 %i, 0
  br i1 %no.update, label %factor, label %tile
tile:
  %j = phi i64 [ %i, %panel ], [ %j.next, %tile.done ]
{_tile_loads()}
  br label %update
update:
  %k = phi i64 [ 0, %tile ], [ %k.next, %update ]
{_tile_phis()}
  %k.at = mul i64 %k, {stride}
  %k.row = getelementptr double, ptr %array, i64 %k.at
  %k.pieces = getelementptr double, ptr %k.row, i64 %j
  %k.vector = load {V}, ptr %k.pieces, align 8
  %k.minus = fneg {V} %k.vector
  %k.first = getelementptr double, ptr %k.row, i64 %i
{_tile_updates()}
  %k.next = add nuw nsw i64 %k, 1
  %k.more = icmp ult i64 %k.next, %i
  br i1 %k.more, label %update, label %tile.done
tile.done:
{_tile_stores()}
  %j.next = add nuw nsw i64 %j, 4
  %j.more = icmp ult i64 %j.next, {stride}
  br i1 %j.more, label %tile, label %factor
factor:
{_panel_factor(stride)}
panel.done:
  %i.next = add nuw nsw i64 %i, 4
  %i.more = icmp ult i64 %i.next, {rows}
  br i1 %i.more, label %panel, label %clear"""


def _back_substitution(rows: int, stride: int) -> str:
    """Solve U z = U^-T f from the last row on, with z in %scale."""
    return f"""\
clear:
  %e = phi i64 [ 0, %panel.done ], [ %e.next, %clear ]
  %e.at = getelementptr double, ptr %scale, i64 %e
  store {V} zeroinitializer, ptr %e.at, align 8
  %e.next = add nuw nsw i64 %e, 4
  %e.more = icmp ult i64 %e.next, {rows}
  br i1 %e.more, label %clear, label %back
back:
  %b = phi i64 [ {rows - 1}, %clear ], [ %b.next, %back.done ]
  %b.at = mul i64 %b, {stride}
  %b.row = getelementptr double, ptr %array, i64 %b.at
  %b.right.at = getelementptr double, ptr %b.row, i64 {rows}
  %b.right = load double, ptr %b.right.at
  %b.tile = and i64 %b, -4
  %b.z = getelementptr double, ptr %scale, i64 %b
  br label %dot
dot:
  %d = phi i64 [ %b.tile, %back ], [ %d.next, %dot ]
  %d.sum = phi {V} [ zeroinitializer, %back ], [ %d.total, %dot ]
  %d.left.at = getelementptr double, ptr %b.row, i64 %d
  %d.left = load {V}, ptr %d.left.at, align 8
  %d.right.at = getelementptr double, ptr %scale, i64 %d
  %d.right = load {V}, ptr %d.right.at, align 8
  %d.known = fcmp une {V} %d.right, zeroinitializer
  %d.used = select <4 x i1> %d.known, {V} %d.left, {V} zeroinitializer
{_fma("%d.total", "%d.used", "%d.right", "%d.sum")}
  %d.next = add nuw nsw i64 %d, 4
  %d.more = icmp ult i64 %d.next, {rows}
  br i1 %d.more, label %dot, label %back.done
back.done:
  %b.sum = call reassoc double @llvm.vector.reduce.fadd.v4f64(double 0.0, {V} %d.total)
  %b.rest = fsub double %b.right, %b.sum
  %b.inverse.at = getelementptr double, ptr %inverse, i64 %b
  %b.inverse = load double, ptr %b.inverse.at
  %b.value = fmul double %b.rest, %b.inverse
  store double %b.value, ptr %b.z
  %b.next = sub i64 %b, 1
  %b.more = icmp sge i64 %b.next, 0
  br i1 %b.more, label %back, label %copy"""


def _fma(result: str, left: str, right: str, addend: str) -> str:
    return f"  {result} = call {V} @llvm.fma.v4f64({V} {left}, {V} {right}, {V} {addend})"


def _spread(name: str, value: str) -> list[str]:
    """Fill the vector {name}.all with a double."""
    return [
        f"  {name}.one = insertelement {V} poison, double {value}, i64 0",
        f"  {name}.all = shufflevector {V} {name}.one, {V} poison, <4 x i32> zeroinitializer",
    ]


def _row_pointers(stride: int) -> str:
    return "\n".join(
        f"  %row{r}.i = add nuw nsw i64 %i, {r}\n  %row{r}.at = mul i64 %row{r}.i, {stride}\n"
        f"  %row{r} = getelementptr double, ptr %array, i64 %row{r}.at"
        for r in range(WIDTH)
    )


def _tile_loads() -> str:
    return "\n".join(
        f"  %tile{r}.at = getelementptr double, ptr %row{r}, i64 %j\n"
        f"  %tile{r} = load {V}, ptr %tile{r}.at, align 8"
        for r in range(WIDTH)
    )


def _tile_phis() -> str:
    return "\n".join(
        f"  %sum{r} = phi {V} [ %tile{r}, %tile ], [ %sum{r}.next, %update ]" for r in range(WIDTH)
    )


def _tile_updates() -> str:
    lines = []
    for r in range(WIDTH):
        lines += [
            f"  %u{r}.at = getelementptr double, ptr %k.first, i64 {r}",
            f"  %u{r} = load double, ptr %u{r}.at",
            *_spread(f"%u{r}", f"%u{r}"),
            _fma(f"%sum{r}.next", f"%u{r}.all", "%k.minus", f"%sum{r}"),
        ]
    return "\n".join(lines)


def _tile_stores() -> str:
    return "\n".join(f"  store {V} %sum{r}.next, ptr %tile{r}.at, align 8" for r in range(WIDTH))


def _panel_factor(stride: int) -> str:
    """Factor the four rows of a panel: the triangle in registers, then the columns to the right."""
    lines, names = _panel_triangle()
    lines += ["sweep:", "  %q = phi i64 [ %i, %factor ], [ %q.next, %sweep ]"]
    for r in range(WIDTH):
        lines.append(f"  %w{r}.at = getelementptr double, ptr %row{r}, i64 %q")
        lines.append(f"  %w{r}.0 = load {V}, ptr %w{r}.at, align 8")
    current = [f"%w{r}.0" for r in range(WIDTH)]
    for r in range(WIDTH):
        lines += [
            *_spread(f"%i{r}", f"%inv{r}"),
            f"  %w{r}.u = fmul {V} {current[r]}, %i{r}.all",
            f"  store {V} %w{r}.u, ptr %w{r}.at, align 8",
        ]
        for s in range(r + 1, WIDTH):
            lines += [
                f"  %x{r}{s}.n = fneg double {names[r, s]}",
                *_spread(f"%x{r}{s}", f"%x{r}{s}.n"),
                _fma(f"%w{s}.{r + 1}", f"%x{r}{s}.all", f"%w{r}.u", current[s]),
            ]
            current[s] = f"%w{s}.{r + 1}"
    lines += [
        "  %q.next = add nuw nsw i64 %q, 4",
        f"  %q.more = icmp ult i64 %q.next, {stride}",
        "  br i1 %q.more, label %sweep, label %panel.done",
    ]
    return "\n".join(lines)


def _panel_triangle() -> tuple[list[str], dict[tuple[int, int], str]]:
    """Factor the triangle of a panel: the lines, and the names of its entries."""
    lines: list[str] = []
    names: dict[tuple[int, int], str] = {}
    for r in range(WIDTH):
        for s in range(r, WIDTH):
            name = names[r, s] = f"%p{r}{s}"
            lines.append(f"  {name}.o = add nuw nsw i64 %i, {s}")
            lines.append(f"  {name}.at = getelementptr double, ptr %row{r}, i64 {name}.o")
            lines.append(f"  {name} = load double, ptr {name}.at")
    least = "%least"
    for r in range(WIDTH):
        pivot = names[r, r]
        lines += [
            f"  %s{r}.at = getelementptr double, ptr %scale, i64 %row{r}.i",
            f"  %s{r} = load double, ptr %s{r}.at",
            f"  %ratio{r} = fdiv double {pivot}, %s{r}",
            f"  %least{r} = call double @llvm.minnum.f64(double {least}, double %ratio{r})",
            f"  %root{r} = call double @llvm.sqrt.f64(double {pivot})",
            f"  %inv{r} = fdiv double 1.0, %root{r}",
            f"  %inv{r}.at = getelementptr double, ptr %inverse, i64 %row{r}.i",
            f"  store double %inv{r}, ptr %inv{r}.at",
        ]
        least = f"%least{r}"
        for s in range(r + 1, WIDTH):
            scaled = f"%f{r}{s}"
            lines.append(f"  {scaled} = fmul double {names[r, s]}, %inv{r}")
            names[r, s] = scaled
        for s in range(r + 1, WIDTH):
            for c in range(s, WIDTH):
                fresh = f"%g{r}{s}{c}"
                lines.append(f"  {fresh}.m = fmul contract double {names[r, s]}, {names[r, c]}")
                lines.append(f"  {fresh} = fsub contract double {names[s, c]}, {fresh}.m")
                names[s, c] = fresh
    return [*lines, f"  %least.next = fadd double {least}, -0.0", "  br label %sweep"], names
