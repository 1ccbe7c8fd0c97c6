"""What a model is: a family, a model of counts, a regression, a family in groups, or plain numbers."""

from __future__ import annotations

from typing import TypeAlias

from discreet.families.family import Family
from discreet.models.count_model import CountModel
from discreet.models.generalized_linear import GeneralizedLinear
from discreet.models.grouped import Grouped
from discreet.models.plain import PlainNumbers

Model: TypeAlias = Family | CountModel | GeneralizedLinear | Grouped | PlainNumbers
