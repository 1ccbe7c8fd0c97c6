"""The page is files of the package: from this host alone, under a strict policy, its text never markup."""

import asyncio
import re
import subprocess
import tomllib
from pathlib import Path

import httpx
import pytest
from fastapi import FastAPI

from discreet.service.page import assets, attach

ROOT = Path(__file__).parents[3]
FILES = assets()
TEXTS = {name: asset.content.decode() for name, asset in FILES.items()}
SCRIPTS = [name for name in FILES if name.endswith(".js")]
IMPORTED = re.compile(r'^import .* from "(.+)";$', re.MULTILINE)


def get(path, **headers):
    app = FastAPI()
    attach(app)

    async def ask():
        transport = httpx.ASGITransport(app=app)
        async with httpx.AsyncClient(transport=transport, base_url="http://service") as client:
            return await client.get(path, headers=headers)

    return asyncio.run(ask())


def test_the_page_and_all_it_links_to_are_sent():
    assert get("/").content == FILES["index.html"].content
    named = re.findall(r'(?:href|src)="/page/([^"]+)"', TEXTS["index.html"])
    assert {"main.js", "styles/theme.css", "icon.svg"} <= set(named) <= set(FILES)
    for name in FILES:
        answer = get(f"/page/{name}")
        assert answer.content == FILES[name].content
        assert answer.headers["content-type"].startswith(("text/", "image/svg+xml"))


def test_the_policy_forbids_inline_code_and_other_hosts():
    for path in ("/", "/page/main.js"):
        headers = get(path).headers
        policy = dict(part.split(" ", 1) for part in headers["content-security-policy"].split("; "))
        assert policy["default-src"] == policy["script-src"] == policy["style-src"] == "'self'"
        assert policy["frame-ancestors"] == policy["base-uri"] == policy["object-src"] == "'none'"
        assert policy["require-trusted-types-for"] == "'script'"
        assert headers["x-content-type-options"] == "nosniff"
        assert headers["referrer-policy"] == "no-referrer"


def test_a_file_that_did_not_change_is_not_sent_again():
    tag = get("/page/main.js").headers["etag"]
    again = get("/page/main.js", **{"If-None-Match": tag})
    assert (again.status_code, again.content) == (304, b"")
    assert get("/page/main.js", **{"If-None-Match": '"another"'}).status_code == 200


@pytest.mark.parametrize("path", ["__init__.py", "..%2f..%2f__init__.py", "%2e%2e/main.js", "nothing.js", ""])
def test_nothing_else_is_sent(path):
    assert get(f"/page/{path}").status_code == 404


def test_every_import_finds_its_file():
    base = ROOT / "src" / "discreet" / "service" / "page"
    for name in SCRIPTS:
        for target in IMPORTED.findall(TEXTS[name]):
            found = (base / name).parent.joinpath(target).resolve().relative_to(base).as_posix()
            assert found in FILES, f"{name} imports {target}"
    used = {Path(target).name for name in SCRIPTS for target in IMPORTED.findall(TEXTS[name])}
    assert {Path(name).name for name in SCRIPTS} - used == {"main.js"}  # nothing lies around


def test_no_file_names_another_host():
    for name, text in TEXTS.items():
        hosts = set(re.findall(r"(?:https?:)?//[a-z0-9.-]+\.[a-z]{2,}", text))
        assert hosts <= {"http://www.w3.org"}, name  # the name of SVG, which nobody fetches


# What would make markup or code out of text, or break under the policy.
FORBIDDEN = re.compile(
    r"innerHTML|outerHTML|insertAdjacentHTML|document\.write|\beval\(|new Function|srcdoc|DOMParser|"
    r"createContextualFragment|setHTML|setAttribute\(\"(style|on\w+)\"|style=|<script>|javascript:|localStorage"
)


def test_text_is_never_made_into_markup():
    assert FORBIDDEN.search("box.innerHTML = name")  # the probe works
    for name in SCRIPTS:
        assert not FORBIDDEN.search(TEXTS[name]), name
    assert not re.search(r"style=| on\w+=|<style|<script>", TEXTS["index.html"])


def test_files_are_small():
    assert all(len(text.splitlines()) <= 300 for text in TEXTS.values())
    assert all(len(line) <= 160 for name in SCRIPTS for line in TEXTS[name].splitlines())


def test_the_wheel_has_every_file():
    """Hatch takes the whole package but what git ignores; names such as `build` would be."""
    wheel = tomllib.loads((ROOT / "pyproject.toml").read_text())["tool"]["hatch"]["build"]["targets"]["wheel"]
    assert wheel == {"packages": ["src/discreet"]}
    paths = [f"src/discreet/service/page/{name}" for name in FILES]
    asked = ["git", "check-ignore", "--stdin", "--no-index"]
    ignored = subprocess.run(  # noqa: S603
        asked, input="\n".join(paths), capture_output=True, text=True, cwd=ROOT, check=False
    )
    assert (ignored.returncode, ignored.stdout) == (1, ""), "git knows none of them to be ignored"
