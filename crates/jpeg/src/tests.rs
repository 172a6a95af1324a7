use super::*;

const OPTIONS: DecodeOptions = DecodeOptions {
    colours: None,
    ratio: 1,
    is_fancy: true,
    is_accurate: true,
    is_recovering: false,
    is_raw: false,
    window: None,
};

fn encoding() -> EncodeOptions {
    EncodeOptions {
        quality: 95,
        is_progressive: false,
        is_optimized: false,
        is_chroma_downsampled: false,
        density: Density { unit: 1, x: 300, y: 300 },
        app1: Vec::new(),
    }
}

/// A smooth image, which JPEG compresses with little loss.
fn pixels(width: usize, height: usize, colours: Colours) -> Vec<u8> {
    let value = |y: usize, x: usize, channel: usize| (40 + 2 * x + y + 30 * channel) as u8;
    let channels = colours.channels();
    (0..height * width * channels).map(|i| value(i / channels / width, i / channels % width, i % channels)).collect()
}

fn jpeg(width: usize, height: usize, colours: Colours, options: &EncodeOptions) -> Vec<u8> {
    encode(&pixels(width, height, colours), width, height, colours, options).unwrap()
}

fn zeros(length: usize) -> Option<Vec<u8>> {
    Some(vec![0; length])
}

fn decode(data: &[u8], options: &DecodeOptions) -> Result<Image> {
    Decoder::new(data, 100)?.decode(options, zeros)
}

fn largest_difference(a: &[u8], b: &[u8]) -> u8 {
    assert_eq!(a.len(), b.len());
    a.iter().zip(b).map(|(a, b)| a.abs_diff(*b)).max().unwrap_or(0)
}

#[test]
fn encoding_and_decoding_barely_changes_the_pixels() {
    for colours in [Colours::Grey, Colours::Rgb] {
        for (is_progressive, is_optimized, is_chroma_downsampled) in [(false, false, false), (true, true, true)] {
            let encoding = EncodeOptions { is_progressive, is_optimized, is_chroma_downsampled, ..encoding() };
            let image = decode(&jpeg(37, 21, colours, &encoding), &OPTIONS).unwrap();
            assert_eq!((image.width, image.height, image.channels), (37, 21, colours.channels()));
            assert!(image.num_rows_read == 21 && image.is_complete);
            assert!(largest_difference(&image.pixels, &pixels(37, 21, colours)) < 6);
        }
    }
}

#[test]
fn header_is_read_before_decoding() {
    let data = jpeg(37, 21, Colours::Rgb, &encoding());
    let decoder = Decoder::new(&data, 100).unwrap();
    assert_eq!((decoder.width(), decoder.height(), decoder.num_components()), (37, 21, 3));
}

#[test]
fn colour_space_can_be_requested() {
    let grey = jpeg(8, 8, Colours::Grey, &encoding());
    let rgb = decode(&grey, &DecodeOptions { colours: Some(Colours::Rgb), ..OPTIONS }).unwrap();
    assert!(rgb.channels == 3 && rgb.pixels.as_chunks::<3>().0.iter().all(|[r, g, b]| r == g && g == b));
    let colour = jpeg(8, 8, Colours::Rgb, &encoding());
    assert_eq!(decode(&colour, &DecodeOptions { colours: Some(Colours::Grey), ..OPTIONS }).unwrap().channels, 1);
}

#[test]
fn scaling_rounds_the_size_up() {
    let data = jpeg(37, 21, Colours::Rgb, &encoding());
    for (ratio, size) in [(1, (37, 21)), (2, (19, 11)), (4, (10, 6)), (8, (5, 3))] {
        let image = decode(&data, &DecodeOptions { ratio, ..OPTIONS }).unwrap();
        assert_eq!((image.width, image.height), size);
    }
    let error = decode(&data, &DecodeOptions { ratio: 3, ..OPTIONS }).unwrap_err();
    assert_eq!(error.to_string(), "ratio is 3, expected 1, 2, 4 or 8");
}

#[test]
fn window_matches_that_part_of_the_whole_image() {
    let data = jpeg(67, 45, Colours::Rgb, &encoding());
    let whole = decode(&data, &OPTIONS).unwrap();
    for window in [
        Window { x: 0, y: 0, width: 67, height: 45 },
        Window { x: 21, y: 13, width: 30, height: 9 },
        Window { x: 66, y: 44, width: 1, height: 1 },
    ] {
        let image = decode(&data, &DecodeOptions { window: Some(window), ..OPTIONS }).unwrap();
        let rows = whole.pixels.chunks_exact(67 * 3).skip(window.y).take(window.height);
        let expected: Vec<u8> =
            rows.flat_map(|row| &row[window.x * 3..(window.x + window.width) * 3]).copied().collect();
        assert_eq!((image.width, image.height, image.pixels), (window.width, window.height, expected));
    }
}

#[test]
fn window_outside_the_image_is_rejected() {
    let data = jpeg(37, 21, Colours::Rgb, &encoding());
    for (x, y, width, height) in [(0, 0, 38, 1), (37, 0, 1, 1), (0, 0, 0, 1), (0, 21, 1, 1), (1, 1, usize::MAX, 1)] {
        let window = Some(Window { x, y, width, height });
        let error = decode(&data, &DecodeOptions { window, ..OPTIONS }).unwrap_err();
        assert!(error.to_string().ends_with("is outside the image of 21x37"), "{error}");
    }
}

#[test]
fn rows_of_a_truncated_file_are_counted() {
    let data = jpeg(64, 64, Colours::Rgb, &encoding());
    let data = &data[..data.len() * 3 / 4];
    let image = decode(data, &OPTIONS).unwrap();
    assert!((8..64).contains(&image.num_rows_read));
    assert!(image.pixels[image.num_rows_read * 64 * 3..].iter().all(|value| *value == 0));
    let recovered = decode(data, &DecodeOptions { is_recovering: true, ..OPTIONS }).unwrap();
    assert_eq!(recovered.num_rows_read, 64);
    assert!(!image.is_complete && !recovered.is_complete);
    // Both files have the rows before the first missing one.
    let length = (image.num_rows_read - 1) * 64 * 3;
    assert_eq!(image.pixels[..length], recovered.pixels[..length]);
}

#[test]
fn truncated_progressive_file_has_no_rows() {
    let data = jpeg(64, 64, Colours::Rgb, &EncodeOptions { is_progressive: true, ..encoding() });
    let data = &data[..data.len() * 3 / 4];
    assert_eq!(decode(data, &OPTIONS).unwrap_err().to_string(), "the data ends before the last scan");
    assert_eq!(decode(data, &DecodeOptions { is_recovering: true, ..OPTIONS }).unwrap().num_rows_read, 64);
}

#[test]
fn scans_are_limited() {
    let data = jpeg(16, 16, Colours::Rgb, &EncodeOptions { is_progressive: true, ..encoding() });
    let error = Decoder::new(&data, 3).unwrap().decode(&OPTIONS, zeros).unwrap_err();
    assert_eq!(error.to_string(), "more than 3 scans");
}

#[test]
fn lack_of_memory_for_pixels_is_a_separate_error() {
    let data = jpeg(16, 16, Colours::Rgb, &encoding());
    let none = |length| {
        assert_eq!(length, 16 * 16 * 3);
        None
    };
    let error = Decoder::new(&data, 100).unwrap().decode(&OPTIONS, none).unwrap_err();
    assert!(error.is_out_of_memory(), "{error}");
    assert!(!decode(b"junk", &OPTIONS).unwrap_err().is_out_of_memory());
}

#[test]
fn invalid_data_is_rejected_with_libjpeg_messages() {
    for data in [&b""[..], b"nope", &[0xff, 0xd8], &[0xff, 0xd8, 0xff, 0xd9]] {
        assert!(!decode(data, &OPTIONS).unwrap_err().to_string().is_empty());
    }
    assert_eq!(decode(b"nope", &OPTIONS).unwrap_err().to_string(), "Not a JPEG file: starts with 0x6e 0x6f");
}

#[test]
fn truncated_and_damaged_files_yield_an_image_or_an_error() {
    for is_progressive in [false, true] {
        let data = jpeg(40, 24, Colours::Rgb, &EncodeOptions { is_progressive, ..encoding() });
        let window = Some(Window { x: 17, y: 9, width: 20, height: 8 });
        for length in 0..data.len() {
            for is_recovering in [false, true] {
                drop(decode(&data[..length], &DecodeOptions { is_recovering, ..OPTIONS }));
                drop(decode(&data[..length], &DecodeOptions { is_recovering, window, ..OPTIONS }));
            }
        }
        for position in 0..data.len() {
            for value in [0, 0xff, data[position] ^ 0x10] {
                let mut data = data.clone();
                data[position] = value;
                // A modified size may be huge. Callers check it before decoding.
                if Decoder::new(&data, 100).is_ok_and(|decoder| decoder.width() * decoder.height() < 1 << 20) {
                    drop(decode(&data, &OPTIONS));
                    drop(decode(&data, &DecodeOptions { window, ..OPTIONS }));
                }
            }
        }
    }
}

#[test]
fn metadata_and_density_are_written() {
    let data = jpeg(8, 8, Colours::Grey, &EncodeOptions { app1: b"hello".to_vec(), ..encoding() });
    assert!(data.windows(9).any(|bytes| bytes == b"\xff\xe1\x00\x07hello"));
    assert!(data.windows(5).any(|bytes| bytes == [1, 300_u16.to_be_bytes()[0], 44, 1, 44]));
}

#[test]
fn output_can_outgrow_the_initial_buffer() {
    let noise: Vec<u8> = (0..300 * 300 * 3_u32).map(|i| (i.wrapping_mul(2_654_435_761) >> 24) as u8).collect();
    let data = encode(&noise, 300, 300, Colours::Rgb, &EncodeOptions { quality: 100, ..encoding() }).unwrap();
    assert!(data.len() > 1 << 17);
    assert_eq!(decode(&data, &OPTIONS).unwrap().num_rows_read, 300);
}

#[test]
fn wrong_sizes_are_rejected() {
    let fail = |width, height| encode(&[0; 12], width, height, Colours::Rgb, &encoding()).unwrap_err().to_string();
    assert_eq!(fail(0, 4), "the image has 4x0 pixels, expected 1 to 65500 in each direction");
    assert_eq!(fail(1, 70_000), "the image has 70000x1 pixels, expected 1 to 65500 in each direction");
    assert_eq!(fail(3, 4), "got 12 bytes of pixels, expected 36");
    let error = encode(&[0], 1, 1, Colours::Grey, &EncodeOptions { app1: vec![0; 70_000], ..encoding() }).unwrap_err();
    assert_eq!(error.to_string(), "got 70000 bytes of metadata, expected at most 65533");
}
