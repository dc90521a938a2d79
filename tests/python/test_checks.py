"""What `make check` makes of licences and of dependencies."""

import sys
import tomllib
from pathlib import Path

import pytest

sys.path.insert(0, str(Path(__file__).resolve().parents[2] / "tools"))

import check_unused  # noqa: E402
import licences  # noqa: E402


@pytest.mark.parametrize(
    "expression",
    ["MIT", "GPL-3.0 OR MIT", "Unlicense/MIT", "(MIT OR GPL-2.0) AND Apache-2.0", "ISC AND (Apache-2.0 OR ISC)", "Apache-2.0 WITH LLVM-exception OR GPL-3.0"],
)
def test_a_licence_that_leaves_an_allowed_choice_may_be_shipped(expression: str) -> None:
    assert licences.is_allowed(expression)


@pytest.mark.parametrize(
    "expression",
    ["", "GPL-3.0", "MPL-2.0 OR GPL-3.0", "MIT AND GPL-3.0", "(MIT", "MIT MIT", "MIT WITH some-exception", "(GPL-3.0 OR LGPL-3.0) AND MIT"],
)
def test_a_licence_that_leaves_none_or_is_no_expression_may_not(expression: str) -> None:
    assert not licences.is_allowed(expression)


def crate(name: str, **more: object) -> dict:
    told: dict[str, object] = {"id": name, "name": name, "version": "1.0.0", "license": "MIT", "license_file": None, "dependencies": []}
    return told | {"source": licences.CRATES_IO} | more


def graph(*crates: dict, **needs: list[tuple[str, str | None]]) -> dict:
    """What cargo tells of crates, the first ours; `needs` says which needs which, and for what."""
    nodes = [
        {"id": of["id"], "deps": [{"pkg": to, "dep_kinds": [{"kind": kind}]} for to, kind in needs.get(of["id"], [])]}
        for of in crates
    ]
    return {"packages": list(crates), "resolve": {"nodes": nodes}, "workspace_members": [crates[0]["id"]]}


def test_what_only_tests_need_may_have_any_licence() -> None:
    ours, other, last = crate("ours", source=None), crate("other"), crate("last", license="GPL-3.0")
    assert list(licences.problems_of_crates(graph(ours, other, last, ours=[("other", None), ("last", "dev")]))) == []
    for kind in (None, "build"):
        problems = list(licences.problems_of_crates(graph(ours, other, last, ours=[("other", None)], other=[("last", kind)])))
        assert problems == ["last 1.0.0: its licence (GPL-3.0) may not be shipped"]


def test_crates_come_from_crates_io_in_versions_that_are_named() -> None:
    wanted = [{"name": "any", "req": "*"}, {"name": "one", "req": "^1"}, {"name": "beside", "req": "*", "path": "/beside"}]
    ours, fork = crate("ours", source=None, dependencies=wanted), crate("fork", source="git+https://example.org/fork")
    assert list(licences.problems_of_crates(graph(ours, fork))) == [
        "ours takes any version of any: name one",
        "fork comes from git+https://example.org/fork: crates come from crates.io",
    ]


MANIFEST = """
[package.metadata]
for-features = ["d"]
[dependencies]
a-b = "1"
c = "1"
d = "1"
[target.'cfg(unix)'.dev-dependencies]
e = "1"
"""


@pytest.mark.parametrize(
    ("source", "unused"),
    [
        ("use a_b::x; fn f(c: u8) {}", ["c", "e"]),
        ("use a_b;\nuse c as z;\n#[derive(e::E)]", []),
        ("// see a_b::x and c::y\n/// [`e::z`]\nlet abc::d = 1;", ["a-b", "c", "e"]),
    ],
)
def test_a_dependency_that_nothing_names_is_found(source: str, unused: list[str]) -> None:
    assert check_unused.unused(tomllib.loads(MANIFEST), [source]) == unused
