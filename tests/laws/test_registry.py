"""Every family is in the registry, so that no law can overlook one."""

import copy
import dataclasses
import importlib
import inspect
import pickle
import pkgutil
from fractions import Fraction

import pytest

import discreet.families
from discreet.families.family import Family
from discreet.families.registry import EXAMPLES, FAMILIES


def _classes():
    for module in pkgutil.walk_packages(discreet.families.__path__, "discreet.families."):
        for _, thing in inspect.getmembers(importlib.import_module(module.name), inspect.isclass):
            if issubclass(thing, Family) and thing.__module__ == module.name:
                yield thing


def test_every_concrete_family_is_registered_under_its_name():
    concrete = {c for c in _classes() if not inspect.isabstract(c)}
    assert concrete == set(FAMILIES.values())
    assert all(FAMILIES[c.name] is c for c in concrete)


def test_classes_are_abstract_or_final():
    assert all(inspect.isabstract(c) != getattr(c, "__final__", False) for c in _classes())


def test_every_family_has_an_example_and_is_exported():
    assert {type(f) for f, _ in EXAMPLES} == set(FAMILIES.values())
    assert {c.__name__ for c in FAMILIES.values()} <= set(discreet.families.__all__)


@pytest.mark.parametrize(("prior", "data"), EXAMPLES, ids=lambda x: getattr(x, "name", ""))
def test_repr_reads_back_and_members_are_values(prior, data):
    names = {c.__name__: c for c in FAMILIES.values()}
    assert eval(repr(prior), {}, names) == prior  # noqa: S307 - our own repr
    assert prior.update(prior.statistic(data), len(data)) != prior
    assert hash(eval(repr(prior), {}, names)) == hash(prior)  # noqa: S307


def test_repr_is_readable():
    assert repr(discreet.families.BetaBernoulli(0.1, 12)) == "BetaBernoulli(alpha=0.1, beta=12, grid=1)"
    assert repr(discreet.families.BetaBernoulli(Fraction(1, 3), 1)).startswith(
        "BetaBernoulli(alpha=Fraction(1, 3)"
    )
    assert repr(discreet.families.DirichletCategorical([1] * 9)).endswith("1.0, … 9 entries])")


@pytest.mark.parametrize(("prior", "data"), EXAMPLES, ids=lambda x: getattr(x, "name", ""))
def test_members_survive_pickling_and_refuse_assignment(prior, data):
    assert pickle.loads(pickle.dumps(prior)) == copy.deepcopy(prior) == prior  # noqa: S301 - our own bytes
    for field in dataclasses.fields(prior):
        with pytest.raises(dataclasses.FrozenInstanceError):
            setattr(prior, field.name, getattr(prior, field.name))
