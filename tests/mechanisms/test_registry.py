"""The registry knows every mechanism by the name it carries, and imports none before it is asked."""

import importlib
import inspect
import pkgutil
import subprocess
import sys

import pytest

import discreet.mechanisms
from discreet.mechanisms.mechanism import Mechanism, ModelMechanism
from discreet.mechanisms.noise.base import BasicMechanism
from discreet.mechanisms.registry import MECHANISMS, offered_to

OF_COUNTS = offered_to("counts")
OF_FAMILIES = offered_to("family")
OF_REGRESSIONS = offered_to("regression")


def concrete_mechanisms():
    for module in pkgutil.walk_packages(discreet.mechanisms.__path__, "discreet.mechanisms."):
        loaded = importlib.import_module(module.name)
        for _, thing in inspect.getmembers(loaded, inspect.isclass):
            if (
                issubclass(thing, Mechanism)
                and thing.__module__ == loaded.__name__
                and not inspect.isabstract(thing)
            ):
                yield thing


def test_every_concrete_mechanism_is_registered_under_its_own_name():
    found = {thing.name: thing for thing in concrete_mechanisms() if not thing.__name__.startswith("_")}
    assert dict(MECHANISMS) == found
    assert len(MECHANISMS) == len(found)


@pytest.mark.parametrize("name", list(MECHANISMS))
def test_every_mechanism_is_final_documented_and_cites_its_proof(name):
    mechanism = MECHANISMS[name]
    assert getattr(mechanism, "__final__", False)
    assert mechanism.__doc__
    assert len(mechanism.theorem) > 10


@pytest.mark.parametrize("name", [n for n in MECHANISMS if issubclass(MECHANISMS[n], BasicMechanism)])
def test_every_basic_mechanism_can_be_calibrated_and_states_an_error_bound(name):
    mechanism = MECHANISMS[name]
    assert callable(mechanism.calibrate)
    assert any(hasattr(mechanism, method) for method in ("tail_bound", "flips_bound"))


@pytest.mark.parametrize("name", [*OF_FAMILIES, *OF_COUNTS, *OF_REGRESSIONS.values()])
def test_what_privatise_offers_keeps_the_contract_of_a_model_mechanism(name):
    mechanism = MECHANISMS[name]
    assert issubclass(mechanism, ModelMechanism)
    taken = inspect.signature(mechanism.calibrate).parameters
    assert {"model", "n", "target"} <= set(taken)
    assert mechanism.knows_units == ("rows_per_unit" in taken)
    assert mechanism.repeats == (mechanism.draws is not ModelMechanism.draws)


def test_unknown_names_list_the_known_ones():
    with pytest.raises(KeyError, match="randomized_response"):
        MECHANISMS["nonsense"]
    with pytest.raises(AttributeError, match="nonsense"):
        discreet.mechanisms.registry.nonsense  # noqa: B018


def test_looking_at_the_registry_imports_no_mechanism():
    script = (
        "import sys, discreet.mechanisms.registry as r; list(r.MECHANISMS); "
        "print([m for m in sys.modules if m.endswith(('.laplace', '.exponential', '.direct'))])"
    )
    out = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=True)  # noqa: S603
    assert out.stdout.strip() == "[]"
