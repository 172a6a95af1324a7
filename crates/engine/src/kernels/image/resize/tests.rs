use super::*;
use crate::kernels::attrs::Attr;
use crate::kernels::testing::{attrs, error_text, run_one};
use crate::tensor::shape::Shape;

fn resize(op_type: &str, align_corners: bool, half_pixel_centers: bool) -> Resize {
    let attrs = attrs([
        ("align_corners", Attr::Bool(align_corners)),
        ("half_pixel_centers", Attr::Bool(half_pixel_centers)),
        ("preserve_aspect_ratio", Attr::Bool(false)),
    ]);
    Resize::from_attrs(op_type, &attrs).unwrap()
}

fn filtered(kernel_type: &str, preserve_aspect_ratio: bool) -> Resize {
    let attrs = attrs([
        ("kernel_type", Attr::String(kernel_type.into())),
        ("antialias", Attr::Bool(true)),
        ("preserve_aspect_ratio", Attr::Bool(preserve_aspect_ratio)),
    ]);
    Resize::from_attrs("ScaleAndTranslate", &attrs).unwrap()
}

fn size(height: i32, width: i32) -> Tensor {
    Tensor::from_values(Shape::new(&[2]), vec![height, width]).unwrap()
}

fn ramp(height: usize, width: usize, channels: usize) -> Tensor {
    let values = (0..(height * width * channels) as u32).map(|value| value as f32).collect();
    Tensor::from_values(Shape::new(&[height, width, channels]), values).unwrap()
}

#[test]
fn every_method_keeps_a_uniform_image_uniform() {
    let plain = |height, width| {
        let image = Tensor::from_values(Shape::new(&[height, width, 3]), vec![9_u8; height * width * 3]);
        image.unwrap()
    };
    let kernels = [
        resize("ResizeBilinear", false, false),
        resize("ResizeBicubic", true, false),
        resize("ResizeBicubic", false, true),
        resize("ResizeArea", false, false),
        resize("ResizeArea", true, false),
        filtered("lanczos5", false),
        filtered("gaussian", false),
        filtered("mitchellcubic", false),
    ];
    for kernel in &kernels {
        for (height, width) in [(1, 1), (3, 4), (5, 7), (11, 20)] {
            for image in [plain(5, 7), plain(1, 7), plain(1, 1)] {
                let resized = run_one(kernel, &[image, size(height, width)]).unwrap();
                assert_eq!(resized.shape()[..], [height as usize, width as usize, 3]);
                assert!(resized.values::<f32>().unwrap().iter().all(|value| (value - 9.0).abs() < 1e-5));
            }
        }
    }
}

#[test]
fn images_of_a_batch_are_resized_independently() {
    let batch = ramp(8, 3, 2).reshaped(Shape::new(&[2, 4, 3, 2])).unwrap();
    let kernels =
        [resize("ResizeBilinear", false, true), resize("ResizeArea", false, false), filtered("triangle", false)];
    for kernel in &kernels {
        let both = run_one(kernel, &[batch.clone(), size(3, 5)]).unwrap();
        for number in 0..2 {
            let one = run_one(kernel, &[batch.row(number).unwrap(), size(3, 5)]).unwrap();
            assert_eq!(both.row(number).unwrap(), one);
        }
    }
}

#[test]
fn channels_are_resized_independently() {
    for op_type in ["ResizeBilinear", "ResizeBicubic", "ResizeArea", "ResizeNearestNeighbor"] {
        let kernel = resize(op_type, false, false);
        for channels in 1..6 {
            let image = ramp(4, 6, channels);
            let all = run_one(&kernel, &[image.clone(), size(3, 4)]).unwrap();
            for channel in 0..channels {
                let pick = |tensor: &Tensor| -> Vec<f32> {
                    tensor.values::<f32>().unwrap().iter().skip(channel).step_by(channels).copied().collect()
                };
                let alone = Tensor::from_values(Shape::new(&[4, 6, 1]), pick(&image)).unwrap();
                let alone = run_one(&kernel, &[alone, size(3, 4)]).unwrap();
                assert_eq!(pick(&all), alone.values::<f32>().unwrap());
            }
        }
    }
}

#[test]
fn nearest_neighbour_keeps_the_type() {
    let image = Tensor::from_values(Shape::new(&[1, 4, 1]), vec![1_i64, 2, 3, 4]).unwrap();
    let nearest = |align, half| run_one(&resize("ResizeNearestNeighbor", align, half), &[image.clone(), size(1, 3)]);
    assert_eq!(nearest(false, false).unwrap().values::<i64>().unwrap(), [1, 2, 3]);
    assert_eq!(nearest(true, false).unwrap().values::<i64>().unwrap(), [1, 3, 4]);
    assert_eq!(nearest(false, true).unwrap().values::<i64>().unwrap(), [1, 3, 4]);
}

#[test]
fn aspect_ratio_can_be_kept() {
    let resized = run_one(&filtered("triangle", true), &[ramp(4, 8, 1), size(3, 3)]).unwrap();
    assert_eq!(resized.shape()[..], [2, 3, 1]);
}

#[test]
fn unsupported_images_and_sizes_are_rejected() {
    let kernel = resize("ResizeBilinear", false, false);
    let image = ramp(2, 2, 1);
    let numbers = |values: Vec<i32>, shape: &[usize]| Tensor::from_values(Shape::new(shape), values).unwrap();
    for (image, size, text) in [
        (image.clone(), size(0, 3), "output dimensions must be positive, got 0 and 3"),
        (image.clone(), size(1 << 25, 1 << 25), "OOM when allocating tensor with shape[33554432,33554432,1] and type"),
        (image.clone(), size(i32::MAX, i32::MAX), "OOM when allocating"),
        (image.clone(), numbers(vec![1], &[1]), "shape_t must have two elements[1]"),
        (image.clone(), numbers(vec![1, 2], &[1, 2]), "shape_t must be 1-dimensional[1,2]"),
        (image.reshaped(Shape::new(&[4])).unwrap(), size(1, 1), "input must be 4-dimensional[4]"),
        (ramp(0, 2, 1), size(1, 1), "input image must be of non-zero size"),
        (ramp(2, 2, 0), size(1, 1), "image must have at least one channel"),
        (Tensor::strings(Shape::new(&[1, 1, 1]), vec!["".into()]).unwrap(), size(1, 1), "expected pixels, got strings"),
    ] {
        let error = error_text(&kernel, &[image, size]);
        assert!(error.contains(text), "{error}");
    }
    assert!(Filter::from_name("bogus").unwrap_err().message().contains("Unrecognized kernel type: bogus"));
    let both = attrs([("align_corners", Attr::Bool(true)), ("half_pixel_centers", Attr::Bool(true))]);
    assert!(Grid::from_attrs(&both).unwrap_err().message().contains("align_corners must be False"));
}

#[test]
fn sums_of_bytes_match_sums_of_floats_bit_for_bit() {
    for (channels, name) in [(1, "triangle"), (2, "triangle"), (3, "triangle"), (4, "lanczos3"), (3, "lanczos5")] {
        let pixels: Vec<u8> =
            (0..31 * 23 * channels).map(|number| ((number * 2_654_435_761_usize) >> 7) as u8).collect();
        let shape = Shape::new(&[31, 23, channels]);
        let floats = pixels.iter().map(|pixel| f32::from(*pixel)).collect();
        let floats = Tensor::from_values(shape.clone(), floats).unwrap();
        let bytes = Tensor::from_values(shape, pixels).unwrap();
        for (height, width) in [(1, 1), (2, 30), (7, 5), (16, 12), (31, 23), (40, 90)] {
            let [of_floats, of_bytes] = [&floats, &bytes]
                .map(|image| run_one(&filtered(name, false), &[image.clone(), size(height, width)]).unwrap());
            assert_eq!(of_floats, of_bytes, "{name}, {channels} channels, to {height}x{width}");
        }
    }
}

#[test]
fn columns_are_resized_independently() {
    let pixels: Vec<u8> = (0..9 * 20 * 3).map(|number| (number * 7919 % 251) as u8).collect();
    let image = Tensor::from_values(Shape::new(&[9, 20, 3]), pixels).unwrap();
    let target = Frame::of(&image).unwrap().resized(6, 5).unwrap();
    for (first, width) in [(0, 20), (0, 3), (4, 11), (19, 1)] {
        let part = image.window(&[0, first, 0], Shape::new(&[9, width, 3])).unwrap();
        let alone = antialiased(&part, (0, width), &target).unwrap();
        let within = antialiased(&image, (first, width), &target).unwrap();
        assert_eq!(alone, within);
    }
}

#[test]
fn whole_part_matches_integer_conversion() {
    for number in 0..=u16::MAX {
        let whole = f32::from(number);
        for value in [whole, whole + 0.25, whole + 0.5, (whole + 1.0).next_down(), whole.next_up()] {
            assert_eq!(whole_part(value) as u16, value as u16, "{value}");
            assert_eq!(whole_part(value) as u8, value as u16 as u8, "{value}");
        }
    }
}

#[test]
fn antialiasing_keeps_the_type() {
    let numbers = || (0..6 * 5 * 2_u16).map(|number| number.wrapping_mul(7919));
    let wide = Tensor::from_values(Shape::new(&[6, 5, 2]), numbers().collect::<Vec<u16>>()).unwrap();
    let floats = Tensor::from_values(Shape::new(&[6, 5, 2]), numbers().map(f32::from).collect::<Vec<f32>>()).unwrap();
    let target = Frame::of(&wide).unwrap().resized(3, 2).unwrap();
    let [wide, floats] = [&wide, &floats].map(|image| antialiased(image, (0, 5), &target).unwrap());
    let rounded: Vec<u16> = floats.values::<f32>().unwrap().iter().map(|value| (value + 0.5) as u16).collect();
    assert_eq!(wide.values::<u16>().unwrap(), rounded);
}
