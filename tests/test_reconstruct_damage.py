"""Damaged files, impossible boxes, raised marks, and pages whose text layer is of no use."""

from __future__ import annotations

import zlib
from pathlib import Path

import pymupdf
import pytest

from nclue_core.pages import PageRecord
from nclue_reconstruct.outcome import PageFailure, summarise
from nclue_reconstruct.read import missing
from nclue_reconstruct.read.engine_text import TextEngine
from nclue_reconstruct.read.page_boxes import Entries, plan_boxes
from nclue_reconstruct.read.pdf_open import open_pdf
from nclue_reconstruct.read.raised import joined
from nclue_reconstruct.read.render import render_document, render_page
from nclue_reconstruct.read.textlayer import extract_document
from nclue_reconstruct.run.ocr_steps import ocr_document
from nclue_systems.words import words
from reconstruct_pdfs import A4, BODY, body, raw, write
from toy_engines import NullEngine

SHA = "0" * 64
FLOODS = b"BT /F1 24 Tf 72 700 Td (Floods reached the town) Tj ET\n"
LETTER = (612, 792)


def page_of(path, boxes=b"/MediaBox[0 0 612 792]", content=None, inherited=b""):
    """A PDF of one page with its own entries; content is the stream object, if it matters."""
    content = content or b"<</Length %d>>stream\n%s\nendstream" % (len(FLOODS), FLOODS)
    return raw(
        path,
        [
            b"<</Type/Catalog/Pages 2 0 R>>",
            b"<</Type/Pages/Kids[3 0 R]/Count 1" + inherited + b">>",
            b"<</Type/Page/Parent 2 0 R/Contents 4 0 R" + boxes + b"/Resources<</Font<</F1"
            b"<</Type/Font/Subtype/Type1/BaseFont/Helvetica>>>>>>>>",
            content,
            b"[0 0 0 0]",
            b"612",
        ],
    )


def extract(pdf):
    return list(extract_document(pdf, "doc", SHA))


MEDIA = b"/MediaBox[0 0 612 792]"


class TestBoxes:
    @pytest.mark.parametrize(
        "boxes",
        [
            MEDIA + b"/CropBox[0 0 0 0]", MEDIA + b"/CropBox[10 10 10 700]",
            MEDIA + b"/CropBox[2000 2000 2600 2700]", MEDIA + b"/CropBox[0 0 612]",
            MEDIA + b"/CropBox[/a 0 (x) 1]", MEDIA + b"/CropBox 5 0 R",
            MEDIA + b"/CropBox[0 0 .5 .5]", MEDIA + b"/CropBox 99 0 R", b"/MediaBox[0 0 99 0 R 7]",
            b"", b"/MediaBox[0 0 0 0]", b"/MediaBox[0 0 1e30 1e30]",
            b"/MediaBox[0 0 9999999 9999999]",
            b"/MediaBox[0 0 0 0]/CropBox[0 0 612 792]", MEDIA + b"/UserUnit 0",
            MEDIA + b"/UserUnit 100000000", MEDIA + b"/UserUnit -1", MEDIA + b"/Rotate 45",
        ],
    )  # fmt: skip
    def test_an_impossible_box_costs_no_text_and_no_ink_and_is_told(self, tmp_path, boxes):
        pdf = page_of(tmp_path / "a.pdf", boxes)
        (record,) = extract(pdf)
        assert record.text == "Floods reached the town"
        assert (record.width, record.height) == LETTER
        assert "impossible" in record.note or "no MediaBox" in record.note
        with open_pdf(pdf) as document:
            image = render_page(document, 1, 36)
        assert (image.width, image.height) == (306, 396)
        assert min(image.samples) < 100
        assert image.note == record.note

    def test_an_inherited_box_is_judged_too(self, tmp_path):
        inherited = MEDIA + b"/CropBox[0 0 0 0]"
        (record,) = extract(page_of(tmp_path / "a.pdf", b"", inherited=inherited))
        assert record.text == "Floods reached the town"
        assert record.note.startswith("impossible CropBox [0 0 0 0]")

    @pytest.mark.parametrize(
        ("boxes", "size"),
        [
            (b"/MediaBox[612 792 0 0]", LETTER),
            (b"/MediaBox[0 0 6 0 R 792]", LETTER),
            (MEDIA + b"/CropBox[-900 -900 5000 5000]", LETTER),
            (MEDIA + b"/CropBox[50 600 450 780]", (400, 180)),
            (MEDIA + b"/Rotate -90", LETTER[::-1]),
            (MEDIA + b"/Rotate 450", LETTER[::-1]),
            (MEDIA + b"/UserUnit 2", (1224, 1584)),
        ],
    )
    def test_a_possible_box_is_left_alone(self, tmp_path, boxes, size):
        (record,) = extract(page_of(tmp_path / "a.pdf", boxes))
        assert (record.width, record.height) == size
        assert "impossible" not in (record.note or "")

    @pytest.mark.parametrize(
        "box", ["[nan 0 inf 1]", "[0 0 null null]", "[[0 0] 1 1]", "(x)", "[]"]
    )
    def test_what_is_no_box_is_none(self, box):
        mending = plan_boxes(Entries("[0 0 612 792]", box, None, None))
        assert mending.entries == {"CropBox": "[0.000000 0.000000 612.000000 792.000000]"}


class TestDamage:
    @staticmethod
    def stream(data, filtered=b"", length=None):
        length = len(data) if length is None else length
        return b"<</Length %d%s>>stream\n%s\nendstream" % (length, filtered, data)

    def test_a_whole_file_has_no_note(self, tmp_path):
        packed = self.stream(zlib.compress(FLOODS), b"/Filter/FlateDecode")
        assert [r.note for r in extract(page_of(tmp_path / "a.pdf", content=packed))] == [None]

    @pytest.mark.parametrize("how", ["cut", "garbled", "length", "missing", "unknown"])
    def test_a_cut_content_stream_is_told_on_its_page(self, tmp_path, how):
        text = FLOODS + b"".join(
            b"BT /F1 9 Tf 72 %d Td (Row %d) Tj ET\n" % (i, i) for i in range(500)
        )
        packed, flate = zlib.compress(text), b"/Filter/FlateDecode"
        content = {
            "cut": self.stream(packed[: len(packed) // 2], flate),
            "garbled": self.stream(packed[:99] + b"\xff\x00damage" + packed[107:], flate),
            "length": self.stream(text, length=9_999),
            "missing": b"<</NoStream true>>",
            "unknown": self.stream(text, b"/Filter/NoSuchFilter"),
        }[how]
        (record,) = extract(page_of(tmp_path / "a.pdf", content=content))
        assert "content cut or damaged, may be incomplete (" in record.note

    def test_only_the_damaged_page_is_named(self, tmp_path):
        pdf = write(tmp_path / "a.pdf", [body(72, 100, 20) for _ in range(3)])
        document = pymupdf.open(pdf)
        document.update_stream(document[1].get_contents()[0], b"BT (open", compress=False)
        document.saveIncr()
        assert ["content cut" in (r.note or "") for r in extract(pdf)] == [False, True, False]

    def test_all_pages_of_a_repaired_file_say_so_and_its_state_does(self, tmp_path):
        pdf = write(tmp_path / "a.pdf", [body(72, 100, 20) for _ in range(2)])
        data = pdf.read_bytes()
        pdf.write_bytes(data[: data.rindex(b"xref")])
        records = extract(pdf)
        assert [r.note for r in records] == ["repaired, may be incomplete"] * 2
        assert all(BODY.strip() in r.text for r in records)
        done = ocr_document(TextEngine(), pdf, "a", SHA, tmp_path / "ocr")
        again = ocr_document(TextEngine(), pdf, "a", SHA, tmp_path / "ocr")
        rendered = render_document(pdf, tmp_path / "pages", 20)
        for result in (done, again, rendered):
            assert (result.state, result.pages_done) == ("repaired", 2)
            assert "may be incomplete" in result.reason
        with open_pdf(pdf) as document:
            assert render_page(document, 1, 20).note == "repaired, may be incomplete"

    def test_pages_that_failed_come_before_the_repair(self):
        state, reason = summarise(1, [PageFailure(2, "broken", "lost")], is_repaired=True)
        assert (state, reason.startswith("page 2: lost; ")) == ("partial", True)
        assert "repaired" in reason


def line(*pieces, size=10.0):
    """A line of (text, rise) pieces; what is raised or lowered is smaller."""
    spans = []
    for text, rise in pieces:
        spans.append(
            {"text": text, "size": 0.7 * size if rise else size, "origin": (0, 100 - rise)}
        )
    return joined(spans)


class TestRaised:
    @pytest.mark.parametrize(
        ("pieces", "expected"),
        [
            ([("sanctions", 0), ("12", 4), (" held", 0)], "sanctions 12 held"),
            ([("sanctions", 0), ("12,13", 4)], "sanctions 12,13"),
            ([("sanctions", 0), ("12", 4), (",", 4), ("13", 4)], "sanctions 12,13"),
            ([("ceasefire.", 0), ("3", 4), (" Then", 0)], "ceasefire. 3 Then"),
            ([("in 2015", 0), ("3", 4)], "in 2015 3"),
            ([("Total", 0), ("a", 4)], "Total a"),
            ([("1", 4), ("Source", 0)], "1 Source"),
            ([("a", 4), ("Estimate", 0)], "a Estimate"),
            ([("word", 0), ("*", 4), ("ed", 0), ("†", 4)], "word*ed†"),
            ([("CO", 0), ("2", -2), (" and H", 0), ("2", -2), ("O", 0)], "CO2 and H2O"),
            ([("C", 0), ("6", -2), ("H", 0), ("12", -2), ("O", 0), ("6", -2)], "C6H12O6"),
            ([("5 km", 0), ("2", 4), (", 3 m", 0), ("3", 4)], "5 km2, 3 m3"),
            ([("R", 0), ("2", 4), (" = .5", 0)], "R2 = .5"),
            ([("the 1", 0), ("st", 4), (", 2", 0), ("nd", 4)], "the 1st, 2nd"),
            ([("XIX", 0), ("e", 4), (" siècle", 0)], "XIXe siècle"),
            ([("the ", 0), ("14", 4), ("C date", 0)], "the 14C date"),
            ([("10", 0), ("-6", 4)], "10-6"),
            ([("two", 0), ("12", 0.5)], "two12"),
        ],
    )
    def test_marks_stay_apart_and_parts_of_words_do_not(self, pieces, expected):
        assert line(*pieces) == expected

    @pytest.mark.parametrize(
        ("text", "expected"),
        [
            ("sanctions¹ and ceasefire²³ held", "sanctions ¹ and ceasefire ²³ held"),
            ("held.⁴ Then¹,²", "held. ⁴ Then ¹,²"), ("¹Source", "¹ Source"),
            ("5 km² and m³, R² and ¹⁴C", "5 km² and m³, R² and ¹⁴C"), ("10⁻⁶ CO₂", "10⁻⁶ CO₂"),
        ],
    )  # fmt: skip
    def test_characters_that_are_raised_by_themselves_are_marks_too(self, text, expected):
        assert line((text, 0)) == expected

    def test_a_search_finds_the_word_before_the_mark(self, tmp_path):
        document = pymupdf.open()
        markup = "<p>The sanctions<sup>12</sup> and the ceasefire<sup>3</sup> of CO<sub>2</sub></p>"
        document.new_page().insert_htmlbox((50, 50, 500, 200), markup)
        document.save(tmp_path / "a.pdf")
        found = words(extract(tmp_path / "a.pdf")[0].text)
        assert found == ["the", "sanctions", "12", "and", "the", "ceasefire", "3", "of", "co2"]

    def test_lines_in_other_directions_know_up_too(self):
        spans = [
            {"text": "sanctions", "size": 10.0, "origin": (100, 90)},
            {"text": "12", "size": 7.0, "origin": (96, 40)},
        ]
        assert joined(spans, (0.0, -1.0)) == "sanctions 12"
        assert joined(spans, (0.0, 1.0)) == "sanctions12"


def over_image(path: Path, lines, *, n_pages=1, image=True, hidden=False) -> Path:
    """Pages with lines of text over (or, hidden, unseen on) an image of the page's size."""
    document = pymupdf.open()
    pixels = pymupdf.Pixmap(pymupdf.csGRAY, pymupdf.IRect(0, 0, 60, 80))
    pixels.clear_with(200)
    for _ in range(n_pages):
        page = document.new_page(width=A4[0], height=A4[1])
        if image:
            page.insert_image(page.rect, pixmap=pixels)
        for x, y, text, *turn in lines:
            mode = 3 if hidden else 0
            page.insert_text((x, y), text, fontsize=8, render_mode=mode, rotate=sum(turn))
    document.save(path)
    return path


BATES = (450, 830, "ABC-0001234")
NOTICE = (20, 700, "Downloaded from https://example.org by guest on 20 May 2024", 90)


class TestMissing:
    @pytest.mark.parametrize(
        ("lines", "more", "is_missing"),
        [
            ([BATES], {}, True),
            ([NOTICE], {}, True),
            ([NOTICE, BATES, (72, 40, "Annual Report")], {"n_pages": 3}, True),
            ([(200, 400, "COPY"), BATES], {"n_pages": 3}, True),
            ([BATES], {"image": False}, False),
            ([(200, 400, "Title over a photograph"), BATES], {}, False),
            ([(72, 100 + 12 * i, BODY) for i in range(40)], {}, False),
            ([(72, 100 + 12 * i, "poor 0CR 1ayer ot a pagc") for i in range(9)],
             {"hidden": True}, False),
        ],
    )  # fmt: skip
    def test_a_stamp_over_an_image_is_no_text_layer(self, tmp_path, lines, more, is_missing):
        for record in extract(over_image(tmp_path / "a.pdf", lines, **more)):
            assert missing.lacks_text(record) is is_missing
            assert ("only a stamp over a page image" in (record.note or "")) is is_missing

    def test_a_wrong_map_of_letters_is_noted_and_read_by_ocr(self, tmp_path):
        shifted = "".join(
            chr((ord(c) - 97 + 3) % 26 + 97) if c.isalpha() else c for c in BODY.lower()
        )
        wrong = write(tmp_path / "a.pdf", [body(72, 100, 20, text=shifted), body(72, 100, 20)])
        first, second = extract(wrong)
        assert first.has_text
        assert "poor quality" in first.note
        assert second.note is None
        engine = TextEngine(NullEngine())
        texts = {r.page: r.text for r in engine.read(wrong, "doc", SHA, [1, 2])}
        assert texts[1] == "page 1 of doc"
        assert BODY.strip() in texts[2]

    @pytest.mark.parametrize(
        ("text", "dropped", "share"),
        [
            ("ab\ufffd\ufffd", 0, 0.5), ("a b\ue000", 0, 1 / 3), ("abcd", 4, 0.5),
            ("Ärger 東京", 0, 0), ("", 0, 0), ("\U0010fffe", 0, 1),
        ],
    )  # fmt: skip
    def test_share_of_characters_that_are_no_text(self, text, dropped, share):
        assert missing.unknown_share(text, dropped) == pytest.approx(share)

    def test_ocr_that_finds_nothing_takes_nothing(self):
        own = PageRecord("d", 1, "stamp", (), 1, 1, "text", "1", None, SHA, has_text=True, note="x")
        blank = PageRecord("d", 1, "", (), 1, 1, "t", "1", 200, SHA, has_text=False)
        assert missing.better(own, blank).text == "stamp"
        assert missing.better(own, blank).note == "x; OCR found no text"
        failure = PageFailure(1, "timeout", "too long")
        assert missing.better(own, failure) is failure

    def test_the_option_takes_the_page_to_ocr(self, tmp_path):
        pdf = over_image(tmp_path / "a.pdf", [BATES])
        (record,) = TextEngine(NullEngine()).read(pdf, "doc", SHA, [1])
        assert record.engine == "null"


class TestWhatIsShown:
    """The text is what a reader of the page sees (or is meant to read)."""

    @staticmethod
    def layered(path, state, content):
        show = b"BT /F1 12 Tf 72 700 Td (malaria) Tj ET\n"
        return raw(
            path,
            [
                b"<</Type/Catalog/Pages 2 0 R/OCProperties<</OCGs[5 0 R]/D<</"
                + state
                + b"[5 0 R]>>>>>>",
                b"<</Type/Pages/Kids[3 0 R]/Count 1>>",
                b"<</Type/Page/Parent 2 0 R/MediaBox[0 0 612 792]/Contents 4 0 R/Resources<<"
                b"/Properties<</L 5 0 R>>/Font<</F1<</Type/Font/Subtype/Type1"
                b"/BaseFont/Helvetica/Encoding/WinAnsiEncoding>>>>>>>>",
                b"<</Length %d>>stream\n%s\nendstream" % (len(show + content), show + content),
                b"<</Type/OCG/Name(draft)>>",
            ],
        )

    @pytest.mark.parametrize(("state", "text"), [(b"OFF", "malaria"), (b"ON", "malaria\ncholera")])
    def test_a_layer_is_read_where_it_is_shown(self, tmp_path, state, text):
        content = b"/OC /L BDC BT /F1 12 Tf 72 600 Td (cholera) Tj ET EMC"
        assert extract(self.layered(tmp_path / "a.pdf", state, content))[0].text == text

    @pytest.mark.parametrize(
        ("content", "found"),
        [
            (b"/Span <</ActualText(sanctions regime)>> BDC (XXXX) Tj EMC", ["sanctions", "regime"]),
            (b"/Span <</ActualText<FEFF007300E3006F>>> BDC (XX) Tj EMC", ["sao"]),
            (b"(sanc\\255) Tj 0 -14 Td (tions) Tj", ["sanctions"]),
        ],
    )
    def test_replaced_text_and_soft_hyphens(self, tmp_path, content, found):
        content = b"BT /F1 12 Tf 72 600 Td " + content + b" ET"
        text = extract(self.layered(tmp_path / "a.pdf", b"ON", content))[0].text
        assert [word for word in words(text) if word != "malaria"] == found

    def test_each_half_of_a_spread_has_its_own_words(self, tmp_path):
        pdf = write(
            tmp_path / "a.pdf", [[(72, 100, "fisheries", 12), (372, 100, "sanctions", 12)]] * 2
        )
        document = pymupdf.open(pdf)
        for page, x in zip(document, (0, 300)):
            page.set_cropbox(pymupdf.Rect(x, 0, x + 290, 842))
        document.saveIncr()
        assert [record.text for record in extract(pdf)] == ["fisheries", "sanctions"]

    def test_a_field_that_was_filled_in_is_read(self, tmp_path):
        document = pymupdf.open()
        widget = pymupdf.Widget()
        widget.field_type, widget.field_name = pymupdf.PDF_WIDGET_TYPE_TEXT, "name"
        widget.field_value, widget.rect = "Coastal Programme", pymupdf.Rect(72, 72, 300, 92)
        document.new_page().add_widget(widget)
        document.save(tmp_path / "a.pdf")
        assert "Coastal Programme" in extract(tmp_path / "a.pdf")[0].text
