# The public names with their types; __init__.py loads each on first use. Made by `make stub`.

from discreet import audit as audit
from discreet import datasets as datasets
from discreet import experiments as experiments
from discreet import learn as learn
from discreet import mcmc as mcmc
from discreet import mechanisms as mechanisms
from discreet import planning as planning
from discreet import posteriors as posteriors
from discreet import privacy as privacy
from discreet import query as query
from discreet import report as report
from discreet import sampling as sampling
from discreet.encoding.encoder import EncodedRows as EncodedRows
from discreet.encoding.encoder import Encoder as Encoder
from discreet.families.beta_bernoulli import BetaBernoulli as BetaBernoulli
from discreet.families.beta_binomial import BetaBinomial as BetaBinomial
from discreet.families.beta_geometric import BetaGeometric as BetaGeometric
from discreet.families.dirichlet_categorical import DirichletCategorical as DirichletCategorical
from discreet.families.dirichlet_multinomial import DirichletMultinomial as DirichletMultinomial
from discreet.families.gamma_exponential import GammaExponential as GammaExponential
from discreet.families.gamma_poisson import GammaPoisson as GammaPoisson
from discreet.families.linear_regression import BayesianLinearRegression as BayesianLinearRegression
from discreet.families.normal_inverse_gamma import NormalInverseGamma as NormalInverseGamma
from discreet.families.normal_inverse_wishart import NormalInverseWishart as NormalInverseWishart
from discreet.families.normal_mean import NormalMean as NormalMean
from discreet.ledger import Ledger as Ledger
from discreet.line import chains as chains
from discreet.line.after_charge import ChargeKept as ChargeKept
from discreet.line.charge import Interrupted as Interrupted
from discreet.line.local import release_observations as release_observations
from discreet.line.tiers import privatise_tiers as privatise_tiers
from discreet.mcmc.running.fingerprint import CheckpointError as CheckpointError
from discreet.mechanisms.choice.continuous_exponential import ContinuousExponential as ContinuousExponential
from discreet.mechanisms.choice.exponential import Exponential as Exponential
from discreet.mechanisms.choice.noisy_max import ReportNoisyMax as ReportNoisyMax
from discreet.mechanisms.choice.permute_and_flip import PermuteAndFlip as PermuteAndFlip
from discreet.mechanisms.local.kary_randomised_response import (
    KaryRandomizedResponse as KaryRandomizedResponse,
)
from discreet.mechanisms.local.profile_bits import OneBitCluster as OneBitCluster
from discreet.mechanisms.local.profile_bits import SmoothOneBit as SmoothOneBit
from discreet.mechanisms.local.profile_bits import TwoProfileBit as TwoProfileBit
from discreet.mechanisms.local.profile_categorical import SmoothCategorical as SmoothCategorical
from discreet.mechanisms.local.randomised_response import RandomizedResponse as RandomizedResponse
from discreet.mechanisms.noise.gaussian import DiscreteGaussian as DiscreteGaussian
from discreet.mechanisms.noise.gaussian import Gaussian as Gaussian
from discreet.mechanisms.noise.laplace import DiscreteLaplace as DiscreteLaplace
from discreet.mechanisms.noise.laplace import Laplace as Laplace
from discreet.mechanisms.posterior.concentrated import ConcentratedPosterior as ConcentratedPosterior
from discreet.mechanisms.posterior.diffused import DiffusedPosterior as DiffusedPosterior
from discreet.mechanisms.posterior.direct import DirectPosterior as DirectPosterior
from discreet.mechanisms.posterior.one_posterior_sample import OnePosteriorSample as OnePosteriorSample
from discreet.mechanisms.posterior.statistical_query import StatisticalQuery as StatisticalQuery
from discreet.mechanisms.public_data import public_records_needed as public_records_needed
from discreet.mechanisms.regression.adassp import AdaSSP as AdaSSP
from discreet.mechanisms.regression.draws import ConcentratedRegression as ConcentratedRegression
from discreet.mechanisms.regression.draws import DiffusedRegression as DiffusedRegression
from discreet.mechanisms.regression.draws import DirectRegression as DirectRegression
from discreet.mechanisms.regression.draws import TunedRegression as TunedRegression
from discreet.mechanisms.regression.objective_perturbation import (
    ObjectivePerturbation as ObjectivePerturbation,
)
from discreet.mechanisms.regression.one_sample import OneRegressionSample as OneRegressionSample
from discreet.mechanisms.regression.polynomial_statistics import PolynomialStatistics as PolynomialStatistics
from discreet.mechanisms.sensitivity.propose_test_release import ProposeTestRelease as ProposeTestRelease
from discreet.mechanisms.sensitivity.sample_and_aggregate import SampleAndAggregate as SampleAndAggregate
from discreet.mechanisms.sensitivity.smooth_sensitivity import (
    SmoothSensitivityMedian as SmoothSensitivityMedian,
)
from discreet.mechanisms.statistics.noisy_counts import NoisyCounts as NoisyCounts
from discreet.mechanisms.statistics.noisy_statistics import NoisyStatistics as NoisyStatistics
from discreet.models.bayes_net import BayesianNetwork as BayesianNetwork
from discreet.models.generalized_linear import BayesianLogisticRegression as BayesianLogisticRegression
from discreet.models.generalized_linear import Feature as Feature
from discreet.models.generalized_linear import GeneralizedLinear as GeneralizedLinear
from discreet.models.hidden_markov import HiddenMarkov as HiddenMarkov
from discreet.models.margin_losses import ClippedPoisson as ClippedPoisson
from discreet.models.margin_losses import DeclaredLoss as DeclaredLoss
from discreet.models.margin_losses import Logistic as Logistic
from discreet.models.mixture import Mixture as Mixture
from discreet.models.naive_bayes import NaiveBayes as NaiveBayes
from discreet.models.regression_records import Records as Records
from discreet.planning import epsilon_for as epsilon_for
from discreet.planning import n_for as n_for
from discreet.planning import plan as plan
from discreet.planning import predict as predict
from discreet.planning import public_records_for as public_records_for
from discreet.planning import split as split
from discreet.posteriors.posterior import Posterior as Posterior
from discreet.posteriors.read import OnlyDraws as OnlyDraws
from discreet.posteriors.tables import Disagreement as Disagreement
from discreet.privacy.accounting.composition import compose as compose
from discreet.privacy.accounting.composition import parallel as parallel
from discreet.privacy.accounting.filters import Filter as Filter
from discreet.privacy.accounting.filters import Overspent as Overspent
from discreet.privacy.arithmetic.ball import PrecisionError as PrecisionError
from discreet.privacy.guarantee import ADD_REMOVE as ADD_REMOVE
from discreet.privacy.guarantee import SUBSTITUTE as SUBSTITUTE
from discreet.privacy.guarantee import Guarantee as Guarantee
from discreet.privacy.guarantee import MixedRelations as MixedRelations
from discreet.privacy.guarantee import NotProved as NotProved
from discreet.privacy.guarantee import Relation as Relation
from discreet.privacy.guarantee import Unreachable as Unreachable
from discreet.privacy.kinds import ApproxDP as ApproxDP
from discreet.privacy.kinds import BoundedRange as BoundedRange
from discreet.privacy.kinds import GaussianDP as GaussianDP
from discreet.privacy.kinds import MixedRange as MixedRange
from discreet.privacy.kinds import PureDP as PureDP
from discreet.privacy.kinds import RenyiDP as RenyiDP
from discreet.privacy.kinds import ZeroCDP as ZeroCDP
from discreet.privacy.profile_graph import ProfileGraph as ProfileGraph
from discreet.privatise import privatise as privatise
from discreet.query.text import QueryError as QueryError
from discreet.release.certificate import certificate_text as certificate_text
from discreet.release.folder import BrokenRelease as BrokenRelease
from discreet.release.receipt import LedgerError as LedgerError
from discreet.release.receipt import LedgerUnavailableError as LedgerUnavailableError
from discreet.release.receipt import TamperedError as TamperedError
from discreet.release.release import Release as Release
from discreet.sampling.source import SeededSource as SeededSource
from discreet.sampling.source import SystemSource as SystemSource
from discreet.statistics.cells import counts as counts
from discreet.statistics.from_schema import model_for as model_for
from discreet.tables.derived.columns import col as col
from discreet.tables.derived.columns import constant as constant
from discreet.tables.schema import Binary as Binary
from discreet.tables.schema import Bounded as Bounded
from discreet.tables.schema import Categories as Categories
from discreet.tables.schema import Count as Count
from discreet.tables.schema import Label as Label
from discreet.tables.schema import Schema as Schema
from discreet.tables.table import MissingExtra as MissingExtra
from discreet.tables.table import Table as Table
from discreet.tables.table import TableError as TableError

__version__: str
