"""Keys and signatures on record, on both engines; two who sign at once leave one entry."""

from concurrent.futures import ThreadPoolExecutor

import pandas as pd

import discreet as dc
from discreet.privacy.kinds import PureDP
from discreet.release.signature import SigningKey


def test_sign_and_rotate_on_each_engine(place, opened, tmp_path):
    ledger = opened(place, PureDP(1))
    rows = pd.DataFrame({"smoker": [True, False, False] * 40})
    table = dc.Table.open(rows, schema={"smoker": dc.Binary()})["smoker"]
    release = dc.privatise(table, dc.BetaBernoulli(1, 1), target=PureDP(0.5), ledger=ledger)
    folder = release.save(tmp_path / "r", draws=0)
    old, new = SigningKey.create(tmp_path / "old.pem"), SigningKey.create(tmp_path / "new.pem")
    ledger.add_key(old.public, "Zoë")
    with ThreadPoolExecutor(4) as pool:
        at_once = [pool.submit(ledger.sign, folder, release, old) for _ in range(8)]
    assert {done.result() for done in at_once} == {folder / "signature.json"}
    assert sorted(path.name for path in folder.iterdir() if path.name.startswith(".")) == []
    assert [entry.kind for entry in ledger.history()].count("sign") == 1
    ledger.retire_key(old.public.fingerprint, "yearly")
    ledger.add_key(new.public, "Zoë")
    ledger.sign(folder, release, new)
    assert [key.state for key in ledger.signers(folder, release)] == ["retired", "signs"]
    assert ledger.verify(release).entries == 8
