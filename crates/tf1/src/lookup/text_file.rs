//! Reads keys and values from the lines of a text file: whole lines, line numbers, or columns.

use bytes::Bytes;
use headrace_engine::error::{Error, Result};
use headrace_engine::files::name::FileName;
use headrace_engine::files::whole::read_whole_file;
use headrace_engine::tensor::Tensor;
use headrace_engine::tensor::allocate;
use headrace_engine::tensor::dtype::{DType, Numeric};
use headrace_engine::tensor::shape::Shape;
use std::str::FromStr;

/// Which part of a line is a key or a value.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Part {
    /// The whole line.
    WholeLine,
    /// Its number, counting from 0.
    LineNumber,
    /// A column, counting from 0.
    Column(usize),
}

impl Part {
    /// Converts a program's number: -2 is the line, -1 its number, and other numbers are columns.
    pub fn from_index(index: i64) -> Result<Self> {
        match index {
            -2 => Ok(Self::WholeLine),
            -1 => Ok(Self::LineNumber),
            _ => usize::try_from(index).map(Self::Column).map_err(|_| {
                let text =
                    format!("Invalid index: {index}, expected a column, -1 for the line's number or -2 for the line");
                Error::invalid_argument(text)
            }),
        }
    }
}

/// How keys and values are stored in a file.
#[derive(Clone, Debug)]
pub struct Layout {
    /// Which part is the key, and its dtype.
    pub key: (Part, DType),
    /// Which part is the value, and its dtype.
    pub value: (Part, DType),
    /// The separator of columns.
    pub delimiter: u8,
    /// The number of lines to read, or `None` for all.
    pub num_lines: Option<usize>,
}

impl Layout {
    /// Reads the keys and values of a file, in the order of its lines.
    pub fn read(&self, name: &FileName) -> Result<[Tensor; 2]> {
        let content = read_whole_file(name)?;
        let lines = self.lines(&content, name)?;
        let parts = [self.key, self.value];
        let [keys, values] = parts.map(|(part, dtype)| self.column(&content, &lines, name, part, dtype));
        Ok([keys?, values?])
    }

    /// Splits the content into lines.
    fn lines(&self, content: &Bytes, name: &FileName) -> Result<Vec<Bytes>> {
        let num_ends = content.iter().filter(|byte| **byte == b'\n').count();
        let most = self.num_lines.unwrap_or(usize::MAX);
        let mut lines = allocate::room(most.min(num_ends + 1))
            .map_err(|refusal| refusal.at(format_args!("the lines of {}", name.text())))?;
        let mut rest = &content[..];
        while !rest.is_empty() && lines.len() < most {
            let (line, after) = match rest.iter().position(|byte| *byte == b'\n') {
                Some(end) => (&rest[..end], &rest[end + 1..]),
                None => (rest, &rest[rest.len()..]),
            };
            let line = line.strip_suffix(b"\r").unwrap_or(line);
            if line.is_empty() {
                return Err(Error::invalid_argument(format!(
                    "Invalid content in {}: empty line found at position {}.",
                    name.text(),
                    content.len() - after.len()
                )));
            }
            lines.push(content.slice_ref(line));
            rest = after;
        }
        match self.num_lines {
            Some(expected) if lines.len() < expected => Err(Error::invalid_argument(format!(
                "Invalid vocab_size in {}: expected {expected} but got {}",
                name.text(),
                lines.len()
            ))),
            _ => Ok(lines),
        }
    }

    /// Returns one part of each line as a vector.
    fn column(&self, content: &Bytes, lines: &[Bytes], name: &FileName, part: Part, dtype: DType) -> Result<Tensor> {
        let shape = Shape::new(&[lines.len()]);
        if part == Part::LineNumber {
            return match dtype {
                DType::Int32 => line_numbers(shape, lines.len(), |number| number as i32),
                _ => line_numbers(shape, lines.len(), |number| number as i64),
            };
        }
        let field = |(number, line): (usize, &Bytes)| self.field(content, line, name, part, number);
        let fields = lines.iter().enumerate().map(field);
        match dtype {
            DType::String => {
                let strings = fields.collect::<Result<Vec<_>>>()?;
                Tensor::strings(shape, strings)
            }
            DType::Int32 => parsed::<i32>(shape, fields, "int32"),
            DType::Int64 => parsed::<i64>(shape, fields, "int64"),
            DType::Float32 => parsed::<f32>(shape, fields, "float"),
            DType::Float64 => parsed::<f64>(shape, fields, "double"),
            _ => Err(Error::invalid_argument(format!("Data type {dtype} not supported."))),
        }
    }

    fn field(&self, content: &Bytes, line: &Bytes, name: &FileName, part: Part, number: usize) -> Result<Bytes> {
        let Part::Column(column) = part else { return Ok(line.clone()) };
        match line.split(|byte| *byte == self.delimiter).nth(column) {
            Some(field) => Ok(content.slice_ref(field)),
            None => Err(Error::invalid_argument(format!(
                "Invalid number of columns in {} line {number} ({}) : expected at least {} got {}",
                name.text(),
                String::from_utf8_lossy(line),
                column + 1,
                line.split(|byte| *byte == self.delimiter).count()
            ))),
        }
    }
}

fn line_numbers<T: Numeric>(shape: Shape, count: usize, make: impl Fn(usize) -> T) -> Result<Tensor> {
    let numbers = allocate::elements(T::DTYPE, &shape).collect((0..count).map(make))?;
    Tensor::from_values(shape, numbers)
}

fn parsed<T: Numeric + FromStr>(
    shape: Shape,
    fields: impl Iterator<Item = Result<Bytes>>,
    kind: &str,
) -> Result<Tensor> {
    let parse = |(line, field): (usize, Result<Bytes>)| {
        let field = field?;
        let number = std::str::from_utf8(&field).ok().and_then(|text| text.trim_ascii().parse::<T>().ok());
        number.ok_or_else(|| {
            let shown = String::from_utf8_lossy(&field);
            Error::invalid_argument(format!("Field {shown} in line {line} is not a valid {kind}."))
        })
    };
    Tensor::from_values(shape, fields.enumerate().map(parse).collect::<Result<Vec<T>>>()?)
}
