"""Malformed and odd requests, made from the OpenAPI description, never break the service."""

from typing import Any

import httpx
import pytest
from hypothesis import HealthCheck, Phase, given, settings
from hypothesis import strategies as st
from tests.serve.support import Serving

schemathesis = pytest.importorskip("schemathesis", reason="needs the package schemathesis")

EXAMPLES = 25
BUDGET = settings(
    max_examples=EXAMPLES,
    deadline=None,
    derandomize=True,
    phases=[Phase.explicit, Phase.generate],
    suppress_health_check=list(HealthCheck),
)


ROUTES = {
    "GET": ["health", "models", "methods"],
    "POST": ["recognize", "inspect", "explain", "whatif", "draw", "table"],
}


@pytest.fixture(scope="module")
def api(address: Serving) -> Any:
    return schemathesis.openapi.from_url(f"{address.url}/api/v1/openapi.json")


def test_every_route_is_tried(api: Any) -> None:
    described = {found.ok().path.rpartition("/")[2] for found in api.get_all_operations()}
    assert described == {name for names in ROUTES.values() for name in names}


@pytest.mark.parametrize("mode", ["positive", "negative"])
@pytest.mark.parametrize("route", ROUTES["POST"])
def test_no_request_makes_the_service_fail(api: Any, route: str, mode: str) -> None:
    kind = schemathesis.GenerationMode(mode)
    cases = api[f"/api/v1/{route}"]["POST"].as_strategy(generation_mode=kind)

    @BUDGET
    @given(case=cases)
    def send(case: Any) -> None:
        answer = case.call(timeout=60)
        assert answer.status_code < 500, answer.text
        assert "Traceback" not in answer.text

    send()


ODD = st.text(st.characters(codec="utf-8"), max_size=60) | st.text(
    "CNOcno123()[]=#@+-.%", max_size=60
)


@BUDGET
@given(smiles=ODD)
def test_no_text_as_a_molecule_makes_the_service_fail(address: Serving, smiles: str) -> None:
    for route, body in {
        "recognize": {"molecules": [smiles, "C"]},
        "inspect": {"molecule": smiles},
        "whatif": {"molecule": smiles, "atoms": [0, 1]},
        "draw": {"molecule": smiles, "atoms": [0]},
    }.items():
        answer = httpx.post(f"{address.url}/api/v1/{route}", json=body, timeout=60)
        assert answer.status_code < 500, (route, smiles, answer.text)


@BUDGET
@given(
    content=st.binary(max_size=200)
    | st.text(max_size=200).map(lambda text: text.encode("utf-8", "replace"))
)
def test_no_file_makes_the_service_fail(address: Serving, content: bytes) -> None:
    for kind in ("csv", "smi", "sdf", "tsv"):
        url = f"{address.url}/api/v1/table?format={kind}"
        answer = httpx.post(url, content=content, headers={"content-type": "text/csv"}, timeout=60)
        assert answer.status_code < 500, (kind, content, answer.text)
