"""A fit writes its release as JSON once and makes its certificate once, however many places show them."""

import json
import sys
from collections import Counter
from pathlib import Path

import pytest

from discreet.line import after_charge
from discreet.release import json as release_json
from discreet.release import release as release_module
from discreet.release.certificate import certificate
from discreet.release.json import canonical, release_to_json
from discreet.release.release import Release

from .conftest import FIT

WATCHED = (certificate, release_json.facts_to_json, release_json.paid_and_drawn, release_json.value_to_json)


@pytest.fixture
def counted(monkeypatch):
    """Count calls, under whatever name a module of the package knows the function."""
    calls = Counter()

    def counting(function):
        def call(*args):
            calls[function.__name__] += 1
            return function(*args)

        return call

    assert release_module, after_charge  # loaded, hence watched
    for function in WATCHED:
        watched = counting(function)
        for name, module in list(sys.modules.items()):
            if name.startswith("discreet.") and vars(module).get(function.__name__) is function:
                monkeypatch.setattr(module, function.__name__, watched)
    return calls


def test_a_fit_builds_its_json_and_its_certificate_once(run, budget, counted):
    done = run(*FIT, "--target", "pure:0.5", "--out", "r", "--json")
    assert done.code == 0
    assert counted == {"certificate": 1, "facts_to_json": 1, "paid_and_drawn": 1, "value_to_json": 1}
    release = Release.load("r")
    record = json.loads(Path("r", "release.json").read_text())["release"]
    assert canonical(record).encode() == release.body == canonical(release_to_json(release)).encode()
    assert json.loads(Path("r", "certificate.json").read_text()) == certificate(release)
    assert json.loads(done.out)["certificate"] == release.certificate()
    release.certificate()["promised"].clear()  # whoever changes theirs changes nobody else's
    assert release.certificate() == certificate(release)
    assert counted["certificate"] == 2  # control: that of the loaded release is seen too
