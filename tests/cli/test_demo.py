"""The demonstration: everything it promises to show, and a second run that its own budget refuses."""

import json

from discreet.release.release import Release


def test_the_demonstration_walks_the_line_and_is_refused_the_second_time(shell, run, home):
    done = shell("demo", "--out", "out")
    assert done.code == 0, done.err
    for word in (
        "posterior mean",
        "PRIVACY CERTIFICATE",
        "report.html",
        "adult.png",
        "cannot meet the target",
    ):
        assert word in done.out
    assert "does not fit what is left" in done.err  # the third question of the first run
    assert "Traceback" not in done.err
    assert "\x1b" not in done.out + done.err
    folder = home / "out" / "demo"
    assert (folder / "income" / "report.html").stat().st_size > 10_000
    assert (folder / "adult.png").read_bytes().startswith(b"\x89PNG")
    release = Release.load(folder / "income")
    assert release.n == 48842
    ((low, high),) = release.posterior.interval(0.999).values
    assert low < 11687 / 48842 < high  # the truth, known because these data are public; noise of scale 2.2
    spent = json.loads(run("ledger", "show", folder / "budget.db", "--json").out)["scopes"][0]["share"]
    assert 0 < spent < 0.45
    again = run("demo", "--out", "out", "--json")
    assert again.code == 1
    assert json.loads(again.out)["released"] is False
    assert "--fresh" in json.loads(again.out)["reason"]
