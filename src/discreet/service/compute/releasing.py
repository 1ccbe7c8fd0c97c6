"""The straight line for an order: as `privatise` walks it, with a statistic that is read once and kept.

bounded statistic → calibrated mechanism → CHARGE → read → draw → record → release.

Orders that wait for the same process walk it together: one commit charges them all, then each is read and
drawn, and one commit records them all, before the first of them leaves. Wherever that is cut off:
- before the first commit nothing is charged, and nothing was read;
- between the two all are charged and no draw was seen: asked again under its id each is drawn anew and pays
  nothing more;
- within either commit the database keeps all of the group or nothing of it, which are the cases beside it;
- after the second each is recorded: asked again, the same bytes.
What is refused in a group is undone alone, and asked again alone, which also finds the words for it.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from typing import Any, final

from discreet.ledger import Ledger
from discreet.ledger.together import Charge
from discreet.line.after_charge import ChargeKept, Form, drawn_for, one_release, release_once, released_by
from discreet.line.calibrate import calibrate, charge_facts, promise_for_unit, release_facts
from discreet.line.charge import pay
from discreet.line.choose import default_mechanism, mechanism_class
from discreet.mechanisms.mechanism import ModelMechanism
from discreet.privacy.accounting.filters import Overspent
from discreet.privacy.guarantee import Guarantee
from discreet.release.json import canonical
from discreet.release.receipt import LedgerError, LedgerUnavailableError, Receipt
from discreet.release.release import Release
from discreet.service.compute.desk import Desk, chosen, desk, exactly, plain, target
from discreet.service.compute.orders import Inquiry, Order, Problem, Reply
from discreet.service.compute.refusals import before_charge, of_the_line, overspent
from discreet.statistics.bounded_statistic import BoundedStatistic


@final
@dataclass(frozen=True)
class Ready:
    """All that is known before the charge."""

    statistic: BoundedStatistic
    mechanism: ModelMechanism
    price: Guarantee
    wanted: Guarantee
    form: Form[Any, Release]
    facts: Mapping[str, Any]


def prepared(at: Desk, question: Inquiry) -> Ready:
    """Calibrate, or find what was calibrated for the same question."""
    said = asdict(question)
    said["table"] = [question.table.name, question.table.revision]
    found: Ready = at.prepared.get(canonical(plain(said)), lambda: _prepared(at, question))
    return found


def _prepared(at: Desk, question: Inquiry) -> Ready:
    wanted = target(question)
    table, model = chosen(question, at.table(question.table))
    kind = mechanism_class(question.mechanism or default_mechanism(model, wanted.relation), model)
    statistic = at.statistic(question, model, table, kind.reads)
    ready = calibrate(kind, statistic, wanted, **exactly(question.options))
    own = promise_for_unit(ready, statistic.rows_per_unit, wanted)
    facts = charge_facts(statistic.table, model, kind.name, None)
    form = one_release(release_facts(statistic, ready, own, wanted, None))
    return Ready(statistic, ready, own, wanted, form, facts)


def release(order: Order) -> Reply | Problem:
    """Pay for an order and return its release's bytes; under the same id, the same bytes."""
    ready = ready_for(order)
    return ready if isinstance(ready, Problem) else charged(desk().ledger, order, ready)


def ready_for(order: Order) -> Ready | Problem:
    """Calibrate, and open the ledger."""
    at, found = desk(), []

    def prepare() -> Reply:
        found.append(prepared(at, order.inquiry))
        _ = at.ledger
        return Reply(b"")

    refused = before_charge(prepare)
    return refused if isinstance(refused, Problem) else found[0]


def release_all(orders: Sequence[Order]) -> list[Reply | Problem]:
    """Do so for several orders with two commits in all; one that cannot walk with the others walks alone."""
    ready = {order.id: ready_for(order) for order in orders}
    able = {o.id: (o, r) for o in orders if isinstance(r := ready[o.id], Ready)}
    try:
        made = _together(desk().ledger, list(able.values())) if len(able) > 1 else {}
    except LedgerUnavailableError as error:
        made = dict.fromkeys(able, of_the_line(error))
    return [made.get(order.id) or _alone(order, ready[order.id]) for order in orders]


def _alone(order: Order, ready: Ready | Problem) -> Reply | Problem:
    return ready if isinstance(ready, Problem) else charged(desk().ledger, order, ready)


def _together(ledger: Ledger, able: Sequence[tuple[Order, Ready]]) -> dict[str, Reply | Problem]:
    """Charge all, read and draw each, record all; what is not in the answer has to be asked alone."""
    try:
        receipts = ledger.charge_all([_charge(order, ready) for order, ready in able])
    except LedgerUnavailableError:
        raise
    except LedgerError:  # of one of them, as a budget that is gone: which one is found alone
        return {}
    said: dict[str, Reply | Problem] = {}
    drawn, forms = {}, {}
    for (order, ready), receipt in zip(able, receipts, strict=True):
        if receipt is None or receipt.computed:
            continue
        draw, forms[order.id] = released_by(ready.mechanism, ready.statistic, None), ready.form
        try:
            drawn[order.id] = drawn_for(receipt, ready.statistic.read, draw, ready.form)
        except ChargeKept as error:
            said[order.id] = of_the_line(error)
    for name, bodies in (ledger.record_all(drawn) if drawn else {}).items():
        if bodies is not None:
            said[name] = _reply(forms[name], bodies)
    return said


def _reply(form: Form[Any, Release], bodies: Mapping[str, bytes]) -> Reply | Problem:
    try:
        return Reply(form.load(bodies).body)
    except LedgerError as error:
        return of_the_line(error)


def _charge(order: Order, ready: Ready) -> Charge:
    about = {**ready.facts, "actor": order.person}
    return Charge(order.id, ready.price, ready.wanted, order.scopes, order.note, about)


def charged(ledger: Ledger, order: Order, ready: Ready) -> Reply | Problem:
    """Charge, read, draw and record."""
    try:
        receipt = paid(ledger, order, ready)
        draw = released_by(ready.mechanism, ready.statistic, None)
        made = release_once(ledger, receipt, ready.statistic.read, draw, ready.form)
    except Overspent as error:
        return overspent(ledger, order.scopes, str(error))
    except Exception as error:  # noqa: BLE001 - release_once says nothing of rows; the rest is the ledger's
        return of_the_line(error) if isinstance(error, LedgerError | RuntimeError) else _unexpected()
    return Reply(made.body)


def paid(ledger: Ledger, order: Order, ready: Ready) -> Receipt:
    """Pay, or find what was paid under this id; from the budgets of then, if there are others by now."""
    about = {**ready.facts, "actor": order.person}

    def pay_from(scopes: Sequence[str]) -> Receipt:
        return pay(
            ledger, ready.price, ready.wanted, scope=scopes, charge_id=order.id, note=order.note, about=about
        )

    try:
        return pay_from(order.scopes)
    except LedgerUnavailableError:
        raise
    except LedgerError as refused:
        before = _scopes_of(ledger, order.id)
        if before is None or sorted(before) == sorted(order.scopes):
            raise refused from None
    return pay_from(before)


def _scopes_of(ledger: Ledger, charge: str) -> tuple[str, ...] | None:
    try:
        return ledger.receipt(charge).scopes
    except LedgerError:
        return None


def _unexpected() -> Problem:
    return Problem(500, "Unexpected", "what was raised is withheld; the charge, if one was made, is kept")


def fits(order: Order) -> Reply | Problem:
    """Whether an order can be calibrated and paid for now: asked before somebody is asked to approve it."""
    at = desk()

    def look() -> Reply | Problem:
        ready = prepared(at, order.inquiry)
        asked = [ready.price, ready.wanted]
        if any(not any(at.ledger.remaining(s).admits(one) for one in asked) for s in order.scopes):
            return overspent(at.ledger, order.scopes, "this does not fit what is left")
        return Reply(b"")

    return before_charge(look)


def kept(release_id: str) -> Reply | Problem:
    """Return the bytes of a release that was paid for."""
    try:
        return Reply(desk().ledger.released(release_id)[""])
    except LedgerError as error:
        return of_the_line(error)
