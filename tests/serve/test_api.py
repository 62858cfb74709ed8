"""The routes, over a real socket: the same numbers as in Python and on the command line."""

import json
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any
from xml.etree import ElementTree

import httpx
import pyarrow as pa
import pytest
from tests.serve.support import IMATINIB, PARACETAMOL, serving
from typer.testing import CliRunner

from vgib import __version__
from vgib.chem.draw import draw
from vgib.cli.app import app
from vgib.select.policy import Selection
from vgib.serve.api import make_app
from vgib.serve.limits import Limits
from vgib.serve.shelf import ModelShelf
from vgib.stream.work import Recognize

API = "/api/v1"


def post(client: httpx.Client, route: str, **body: Any) -> Any:
    answer = client.post(API + route, json=body)
    assert answer.status_code == 200, answer.text
    return answer.json()


def refused(client: httpx.Client, route: str, **body: Any) -> tuple[int, str]:
    answer = client.post(API + route, json=body)
    return answer.status_code, answer.json()["error"]["message"]


# ---- about the service ---------------------------------------------------------------------------


def test_health_tells_what_is_there(client: httpx.Client) -> None:
    told = client.get(f"{API}/health").json()
    assert told["status"] == "ok"
    assert told["version"] == __version__
    assert told["models"] == ["classes", "values"]
    assert told["limits"]["molecules"] == 20


def test_models_describe_themselves(client: httpx.Client) -> None:
    models = {one["name"]: one for one in client.get(f"{API}/models").json()["models"]}
    assert models["values"]["task"] == "regression"
    assert models["classes"]["classes"] == [0, 1]
    assert models["classes"]["members"] == 2


def test_methods_are_listed(client: httpx.Client) -> None:
    names = [one["name"] for one in client.get(f"{API}/methods").json()["methods"]]
    assert {"occlusion", "gnnexplainer", "random"} <= set(names)


def test_the_openapi_description_names_every_route(client: httpx.Client) -> None:
    paths = client.get(f"{API}/openapi.json").json()["paths"]
    verbs = ("health", "models", "methods", "inspect", "explain", "whatif", "draw")
    assert set(paths) == {f"{API}/{verb}" for verb in (*verbs, "recognize", "table")}


# ---- the same numbers ----------------------------------------------------------------------------


@pytest.mark.parametrize("name", ["values", "classes"])
def test_recognize_answers_as_python_does(
    client: httpx.Client, shelf: ModelShelf, name: str
) -> None:
    molecules = [PARACETAMOL, IMATINIB]
    expected = shelf.get(name).answer(molecules)
    scores = expected.node_scores.tolist()
    rows = post(client, "/recognize", molecules=molecules, model=name)["results"]
    assert [score for row in rows for score in row["scores"]] == pytest.approx(scores, abs=6e-5)
    for row, mean, spread in zip(rows, expected.mean, expected.spread, strict=True):
        if name == "values":
            told = (float(mean[0]), float(spread[0]))
            assert (row["prediction"], row["spread"]) == pytest.approx(told, abs=1e-6)
        else:
            assert row["prediction"] == mean.argmax()
            assert row["probability"] == pytest.approx(mean.max(), abs=1e-6)


def test_recognize_finds_the_parts_that_python_finds(
    client: httpx.Client, folders: list[Path]
) -> None:
    unit = Recognize(folders[0], Selection((0.3, 0.6), n=2))
    (expected,) = unit(pa.table({"line": [1], "smiles": [IMATINIB]})).results.to_pylist()
    asked = {"molecules": [IMATINIB], "model": "values", "n": 2, "keep_ratio": [0.3, 0.6]}
    (row,) = post(client, "/recognize", **asked)["results"]
    assert len(row["subgraphs"]) >= 3
    for part, other in zip(row["subgraphs"], expected["subgraphs"], strict=True):
        assert (part["smiles"], part["atoms"]) == (other["smiles"], other["atoms"])
        assert part["score"] == round(other["score"], 4)


def test_recognize_answers_as_the_command_line_does(
    client: httpx.Client, folders: list[Path]
) -> None:
    options = ["--model", str(folders[0]), "--keep-ratio", "0.5", "--json"]
    done = CliRunner().invoke(app, ["recognize", PARACETAMOL, IMATINIB, *options])
    assert done.exit_code == 0, done.output
    expected = [json.loads(line) for line in done.stdout.splitlines()]
    asked = {"molecules": [PARACETAMOL, IMATINIB], "model": "values", "keep_ratio": [0.5]}
    rows = post(client, "/recognize", **asked)["results"]
    assert len(rows) == len(expected)
    for row, other in zip(rows, expected, strict=True):
        for name in ("smiles", "prediction", "spread", "stability"):
            assert row[name] == pytest.approx(other[name], abs=1e-6)
        assert row["scores"] == pytest.approx(other["scores"], abs=6e-5)
        assert [part["atoms"] for part in row["subgraphs"]] == [
            part["atoms"] for part in other["subgraphs"]
        ]


def test_requests_at_the_same_time_are_computed_together(client: httpx.Client) -> None:
    def ask(number: int) -> Any:
        return post(client, "/recognize", molecules=["C" * (number + 1)], model="values")

    with ThreadPoolExecutor(16) as pool:
        answers = list(pool.map(ask, range(48)))
    assert [one["results"][0]["smiles"] for one in answers] == ["C" * (n + 1) for n in range(48)]
    assert client.get(f"{API}/health").json()["mean_batch"] > 1


# ---- one molecule --------------------------------------------------------------------------------


def test_inspect_agrees_with_recognize(client: httpx.Client) -> None:
    (row,) = post(client, "/recognize", molecules=[IMATINIB], model="values")["results"]
    found = post(client, "/inspect", molecule=IMATINIB, model="values")
    assert found["prediction"] == pytest.approx(row["prediction"], abs=1e-6)
    assert found["value"] == pytest.approx(row["prediction"], abs=1e-6)
    assert found["spread"] == pytest.approx(row["spread"], abs=1e-6)
    assert found["scores"] == pytest.approx(row["scores"], abs=2e-4)
    assert found["statement"] == row["statement"] and found["why_none"] == row["why_none"]
    assert [part["atoms"] for part in found["subgraphs"][:1]] == [
        part["atoms"] for part in row["subgraphs"]
    ]
    for part in found["subgraphs"]:  # each of them lies on the curve over all sizes
        (size,) = [size for size in found["sizes"] if size["atoms"] == len(part["atoms"])]
        assert size["parts"][0]["atoms"] == part["atoms"]
    assert len(found["effects"]) == len(found["scores"]) and found["effect_unit"] == ""
    assert len(found["sketch"]["places"]) == len(found["scores"])
    assert found["scale"][0].startswith("#")


def test_inspect_of_classes_follows_a_probability(client: httpx.Client) -> None:
    found = post(client, "/inspect", molecule=PARACETAMOL, model="classes")
    assert found["quantity"] == "probability of class 1"
    assert 0 <= found["value"] <= 1
    assert found["prediction"] in (0, 1)


def test_whatif_of_a_recognized_part_gives_its_value(client: httpx.Client) -> None:
    found = post(client, "/inspect", molecule=IMATINIB, model="values")
    part = found["sizes"][10]["parts"][0]
    asked = {"molecule": IMATINIB, "atoms": part["atoms"], "model": "values"}
    kept = post(client, "/whatif", **asked)
    assert kept["value"] == pytest.approx(part["value"], abs=1e-6)
    assert kept["smiles"] == part["smiles"]
    assert kept["reason"] is None


def test_explain_scores_each_atom(client: httpx.Client) -> None:
    found = post(client, "/explain", molecule=PARACETAMOL, method="occlusion", model="values")
    assert len(found["scores"]) == 11
    assert max(found["scores"]) <= 1
    assert found["sizes"][-1]["atoms"] == 11


def test_draw_gives_the_picture_of_python(client: httpx.Client) -> None:
    body = {"molecule": "CCO", "scores": [0.1, 0.5, 0.9], "atoms": [1, 2]}
    answer = client.post(f"{API}/draw", json=body)
    assert answer.headers["content-type"] == "image/svg+xml"
    assert answer.text == draw("CCO", [0.1, 0.5, 0.9], [1, 2])
    ElementTree.fromstring(answer.text)
    image = client.post(f"{API}/draw", json=body | {"format": "png"})
    assert image.content.startswith(b"\x89PNG")


# ---- refusals ------------------------------------------------------------------------------------


def test_an_unknown_model_or_method_is_not_found(client: httpx.Client) -> None:
    for route, body in {
        "/recognize": {"molecules": ["C"], "model": "value"},
        "/inspect": {"molecule": "C", "model": "value"},
        "/explain": {"molecule": "C", "method": "oclusion"},
        "/whatif": {"molecule": "C", "atoms": [0], "model": "value"},
    }.items():
        status, message = refused(client, route, **body)
        assert status == 404
        assert "did you mean" in message


def test_a_bad_molecule_is_refused_as_python_does(client: httpx.Client) -> None:
    reason = "ring-closure number 1 is not closed; each number comes in pairs"
    for route, body in {
        "/recognize": {"molecules": ["C1CC"]},
        "/inspect": {"molecule": "C1CC"},
        "/whatif": {"molecule": "C1CC", "atoms": [0]},
        "/draw": {"molecule": "C1CC"},
    }.items():
        status, message = refused(client, route, **body)
        assert status == 422
        assert reason in message


def test_too_many_molecules_or_atoms_are_too_much(client: httpx.Client) -> None:
    status, message = refused(client, "/recognize", molecules=["C"] * 21)
    assert (status, "21 molecules at once" in message) == (413, True)
    status, message = refused(client, "/inspect", molecule="C" * 150)
    assert (status, "more than the 100" in message) == (413, True)


@pytest.mark.parametrize(
    ("body", "told"),
    [
        ({"molecules": []}, "molecules: "),
        ({"molecules": ["C"], "n": -1}, "n: "),
        ({"molecules": ["C"], "keep_ratio": [1.5]}, "keep_ratio.0: "),
        ({"molecules": ["C"], "rule": "best"}, "rule: "),
        ({"molecules": ["C"], "size": 3}, "size: extra inputs"),
    ],
    ids=["none", "n", "ratio", "rule", "extra"],
)
def test_a_malformed_request_is_told_which_field(
    client: httpx.Client, body: dict[str, Any], told: str
) -> None:
    status, message = refused(client, "/recognize", **body)
    assert status == 422
    assert message.startswith(told)


def test_a_molecule_that_is_too_long_costs_itself(client: httpx.Client) -> None:
    told = post(client, "/recognize", molecules=["CCO", "C" * 5000], model="values")
    assert [row["line"] for row in told["results"]] == [1]
    (refused_row,) = told["rejected"]
    assert (
        refused_row["line"] == 2 and "5,000 letters, more than the 2,000" in refused_row["reason"]
    )


def test_what_is_no_json_is_refused(client: httpx.Client) -> None:
    headers = {"content-type": "application/json"}
    answer = client.post(f"{API}/recognize", content=b"{not json", headers=headers)
    assert answer.status_code == 422
    assert "JSON" in answer.json()["error"]["message"]


def test_a_slow_answer_is_given_up(shelf: ModelShelf) -> None:
    limits = Limits(seconds=0.0001)
    with (
        serving(make_app(shelf, limits)) as found,
        httpx.Client(base_url=found.url) as client,
    ):
        for route, body in {
            "/recognize": {"molecules": [IMATINIB]},
            "/inspect": {"molecule": IMATINIB},
        }.items():
            answer = client.post(API + route, json=body)
            assert answer.status_code == 503
            assert answer.headers["retry-after"] == "1"
            assert "no answer within" in answer.json()["error"]["message"]


def test_a_strange_host_is_refused(client: httpx.Client) -> None:
    answer = client.get(f"{API}/health", headers={"host": "evil.example"})
    assert answer.status_code == 400
