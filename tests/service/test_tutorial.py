"""docs/service.md is run as shown: the owner's terminal, the analyst's curl and the analyst's Python."""

import re
import shlex
from pathlib import Path

import httpx
import pytest
from pyarrow import parquet as pq
from pyarrow import table as arrow

from discreet.cli.command import app
from discreet.ledger import Ledger
from discreet.service.settings import load

PAGE = (Path(__file__).parents[2] / "docs" / "service.md").read_text()
BLOCKS = re.findall(r"```(console|py)\n(.*?)```", PAGE, flags=re.DOTALL)
BEFORE = next(i for i, (_, text) in enumerate(BLOCKS) if "$ discreet serve " in text) + 1


def typed(capsys, line):
    """Type a command of the owner, which must succeed; return what it prints."""
    assert app(shlex.split(line)[1:], standalone_mode=False) in {None, 0}, line
    return capsys.readouterr().out


def curl(line, values):
    """Send what a line of curl says."""
    words = [re.sub(r"\$(\w+)", lambda m: values[m[1]], word) for word in shlex.split(line)]
    headers = dict(words[i + 1].split(": ", 1) for i, word in enumerate(words) if word == "-H")
    data = next((words[i + 1] for i, word in enumerate(words) if word == "-d"), None)
    url = next(word for word in words if word.startswith("http"))
    return httpx.request("POST" if data else "GET", url, headers=headers, content=data, timeout=120)


@pytest.mark.slow
def test_the_page_runs_from_top_to_bottom(tmp_path, monkeypatch, capsys, launch):
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("HOME", str(tmp_path))
    pq.write_table(arrow({"smoker": [True, False, False, True] * 500}), "visits.parquet")
    Path("visits.toml").write_text('[columns.smoker]\nkind = "binary"\n')
    shown = ""
    for kind, text in BLOCKS[:BEFORE]:
        assert kind == "console"
        for line in text.splitlines():
            if not line.startswith("$ discreet serve "):
                shown = typed(capsys, line.removeprefix("$ ")) or shown
    token = re.search(r"discreet_\S+", shown)[0]
    answers = []
    with launch(load("kept"), workers=1) as (url, _):
        values = {"TOKEN": token, "URL": url}
        for kind, text in BLOCKS[BEFORE:]:
            if kind == "py":
                exec(compile(text, "service.md", "exec"), dict(values))  # noqa: S102 - our own page
                continue
            for line in text.splitlines():
                if line.startswith("$ curl"):
                    answers.append(curl(line.removeprefix("$ "), values))
                else:
                    typed(capsys, line.removeprefix("$ "))
    expected = [{200}, {200}, {200, 202}, {201, 202}, {200}]  # plans and releases may be under way
    assert all(answer.status_code in codes for answer, codes in zip(answers, expected, strict=True))
    with Ledger.open("kept/budget.db") as ledger, Ledger.open("monday/budget.db") as copy:
        charges = [entry for entry in ledger.history() if entry.kind == "charge"]
        assert len(charges) == 2  # the release of curl and Python is one, since its key is; and a draw
        assert copy.verify() == ledger.verify()
    assert "first-look" not in Path("trail.csv").read_text()  # a key is the client's own
    assert "ada" in Path("trail.csv").read_text()
