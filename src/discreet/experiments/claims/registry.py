"""All claims, in the order of the documents, and what a name on the command line stands for."""

from __future__ import annotations

from collections.abc import Iterable
from functools import cache

from discreet.catalogue import resolve
from discreet.experiments.claims.claim import PublishedClaim

DOCUMENTS = {
    "G20": "Geumlek, Sampling from distributions under differential privacy notions, thesis, 2020",
    "GSC17": "Geumlek, Song, Chaudhuri, Rényi differential privacy mechanisms for posterior sampling, appendix, 2017",
    "N19": "Nguyen, Differential privacy, review, 2019",
    "F16": "Foulds, Geumlek, Welling, Chaudhuri, Privacy-preserving Bayesian data analysis, 2016",
    "D14": "Dimitrakakis, Nelson, Mitrokotsa, Rubinstein, Robust and private Bayesian inference, 2014",
}
MODULES = (
    "thesis_definitions",
    "thesis_posteriors",
    "thesis_mixing",
    "thesis_profiles",
    "appendix",
    "review",
    "foulds",
    "study",
    "robust",
)


@cache
def claims() -> dict[str, PublishedClaim]:
    """Return every claim by its name; the modules that judge are loaded only now."""
    found: dict[str, PublishedClaim] = {}
    for module in MODULES:
        for claim in resolve(f"experiments.claims.{module}:CLAIMS"):
            if claim.name in found or claim.document not in DOCUMENTS:
                raise ValueError(f"the claim {claim.name!r} stands twice, or names no known document")
            found[claim.name] = claim
    return found


def about(names: Iterable[str]) -> list[PublishedClaim]:
    """Return the claims that these names stand for, each once: of a claim, a document or a figure."""
    wanted = set(names)
    return [one for one in claims().values() if wanted & {one.name, one.document, *one.figures}]
