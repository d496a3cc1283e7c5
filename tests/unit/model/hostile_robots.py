"""Hostile URDF and MJCF files: faults put into sound files at places that a seed chooses."""

from __future__ import annotations

import random
import re
from collections.abc import Callable, Iterator

URDF = """<?xml version="1.0"?>
<robot name="leg">
  <link name="world"/>
  <link name="hip"><inertial><origin xyz="0 0 0.1" rpy="0 0.1 0"/><mass value="2.5"/>
    <inertia ixx="0.02" iyy="0.02" izz="0.01" ixy="0" ixz="0" iyz="0"/></inertial></link>
  <link name="thigh"><inertial><origin xyz="0 0 -0.2"/><mass value="1.5"/>
    <inertia ixx="0.02" iyy="0.02" izz="0.01" ixy="0" ixz="0" iyz="0"/></inertial></link>
  <link name="shank"><inertial><origin xyz="0 0 -0.2"/><mass value="0.5"/>
    <inertia ixx="0.02" iyy="0.02" izz="0.01" ixy="0" ixz="0" iyz="0"/></inertial></link>
  <joint name="lift" type="prismatic"><parent link="world"/><child link="hip"/>
    <origin xyz="0 0 1" rpy="0 0 0.2"/><axis xyz="0 0 1"/><limit lower="-1" upper="1"/></joint>
  <joint name="swing" type="revolute"><parent link="hip"/><child link="thigh"/>
    <axis xyz="0 1 0"/><limit lower="-1.5" upper="1.5"/><dynamics damping="0.1"/></joint>
  <joint name="knee" type="continuous"><parent link="thigh"/><child link="shank"/>
    <origin xyz="0 0 -0.4"/><axis xyz="0 1 0"/>
    <mimic joint="swing" multiplier="2" offset="0.1"/></joint>
</robot>
"""
MJCF = """<mujoco model="crane">
  <compiler angle="radian"/>
  <option gravity="0 0 -9.81"/>
  <default><joint damping="0.1"/><default class="thin"><geom size="0.02"/></default></default>
  <worldbody>
    <body name="cart" pos="0 0 1">
      <joint name="x" type="slide" axis="1 0 0" range="-2 2" armature="0.1"/>
      <geom type="box" size="0.2 0.1 0.1" mass="3"/>
      <body name="arm" quat="1 0 0.1 0">
        <joint name="a" type="hinge" axis="0 1 0" stiffness="2" springref="0.1"/>
        <geom class="thin" type="capsule" fromto="0 0 0 0 0 -0.5"/>
        <body name="load" pos="0 0 -0.5"><joint name="b" type="ball"/>
          <inertial pos="0 0 -0.1" mass="1" diaginertia="0.1 0.1 0.1"/>
          <site name="hook" pos="0 0 -0.2"/></body>
      </body>
    </body>
    <body name="drum" pos="1 0 0"><joint name="d" axis="0 0 1"/><geom size="0.1"/>
      <site name="eye"/></body>
  </worldbody>
  <equality><joint joint1="d" joint2="x" polycoef="0 3 0 0 0"/>
    <connect site1="hook" site2="eye"/></equality>
  <actuator><motor name="m" joint="x" gear="2"/><position joint="a" kp="3"/></actuator>
</mujoco>
"""

NUMBER = re.compile(r'(?<=[" ])-?\d+(\.\d+)?(?=[" ])')
Mutation = Callable[[str, random.Random], str]


def swapped(pattern: str, replacements: list[str]) -> Mutation:
    """Replace one match of a pattern."""

    def change(text: str, rng: random.Random) -> str:
        places = list(re.finditer(pattern, text))
        if not places:
            return text
        place = rng.choice(places)
        return text[: place.start()] + rng.choice(replacements) + text[place.end() :]

    return change


def twice(pattern: str) -> Mutation:
    """Write one match of a pattern twice."""

    def change(text: str, rng: random.Random) -> str:
        place = rng.choice(list(re.finditer(pattern, text, re.DOTALL)))
        return text[: place.end()] + place[0] + text[place.end() :]

    return change


def inside(before: str, what: Callable[[random.Random], str]) -> Mutation:
    """Put something in front of one match."""

    def change(text: str, rng: random.Random) -> str:
        place = rng.choice(list(re.finditer(before, text)))
        return text[: place.start()] + what(rng) + text[place.start() :]

    return change


WILD = ["nan", "inf", "-inf", "1e999", "0x10", "1_0", "", "ten", "1,0", "--1", "1e", "٣", "0/0"]
ENTITIES = [
    '<!DOCTYPE r [<!ENTITY a "aaaa"><!ENTITY b "&a;&a;&a;&a;">]>',
    '<!DOCTYPE r [<!ENTITY x SYSTEM "file:///etc/passwd">]>',
    '<!DOCTYPE r SYSTEM "http://localhost:1/x.dtd">',
    '<!DOCTYPE r [<!ENTITY % p SYSTEM "file:///dev/zero">%p;]>',
]
ROOT = r"<(robot|mujoco)\b"


def nested(rng: random.Random) -> str:
    depth = rng.choice([200, 1000, 20_000])
    return "<body>" * depth + "</body>" * depth


def many(rng: random.Random) -> str:
    return rng.choice(['<link name="l"/>', "<body/>", "<a/>"]) * 60_000


def wide(rng: random.Random) -> str:
    return "<a " + " ".join(f'k{k}="1"' for k in range(rng.choice([100, 5000]))) + "/>"


def included(rng: random.Random) -> str:
    names = [
        "../../etc/passwd",
        "/etc/passwd",
        "robot.xml",
        "none.xml",
        "a\x7f.xml",
        "~/x",
        ".",
        "",
    ]
    return f'<include file="{rng.choice(names)}"/>'


def unsupported(rng: random.Random) -> str:
    return f"<{rng.choice(['replicate', 'composite', 'attach', 'flexcomp', 'plugin'])}/>"


SIZES = [' size="-1 -1 -1"', ' size="0"', ' size="x"', ""]
SHAPES = ['type="mesh"', 'type="sdf"', 'type="hfield"']
COMPILERS = ['angle="gon"', 'eulerseq="abc"', 'coordinate="global"', 'settotalmass="3"']
COMPILERS += ['inertiafromgeom="x"', 'balanceinertia="true"']

#: A mutation and the files that it is for.
MUTATIONS: dict[str, tuple[Mutation, tuple[str, ...]]] = {
    "number": (swapped(NUMBER.pattern, WILD), (URDF, MJCF)),
    "count": (swapped(NUMBER.pattern, ["1 2 3 4 5 6 7 8", "1 " * 5000]), (URDF, MJCF)),
    "entity": (inside(ROOT, lambda rng: rng.choice(ENTITIES)), (URDF, MJCF)),
    "cut": (lambda text, rng: text[: rng.randrange(5, len(text) - 12)], (URDF, MJCF)),
    "byte": (swapped(r"[<>=\"/]", ["<", "&", "\x00", "\ud800", "]]>", "<!"]), (URDF, MJCF)),
    "negative mass": (swapped(r'(?<=mass value=)"[\d.]+"', ['"-1"', '"-1e300"']), (URDF,)),
    "no mass": (swapped(r"<mass [^>]*/>", ["", "<mass/>"]), (URDF,)),
    "impossible": (swapped(r'(?<=i(?:xx|yy|zz)=)"[\d.]+"', ['"-1"', '"9"']), (URDF,)),
    "zero axis": (swapped(r'(?<=axis)( xyz)?="[^"]*"', [' xyz="0 0 0"']), (URDF,)),
    "zero axis of mjcf": (swapped(r'axis="[^"]*"', ['axis="0 0 0"']), (MJCF,)),
    "other parent": (swapped(r'(?<=<parent link=)"\w+"', ['"none"', '"shank"', '""']), (URDF,)),
    "other child": (swapped(r'(?<=<child link=)"\w+"', ['"none"', '"world"', '"hip"']), (URDF,)),
    "no end": (swapped(r'<(parent|child) [^>]*/>', [""]), (URDF,)),
    "two ends": (twice(r'<(parent|child) [^>]*/>'), (URDF,)),
    "two links": (twice(r"<link name=.\w+.>.*?</link>"), (URDF,)),
    "two joints": (twice(r"<joint .*?</joint>"), (URDF,)),
    "type": (swapped(r'(?<=type=)"\w+"', ['"hinged"', '""', '"' + "x" * 9999 + '"']), (URDF, MJCF)),
    "limits": (swapped(r'<limit [^>]*/>', ['<limit lower="2" upper="1"/>']), (URDF,)),
    "mimic": (swapped(r'(?<=mimic joint=)"\w+"', ['"none"', '"world"', '""']), (URDF,)),
    "no name": (swapped(r' name="\w+"', [""]), (URDF,)),
    "range": (swapped(r'range="[^"]*"', ['range="2 -2"', 'range="1"']), (MJCF,)),
    "include": (inside(r"</worldbody>", included), (MJCF,)),
    "deep": (inside(r"</(robot|mujoco)>", nested), (URDF, MJCF)),
    "many": (inside(r"</(robot|mujoco)>", many), (URDF, MJCF)),
    "wide": (inside(r"</(robot|mujoco)>", wide), (URDF, MJCF)),
    "quaternion": (swapped(r'quat="[^"]*"', ['quat="0 0 0 0"', 'quat="1"']), (MJCF,)),
    "two orientations": (swapped(r'quat=', ['euler="1 2 3" quat=']), (MJCF,)),
    "sizes": (swapped(r' size="[^"]*"', SIZES), (MJCF,)),
    "shape": (swapped(r'type="(box|capsule)"', SHAPES), (MJCF,)),
    "two bodies": (twice(r'<body name="drum".*?</body>'), (MJCF,)),
    "same joints": (swapped(r'<joint name="\w+"', ['<joint name="x"']), (MJCF,)),
    "class": (swapped(r"<joint ", ['<joint class="none" ']), (MJCF,)),
    "misspelt": (swapped(r"(stiffness|springref|armature|pos)=", ["stifness="]), (MJCF,)),
    "equality": (swapped(r'(?<=[12]=)"\w+"', ['"none"', '""']), (MJCF,)),
    "actuator": (swapped(r'(?<= joint=)"\w+"', ['"none"', '"b"']), (MJCF,)),
    "unsupported": (inside(r"</worldbody>", unsupported), (MJCF,)),
    "compiler": (swapped(r'angle="radian"', COMPILERS), (MJCF,)),
    "mocap": (swapped(r"<body ", ['<body mocap="true" ', '<body gravcomp="x" ']), (MJCF,)),
    "free below": (swapped(r'type="(hinge|ball)"', ['type="free"']), (MJCF,)),
}  # fmt: skip


def hostile_files(each: int = 10) -> Iterator[tuple[str, str, str]]:
    """Label, suffix and text of every hostile file; those that stayed sound are left out."""
    for label, (change, texts) in MUTATIONS.items():
        for text in texts:
            kind = "urdf" if text is URDF else "xml"
            seen = {text}
            for seed in range(each):
                changed = change(text, random.Random(f"{label} {seed}"))
                if changed not in seen:
                    seen.add(changed)
                    yield f"{label} {kind} {seed}", kind, changed
