r"""Where two solids are nearest: pairs of points, a normal from the second to the first, and radii.

Each pair of kinds has its formula. A contact is written as two points x1, x2 that are fixed on the
bodies, with radii r1, r2 around them, so that its gap can be followed:

    between balls (also on the axes of capsules)     |x1 - x2| - r1 - r2,
    at a face or an edge with normal n               n . (x1 - x2) - r1 - r2.

A plane fills the half-space z <= 0 of its frame, capsules, cylinders and rims lie along z. Boxes
meet by separating axes: on the axis of least penetration the face that looks at the other box is
clipped against it, or two edges cross (S. Gottschalk, M. Lin, D. Manocha, SIGGRAPH 1996).
"""

from __future__ import annotations

from math import sqrt

from ....codegen.native.language import Reals, call_program, native, rare
from ...contact_fields import ShapeFields
from ...run_fields import FixedFields

__all__ = [
    "BALLS",
    "BOX",
    "CAPSULE",
    "CYLINDER",
    "FACE",
    "HULL",
    "PLANE",
    "RECORD",
    "RIM",
    "SPHERE",
    "asks_coal",
    "meet_solids",
]

#: Kinds of solids; sizes: radius; half length; half sides; ring and tube radius.
SPHERE, CAPSULE, BOX, CYLINDER, RIM, HULL, PLANE = range(7)
#: What measures a gap: the distance of two balls; a normal on the first or on the second body.
BALLS, FACE_OF_FIRST, FACE = range(3)
#: An edge against an edge must be better than a face by this part of the sizes.
EDGE_MARGIN = 1e-4
#: Edges of faces coincide that are this part of their length apart.
COINCIDE = 1e-6
#: Numbers of a contact that was found: x1, x2, n, r1, r2; its marks are measure and feature.
RECORD = 11
#: The most contacts of a pair of solids.
MOST_POINTS = 32


@native
def put_contact(
    s: ShapeFields,
    count: int,
    measure: int,
    feature: int,
    first: Reals,
    second: Reals,
    normal: Reals,
    r1: float,
    r2: float,
) -> int:
    """Add a contact to those of the pair; returns how many there are."""
    if count >= MOST_POINTS:
        s.overflowed = 1
        return count
    row, marks = s.found + RECORD * count, s.marks + 2 * count
    marks[0], marks[1] = measure, feature
    for i in range(3):
        row[i], row[3 + i], row[6 + i] = first[i], second[i], normal[i]
    row[9], row[10] = r1, r2
    return count + 1


@native
def dot_product(a: Reals, b: Reals) -> float:
    """a . b."""
    return a[0] * b[0] + a[1] * b[1] + a[2] * b[2]


@native
def axis_of(axes: Reals, k: int, out: Reals) -> None:
    """out <- axis k."""
    out[0], out[1], out[2] = axes[k], axes[3 + k], axes[6 + k]


@native
def along_axis(frame: Reals, k: int, distance: float, out: Reals) -> None:
    """out <- the middle, moved along an axis."""
    for i in range(3):
        out[i] = frame[9 + i] + distance * frame[3 * i + k]


@rare
def point_on_plane(
    s: ShapeFields, count: int, feature: int, point: Reals, r: float, plane: Reals, margin: float
) -> int:
    """A ball about a point, against a plane."""
    n, foot = s.polygon + 60, s.polygon + 63
    axis_of(plane, 2, n)
    gap = (
        n[0] * (point[0] - plane[9]) + n[1] * (point[1] - plane[10]) + n[2] * (point[2] - plane[11])
    )
    if gap - r > margin:
        return count
    for i in range(3):
        foot[i] = point[i] - gap * n[i]
    return put_contact(s, count, FACE, feature, point, foot, n, r, 0.0)


@rare
def ring_on_plane(
    s: ShapeFields,
    count: int,
    feature: int,
    frame: Reals,
    height: float,
    ring: float,
    tube: float,
    plane: Reals,
    margin: float,
) -> int:
    """A circle about z, thickened by a tube: its lowest point, and two more where it lies flat."""
    n, point = s.polygon + 66, s.polygon + 75
    axis_of(plane, 2, n)
    a = -(n[0] * frame[0] + n[1] * frame[3] + n[2] * frame[6])
    b = -(n[0] * frame[1] + n[1] * frame[4] + n[2] * frame[7])
    length = sqrt(a * a + b * b)
    if length > 1e-12:
        a, b = a / length, b / length
    else:
        a, b = 1.0, 0.0
    for k in range(3):
        turned, across = 1.0, 0.0
        if k > 0:
            turned, across = -0.5, 0.8660254037844386 if k == 1 else -0.8660254037844386
        u, v = turned * a - across * b, across * a + turned * b
        for i in range(3):
            point[i] = frame[9 + i] + height * frame[3 * i + 2]
            point[i] += ring * (u * frame[3 * i] + v * frame[3 * i + 1])
        count = point_on_plane(s, count, feature + k, point, tube, plane, margin)
    return count


@rare
def on_plane(
    s: ShapeFields, kind: int, solid: int, frame: Reals, size: Reals, plane: Reals, margin: float
) -> int:
    """Any solid against a plane."""
    point, count = s.polygon + 54, 0
    if kind == SPHERE:
        return point_on_plane(s, 0, 0, frame + 9, size[0], plane, margin)
    if kind == CAPSULE:
        for k in range(2):
            along_axis(frame, 2, size[1] if k == 0 else -size[1], point)
            count = point_on_plane(s, count, k, point, size[0], plane, margin)
    elif kind == BOX:
        for k in range(8):
            for i in range(3):
                point[i] = frame[9 + i]
                point[i] += (size[0] if k % 2 == 0 else -size[0]) * frame[3 * i]
                point[i] += (size[1] if k // 2 % 2 == 0 else -size[1]) * frame[3 * i + 1]
                point[i] += (size[2] if k // 4 == 0 else -size[2]) * frame[3 * i + 2]
            count = point_on_plane(s, count, k, point, 0.0, plane, margin)
    elif kind == HULL:
        for k in range(s.point_first[solid], s.point_first[solid + 1]):
            local = s.points + 3 * k
            for i in range(3):
                point[i] = frame[9 + i]
                for j in range(3):
                    point[i] += frame[3 * i + j] * local[j]
            number = k - s.point_first[solid]
            count = point_on_plane(s, count, number, point, 0.0, plane, margin)
    elif kind == CYLINDER:
        count = ring_on_plane(s, 0, 0, frame, size[1], size[0], 0.0, plane, margin)
        count = ring_on_plane(s, count, 3, frame, -size[1], size[0], 0.0, plane, margin)
    elif kind == RIM:
        count = ring_on_plane(s, 0, 0, frame, 0.0, size[0], size[1], plane, margin)
    return count


@rare
def two_balls(
    s: ShapeFields,
    count: int,
    feature: int,
    first: Reals,
    r1: float,
    second: Reals,
    r2: float,
    margin: float,
) -> int:
    """Two balls."""
    n = s.polygon + 60
    for i in range(3):
        n[i] = first[i] - second[i]
    distance = sqrt(dot_product(n, n))
    if distance - r1 - r2 > margin:
        return count
    if distance > 1e-300:
        for i in range(3):
            n[i] /= distance
    else:
        n[0], n[1], n[2] = 0.0, 0.0, 1.0
    return put_contact(s, count, BALLS, feature, first, second, n, r1, r2)


@rare
def two_segments(
    s: ShapeFields, f1: Reals, a: float, r1: float, f2: Reals, b: float, r2: float, margin: float
) -> int:
    """Capsules, or balls where the half length is zero: the nearest points of their axes.

    Where the axes are parallel the ends that lie beside the other axis are contacts as well.
    """
    d1, d2, apart = s.polygon + 66, s.polygon + 69, s.polygon + 72
    x1, x2 = s.polygon + 75, s.polygon + 78
    axis_of(f1, 2, d1)
    axis_of(f2, 2, d2)
    for i in range(3):
        apart[i] = f1[9 + i] - f2[9 + i]
    c, e, g = dot_product(d1, d2), dot_product(d1, apart), dot_product(d2, apart)
    determinant = 1.0 - c * c
    u, v = 0.0, 0.0
    if determinant > 1e-12 and a > 0.0 and b > 0.0:
        u = min(max((c * g - e) / determinant, -a), a)
    v = min(max(g + c * u, -b), b)
    u = min(max(c * v - e, -a), a)
    v = min(max(g + c * u, -b), b)
    along_axis(f1, 2, u, x1)
    along_axis(f2, 2, v, x2)
    count = two_balls(s, 0, 0, x1, r1, x2, r2, margin)
    if determinant > 1e-4 or a == 0.0 or b == 0.0:
        return count
    for k in range(2):
        end = a if k == 0 else -a
        foot = min(max(g + c * end, -b), b)
        if abs(end - u) > 1e-3 * a and abs(g + c * end) <= b:
            along_axis(f1, 2, end, x1)
            along_axis(f2, 2, foot, x2)
            count = two_balls(s, count, 1 + k, x1, r1, x2, r2, margin)
        end = b if k == 0 else -b
        foot = min(max(c * end - e, -a), a)
        if abs(end - v) > 1e-3 * b and abs(c * end - e) <= a:
            along_axis(f1, 2, foot, x1)
            along_axis(f2, 2, end, x2)
            count = two_balls(s, count, 3 + k, x1, r1, x2, r2, margin)
    return count


@rare
def ball_on_box(
    s: ShapeFields,
    count: int,
    feature: int,
    middle: Reals,
    r: float,
    frame: Reals,
    size: Reals,
    margin: float,
) -> int:
    """A ball against a box: outside the nearest point, inside the nearest face."""
    local, near, n = s.polygon + 66, s.polygon + 69, s.polygon + 72
    outside, best, face = 0.0, -1e300, 0
    for k in range(3):
        local[k] = 0.0
        for i in range(3):
            local[k] += frame[3 * i + k] * (middle[i] - frame[9 + i])
        near[k] = min(max(local[k], -size[k]), size[k])
        outside += (local[k] - near[k]) ** 2
        if abs(local[k]) - size[k] > best:
            best, face = abs(local[k]) - size[k], k
    distance = sqrt(outside)
    if distance - r > margin:
        return count
    is_outside = distance > 1e-9 * (size[0] + size[1] + size[2])
    if not is_outside:
        near[face] = size[face] if local[face] > 0.0 else -size[face]
    foot = s.polygon + 75
    for i in range(3):
        foot[i], n[i] = frame[9 + i], 0.0
        for k in range(3):
            foot[i] += frame[3 * i + k] * near[k]
            n[i] += frame[3 * i + k] * (local[k] - near[k])
    if not is_outside:
        for i in range(3):
            n[i] = frame[3 * i + face] * (1.0 if local[face] > 0.0 else -1.0)
        return put_contact(s, count, FACE, feature, middle, foot, n, r, 0.0)
    length = sqrt(dot_product(n, n))
    for i in range(3):
        n[i] /= length
    # Above a face the foot slides along it; at an edge or a corner it stays.
    is_face = best > distance * (1.0 - 1e-9)
    return put_contact(s, count, FACE if is_face else BALLS, feature, middle, foot, n, r, 0.0)


@native
def box_extent(frame: Reals, size: Reals, axis: Reals) -> float:
    """Half the extent of a box along a unit axis."""
    total = 0.0
    for k in range(3):
        total += size[k] * abs(frame[k] * axis[0] + frame[3 + k] * axis[1] + frame[6 + k] * axis[2])
    return total


@rare
def clip_polygon(polygon: Reals, count: int, across: int, limit: float, spare: Reals) -> int:
    """Cut a polygon (3 numbers a point) at -limit and limit of one number; returns its points.

    Edges that coincide are not cut, so that boxes on each other keep their corners as contacts.
    """
    reach = limit * (1.0 + COINCIDE)
    for way in range(2):
        sign = 1.0 if way == 0 else -1.0
        kept = 0
        for i in range(count):
            j = i + 1 if i + 1 < count else 0
            here, there = polygon + 3 * i, polygon + 3 * j
            a, b = reach - sign * here[across], reach - sign * there[across]
            if a >= 0.0:
                for k in range(3):
                    spare[3 * kept + k] = here[k]
                kept += 1
            if (a >= 0.0) != (b >= 0.0):
                share = a / (a - b)
                for k in range(3):
                    spare[3 * kept + k] = here[k] + share * (there[k] - here[k])
                kept += 1
        for i in range(3 * kept):
            polygon[i] = spare[i]
        count = kept
    return count


@rare
def face_contacts(
    s: ShapeFields,
    base: Reals,
    base_size: Reals,
    face: int,
    n: Reals,
    other: Reals,
    other_size: Reals,
    measure: int,
    margin: float,
) -> int:
    """The face of `other` that looks against n, clipped against a face of `base` with normal n."""
    least, incident = 1.0, 0
    sign = 1.0
    for k in range(3):
        value = n[0] * other[k] + n[1] * other[3 + k] + n[2] * other[6 + k]
        if -abs(value) < least:
            least, incident = -abs(value), k
            sign = -1.0 if value > 0.0 else 1.0
    u, v = (face + 1) % 3, (face + 2) % 3
    p, q = (incident + 1) % 3, (incident + 2) % 3
    polygon, spare = s.polygon, s.polygon + 27
    for k in range(4):
        a = other_size[p] if k == 0 or k == 3 else -other_size[p]
        b = other_size[q] if k < 2 else -other_size[q]
        x = polygon + 3 * k
        x[0], x[1], x[2] = 0.0, 0.0, 0.0
        for i in range(3):
            place = other[9 + i] - base[9 + i]
            place += sign * other_size[incident] * other[3 * i + incident]
            place += a * other[3 * i + p] + b * other[3 * i + q]
            x[0] += base[3 * i + u] * place
            x[1] += base[3 * i + v] * place
            x[2] += n[i] * place
    count = clip_polygon(polygon, 4, 0, base_size[u], spare)
    count = clip_polygon(polygon, count, 1, base_size[v], spare)
    found, tip, foot, back = 0, s.polygon + 60, s.polygon + 63, s.polygon + 66
    for k in range(count):
        x = polygon + 3 * k
        gap = x[2] - base_size[face]
        if gap > margin:
            continue
        for i in range(3):
            foot[i] = base[9 + i] + x[0] * base[3 * i + u] + x[1] * base[3 * i + v]
            foot[i] += base_size[face] * n[i]
            tip[i] = foot[i] + gap * n[i]
            back[i] = -n[i]
        if measure == FACE:
            found = put_contact(s, found, FACE, k, tip, foot, n, 0.0, 0.0)
        else:
            found = put_contact(s, found, FACE_OF_FIRST, 16 + k, foot, tip, back, 0.0, 0.0)
    return found


@rare
def edge_contact(
    s: ShapeFields, f1: Reals, z1: Reals, i1: int, f2: Reals, z2: Reals, i2: int, n: Reals
) -> int:
    """The nearest points of two crossing edges; n leads from the second box to the first."""
    x1, x2, apart = s.polygon + 60, s.polygon + 63, s.polygon + 66
    d1, d2 = s.polygon + 69, s.polygon + 72
    axis_of(f1, i1, d1)
    axis_of(f2, i2, d2)
    for i in range(3):
        x1[i], x2[i] = f1[9 + i], f2[9 + i]
    for k in range(3):
        along1 = f1[k] * n[0] + f1[3 + k] * n[1] + f1[6 + k] * n[2]
        along2 = f2[k] * n[0] + f2[3 + k] * n[1] + f2[6 + k] * n[2]
        for i in range(3):
            if k != i1:
                x1[i] -= (z1[k] if along1 > 0.0 else -z1[k]) * f1[3 * i + k]
            if k != i2:
                x2[i] += (z2[k] if along2 > 0.0 else -z2[k]) * f2[3 * i + k]
    for i in range(3):
        apart[i] = x1[i] - x2[i]
    c, e, g = dot_product(d1, d2), dot_product(d1, apart), dot_product(d2, apart)
    u = min(max((c * g - e) / (1.0 - c * c), -z1[i1]), z1[i1])
    v = min(max(g + c * u, -z2[i2]), z2[i2])
    for i in range(3):
        x1[i] += u * d1[i]
        x2[i] += v * d2[i]
    return put_contact(s, 0, FACE, 32 + 3 * i1 + i2, x1, x2, n, 0.0, 0.0)


@rare
def two_boxes(s: ShapeFields, f1: Reals, z1: Reals, f2: Reals, z2: Reals, margin: float) -> int:
    """Two boxes: a face clipped against a face, or an edge across an edge."""
    apart, axis, normal = s.polygon + 75, s.polygon + 78, s.polygon + 81
    for i in range(3):
        apart[i] = f1[9 + i] - f2[9 + i]
    best, which, first, second = -1e300, 0, 0, 0
    for k in range(15):
        i1, i2 = (k - 6) // 3 if k > 5 else 0, (k - 6) % 3 if k > 5 else 0
        if k < 3:
            axis_of(f2, k, axis)
        elif k < 6:
            axis_of(f1, k - 3, axis)
        else:
            axis[0] = f1[3 + i1] * f2[6 + i2] - f1[6 + i1] * f2[3 + i2]
            axis[1] = f1[6 + i1] * f2[i2] - f1[i1] * f2[6 + i2]
            axis[2] = f1[i1] * f2[3 + i2] - f1[3 + i1] * f2[i2]
            length = sqrt(dot_product(axis, axis))
            if length < 1e-6:
                continue
            for i in range(3):
                axis[i] /= length
        distance = dot_product(apart, axis)
        gap = abs(distance) - box_extent(f1, z1, axis) - box_extent(f2, z2, axis)
        if gap > margin:
            return 0
        better = best
        if k > 2:
            better += EDGE_MARGIN * (z1[0] + z1[1] + z1[2])
        if gap > better:
            best, which, first, second = gap, k, i1, i2
            for i in range(3):
                normal[i] = axis[i] if distance > 0.0 else -axis[i]
    if which < 3:
        return face_contacts(s, f2, z2, which, normal, f1, z1, FACE, margin)
    if which < 6:
        for i in range(3):
            normal[i] = -normal[i]
        return face_contacts(s, f1, z1, which - 3, normal, f2, z2, FACE_OF_FIRST, margin)
    return edge_contact(s, f1, z1, first, f2, z2, second, normal)


@native
def asks_coal(first: int, second: int) -> bool:
    """Whether a pair of kinds, first <= second, has no formula: `coal_pairs` answers for these."""
    return second == CYLINDER or second == HULL or (first == CAPSULE and second == BOX)


@rare
def meet_solids(context: FixedFields, a: int, b: int, margin: float) -> int:
    """The contacts of solids a and b with gaps up to a margin, in `found`; kinds a <= b.

    Returns how many there are, -1 where coal failed.
    """
    s = context.shapes
    f1, f2, z1, z2 = s.frames + 12 * a, s.frames + 12 * b, s.sizes + 3 * a, s.sizes + 3 * b
    first, second = s.kinds[a], s.kinds[b]
    if second == PLANE:
        return on_plane(s, first, a, f1, z1, f2, margin)
    if second == BOX and first == BOX:
        return two_boxes(s, f1, z1, f2, z2, margin)
    if second == BOX and first == SPHERE:
        return ball_on_box(s, 0, 0, f1 + 9, z1[0], f2, z2, margin)
    if asks_coal(first, second):
        s.pair, s.pair_margin = a * s.n_solids + b, margin
        call_program(s.pair_function, f1, f2, z1, z2, s.found, s.found)
        return s.n_found
    return two_segments(s, f1, z1[1], z1[0], f2, z2[1], z2[0], margin)
