"""`show`: the first examples of a pipeline, as HTML and as text."""

import base64
import io
import re
import wave

import numpy as np
import pytest
from PIL import Image
from tests.markup import HOSTILE, Elements

import headrace as hr


def negative(example):
    return {"x": -example["x"]}


def html_of(**components):
    return hr.arrays({name: [value] for name, value in components.items()}).show(1)._repr_html_()


def listed(*examples):
    """The HTML of examples whose components have any shape."""
    return hr.iterable(list(examples)).show(len(examples))._repr_html_()


def images_in(html):
    """The pictures in HTML, as arrays."""
    found = re.findall(r'<img src="data:image/(?:png|jpeg);base64,([^"]*)"', html)
    return [np.asarray(Image.open(io.BytesIO(base64.b64decode(data)))) for data in found]


def encoded(pixels, kind="PNG"):
    file = io.BytesIO()
    Image.fromarray(pixels).save(file, kind)
    return file.getvalue()


def gradient(height, width, channels=3):
    rows = np.linspace(0, 255, height)[:, None, None]
    columns = np.linspace(0, 1, width)[None, :, None]
    return np.broadcast_to(rows * columns, (height, width, channels)).astype(np.uint8)


def test_show_returns_the_first_examples():
    shown = hr.arrays({"x": list(range(10))}).show(3)
    assert [int(example["x"]) for example in shown.examples] == [0, 1, 2]
    assert len(hr.arrays({"x": [1]}).show(3)) == 1


def test_show_does_not_change_later_iterations():
    pipe = hr.arrays({"x": list(range(50))}).shuffle(seed=3).map(lambda e: {"x": e["x"] + 1})
    before = [int(example["x"]) for example in pipe.batch(10).unbatch()]
    pipe.show(2)
    assert [int(example["x"]) for example in pipe.batch(10).unbatch()] == before


def test_shown_generator_is_restarted():
    def numbers():
        yield from ({"x": number} for number in range(5))

    pipe = hr.iterable(numbers)
    pipe.show(2)
    assert [int(example["x"]) for example in pipe] == [0, 1, 2, 3, 4]


def test_shown_rows_of_a_journal_are_not_recorded(tmp_path):
    with hr.Journal(tmp_path) as journal:
        for version in range(4):
            journal.append([{"x": version}] * 3, version=version)
    pipe = hr.journal(tmp_path, max_age=1).map(lambda e: {"x": e["x"] + 10})
    assert [int(example["x"]) for example in pipe.show(2).examples] == [10, 10]
    assert pipe.stats()["x"].count == 12
    with pytest.raises(ValueError, match="profile: the pipeline reads a journal"):
        pipe.profile(1)
    assert len(pipe.batch(2).without_steps([(0, 2)]).show(9)) == 4
    batches = iter(pipe)
    batches.set_version(3)
    assert [int(example["x"]) for example in batches] == [12, 12, 12, 13, 13, 13]


def test_functions_in_processes_leave_no_process(tmp_path):
    pipe = hr.arrays({"x": list(range(10))}).map(negative, num_processes=2)
    assert [int(example["x"]) for example in pipe.show(2).examples] == [0, -1]
    assert pipe.stats()["x"].min == -9


def test_negative_number_is_an_error():
    with pytest.raises(ValueError, match="show: n is -1"):
        hr.arrays({"x": [1]}).show(-1)


def test_empty_pipeline_shows_that_it_is_empty():
    shown = hr.arrays({"x": [1]}).take(0).show()
    assert "no examples" in shown._repr_html_()
    assert repr(shown) == "no examples"


@pytest.mark.parametrize("shape", [(40, 30, 3), (40, 30, 1), (3, 40, 30), (40, 30)])
def test_pixels_are_shown_as_a_picture(shape):
    pixels = np.arange(np.prod(shape)).reshape(shape).astype(np.uint8)
    (image,) = images_in(html_of(image=pixels))
    expected = pixels.transpose(1, 2, 0) if shape[0] == 3 else pixels
    np.testing.assert_array_equal(image, expected.squeeze())


@pytest.mark.parametrize("kind", ["PNG", "JPEG"])
def test_undecoded_images_are_shown_as_pictures(kind):
    (image,) = images_in(html_of(data=encoded(gradient(40, 60), kind)))
    assert np.abs(image.astype(int) - gradient(40, 60)).mean() < 3


def test_large_pictures_are_reduced():
    (image,) = images_in(html_of(image=gradient(1000, 500)))
    assert image.shape == (256, 128, 3)
    reference = Image.fromarray(gradient(1000, 500)).resize((128, 256), Image.Resampling.BOX)
    assert np.abs(image.astype(int) - np.asarray(reference)).max() <= 6


def test_html_is_small():
    photos = [np.random.default_rng(n).integers(0, 255, (600, 600, 3), np.uint8) for n in range(4)]
    shown = hr.arrays({"image": photos}).show(4)
    assert len(shown._repr_html_()) < 400_000


@pytest.mark.parametrize("scale", [1.0, 255.0])
def test_floats_up_to_1_or_255_are_shown_unscaled(scale):
    pixels = gradient(32, 32)
    floats = (pixels / np.float32(255) * np.float32(scale)).astype(np.float32)
    (image,) = images_in(html_of(image=floats))
    assert np.abs(image.astype(int) - pixels).max() <= 1


def test_normalised_floats_are_stretched_and_named():
    html = html_of(image=np.linspace(-2, 2, 32 * 32 * 3, dtype=np.float32).reshape(32, 32, 3))
    (image,) = images_in(html)
    assert (image.min(), image.max()) == (0, 255)
    assert "-2 to 2, stretched" in html


def test_pictures_without_finite_values_are_shown():
    (image,) = images_in(html_of(image=np.full((32, 32, 3), np.nan, np.float32)))
    assert image.max() == 0


def test_reason_is_shown_for_a_damaged_image():
    html = html_of(data=encoded(gradient(40, 60))[:60])
    assert images_in(html) == []
    assert "cannot be decoded" in html


def test_frames_of_a_video_are_shown():
    frames = np.stack([np.full((20, 30, 3), 20 * number, np.uint8) for number in range(12)])
    assert len(images_in(html_of(video=frames))) == 8


def test_list_of_images_is_shown():
    example = {"images": [encoded(gradient(20, 30)), encoded(gradient(30, 20))]}
    pipe = hr.iterable([example]).map(lambda e: e)
    assert len(images_in(pipe.show(1)._repr_html_())) == 2


def test_boxes_are_drawn_with_their_labels():
    boxes = np.array([[10, 20, 30, 60], [0, 0, 5, 5]], np.float32)
    html = html_of(image=gradient(80, 100), boxes=boxes, labels=["cat", "<b>dog</b>"])
    assert 'viewBox="0 0 100 80"' in html
    assert re.search(r'<rect x="10" y="20" width="20" height="40"', html)
    assert ">cat</text>" in html
    assert ">&lt;b&gt;dog&lt;/b&gt;</text>" in html


@pytest.mark.parametrize(
    ("name", "box"),
    [
        ("boxes", [0.1, 0.25, 0.3, 0.75]),
        ("boxes_xywh", [10, 20, 20, 40]),
        ("target_boxes", [10, 20, 30, 60]),
        ("boxes_cxcywh", [20, 40, 20, 40]),
        ("boxes_cxcywh", [0.2, 0.5, 0.2, 0.5]),
    ],
)
def test_boxes_of_every_format_are_drawn(name, box):
    html = html_of(image=gradient(80, 100), **{name: np.array([box], np.float64)})
    assert re.search(r'<rect x="10" y="20" width="20" height="40"', html)


def test_relative_boxes_may_cover_the_whole_picture():
    for dtype, size in ((np.float32, (100, 80)), (np.int64, (1, 1))):
        boxes = np.array([[0, 0, 1, 1]], dtype)
        html = html_of(image=gradient(80, 100), boxes=boxes)
        assert f'<rect x="0" y="0" width="{size[0]}" height="{size[1]}"' in html


@pytest.mark.parametrize("name", ["box_labels", "bbox_class", "box_categories", "classes"])
def test_labels_of_boxes_become_captions(name):
    boxes = np.array([[10, 20, 30, 60]] * 4)
    example = {"image": gradient(80, 100), "label": np.arange(4), "boxes": boxes}
    if name == "classes":
        del example["label"]
    html = html_of(**example, **{name: np.arange(4) + 70})
    assert re.findall(r">(\d+)</text>", html) == ["70", "71", "72", "73"]
    assert html.count("<rect") == 4


def test_masks_overlay_their_picture():
    masks = np.zeros((2, 40, 60), np.uint8)
    masks[0, :20], masks[1, 20:] = 1, 1
    picture, first, second = images_in(html_of(image=gradient(40, 60), masks=masks))
    assert picture.shape == (40, 60, 3)
    assert first[:20, :, 3].all()
    assert not first[20:, :, 3].any()
    assert second[20:, :, 3].all()


def test_probabilities_become_the_opacity_of_a_mask():
    mask = np.linspace(0, 1, 40 * 60, dtype=np.float32).reshape(40, 60)
    mask[0, 0] = np.nan
    _, shown = images_in(html_of(image=gradient(40, 60), mask=mask))
    mask[0, 0] = 0
    np.testing.assert_array_equal(shown[..., 3], np.rint(120 * mask.astype(np.float64)))
    _, *several = images_in(html_of(image=gradient(40, 60), masks=np.stack([mask, mask])))
    assert [layer[..., 3].max() for layer in several] == [120, 120]
    assert several[0][-1, -1].tolist() != several[1][-1, -1].tolist()


def test_numbers_of_a_single_mask_have_different_colours():
    numbers = np.repeat([[0, 1, 2]], 40, axis=0).repeat(20, axis=1)
    for mask in (numbers, numbers[None], numbers.astype(np.float32)):
        _, shown = images_in(html_of(image=gradient(40, 60), mask=mask))
        assert [shown[0, 20 * n, 3] for n in range(3)] == [0, 120, 120]
        assert shown[0, 20].tolist() != shown[0, 40].tolist()


@pytest.mark.parametrize("value", [np.inf, -np.inf, 1e308, -1e308])
def test_masks_with_extreme_values_are_drawn(value):
    mask = np.full((40, 60), value)
    assert len(images_in(html_of(image=gradient(40, 60), mask=mask))) == 2


def test_masks_of_a_different_size_are_shown_separately():
    html = html_of(image=gradient(40, 60), mask=np.ones((20, 20), np.uint8))
    assert "with mask" not in html
    assert len(images_in(html)) == 2


def test_keypoints_are_drawn():
    html = html_of(image=gradient(40, 60), keypoints=np.array([[7, 9, 2], [30, 20, 1]]))
    assert re.search(r'<circle cx="7" cy="9"', html)
    assert html.count("<circle") == 2


def test_labels_show_their_class_names(tmp_path):
    for name in ("ant", "bee"):
        (tmp_path / name).mkdir()
        (tmp_path / name / "1.png").write_bytes(encoded(gradient(20, 20)))
    assert "1 (bee)" in repr(hr.image_folder(tmp_path).show(2))


def samples_in(html):
    data = re.search(r'<audio src="data:audio/wav;base64,([^"]*)"', html)[1]
    with wave.open(io.BytesIO(base64.b64decode(data))) as file:
        frames = np.frombuffer(file.readframes(file.getnframes()), "<i2")
        return file.getframerate(), file.getnchannels(), frames


def test_samples_are_shown_as_a_player():
    sound = np.sin(np.arange(4000) / 10).astype(np.float32)
    rate, num_channels, samples = samples_in(html_of(audio=sound, sample_rate=8000))
    assert (rate, num_channels) == (8000, 1)
    np.testing.assert_allclose(samples / 32767, sound, atol=1e-4)


@pytest.mark.parametrize(
    ("rates", "expected"),
    [
        ({"frame_rate": 30, "sample_rate": 8000}, 8000),
        ({"bit_rate": 128_000, "frame_rate": 30}, 16_000),
        ({"other_rate": 4000, "audio_rate": 8000}, 8000),
        ({"rate_b": 4000, "sr": 8000}, 8000),
        ({"sample_rate": 0}, 16_000),
    ],
)
def test_sounds_play_at_their_own_rate(rates, expected):
    html = html_of(**rates, audio=np.zeros(4000, np.float32))
    assert samples_in(html)[0] == expected


def test_long_sounds_are_truncated():
    html = html_of(waveform=np.zeros((30 * 4000, 2), np.int16), rate=4000)
    rate, num_channels, samples = samples_in(html)
    assert (rate, num_channels, len(samples)) == (4000, 1, 5 * 4000)
    assert "30.00 s, 4,000 Hz, the first 5 s, played in mono at 4,000 Hz" in html


@pytest.mark.parametrize("dtype", [np.float32, np.float64, np.int16])
def test_sounds_in_stereo_at_a_high_rate_are_small(dtype):
    left = np.sin(np.arange(48_000 * 10) / 48_000 * 2 * np.pi * 440) / 2
    sound = np.stack([left, 0 * left], axis=1) * (32767 if dtype == np.int16 else 1)
    html = html_of(audio=sound.astype(dtype), sample_rate=48_000)
    rate, num_channels, samples = samples_in(html)
    assert (rate, num_channels, len(samples)) == (16_000, 1, 80_000)
    middle = slice(100, -100)
    np.testing.assert_allclose(
        samples[middle] / 32767, left[: 5 * 48_000 : 3][middle] / 2, atol=1e-3
    )
    assert "10.00 s, 48,000 Hz, the first 5 s, played in mono at 16,000 Hz" in html
    assert len(html) < 250_000


@pytest.mark.parametrize("rate", [44_100, 1_000_000, 2_000_000])
def test_sounds_of_any_rate_have_a_player(rate):
    sound = np.ones(100, np.float32)
    assert samples_in(html_of(audio=sound, sample_rate=rate))[0] == 16_000


def test_large_sound_files_are_shortened():
    file = io.BytesIO()
    with wave.open(file, "wb") as writer:
        writer.setparams((2, 2, 44_100, 0, "NONE", ""))
        writer.writeframes(bytes(4 * 44_100 * 8))
    html = html_of(data=file.getvalue())
    assert len(samples_in(html)[2]) == 80_000
    assert "the first 5 s" in html


def test_sound_files_are_shown_as_a_player():
    file = io.BytesIO()
    with wave.open(file, "wb") as writer:
        writer.setparams((1, 2, 8000, 0, "NONE", ""))
        writer.writeframes(bytes(1000))
    assert samples_in(html_of(data=file.getvalue()))[0] == 8000


def test_packed_segments_have_colours():
    lists = [{"tokens": np.arange(1, n + 1)} for n in (3, 2)]
    html = hr.iterable(lists).pack(8, "tokens").show(1)._repr_html_()
    assert 'title="segment 1">1 2 3</span>' in html
    assert 'title="segment 2">1 2</span>' in html
    assert "3 padding" in html
    assert html.count("hsl(") == 2


def test_tokenizer_decodes_tokens():
    class Letters:
        def decode(self, ids):
            return "".join(chr(96 + number) for number in ids)

    shown = hr.arrays({"input_ids": [[1, 2, 3]]}).show(1, tokenizer=Letters())
    assert "abc" in shown._repr_html_()
    assert "abc" in repr(shown)


def test_long_arrays_become_histograms():
    html = html_of(weights=np.linspace(0, 1, 100))
    assert "<rect" in html
    assert "0 to 1, mean 0.5" in html


def test_non_finite_values_are_counted():
    weights = np.linspace(0, 1, 100)
    weights[3], weights[4] = np.nan, np.inf
    assert "2 not finite" in html_of(weights=weights)
    assert "no finite values" in html_of(weights=np.full(100, np.nan))


@pytest.mark.parametrize(
    "value",
    [
        np.full(40, 1_700_000_000_000_000),
        np.full(40, 2**64 - 1, np.uint64),
        np.full(40, 5e-324),
        np.full(40, 16_777_217, np.float32),
        np.full(40, 1e308),
    ],
)
def test_equal_numbers_become_a_histogram_with_one_bar(value):
    html = html_of(x=value)
    assert html.count("<rect") == 1
    assert f"{value[0]:.4g} to {value[0]:.4g}, mean {value[0]:.4g}" in html


@pytest.mark.parametrize(
    "value",
    [
        np.array([-1e308, 1e308] * 20),
        np.array([-(2**63), 2**63 - 1] * 20),
        1_700_000_000_000_000_000 + np.array([0, 1] * 20),
        np.array([2**64 - 2, 2**64 - 1] * 20, np.uint64),
        np.array([0, 5e-324] * 20),
        np.array([False, True] * 20),
    ],
)
def test_extreme_numbers_become_a_histogram_with_both_ends(value):
    heights = re.findall(r'<rect x="(\d+)" y="0"', html_of(x=value))
    assert heights == ["0", "186"]


def test_bytes_are_shown_as_text_or_in_hexadecimal():
    assert "grüße" in html_of(text="grüße".encode())
    assert "00 01 ff" in html_of(raw=b"\x00\x01\xff")


def test_long_texts_are_truncated():
    html = html_of(text="a" * 5000)
    assert "4,000 more characters" in html
    assert len(html) < 5000


def test_batches_are_shown_row_by_row():
    pipe = hr.arrays({"image": [gradient(20, 20)] * 20, "name": ["x"] * 20})
    shown = pipe.batch(8).show(1)
    html = shown._repr_html_()
    assert len(images_in(html)) == 8
    assert "Batch 0" in html
    assert repr(shown).splitlines()[:2] == ["batch 0", "  image: uint8 (8, 20, 20, 3)"]


def test_large_batches_show_their_first_rows():
    html = hr.arrays({"x": list(range(40))}).batch(40).show(1)._repr_html_()
    assert html.count("Row ") == 16
    assert "the first 16 of 40" in html


def test_joined_lists_are_shown_row_by_row():
    examples = [{"tokens": np.arange(n), "image": gradient(9, 9)[:n], "x": n} for n in (8, 1, 9)]
    pipe = hr.iterable(examples).batch(3, ragged="offsets")
    lines = repr(pipe.show(1)).splitlines()
    assert "  tokens.values: int64 (18,)" in lines
    rows = lines.index("  row 1")
    assert lines[rows : rows + 5] == [
        "  row 1",
        "    tokens: int64 (1,), [0]",
        "    image: uint8 (1, 9, 3), 0 to 0, mean 0",
        "    x: int64, 1",
        "  row 2",
    ]
    assert "row 3" not in repr(pipe.show(1))
    html = pipe.show(1)._repr_html_()
    assert len(images_in(html)) == 2
    assert "Whole batch" not in html


@pytest.mark.parametrize("lengths", [(), (0,), (0, 0)])
def test_empty_joined_lists_are_rows(lengths):
    examples = [{"tokens": np.arange(n), "x": n} for n in (*lengths, 1)]
    shown = hr.iterable(examples).batch(3, ragged="offsets").show(1)
    assert repr(shown).count("  row ") == len(examples)


def test_values_with_changed_offsets_are_shown_as_they_are():
    def half(batch):
        return {**batch, "tokens.values": batch["tokens.values"][:2]}

    pipe = hr.iterable([{"tokens": [1, 2]}, {"tokens": [3]}]).batch(2, ragged="offsets").map(half)
    assert "    tokens.values: int64, 2" in repr(pipe.show(1))


def test_components_without_rows_are_shown_for_the_whole_batch():
    def with_total(batch):
        return {**batch, "total": batch["x"].sum()}

    html = hr.arrays({"x": [1, 2], "y": [3, 4]}).batch(2).map(with_total).show(1)._repr_html_()
    assert "Whole batch" in html


def test_repr_has_one_short_line_per_component():
    shown = hr.arrays({"text": ["a\nb " * 100], "x": [[1, 2]]}).show(1)
    lines = repr(shown).splitlines()
    assert lines[0] == "example 0"
    assert len(lines) == 3
    assert all(len(line) < 120 for line in lines)


@pytest.mark.parametrize("text", HOSTILE)
def test_names_and_values_cannot_become_markup(text):
    name = text.replace("\0", "")
    boxes = np.array([[1, 1, 5, 5]])
    example = {
        f"{name} image": gradient(20, 20),
        f"{name} box": boxes,
        "labels": [text],
        f"{name} audio": np.zeros(100, np.float32),
        f"{name} tokens": np.arange(20),
        name: text,
        "data": text.encode(),
        "damaged": encoded(gradient(40, 60))[:50] + text.encode(),
        "weights": np.linspace(0, 1, 100),
    }
    pipe = hr.iterable([example])
    for html in (pipe.show(1)._repr_html_(), pipe.batch(1).show(1)._repr_html_()):
        made = Elements(html)
        assert "script" not in made.tags
        assert not [name for name, _ in made.attributes if name.startswith("on")]
        sources = [value for name, value in made.attributes if name in ("src", "href")]
        assert sources
        assert all(value.startswith("data:") for value in sources)
    for shown in (pipe.show(1), pipe.batch(1).show(1), pipe.map(lambda e: e), iter(pipe)):
        assert "\x1b" not in repr(shown)


def test_descriptions_escape_the_names_of_arrays():
    pipe = hr.arrays({"\x1b[31m": [1]})
    assert "\\x1b[31m: int64" in repr(pipe)
    assert "\\x1b[31m: int64" in pipe.describe()


def test_names_of_functions_are_escaped():
    def function(example):
        return example

    function.__qualname__ = "\x1b[31m"
    with iter(hr.arrays({"x": [1]}).map(function)) as batches:
        assert "map(\\x1b[31m)" in repr(batches)
