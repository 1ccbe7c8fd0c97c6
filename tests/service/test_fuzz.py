"""Whatever the interface's own description allows, and more, is answered without a 500."""

import pytest
import schemathesis
from hypothesis import HealthCheck, given, seed, settings

EXAMPLES = 6


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("who", ["ada", "grace"])
def test_nothing_that_is_sent_breaks_the_service(spare, who):
    client, _, tokens = spare
    url = str(client.base_url)
    schema = schemathesis.openapi.from_url(f"{url}/openapi.json")
    seen = {}

    def sent(operation):
        @seed(1)
        @settings(
            max_examples=EXAMPLES, deadline=None, database=None, suppress_health_check=list(HealthCheck)
        )
        @given(case=operation.as_strategy())
        def hold(case):
            answer = case.call(base_url=url, headers={"Authorization": f"Bearer {tokens[who]}"}, timeout=120)
            assert answer.status_code not in {500, 501, 502, 504}, answer.text
            if answer.status_code >= 400:
                assert "application/problem+json" in answer.headers["content-type"], answer.text
            seen.setdefault(operation.label, set()).add(answer.status_code)

        hold()

    for found in schema.get_all_operations():
        sent(found.ok())
    assert len(seen) > 25
