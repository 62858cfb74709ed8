import re
from itertools import pairwise
from xml.etree import ElementTree

import pytest

from vgib.chem.draw import RAMP, STEPS, _strips, color_of, draw
from vgib.chem.shapes import Place, Strip
from vgib.data.molecules import load_drugs
from vgib.errors import InputError, UnknownNameError

ASPIRIN = "CC(=O)Oc1ccccc1C(=O)O"
SCORES = [index / 12 for index in range(13)]
CHOSEN = [4, 5, 6, 7, 8, 9]


def lightness(color):
    return 0.2126 * color[0] + 0.7152 * color[1] + 0.0722 * color[2]


def test_the_svg_is_valid_xml_with_a_title_and_without_ids():
    root = ElementTree.fromstring(draw(ASPIRIN, SCORES, CHOSEN))
    assert root.tag.endswith("svg") and root.get("role") == "img"
    title = root.find("{http://www.w3.org/2000/svg}title")
    assert "6 of 13 atoms chosen" in title.text and "c1ccccc1" in title.text
    assert not any("id" in element.attrib for element in root.iter())


def test_the_svg_can_stand_inside_html():
    assert draw(ASPIRIN).startswith("<svg")


def test_a_title_is_escaped():
    svg = draw("CCO", title="a <b> & 'c'")
    ElementTree.fromstring(svg)
    assert "a &lt;b&gt; &amp;" in svg


def test_the_legend_names_both_cues_and_can_be_left_out():
    svg = draw(ASPIRIN, SCORES, CHOSEN)
    assert "score" in svg and "outlined: chosen atoms" in svg
    assert "outlined" not in draw(ASPIRIN, SCORES)
    assert "<text" not in draw(ASPIRIN, SCORES, CHOSEN, legend=False)
    assert "<text" not in draw(ASPIRIN)


def test_a_transparent_picture_has_no_background():
    assert "<rect" in draw(ASPIRIN) and "<rect" not in draw(ASPIRIN, transparent=True)


def test_the_size_is_the_size_asked_for():
    assert "width='300px' height='200px'" in draw(ASPIRIN, SCORES, size=(300, 200))


def test_scores_change_the_fill_and_the_choice_changes_the_outline():
    plain, scored, chosen = draw(ASPIRIN), draw(ASPIRIN, SCORES), draw(ASPIRIN, selected=CHOSEN)
    discs = [len(re.findall("<circle", svg)) for svg in (plain, scored, chosen)]
    assert discs == [0, 13, 2 * 6 + 2]


def test_lightness_falls_along_the_ramp():
    values = [lightness(color_of(step / 20)) for step in range(21)]
    assert all(later < earlier for earlier, later in pairwise(values))
    assert color_of(-1) == RAMP[0] and color_of(2) == RAMP[-1]


def test_a_bond_goes_from_the_color_of_one_atom_to_that_of_the_other():
    begin, end = Place(0, 0), Place(10, 0)
    strips = _strips(begin, end, 2, (0.0, 0.0, 0.0), (1.0, 0.5, 0.0))
    reds = [strip.color[0] for strip in strips]
    assert reds[0] == 0 and reds[-1] == 1 and reds == sorted(reds)
    assert reds[1:-1] == pytest.approx([(step + 0.5) / STEPS for step in range(STEPS)])
    assert [strip.begin.x for strip in strips] == sorted(strip.begin.x for strip in strips)
    assert all(strip.end == end for strip in strips)
    assert _strips(begin, end, 2, RAMP[0], RAMP[0]) == [Strip(begin, end, 4, RAMP[0])]


def test_a_png_is_a_png():
    assert draw(ASPIRIN, SCORES, CHOSEN, format="png").startswith(b"\x89PNG")


@pytest.mark.parametrize("smiles", ["C", "[Na+]", "[2H]C", "C" * 500, "*CC*"])
def test_unusual_molecules_are_drawn(smiles):
    ElementTree.fromstring(draw(smiles, selected=[0]))


def test_drugs_are_drawn():
    for smiles in load_drugs()["smiles"].tolist()[::12]:
        ElementTree.fromstring(draw(smiles, selected=[0, 1]))


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"scores": [0.5]}, "1 numbers for 13 atoms"),
        ({"scores": [float("nan")] * 13}, "not finite"),
        ({"selected": [13]}, "no atom 13"),
        ({"size": (10, 10)}, "at least 80"),
    ],
)
def test_wrong_arguments_say_what_was_expected(options, message):
    with pytest.raises(InputError, match=message):
        draw(ASPIRIN, **options)


def test_an_unknown_format_is_answered_with_the_nearest():
    with pytest.raises(UnknownNameError, match="did you mean 'svg'"):
        draw(ASPIRIN, format="svgz")


def test_a_bond_of_two_colors_is_as_thick_as_one_of_one_color():
    strips = _strips(Place(0, 0), Place(9, 0), 3, (0.0, 0.0, 0.0), (1.0, 1.0, 1.0))
    assert {strip.width for strip in strips} == {6}


def test_a_picture_may_be_eighty_pixels_wide_and_no_fewer():
    assert draw("CCO", size=(80, 80)).startswith("<svg")
    with pytest.raises(InputError, match="at least 80"):
        draw("CCO", size=(79, 200))


def test_the_outline_is_named_where_there_is_room_for_it() -> None:
    effects, named = [0.1, -0.1, 0.0], "outlined: chosen atoms"
    assert named in draw("CCO", selected=(0, 1), effects=effects, size=(700, 300))
    long = draw(
        "CCO", selected=(0, 1), effects=effects, unit="log-odds of mutagenic", size=(360, 270)
    )
    assert named not in long and "log-odds of mutagenic" in long
