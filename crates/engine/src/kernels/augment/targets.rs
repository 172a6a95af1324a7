//! Moves boxes, masks and keypoints in the same way as the pixels of their image.
//!
//! Source: the documented behaviour of `torchvision.transforms.v2` for bounding boxes and
//! keypoints.

use super::homography::Homography;
use super::picture;
use crate::error::{Error, Result};
use crate::kernel::{Kernel, Step, Tensors};
use crate::kernels::attrs::Attrs;
use crate::kernels::expect_inputs;
use crate::kernels::image::bracketed;
use crate::run::Run;
use crate::tensor::Tensor;
use crate::tensor::allocate;
use crate::tensor::dtype::DType;
use crate::tensor::shape::Shape;

/// How the four numbers of a box are stored.
#[derive(Clone, Copy, Debug)]
pub enum Format {
    /// The left, top, right and bottom edges.
    Edges,
    /// The left and top edges, the width and the height.
    Sides,
    /// The centre, the width and the height.
    Centre,
}

impl Format {
    fn of(name: &str) -> Result<Self> {
        match name {
            "xyxy" => Ok(Self::Edges),
            "xywh" => Ok(Self::Sides),
            "cxcywh" => Ok(Self::Centre),
            _ => Err(Error::internal(format!("{name} is not a box format"))),
        }
    }

    fn to_edges(self, [x, y, width, height]: [f64; 4]) -> [f64; 4] {
        match self {
            Self::Edges => [x, y, width, height],
            Self::Sides => [x, y, x + width, y + height],
            Self::Centre => [x - width / 2.0, y - height / 2.0, x + width / 2.0, y + height / 2.0],
        }
    }

    fn stored(self, [left, top, right, bottom]: [f64; 4]) -> [f64; 4] {
        let (width, height) = (right - left, bottom - top);
        match self {
            Self::Edges => [left, top, right, bottom],
            Self::Sides => [left, top, width, height],
            Self::Centre => [left + width / 2.0, top + height / 2.0, width, height],
        }
    }
}

/// How boxes are read.
pub struct Boxes {
    /// The name of the operation, for errors.
    what: String,
    format: Format,
    /// True if numbers are fractions of the image's width and height.
    is_normalized: bool,
}

impl Boxes {
    pub fn from_attrs(attrs: &Attrs) -> Result<Self> {
        Ok(Self {
            what: attrs.string("what")?.to_owned(),
            format: Format::of(attrs.string("format")?)?,
            is_normalized: attrs.bool("normalized")?,
        })
    }

    /// The factors that turn stored numbers into pixels, for an image of this width and height.
    fn unit(&self, canvas: [f64; 2]) -> [f64; 2] {
        if self.is_normalized { canvas } else { [1.0; 2] }
    }

    /// Returns the edges of each box in pixels: left, top, right and bottom.
    pub fn edges(&self, boxes: &Tensor, canvas: [f64; 2]) -> Result<Vec<[f64; 4]>> {
        let [_, 4] = boxes.shape()[..] else {
            return Err(Error::invalid_argument(format!(
                "{}: boxes has shape {}, expected (boxes, 4). For an image without boxes, use shape (0, 4)",
                self.what,
                bracketed(boxes.shape())
            )));
        };
        let boxes = boxes.values::<f32>()?.as_chunks::<4>().0.iter().enumerate();
        boxes.map(|(number, stored)| self.checked(number, *stored, self.unit(canvas))).collect()
    }

    fn checked(&self, number: usize, stored: [f32; 4], unit: [f64; 2]) -> Result<[f64; 4]> {
        let [left, top, right, bottom] = self.format.to_edges(stored.map(f64::from));
        let error = |text: &str| {
            let [a, b, c, d] = stored;
            Err(Error::invalid_argument(format!("{}: box {number} is ({a}, {b}, {c}, {d}), {text}", self.what)))
        };
        if stored.iter().any(|number| !number.is_finite()) {
            return error("expected finite numbers. Remove the box, or correct it");
        }
        if right < left || bottom < top {
            return match self.format {
                Format::Edges => error(
                    "expected x1 <= x2 and y1 <= y2. If boxes are (x, y, width, height), pass format=\"xywh\"; if \
                     they are (centre x, centre y, width, height), pass format=\"cxcywh\"",
                ),
                _ => error("expected a width and a height of at least 0. Remove the box, or correct it"),
            };
        }
        Ok([left * unit[0], top * unit[1], right * unit[0], bottom * unit[1]])
    }
}

/// Maps `(boxes, homography, size of the image, size of the result)` to the moved boxes, and to a
/// bool per box that is false if the box was removed. A fifth input has a bool per box: boxes for
/// which it is false become empty.
pub struct MoveBoxes {
    boxes: Boxes,
    /// Boxes with a smaller area are removed.
    min_area: Option<f64>,
}

impl MoveBoxes {
    pub fn from_attrs(attrs: &Attrs) -> Result<Self> {
        let min_area = Some(attrs.float("min_area")?).filter(|area| *area >= 0.0);
        Ok(Self { boxes: Boxes::from_attrs(attrs)?, min_area })
    }
}

impl Kernel for MoveBoxes {
    fn run(&self, _run: &Run, inputs: Tensors) -> Result<Step> {
        let [boxes, homography, from, to, is_inside @ ..] = inputs.as_slice() else {
            return Err(Error::internal("MoveBoxes has at least four inputs"));
        };
        let homography = Homography::of(homography)?;
        let (from, to) = (canvas(from)?, canvas(to)?);
        let new_unit = self.boxes.unit(to);
        let edges = self.boxes.edges(boxes, from)?;
        let num_boxes = edges.len();
        let mut moved = allocate::elements(DType::Float32, boxes.shape()).room::<f32>()?;
        let mut is_kept = allocate::elements(DType::Bool, &Shape::new(&[num_boxes])).room::<u8>()?;
        for (number, edges) in edges.into_iter().enumerate() {
            let edges = match is_inside.first() {
                Some(is_inside) if is_inside.stored()?.get(number) != Some(&1) => [0.0; 4],
                _ => homography.moved_edges(edges),
            };
            let [left, top, right, bottom] = std::array::from_fn(|side: usize| edges[side].clamp(0.0, to[side % 2]));
            let is_large = self.min_area.is_none_or(|area| (right - left) * (bottom - top) >= area);
            is_kept.push(u8::from(is_large));
            if is_large {
                let edges = [left / new_unit[0], top / new_unit[1], right / new_unit[0], bottom / new_unit[1]];
                moved.extend(self.boxes.format.stored(edges).map(|number| number as f32));
            }
        }
        let moved = Tensor::from_values(Shape::new(&[moved.len() / 4, 4]), moved)?;
        let is_kept = Tensor::from_bytes(DType::Bool, Shape::new(&[num_boxes]), is_kept.into())?;
        Ok(Step::Done([moved, is_kept].into_iter().collect()))
    }
}

/// Maps `(keypoints, homography, size of the image, size of the result)` to the moved keypoints.
pub struct MoveKeypoints {
    what: String,
    is_normalized: bool,
    /// The position of a pixel's centre within the pixel, for operations that move pixels.
    offset: f64,
}

impl MoveKeypoints {
    pub fn from_attrs(attrs: &Attrs) -> Result<Self> {
        Ok(Self {
            what: attrs.string("what")?.to_owned(),
            is_normalized: attrs.bool("normalized")?,
            offset: attrs.float("offset")?,
        })
    }
}

impl Kernel for MoveKeypoints {
    fn run(&self, _run: &Run, inputs: Tensors) -> Result<Step> {
        let [points, homography, from, to] = expect_inputs(&inputs)?;
        if !matches!(points.shape()[..], [_, 2] | [_, _, 2]) {
            return Err(Error::invalid_argument(format!(
                "{}: keypoints has shape {}, expected (points, 2) or (objects, points, 2)",
                self.what,
                bracketed(points.shape())
            )));
        }
        let homography = Homography::of(homography)?;
        let [unit, new_unit] = match self.is_normalized {
            true => [canvas(from)?, canvas(to)?],
            false => [[1.0; 2]; 2],
        };
        let moved = points.values::<f32>()?.as_chunks::<2>().0.iter().flat_map(|[x, y]| {
            let pixel = [f64::from(*x) * unit[0] + self.offset, f64::from(*y) * unit[1] + self.offset];
            let [x, y] = homography.moved(pixel);
            [((x - self.offset) / new_unit[0]) as f32, ((y - self.offset) / new_unit[1]) as f32]
        });
        let moved = allocate::elements(DType::Float32, points.shape()).collect(moved)?;
        Tensor::from_values(points.shape().clone(), moved).map(Step::one)
    }
}

/// Maps `(masks, size of the image)` to images of one channel, whose pixels can then be moved.
pub struct MasksAsImages {
    what: String,
}

impl MasksAsImages {
    pub fn from_attrs(attrs: &Attrs) -> Result<Self> {
        Ok(Self { what: attrs.string("what")?.to_owned() })
    }
}

impl Kernel for MasksAsImages {
    fn run(&self, _run: &Run, inputs: Tensors) -> Result<Step> {
        let [masks, size] = expect_inputs(&inputs)?;
        let [width, height] = canvas(size)?;
        match masks.shape()[..] {
            [count, rows, columns] if rows as f64 == height && columns as f64 == width => {
                masks.clone().reshaped(Shape::new(&[count, rows, columns, 1])).map(Step::one)
            }
            _ => Err(Error::invalid_argument(format!(
                "{}: masks has shape {}, but the image has {height} rows and {width} columns, expected (masks, \
                 {height}, {width})",
                self.what,
                bracketed(masks.shape())
            ))),
        }
    }
}

/// Returns the height and the width of an image. A batch of images is an error.
pub struct ImageSize;

impl Kernel for ImageSize {
    fn run(&self, _run: &Run, inputs: Tensors) -> Result<Step> {
        let [image] = expect_inputs(&inputs)?;
        let [height, width, _] = picture::sizes("targets", image, &[])?;
        Tensor::from_values(Shape::new(&[2]), vec![height as i32, width as i32]).map(Step::one)
    }
}

/// Returns the width and the height.
pub fn canvas(size: &Tensor) -> Result<[f64; 2]> {
    match *size.values::<i32>()? {
        [height, width] => Ok([f64::from(width), f64::from(height)]),
        _ => Err(Error::internal("expected a size of two numbers")),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::kernels::attrs::Attr;
    use crate::kernels::testing::{attrs, error_text, run, run_one};

    fn text(value: &str) -> Attr {
        Attr::String(value.to_owned())
    }

    fn boxes(format: &str, normalized: bool, min_area: f64) -> MoveBoxes {
        MoveBoxes::from_attrs(&attrs([
            ("what", text("flip")),
            ("format", text(format)),
            ("normalized", Attr::Bool(normalized)),
            ("min_area", Attr::Float(min_area)),
        ]))
        .unwrap()
    }

    fn floats(shape: &[usize], values: &[f32]) -> Tensor {
        Tensor::from_values(Shape::new(shape), values.to_vec()).unwrap()
    }

    /// Inputs that flip an image of 10 rows and 20 columns.
    fn flip(targets: Tensor) -> Vec<Tensor> {
        let matrix = Tensor::from_values(Shape::new(&[6]), vec![-1.0_f64, 0.0, 20.0, 0.0, 1.0, 0.0]).unwrap();
        let size = Tensor::from_values(Shape::new(&[2]), vec![10_i32, 20]).unwrap();
        vec![targets, matrix, size.clone(), size]
    }

    #[test]
    fn boxes_of_each_format_are_moved_and_clipped() {
        let moved = |format, normalized, values: &[f32]| {
            let outputs = run(&boxes(format, normalized, -1.0), &flip(floats(&[1, 4], values))).unwrap();
            outputs[0].values::<f32>().unwrap().to_vec()
        };
        assert_eq!(moved("xyxy", false, &[1.0, 2.0, 4.0, 12.0]), [16.0, 2.0, 19.0, 10.0]);
        assert_eq!(moved("xywh", false, &[1.0, 2.0, 3.0, 4.0]), [16.0, 2.0, 3.0, 4.0]);
        assert_eq!(moved("cxcywh", true, &[0.25, 0.5, 0.1, 0.2]), [0.75, 0.5, 0.1, 0.2]);
    }

    #[test]
    fn small_boxes_are_removed_only_on_request() {
        let values = floats(&[2, 4], &[0.0, 0.0, 1.0, 1.0, 0.0, 0.0, 3.0, 3.0]);
        for (min_area, kept) in [(-1.0, [1, 1]), (1.0, [1, 1]), (1.5, [0, 1]), (9.5, [0, 0])] {
            let outputs = run(&boxes("xyxy", false, min_area), &flip(values.clone())).unwrap();
            assert_eq!(outputs[1].bytes(), kept);
            assert_eq!(outputs[0].shape()[..], [usize::from(kept.iter().sum::<u8>()), 4]);
        }
    }

    #[test]
    fn invalid_targets_are_rejected() {
        let error = |format, values: Tensor| error_text(&boxes(format, false, -1.0), &flip(values));
        let swapped = error("xyxy", floats(&[1, 4], &[5.0, 0.0, 4.0, 1.0]));
        assert!(swapped.contains("flip: box 0 is (5, 0, 4, 1), expected x1 <= x2"), "{swapped}");
        let negative = error("xywh", floats(&[1, 4], &[5.0, 0.0, -4.0, 1.0]));
        assert!(negative.contains("expected a width and a height of at least 0"), "{negative}");
        assert!(error("xyxy", floats(&[1, 4], &[f32::NAN; 4])).contains("expected finite numbers"));
        assert!(error("xyxy", floats(&[4], &[0.0; 4])).contains("boxes has shape [4], expected (boxes, 4)"));
        let masks = MasksAsImages { what: "flip".into() };
        let size = Tensor::from_values(Shape::new(&[2]), vec![10_i32, 20]).unwrap();
        let wrong = error_text(&masks, &[floats(&[1, 20, 10], &[0.0; 200]), size]);
        assert!(wrong.contains("masks has shape [1,20,10], but the image has 10 rows and 20 columns"), "{wrong}");
    }

    #[test]
    fn flip_moves_keypoints_by_pixel_index() {
        let kernel = MoveKeypoints { what: "flip".into(), is_normalized: false, offset: 0.5 };
        let moved = run_one(&kernel, &flip(floats(&[1, 2, 2], &[0.0, 3.0, 19.0, 3.0]))).unwrap();
        assert_eq!((&moved.shape()[..], moved.values::<f32>().unwrap()), (&[1, 2, 2][..], &[19.0, 3.0, 0.0, 3.0][..]));
        assert!(error_text(&kernel, &flip(floats(&[2], &[0.0; 2]))).contains("keypoints has shape [2], expected"));
    }
}
