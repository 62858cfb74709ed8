"""What is asked and answered, as the documentation shows it."""

import re
from pathlib import Path

import httpx
import pyarrow as pa
import pytest
from pydantic import ValidationError

from vgib.data.molecules import load_drugs
from vgib.model.recognizer import SubgraphRecognizer
from vgib.select.policy import CRITERIA, RULES
from vgib.serve import schemas
from vgib.stream.work import Recognize
from vgib.stream.writers import rows_of


def test_every_rule_of_the_library_can_be_asked_for() -> None:
    for rule in RULES:
        assert schemas.RecognizeRequest(molecules=["C"], rule=rule).rule == rule
    for by in CRITERIA:
        assert schemas.RecognizeRequest(molecules=["C"], by=by).by == by


def test_every_example_of_the_documentation_can_be_sent(client: httpx.Client) -> None:
    api = client.get("/api/v1/openapi.json").json()
    sent = 0
    for path, methods in api["paths"].items():
        body = methods.get("post", {}).get("requestBody", {}).get("content", {})
        if "application/json" not in body:
            continue
        name = body["application/json"]["schema"]["$ref"].rpartition("/")[2]
        schema = api["components"]["schemas"][name]
        asked = {field: schema["properties"][field]["examples"][0] for field in schema["required"]}
        answer = client.post(path, json=asked)
        assert answer.status_code == 200, (path, asked, answer.text)
        sent += 1
    assert sent == 5


def test_answers_have_the_fields_that_are_documented(client: httpx.Client) -> None:
    asked = {"molecules": ["CCO"], "model": "values"}
    answer = client.post("/api/v1/recognize", json=asked).json()
    schemas.RecognizeAnswer.model_validate(answer)
    inspected = client.post("/api/v1/inspect", json={"molecule": "CCO"}).json()
    assert set(inspected) == set(schemas.InspectAnswer.model_fields)
    explained = client.post("/api/v1/explain", json={"molecule": "CCO", "method": "random"}).json()
    assert set(explained) == set(schemas.ExplainAnswer.model_fields)
    kept = client.post("/api/v1/whatif", json={"molecule": "CCO", "atoms": [0]}).json()
    assert set(kept) == set(schemas.WhatIfAnswer.model_fields)


def test_a_row_of_several_values_has_a_spread_of_each(tmp_path: Path) -> None:
    molecules = load_drugs()["smiles"].head(12).tolist()
    members = [
        SubgraphRecognizer(epochs=1, hidden=4, depth=1, seed=seed).fit(
            molecules, [[float(len(text)), 1.0] for text in molecules]
        )
        for seed in range(2)
    ]
    saved = SubgraphRecognizer.together(members).save(tmp_path / "several")
    results = Recognize(saved)(pa.table({"line": [1], "smiles": ["CCO"]})).results
    (row,) = rows_of(results)
    told = schemas.RowAnswer.model_validate(row)
    assert isinstance(told.spread, list) and told.spread == row["spread"]
    assert told.prediction == row["prediction"]


def test_every_field_of_a_request_is_in_plain_words() -> None:
    fields = schemas.RecognizeRequest.model_fields
    assert all(re.match(r"[A-Z].*\.$", f.description) for f in fields.values() if f.description)


def test_of_several_unknown_fields_the_first_is_told() -> None:
    asked = {"molecules": ["CCO"], "colour": 1, "shape": 2}
    with pytest.raises(ValidationError) as refused:
        schemas.RecognizeRequest(**asked)
    assert [error["loc"] for error in refused.value.errors()] == [("colour",)]
