//! Draws the masks of objects from the outlines in a COCO file.
//!
//! Source: the polygons and run lengths that https://cocodataset.org/#format-data describes. Masks
//! match pycocotools.

use crate::blocks::block::{Block, Provenance};
use crate::blocks::column::Column;
use crate::blocks::rows::Rows;
use crate::stages::Stage;
use headrace_engine::error::{Error, Result};
use headrace_engine::tensor::Tensor;
use headrace_engine::tensor::allocate;
use headrace_engine::tensor::dtype::DType;
use headrace_engine::tensor::shape::Shape;

/// The number of positions per pixel along each axis, between which corners are rounded.
const PER_PIXEL: i32 = 5;
/// The position of a pixel's centre.
const CENTRE: i32 = PER_PIXEL / 2;

/// Replaces outlines with masks, (objects, height, width) of uint8.
pub struct DrawMasks {
    /// The column with the outlines, a vector of int32 per row. An object is either the number of
    /// its polygons, each with the number of its values and alternating x and y in fifths of a
    /// pixel. Or it is -1, the number of runs, and the length of each run of pixels, column by
    /// column, which are alternately outside and inside.
    pub column: usize,
    /// The column with the height and the width of images, int32.
    pub size: usize,
}

impl Stage for DrawMasks {
    fn apply(&self, rows: Rows) -> Result<Rows> {
        let block = rows.gather()?;
        let mut columns = block.columns.clone();
        let (Some(outlines), Some(sizes)) = (columns.get(self.column), columns.get(self.size)) else {
            return Err(Error::internal("draw_masks: the column of outlines or sizes is missing"));
        };
        let masks = (0..rows.len()).map(|row| {
            let size = sizes.row(row)?;
            let [height, width] = size.values::<i32>()?[..] else {
                return Err(Error::internal("draw_masks: expected a size of two numbers"));
            };
            drawn(outlines.row(row)?.values::<i32>()?, Canvas { height: height as usize, width: width as usize })
        });
        columns[self.column] = Column::Each(masks.collect::<Result<Vec<_>>>()?.into());
        Block::new(columns, rows.len(), Provenance::of(rows)).map(Rows::all)
    }

    fn is_one_to_one(&self) -> bool {
        true
    }
}

/// The size of an image.
#[derive(Clone, Copy)]
struct Canvas {
    height: usize,
    width: usize,
}

impl Canvas {
    /// Fills the pixels from `start` to `end` of a mask. Pixels are numbered column by column.
    fn fill(self, mask: &mut [u8], start: usize, end: usize) {
        let end = end.min(self.height * self.width);
        let mut first = start;
        while first < end {
            let (x, y) = (first / self.height, first % self.height);
            let count = (end - first).min(self.height - y);
            mask.iter_mut().skip(y * self.width + x).step_by(self.width).take(count).for_each(|pixel| *pixel = 1);
            first += count;
        }
    }

    /// Returns the number of the pixel at which a column enters or leaves a polygon between two
    /// neighbouring positions of its edge, if the centres of a column lie between them.
    fn crossing(self, from: [i32; 2], to: [i32; 2]) -> Option<usize> {
        let left = from[0].min(to[0]) - CENTRE;
        let x = usize::try_from(left.div_euclid(PER_PIXEL)).ok().filter(|x| *x < self.width)?;
        let is_centre = from[0] != to[0] && left.rem_euclid(PER_PIXEL) == 0;
        // The first pixel whose centre is not above the edge.
        let y = (from[1].min(to[1]) - CENTRE + PER_PIXEL - 1).div_euclid(PER_PIXEL);
        is_centre.then(|| x * self.height + (y.max(0) as usize).min(self.height))
    }

    /// Returns the pixels at which columns enter or leave a polygon, in order.
    fn crossings(self, polygon: &[i32]) -> Result<Vec<usize>> {
        let corners = polygon.as_chunks::<2>().0;
        let next = corners.iter().cycle().skip(1);
        let mut positions = corners.iter().zip(next).flat_map(|(from, to)| positions(*from, *to));
        let Some(mut last) = positions.next() else { return Ok(Vec::new()) };
        let crossings =
            positions.filter_map(|position| self.crossing(std::mem::replace(&mut last, position), position));
        let mut crossings = allocate::gathered(crossings).map_err(|refusal| refusal.at("the outline of an object"))?;
        crossings.sort_unstable();
        Ok(crossings)
    }
}

/// Returns the positions from one corner to the next, including both. They are one apart along the
/// longer axis, and rounded along the other.
fn positions(from: [i32; 2], to: [i32; 2]) -> impl Iterator<Item = [i32; 2]> {
    let long = usize::from(from[0].abs_diff(to[0]) < from[1].abs_diff(to[1]));
    let is_back = from[long] > to[long];
    let [low, high] = if is_back { [to, from] } else { [from, to] };
    let (length, short) = (high[long] - low[long], 1 - long);
    let slope = f64::from(high[short] - low[short]) / f64::from(length.max(1));
    (0..=length).map(move |step| {
        let step = if is_back { length - step } else { step };
        let mut position = [0; 2];
        position[long] = low[long] + step;
        position[short] = (f64::from(low[short]) + slope * f64::from(step) + 0.5) as i32;
        position
    })
}

/// Draws the masks of all objects.
fn drawn(outlines: &[i32], canvas: Canvas) -> Result<Tensor> {
    let objects = objects(outlines).ok_or_else(|| Error::internal("draw_masks: an outline is cut short"))?;
    let shape = Shape::new(&[objects.len(), canvas.height, canvas.width]);
    let mut masks = allocate::elements(DType::UInt8, &shape).zeros::<u8>()?;
    for (mask, (is_runs, parts)) in masks.chunks_exact_mut((canvas.height * canvas.width).max(1)).zip(objects) {
        for part in parts {
            let ends = if is_runs { run_ends(part) } else { canvas.crossings(part)? };
            for inside in ends.chunks(2) {
                canvas.fill(mask, inside[0], inside.get(1).copied().unwrap_or(usize::MAX));
            }
        }
    }
    Tensor::from_bytes(DType::UInt8, shape, masks.into())
}

/// Returns the pixel after each run.
fn run_ends(runs: &[i32]) -> Vec<usize> {
    let mut end = 0;
    let ends = runs.iter().map(|run| {
        end += *run as usize;
        end
    });
    ends.collect()
}

/// The parts of an object, and whether they are runs instead of polygons.
type Object<'a> = (bool, Vec<&'a [i32]>);

/// Returns the objects, or `None` if a number is missing.
fn objects(mut numbers: &[i32]) -> Option<Vec<Object<'_>>> {
    let mut objects = Vec::new();
    while let [kind, rest @ ..] = numbers {
        numbers = rest;
        let mut parts = Vec::new();
        for _ in 0..kind.unsigned_abs() {
            let (length, rest) = numbers.split_first()?;
            let (part, rest) = rest.split_at_checked(usize::try_from(*length).ok()?)?;
            parts.push(part);
            numbers = rest;
        }
        objects.push((*kind < 0, parts));
    }
    Some(objects)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn masks(outlines: &[i32], height: usize, width: usize) -> Vec<Vec<u8>> {
        let masks = drawn(outlines, Canvas { height, width }).unwrap();
        assert_eq!(masks.shape()[1..], [height, width]);
        masks.bytes().chunks(width).map(<[u8]>::to_vec).collect()
    }

    #[test]
    fn runs_are_drawn_column_by_column() {
        assert_eq!(masks(&[-1, 3, 1, 3, 2], 3, 2), [[0, 1], [1, 0], [1, 0]]);
        assert_eq!(masks(&[-1, 2, 0, 6], 3, 2), [[1, 1]; 3]);
        assert_eq!(masks(&[-1, 1, 6], 3, 2), [[0, 0]; 3]);
    }

    #[test]
    fn polygons_of_an_object_are_drawn_together() {
        let square = |x: i32, y: i32| [8, 5 * x, 5 * y, 5 * x + 10, 5 * y, 5 * x + 10, 5 * y + 10, 5 * x, 5 * y + 10];
        let outlines = [&[2][..], &square(0, 0), &square(1, 1), &[1], &square(2, -1)].concat();
        let expected = [[1, 1, 0, 0], [1, 1, 1, 0], [0, 1, 1, 0], [0, 0, 1, 1], [0, 0, 0, 0], [0, 0, 0, 0]];
        assert_eq!(masks(&outlines, 3, 4), expected);
    }

    #[test]
    fn triangle_covers_pixels_whose_centres_are_inside() {
        let expected = [[1, 0, 0, 0], [1, 1, 0, 0], [1, 1, 1, 0], [1, 1, 1, 1]];
        assert_eq!(masks(&[1, 6, 0, 0, 20, 20, 0, 20], 4, 4), expected);
    }

    #[test]
    fn image_without_objects_has_no_masks() {
        assert_eq!(drawn(&[], Canvas { height: 3, width: 4 }).unwrap().shape()[..], [0, 3, 4]);
    }

    #[test]
    fn truncated_outlines_are_rejected() {
        for numbers in [&[1][..], &[1, 6, 0, 0], &[-1, 2, 5], &[2, 2, 0, 0]] {
            assert!(drawn(numbers, Canvas { height: 3, width: 4 }).is_err());
        }
    }
}
