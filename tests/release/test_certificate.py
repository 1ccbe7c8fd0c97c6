"""The certificate: numbers that are right, words that say them, a format that stays."""

import json
import math
from fractions import Fraction

import pytest

from discreet.audit.registry import CASES
from discreet.families import BetaBernoulli
from discreet.families.registry import EXAMPLES
from discreet.ledger import Ledger
from discreet.privacy.accounting.composition import compose
from discreet.privacy.guarantee import ADD_REMOVE
from discreet.privacy.json import to_json
from discreet.privacy.kinds import ApproxDP, GaussianDP, PureDP, RenyiDP, ZeroCDP
from discreet.privacy.words import loss_bound, sure_after
from discreet.privatise import privatise
from discreet.release.certificate import DELTAS, FORMAT, ORDERS, audits, certificate_text, in_words
from discreet.release.certificate_text import losses

MODEL = BetaBernoulli(6, 12)
KEYS = {
    "format",
    "private",
    "warnings",
    "protected",
    "promised",
    "assumed_public",
    "cautions",
    "mechanism",
    "verification",
    "composition",
    "trust_model",
    "side_channels",
    "utility",
    "not_covered",
    "receipt",
    "schema",
    "software",
    "created",
    "release",
}
PROMISED = {
    "guarantee",
    "guarantee_words",
    "target",
    "target_words",
    "pure_epsilon",
    "epsilon_at_delta",
    "renyi",
    "renyi_order_limit",
    "zcdp_rho",
    "gdp_mu",
    "odds",
    "advantage",
    "trade_off",
}


@pytest.fixture
def pure(memory, ledger, smokers):
    return privatise(memory(smokers), MODEL, target=PureDP(1), ledger=ledger, note="for the board")


@pytest.fixture
def gaussian(memory, ledger, smokers):
    return privatise(memory(smokers), MODEL, target=ApproxDP(1, 1e-6), noise="gaussian", ledger=ledger)


@pytest.fixture
def drawn(memory, ledger, smokers):
    return privatise(memory(smokers), MODEL, mechanism="diffused", target=ApproxDP(1, 1e-6), ledger=ledger)


def test_the_format_is_stable(pure, gaussian, drawn):
    """Programs read these names: a change needs a new format number."""
    for release in (pure, gaussian, drawn):
        said = release.certificate()
        assert said["format"] == FORMAT == "discreet-certificate/1"
        assert set(said) == KEYS
        assert set(said["promised"]) == PROMISED
        assert json.loads(json.dumps(said, allow_nan=False)) == said


def test_every_notion_is_the_guarantees_own_answer(pure, gaussian, drawn):
    for release in (pure, gaussian, drawn):
        said, own, target = release.certificate()["promised"], release.guarantee, release.target
        for row in said["epsilon_at_delta"]:
            assert row["epsilon"] == min(own.epsilon(row["delta"]), target.epsilon(row["delta"]))
        assert {row["delta"] for row in said["epsilon_at_delta"]} >= set(DELTAS)
        for row in said["renyi"]:
            assert row["epsilon"] == none_if_infinite(own.renyi(row["order"]))
        assert [row["order"] for row in said["renyi"]] == list(ORDERS)
        assert said["zcdp_rho"] == none_if_infinite(own.zcdp_bound)
        assert said["gdp_mu"] == none_if_infinite(own.gdp_bound)
    assert pure.certificate()["promised"]["pure_epsilon"] == 1
    assert gaussian.certificate()["promised"]["pure_epsilon"] is None
    assert drawn.certificate()["promised"]["renyi_order_limit"] == drawn.guarantee.order_limit


def test_at_the_targets_exact_delta_no_more_than_the_target_is_promised(memory, ledger, smokers):
    """The double nearest to 10⁻⁶ lies below it, where the Gaussian's own ε is 0.5000000000000207."""
    target = ApproxDP(Fraction(1, 2), Fraction(1, 10**6))  # as the command reads approx:0.5,1e-6
    release = privatise(memory(smokers), MODEL, target=target, noise="gaussian", ledger=ledger)
    assert release.guarantee.epsilon(1e-6) > 0.5
    rows = {row["delta"]: row["epsilon"] for row in release.certificate()["promised"]["epsilon_at_delta"]}
    assert rows[1e-6] <= 0.5


def none_if_infinite(x):
    return None if x == math.inf else x


def test_odds_by_hand(pure):
    """ε = 1 on even odds: e/(1 + e) = 0.731058…, shown rounded up."""
    rows = {row["before"]: row for row in pure.certificate()["promised"]["odds"]}
    assert rows[0.5]["after_at_most"] == pytest.approx(math.e / (1 + math.e), rel=1e-15)
    assert rows[0.5]["except_with_probability"] == 0
    assert (
        "50 % sure that a certain row is in group A before can be at most 73.11 % sure" in rows[0.5]["words"]
    )
    assert rows[0.1]["after_at_most"] == pytest.approx(0.1 * math.e / (0.9 + 0.1 * math.e), rel=1e-15)


def test_odds_of_a_promise_with_delta_fail_as_often_as_said(gaussian):
    row = gaussian.certificate()["promised"]["odds"][0]
    failure = row["except_with_probability"]
    assert failure == 1e-6
    assert row["after_at_most"] == sure_after(0.5, loss_bound(gaussian.guarantee, failure))
    # ε(δ) alone would promise too much: its loss is exceeded more often
    assert row["loss"] > gaussian.guarantee.epsilon(failure)
    assert "except with probability 1e-06" in row["words"]


def test_adding_and_removing_asks_two_questions(memory, tmp_path, smokers):
    ledger = Ledger.open(tmp_path / "b.db", budget=PureDP(9, relation=ADD_REMOVE))
    release = privatise(memory(smokers), MODEL, target=PureDP(1, relation=ADD_REMOVE), ledger=ledger)
    rows = {(row["question"], row["before"]): row for row in release.certificate()["promised"]["odds"]}
    there, which = rows["membership", 0.5], rows["value", 0.5]
    assert there["after_at_most"] == pytest.approx(math.e / (1 + math.e))
    assert which["after_at_most"] == pytest.approx(math.e**2 / (1 + math.e**2))  # one removal, one addition
    assert "in the table at all" in there["words"]
    assert release.certificate()["protected"]["number_of_records"] is None


def test_words_say_the_numbers(pure, drawn):
    for release in (pure, drawn):
        text = certificate_text(release.certificate())
        assert release.receipt.hash in text
        assert release.schema_hash in text
        assert release.theorem.split(" ")[0] in text
        for heading in ("What is protected", "What is promised", "What is not covered", "What was paid"):
            assert heading in text
        assert max(map(len, text.splitlines())) < 120
    assert "NOT PRIVATE" not in certificate_text(pure.certificate())
    assert "ε = 1 at δ = 0" in certificate_text(pure.certificate())


def test_words_come_from_the_saved_file_alone(pure, tmp_path):
    path = pure.save(tmp_path / "out", draws=0) / "certificate.json"
    assert certificate_text(json.loads(path.read_text())) == certificate_text(pure.certificate())
    with pytest.raises(ValueError, match="not a certificate of format"):
        certificate_text({"format": "other"})


def test_side_channels_and_other_releases_are_said_not_to_be_covered(pure):
    text = " ".join(pure.certificate()["not_covered"])
    for word in ("how long", "side channels", "other releases", "people in general", "core dumps"):
        assert word in text


def test_assumptions_name_what_is_public(pure):
    assumed = pure.certificate()["assumed_public"]
    assert "the number of records, 200" in assumed
    assert pure.certificate()["receipt"]["note"] == "for the board"


def test_audits_that_are_named_exist(pure, drawn):
    for release in (pure, drawn):
        assert audits(release)
        assert set(audits(release)) <= set(CASES)


@pytest.mark.parametrize(
    ("guarantee", "words"),
    [
        (PureDP(0.5), "PureDP(0.5)"),
        (RenyiDP.points({2: 0.5, 4: 2}), "RenyiDP.at(2.0, 0.5) and RenyiDP.at(4.0, 2.0)"),
        (compose(PureDP(1), PureDP(1), ZeroCDP(0.5)), "2 times PureDP(1.0), and ZeroCDP(0.5)"),
        (GaussianDP(1), "GaussianDP(1.0)"),
    ],
    ids=repr,
)
def test_promises_in_words(guarantee, words):
    assert in_words(guarantee) == words


def test_a_draw_is_named_briefly(drawn):
    assert in_words(drawn.guarantee).startswith("the Rényi curve of its worst neighbours, finite below order")
    assert "BetaPairs" not in repr(drawn)
    assert EXAMPLES[0][0].name == drawn.model.name


def test_only_who_declares_a_unit_promises_anything_to_people(memory, ledger, smokers, pure):
    """Without one, somebody with k rows has k times less, and the certificate says so."""
    assert "one row, not a person" in pure.certificate()["protected"]["meaning"]
    assert "k rows has k times less" in pure.certificate()["not_covered"][0]
    said = privatise(memory(smokers, unit="patient"), MODEL, target=PureDP(1), ledger=ledger).certificate()
    assert "sure that you are in group A" in said["promised"]["odds"][0]["words"]
    assert not any("k rows" in words for words in said["not_covered"])


def test_the_attackers_test_is_bounded_as_the_promise_is(pure, gaussian):
    """ε = 1: hits at most min(e·α, 1 − (1 − α)/e); advantage (e − 1)/(e + 1)."""
    said = pure.certificate()["promised"]
    assert said["advantage"] == pytest.approx((math.e - 1) / (math.e + 1), rel=1e-12)
    for row in said["trade_off"]:
        rate = row["false_positive"]
        best = min(math.e * rate, 1 - (1 - rate) / math.e)
        assert row["true_positive_at_most"] == pytest.approx(best, rel=1e-12)
        assert Fraction(row["true_positive_at_most"]) > rate
    other = gaussian.certificate()["promised"]
    assert 0 < other["advantage"] < 1
    assert "falsely accuses 5% of the innocent" in certificate_text(pure.certificate())


def test_words_of_an_older_certificate_are_still_said(pure):
    old = pure.certificate()
    for name in ("composition", "trust_model", "side_channels", "utility"):
        del old[name]
    for name in ("advantage", "trade_off"):
        del old["promised"][name]
    assert "What is protected" in certificate_text(old)


def test_it_answers_the_questions_of_nist_sp_800_226(pure, gaussian, drawn):
    """Unit, neighbours, parameters, composition, trust model, side channels, utility: each in its section."""
    for release in (pure, gaussian, drawn):
        text = certificate_text(release.certificate())
        sections = dict(part.split("\n", 1) for part in text.split("\n\n") if "\n" in part)
        flat = {title: " ".join(body.split()) for title, body in sections.items()}
        assert "one row, not a person" in flat["What is protected"]
        assert "may be replaced by any other" in flat["What is protected"]
        first, second = [line for line in sections["What is promised"].splitlines() if line[2:4] == "- "][:2]
        assert first.strip() == f"- asked for: {in_words(release.target)}"
        delta = float(release.target.disclosure()[0])
        assert f"at δ = {delta:g}" in second  # at the δ that was asked for, before any other
        assert "add to this one" in flat["How it adds up with other releases"]
        assert "the central model" in flat["Who has to be trusted"]
        assert "outside the promise" in flat["Side channels"]
        assert "the noise that was added" in flat["How useful it is"]
        odds = flat["What that means for one row"]
        assert "group A is any group" in odds
        assert "What that means for you" not in text
        assert "the trade-off curve" in odds
        told = release.certificate()["promised"]["trade_off"]
        for row in told:
            assert f"at {row['false_positive']:.0%}" in odds


def test_riskcal_agrees_with_the_certificate_of_a_release(pure):
    """An independent implementation: of ε-DP the trade-off and the advantage are known in closed form."""
    analysis = pytest.importorskip("riskcal").analysis
    promised = pure.certificate()["promised"]
    loss = promised["pure_epsilon"]
    for row in promised["trade_off"]:
        ours, alpha = row["true_positive_at_most"], row["false_positive"]
        theirs = 1 - analysis.get_beta_for_epsilon_delta(loss, 0.0, alpha)
        assert theirs * 0.9 < ours <= theirs + 1e-12  # the mechanism's own curve lies below that of its ε
    assert promised["advantage"] <= analysis.get_advantage_for_epsilon_delta(loss, 0.0) + 1e-12


@pytest.mark.parametrize("delta", ["0", "1/1000000"])
def test_what_was_asked_for_is_shown_as_it_was_asked_for(delta):
    """0.45 and 0.7 as doubles lie above or below their decimals: 0.450001 for 0.45 reads like a breach."""
    for hundredths in range(1, 300):
        asked = Fraction(hundredths, 100)
        for epsilon in (asked, float(asked)):
            target = ApproxDP(epsilon, Fraction(delta)) if delta != "0" else PureDP(epsilon)
            loss = target.epsilon(target.disclosure()[0])
            rows = [] if delta == "0" else [{"delta": float(Fraction(delta)), "epsilon": loss}]
            pure = loss if delta == "0" else None
            promised = {"target": to_json(target), "guarantee": to_json(target), "pure_epsilon": pure}
            (shown,) = losses({**promised, "epsilon_at_delta": rows})
            assert Fraction(shown.words) == asked
            assert shown.epsilon == loss
    tight = {"delta": 1e-6, "epsilon": math.nextafter(math.nextafter(0.45, 1), 1)}  # control: more is more
    held = {"target": to_json(ApproxDP(0.45, 1e-6)), "guarantee": to_json(ZeroCDP(0.1)), "pure_epsilon": None}
    assert losses({**held, "epsilon_at_delta": [tight]})[0].words == "0.450001"
