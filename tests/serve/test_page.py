"""The page in a real browser: every flow, every error state, and nothing in the console."""

import csv
import json
import os
import re
import shutil
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from tests.serve.support import IMATINIB, PARACETAMOL, Serving, serving

from vgib.data.molecules import load_drugs
from vgib.serve.api import make_app
from vgib.serve.editor import editor_folder, is_fetched
from vgib.serve.limits import Limits
from vgib.serve.shelf import ModelShelf

playwright = pytest.importorskip("playwright.sync_api", reason="needs the package playwright")
expect = playwright.expect
expect.set_options(timeout=60_000)  # a busy machine is slow now and then

CHROMIUM = os.environ.get("VGIB_CHROMIUM") or shutil.which("chromium") or shutil.which("chrome")
QUIET = [
    "--disable-quic",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
    "--no-first-run",
    "--no-sandbox",  # the tests may run as root, for whom chromium has none
]
ANILINE = "Nc1ccccc1"
EPOXIDE = "C1OC1COc1ccccc1"

pytestmark = [
    pytest.mark.browser,
    pytest.mark.skipif(CHROMIUM is None, reason="no chromium; name one with VGIB_CHROMIUM=path"),
]


@pytest.fixture(scope="module")
def browser() -> Iterator[Any]:
    with playwright.sync_playwright() as driver:
        found = driver.chromium.launch(executable_path=CHROMIUM, args=QUIET, timeout=120_000)
        yield found
        found.close()


class Watched:
    """A page, all that its console said, and every address that it asked for."""

    def __init__(self, page: Any) -> None:
        self.page = page
        self.said: list[str] = []
        self.asked: list[str] = []
        page.on("console", lambda message: self.said.append(message.text))
        page.on("pageerror", lambda error: self.said.append(str(error)))
        page.on("request", lambda request: self.asked.append(request.url))


def opened(browser: Any, url: str, **options: Any) -> Watched:
    context = browser.new_context(**{"viewport": {"width": 1280, "height": 900}, **options})
    context.set_default_timeout(60_000)
    watched = Watched(context.new_page())
    watched.page.goto(url)
    return watched


@pytest.fixture
def watched(browser: Any, address: Serving) -> Iterator[Watched]:
    """The page; whatever it did, nothing may have been said and nothing come from elsewhere."""
    found = opened(browser, address.url)
    expect(found.page.locator("#picture svg")).to_be_visible()
    yield found
    assert found.said == []
    assert all(url.startswith((address.url, "blob:")) for url in found.asked)
    found.page.context.close()


@pytest.fixture
def page(watched: Watched) -> Any:
    return watched.page


def recognize(page: Any, smiles: str, model: str = "values") -> None:
    page.select_option("#model", model)
    page.fill("#smiles", smiles)
    page.press("#smiles", "Enter")
    expect(page.locator("#picture svg")).to_have_attribute(
        "aria-label", re.compile(f"^{re.escape(smiles)}:")
    )
    expect(page.locator("body")).not_to_have_attribute("aria-busy", "true")


def calls(watched: Watched, since: int) -> list[str]:
    """What was asked of the service; the browser asks for the icon whenever it likes."""
    return [url for url in watched.asked[since:] if "/api/" in url]


def downloaded(page: Any, button: str) -> str:
    with page.expect_download() as found:
        page.click(button)
    return str(Path(found.value.path()).read_text(encoding="utf-8"))


def set_size(page: Any, step: int) -> None:
    page.focus("#size")
    page.press("#size", "Home")
    for _ in range(step):
        page.press("#size", "ArrowRight")


# ---- one molecule --------------------------------------------------------------------------------


def test_an_example_is_shown_at_once(page: Any) -> None:
    expect(page.locator("#value")).not_to_be_empty()
    expect(page.locator("#smiles")).to_have_value(EPOXIDE)
    expect(page.locator("#pieces tbody tr")).to_have_count(4)
    expect(page.locator("#no-editor")).to_be_visible()
    expect(page.locator("#draw")).to_be_hidden()


def test_a_pasted_molecule_is_recognized(page: Any, shelf: ModelShelf) -> None:
    recognize(page, IMATINIB)
    expected = sum(m.predict([IMATINIB])[0] for m in shelf.get("values").members()) / 2
    assert float(page.inner_text("#value")) == pytest.approx(expected, abs=6e-3)
    assert "±" in page.inner_text("#spread")
    expect(page.locator("#picture .hit")).to_have_count(37)
    expect(page.locator("#members circle")).to_have_count(2)
    expect(page.locator("#chart .random")).to_have_count(1)
    room = page.locator("#chart").evaluate("(one) => one.clientWidth")
    assert page.get_attribute("#chart svg", "viewBox") == f"0 0 {room} 250"


def test_classes_are_told_as_a_probability(page: Any) -> None:
    recognize(page, ANILINE, "classes")
    assert page.inner_text("#value").endswith("%")
    expect(page.locator("#value")).to_contain_text("class ")
    expect(page.locator("#members-told")).to_contain_text("Probability of class 1")


def test_the_slider_moves_through_the_sizes_without_a_request(watched: Watched) -> None:
    page = watched.page
    recognize(page, IMATINIB)
    before = len(watched.asked)
    seen = set()
    for step in (0, 4, 9):
        set_size(page, step)
        seen.add(page.inner_text("#part-smiles"))
    assert len(seen) == 3
    assert calls(watched, before) == []
    told = page.inner_text("#size-told")
    kept = page.locator("#picture .hit[aria-pressed=true]").count()
    assert told.startswith(f"{kept} of 37 atoms")
    assert page.get_attribute("#size", "aria-valuetext") == told


def test_parts_of_one_size_are_ranked(watched: Watched) -> None:
    page = watched.page
    recognize(page, IMATINIB)
    set_size(page, 0)
    before = len(watched.asked)
    page.click("#ranks button:nth-child(2)")
    expect(page).to_have_url(re.compile("rank=1"))
    expect(page.locator("#ranks button:nth-child(2)")).to_have_attribute("aria-pressed", "true")
    assert calls(watched, before) == []


def test_clicking_atoms_asks_what_if(page: Any, shelf: ModelShelf) -> None:
    recognize(page, ANILINE)
    page.focus("#size")
    page.press("#size", "End")
    page.locator("#picture .hit[data-atom='0']").click()
    expect(page.locator("#part-title")).to_have_text("Your part alone")
    expect(page.locator("#part-smiles")).to_have_text("*c1ccccc1")
    ring = np.arange(7)[None] > 0
    answer = shelf.get("values").answer([ANILINE])
    expected = float(answer.predict_parts(0, ring).mean())
    assert float(page.inner_text("#part-value")) == pytest.approx(expected, abs=6e-3)
    expect(page.locator("#picture .hit[data-atom='0']")).to_have_attribute("aria-pressed", "false")
    page.click("#reset")
    expect(page.locator("#part-title")).not_to_have_text("Your part alone")
    expect(page.locator("#reset")).to_be_hidden()


def test_a_group_can_be_removed(page: Any, shelf: ModelShelf) -> None:
    recognize(page, ANILINE)
    page.get_by_role("button", name="Remove *N", exact=True).click()
    expect(page.locator("#part-title")).to_have_text("Your part alone")
    expect(page.locator("#part-smiles")).to_have_text("*c1ccccc1")
    expect(page.locator("#part-told")).to_contain_text("of the whole molecule")
    answered = page.locator("#pieces .without:not(:empty)")  # in the row of the button alone
    expect(answered).to_have_text(re.compile(r"^\S+ \(.+\)$"))


def test_colors_tell_effects_or_scores(page: Any) -> None:
    recognize(page, ANILINE)
    expect(page.locator("#scale-high")).to_contain_text("raises")
    page.select_option("#color", "score")
    expect(page.locator("#scale-low")).to_have_text("score 0")


def test_what_if_works_with_the_keyboard_alone(page: Any) -> None:
    recognize(page, ANILINE)
    page.focus("#size")
    page.press("#size", "End")
    page.locator("#picture .hit[tabindex='0']").focus()
    first = page.evaluate("() => document.activeElement.dataset.atom")
    for key in ("ArrowRight", "ArrowLeft", "ArrowDown", "ArrowUp"):
        page.keyboard.press(key)
    now = page.evaluate("() => document.activeElement.dataset.atom")
    page.keyboard.press("ArrowLeft" if now == first else "ArrowRight")
    atom = page.evaluate("() => document.activeElement.dataset.atom")
    page.keyboard.press("Space")
    expect(page.locator(f"#picture .hit[data-atom='{atom}']")).to_have_attribute(
        "aria-pressed", "false"
    )
    assert page.evaluate("() => document.activeElement.dataset.atom") == atom
    expect(page.locator("#status")).to_contain_text("6 atoms kept")


def test_methods_are_compared_side_by_side(page: Any) -> None:
    page.select_option("#rule", "ring_intact")  # by scores every method reaches the same sizes
    recognize(page, PARACETAMOL)
    page.click("#compare-card > summary")
    for box in page.locator("#boxes input").all():
        box.set_checked(box.get_attribute("value") in ("occlusion", "gradcam"))
    page.click("#compare")
    expect(page.locator("#compared svg")).to_have_count(3)
    expect(page).to_have_url(re.compile(r"methods=gradcam\.occlusion"))
    set_size(page, 1)
    atoms = page.inner_text("#size-told").split()[0]
    expect(page.locator("#compared figcaption").nth(1)).to_contain_text(f"its {atoms} atom")


def test_a_link_restores_the_view(browser: Any, address: Serving, page: Any) -> None:
    recognize(page, IMATINIB, "values")
    set_size(page, 6)
    expect(page).to_have_url(re.compile(rf"size={page.inner_text('#size-told').split()[0]}"))
    other = opened(browser, page.url)
    expect(other.page.locator("#size-told")).to_have_text(page.inner_text("#size-told"))
    assert other.page.inner_text("#part-smiles") == page.inner_text("#part-smiles")
    page.locator("#picture .hit[data-atom='3']").click()
    expect(page.locator("#part-value")).not_to_have_text("…")
    expect(page).to_have_url(re.compile("atoms="))
    third = opened(browser, page.url)
    expect(third.page.locator("#part-title")).to_have_text("Your part alone")
    expect(third.page.locator("#part-value")).to_have_text(page.inner_text("#part-value"))
    assert other.said + third.said == []
    for one in (other, third):
        one.page.context.close()


def test_everything_can_be_taken_away(page: Any) -> None:
    recognize(page, ANILINE)
    picture = downloaded(page, "#save-svg")
    assert picture.startswith("<svg") and "hit" not in picture
    atoms = list(csv.DictReader(downloaded(page, "#save-csv").splitlines()))
    assert [row["element"] for row in atoms] == ["N", *["C"] * 6]
    parts = list(csv.DictReader(downloaded(page, "#save-sizes").splitlines()))
    assert {"subgraph", "value", "random_low", "stability"} <= set(parts[0])
    whole = json.loads(downloaded(page, "#save-json"))
    assert whole["smiles"] == ANILINE
    assert len(whole["scores"]) == 7
    with page.expect_download() as found:
        page.click("#save-png")
    assert Path(found.value.path()).read_bytes().startswith(b"\x89PNG")


def test_the_theme_can_be_chosen(page: Any) -> None:
    for theme in ("light", "dark", "auto"):
        page.click("#theme")
        expect(page.locator("html")).to_have_attribute("data-theme", theme)


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_the_page_fits_a_phone(browser: Any, address: Serving, scheme: str) -> None:
    found = opened(
        browser, address.url, viewport={"width": 360, "height": 740}, color_scheme=scheme
    )
    expect(found.page.locator("#picture svg")).to_be_visible()
    found.page.wait_for_function("document.documentElement.scrollWidth <= 360")
    found.page.goto(f"{address.url}/docs")
    expect(found.page.locator("section").first).to_be_visible()
    found.page.wait_for_function("document.documentElement.scrollWidth <= 360")
    assert found.said == []
    found.page.context.close()


def test_every_control_has_a_name(page: Any) -> None:
    nameless = page.evaluate(
        """() => [...document.querySelectorAll("input, select, button, [role=button], progress")]
          .filter((one) => !one.labels?.length && !one.textContent.trim())
          .filter((one) => !one.getAttribute("aria-label"))
          .map((one) => one.outerHTML)"""
    )
    assert nameless == []
    headings = page.locator("h2").all_inner_texts()
    assert "Prediction" in headings


# ---- errors --------------------------------------------------------------------------------------


def test_a_bad_molecule_is_explained(browser: Any, address: Serving) -> None:
    found = opened(browser, address.url)
    page = found.page
    expect(page.locator("#picture svg")).to_be_visible()
    page.fill("#smiles", "C1CC")
    page.click("#ask button.main")
    expect(page.locator("#problem")).to_contain_text("ring-closure number 1 is not closed")
    expect(page.locator("#result")).to_be_hidden()
    page.fill("#smiles", "")
    page.click("#ask button.main")
    expect(page.locator("#problem")).to_contain_text("Give a molecule first")
    page.fill("#smiles", "CCO")
    page.click("#ask button.main")
    expect(page.locator("#result")).to_be_visible()
    expect(page.locator("#problem")).to_be_hidden()
    # The browser itself notes the refused request; the page adds nothing to it.
    assert all("422" in line for line in found.said)
    page.context.close()


def test_a_service_that_is_gone_is_said_to_be_gone(browser: Any, shelf: ModelShelf) -> None:
    with serving(make_app(shelf)) as here:
        found = opened(browser, here.url)
        page = found.page
        expect(page.locator("#picture svg")).to_be_visible()
    page.fill("#smiles", "CCO")
    page.click("#ask button.main")
    expect(page.locator("#problem")).to_contain_text("The service does not answer")
    assert all("ERR_CONNECTION_REFUSED" in line for line in found.said)
    page.context.close()


# ---- tables --------------------------------------------------------------------------------------


@pytest.fixture
def drugs(tmp_path: Path) -> Path:
    path = tmp_path / "drugs.csv"
    text = load_drugs().head(60)[["name", "smiles"]].to_csv(index=False)
    path.write_text(text + "broken,C1CC\n", encoding="utf-8")
    return path


def send(page: Any, file: Path, share: str = "0.3") -> None:
    page.click("#to-table")
    page.select_option("#model", "values")
    page.select_option("#share", share)
    page.set_input_files("#file", file)
    page.click("#upload button.main")


def test_a_table_becomes_a_gallery_and_a_ledger(page: Any, drugs: Path) -> None:
    send(page, drugs)
    expect(page.locator("#tab-gallery")).to_have_text("Molecules (60)")
    expect(page.locator("#gallery figure")).to_have_count(24)
    expect(page.locator("#gallery img[src^=blob]")).to_have_count(24)
    page.select_option("#sort", "-value")
    captions = page.locator("#gallery figcaption").all_inner_texts()
    values = [float(caption.split("\n")[1].split()[0]) for caption in captions]
    assert values == sorted(values, reverse=True)
    page.fill("#search", "aspirin")
    expect(page.locator("#gallery figure")).to_have_count(1)
    page.fill("#search", "")
    page.click("#page-after")
    expect(page.locator("#page-told")).to_have_text("Page 2 of 3")

    page.focus("#tab-gallery")
    page.keyboard.press("ArrowRight")
    expect(page.locator("#panel-ledger")).to_be_visible()
    expect(page.locator("#ledger th[aria-sort=none]")).to_have_count(9)
    page.click("#ledger th:nth-child(5) button")
    expect(page.locator("#ledger th").nth(4)).to_have_attribute("aria-sort", "descending")
    page.click("#tab-rejected")
    expect(page.locator("#rejected")).to_contain_text("ring-closure number 1")

    rows = list(csv.DictReader(downloaded(page, "#save-rows").splitlines()))
    assert len(rows) == 60
    fragments = list(csv.DictReader(downloaded(page, "#save-ledger").splitlines()))
    assert int(fragments[0]["count"]) >= 2 and "benzene" in {one["called"] for one in fragments}
    whole = json.loads(downloaded(page, "#save-table"))
    assert (len(whole["results"]), len(whole["rejected"])) == (60, 1)
    assert {"effects", "percentile"} <= whole["results"][0].keys()

    page.click("#tab-gallery")
    page.locator("#gallery a").first.click()
    expect(page.locator("#molecule-view")).to_be_visible()
    expect(page.locator("#picture svg")).to_be_visible()


def test_effects_of_parts_and_the_molecules_of_a_fragment_are_shown(page: Any, drugs: Path) -> None:
    with page.expect_request(lambda request: "/draw" in request.url) as drawn:
        send(page, drugs)
    assert "effects" in drawn.value.post_data_json and "scores" not in drawn.value.post_data_json
    caption = page.locator("#gallery figcaption").first
    expect(caption).to_contain_text(re.compile("[+−][0-9.e-]+"))  # noqa: RUF001
    page.click("#tab-ledger")
    page.click("#ledger th:nth-child(2) button")
    common = page.locator("#ledger tbody tr").first
    count = common.locator("td").nth(1).inner_text().split()[0]
    common.locator("button").click()
    expect(page.locator("#panel-gallery")).to_be_visible()
    expect(page.locator("#gallery-told")).to_have_text(f"{count} molecules")
    page.click("#only")
    expect(page.locator("#gallery-told")).to_have_text("60 molecules")


def test_pairs_and_series_of_a_table_are_shown(page: Any, tmp_path: Path) -> None:
    rows = [
        f"{name}{end},{name}c1ccc2nc({end})ccc2c1" for name in ("F", "Cl", "Br") for end in "ON"
    ]
    path = tmp_path / "series.csv"
    path.write_text("\n".join(["name,smiles", *rows]) + "\n", encoding="utf-8")
    send(page, path)
    page.click("#tab-ledger")
    expect(page.locator("#changes tbody tr").first).to_be_visible()
    expect(page.locator("#changes")).to_contain_text("ClO/FO")
    expect(page.locator("#cores")).to_contain_text("R1")


def test_the_address_is_not_written_over_on_the_way_to_the_table(page: Any) -> None:
    # The link is what asks for the address at once; the page learns of the new one only later.
    page.evaluate(
        """() => {
          location.hash = "view=table";
          document.getElementById("copy-link").click();
        }"""
    )
    expect(page.locator("#upload")).to_be_visible()
    expect(page).to_have_url(re.compile("view=table"))


def test_ten_thousand_rows_are_shown_in_pages(page: Any, tmp_path: Path) -> None:
    path = tmp_path / "many.csv"
    few = [f"{'C' * (1 + number % 9)}O" for number in range(10_000)]
    path.write_text("smiles\n" + "\n".join(few) + "\n", encoding="utf-8")
    send(page, path)
    expect(page.locator("#table-progress")).to_be_visible()
    expect(page.locator("#tab-gallery")).to_have_text("Molecules (10,000)", timeout=60_000)
    expect(page.locator("#page-told")).to_have_text("Page 1 of 417")
    expect(page.locator("#gallery figure")).to_have_count(24)


def test_tables_that_cannot_be_used_are_explained(
    browser: Any, address: Serving, tmp_path: Path
) -> None:
    found = opened(browser, f"{address.url}/#view=table")
    page = found.page
    page.wait_for_selector("#model option", state="attached")
    page.click("#upload button.main")
    expect(page.locator("#table-problem")).to_have_text("Choose a file first.")
    for name, text, told in (
        ("none.csv", "a,b\n1,2\n", "no column holds SMILES"),
        ("long.csv", "smiles\n" + "C\n" * 10_001, "more than 10,000 molecules"),
        ("huge.csv", "smiles\n" + "C" * Limits().body, "MB that this service takes"),
    ):
        path = tmp_path / name
        path.write_text(text, encoding="utf-8")
        page.set_input_files("#file", path)
        page.click("#upload button.main")
        expect(page.locator("#table-problem")).to_contain_text(told)
    expect(page.locator("#table-result")).to_be_hidden()
    assert all("422" in line or "413" in line for line in found.said)
    page.context.close()


def test_a_long_upload_can_be_stopped(page: Any, tmp_path: Path) -> None:
    path = tmp_path / "many.csv"
    path.write_text("smiles\n" + f"{IMATINIB}\n" * 4000, encoding="utf-8")
    send(page, path)
    expect(page.locator("#bar-told")).to_contain_text("of 4,000 molecules")
    page.click("#stop")
    expect(page.locator("#table-problem")).to_contain_text("Stopped")
    expect(page.locator("#table-result")).to_be_visible()


def test_an_upload_that_is_stopped_at_once_says_so(page: Any, tmp_path: Path) -> None:
    path = tmp_path / "many.csv"
    path.write_text("smiles\n" + f"{IMATINIB}\n" * 4000, encoding="utf-8")
    page.route("**/api/v1/table*", lambda route: None)  # the service never answers
    send(page, path)
    page.click("#stop")
    expect(page.locator("#table-problem")).to_have_text("Stopped before any molecule was done.")
    expect(page.locator("#table-progress")).to_be_hidden()


def test_the_tabs_of_a_table_fit_on_a_phone(page: Any, tmp_path: Path) -> None:
    path = tmp_path / "two.csv"
    path.write_text(f"smiles\n{ANILINE}\noops\n", encoding="utf-8")
    page.set_viewport_size({"width": 390, "height": 844})
    send(page, path)
    expect(page.locator("#tab-rejected")).to_be_visible()
    box = page.locator("#tab-rejected").bounding_box()
    assert box["x"] + box["width"] <= 390


# ---- documentation and editor --------------------------------------------------------------------


def test_the_documentation_needs_nothing_from_elsewhere(browser: Any, address: Serving) -> None:
    found = opened(browser, f"{address.url}/docs")
    expect(found.page.locator("section")).to_have_count(10)
    expect(found.page.locator("section").first).to_contain_text("/api/v1/health")
    assert found.said == []
    assert all(url.startswith(address.url) for url in found.asked)
    found.page.context.close()


def test_a_molecule_can_be_drawn(browser: Any, shelf: ModelShelf) -> None:
    if not is_fetched():
        pytest.skip("the editor is not fetched; `vgib serve --fetch-editor` does it")
    with serving(make_app(shelf, editor=editor_folder())) as here:
        found = opened(browser, here.url)
        page = found.page
        expect(page.locator("#picture svg")).to_be_visible()
        page.fill("#smiles", ANILINE)
        page.click("#draw")
        frame = page.frame_locator("#board-frame")
        expect(frame.locator("#editor svg").first).to_be_visible()
        page.wait_for_timeout(300)
        page.click("#board-take")
        expect(page.locator("#board")).to_be_hidden()
        expect(page.locator("#picture .hit")).to_have_count(7)
        assert found.said == []
        assert all(url.startswith((here.url, "blob:", "data:")) for url in found.asked)
        page.context.close()
