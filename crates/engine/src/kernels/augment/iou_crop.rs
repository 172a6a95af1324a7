//! Chooses a part of an image that overlaps enough with one of its boxes.
//!
//! Source: `RandomIoUCrop` of `torchvision.transforms.v2`.

use super::targets::{Boxes, canvas};
use crate::error::{Error, Result};
use crate::kernel::{Kernel, Step, Tensors};
use crate::kernels::attrs::Attrs;
use crate::kernels::expect_inputs;
use crate::philox::Philox;
use crate::run::Run;
use crate::tensor::Tensor;
use crate::tensor::dtype::DType;
use crate::tensor::shape::Shape;

/// The number of times that a minimum overlap is drawn. After that, the image stays whole.
const MAX_ROUNDS: usize = 50;

/// Maps `(boxes, draws, size of the image)` to a part of the image (row, column, height and width),
/// and to a bool per box: whether its centre is in the part.
pub struct IouCropRegion {
    boxes: Boxes,
    scale: [f64; 2],
    ratio: [f64; 2],
    /// The minimum overlaps to choose from. At least 1 means the whole image.
    overlaps: Vec<f64>,
    num_trials: usize,
}

impl IouCropRegion {
    pub fn from_attrs(attrs: &Attrs) -> Result<Self> {
        let pair = |name| super::floats(attrs, name).map(|values| [values[0], values[1]]);
        Ok(Self {
            boxes: Boxes::from_attrs(attrs)?,
            scale: pair("scale")?,
            ratio: pair("ratio")?,
            overlaps: super::floats(attrs, "overlaps")?,
            num_trials: attrs.int("trials")? as usize,
        })
    }

    /// Draws a part that fits. Returns its edges, or `None` for the whole image.
    fn drawn(&self, edges: &[[f64; 4]], [width, height]: [f64; 2], stream: &mut Philox) -> Option<[f64; 4]> {
        let mut uniform = || f64::from(stream.next_u32()) / 4_294_967_296.0;
        for _ in 0..MAX_ROUNDS {
            let overlap = self.overlaps[(uniform() * self.overlaps.len() as f64) as usize];
            if overlap >= 1.0 {
                return None;
            }
            for _ in 0..self.num_trials {
                let [low, high] = self.scale;
                let new_width = (width * (low + (high - low) * uniform())).floor();
                let new_height = (height * (low + (high - low) * uniform())).floor();
                let ratio = new_width / new_height;
                if !(self.ratio[0]..=self.ratio[1]).contains(&ratio) {
                    continue;
                }
                let left = ((width - new_width) * uniform()).floor();
                let top = ((height - new_height) * uniform()).floor();
                let part = [left, top, left + new_width, top + new_height];
                let mut inside = edges.iter().filter(|edges| has_centre(&part, edges));
                if new_width >= 1.0 && new_height >= 1.0 && inside.any(|edges| shared(&part, edges) >= overlap) {
                    return Some(part);
                }
            }
        }
        None
    }
}

/// Returns true if the centre of a box is inside a part.
fn has_centre(part: &[f64; 4], [left, top, right, bottom]: &[f64; 4]) -> bool {
    let (x, y) = ((left + right) / 2.0, (top + bottom) / 2.0);
    part[0] < x && x < part[2] && part[1] < y && y < part[3]
}

/// Returns the intersection of two rectangles, as a fraction of their union.
fn shared(a: &[f64; 4], b: &[f64; 4]) -> f64 {
    let area = |edges: &[f64; 4]| (edges[2] - edges[0]) * (edges[3] - edges[1]);
    let width = (a[2].min(b[2]) - a[0].max(b[0])).max(0.0);
    let height = (a[3].min(b[3]) - a[1].max(b[1])).max(0.0);
    width * height / (area(a) + area(b) - width * height)
}

impl Kernel for IouCropRegion {
    fn run(&self, _run: &Run, inputs: Tensors) -> Result<Step> {
        let [boxes, draws, size] = expect_inputs(&inputs)?;
        let canvas = canvas(size)?;
        let edges = self.boxes.edges(boxes, canvas)?;
        let [one, other] = *draws.values::<i32>()? else { return Err(Error::internal("expected two random numbers")) };
        let part = self.drawn(&edges, canvas, &mut Philox::new(one.into(), other.into()));
        let is_inside = |edges: &[f64; 4]| u8::from(part.is_none_or(|part| has_centre(&part, edges)));
        let is_inside: Vec<u8> = edges.iter().map(is_inside).collect();
        let [left, top, right, bottom] = part.unwrap_or([0.0, 0.0, canvas[0], canvas[1]]);
        let region: Vec<i32> = [top, left, bottom - top, right - left].map(|number| number as i32).to_vec();
        let is_inside = Tensor::from_bytes(DType::Bool, Shape::new(&[edges.len()]), is_inside.into())?;
        Ok(Step::Done([Tensor::from_values(Shape::new(&[4]), region)?, is_inside].into_iter().collect()))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn overlap_is_the_shared_part_of_the_union() {
        assert_eq!(shared(&[0.0, 0.0, 2.0, 2.0], &[1.0, 0.0, 3.0, 2.0]), 2.0 / 6.0);
        assert_eq!(shared(&[0.0, 0.0, 2.0, 2.0], &[5.0, 0.0, 6.0, 2.0]), 0.0);
    }

    #[test]
    fn centre_decides_whether_a_box_is_inside() {
        assert!(has_centre(&[0.0, 0.0, 4.0, 4.0], &[2.0, 2.0, 5.0, 5.0]));
        assert!(!has_centre(&[0.0, 0.0, 4.0, 4.0], &[3.0, 3.0, 5.0, 5.0]));
    }
}
