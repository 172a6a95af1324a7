//! `ReadFile` and `WriteFile`: read and write whole files as strings.
//!
//! Source: `tf.read_file` and `tf.write_file` in TensorFlow 1.15.

use crate::error::{Error, Result};
use crate::files::atomic_file::AtomicFile;
use crate::files::name::FileName;
use crate::files::whole::read_whole_file;
use crate::kernel::{Kernel, Step, Tensors};
use crate::kernels::expect_inputs;
use crate::run::Run;
use crate::tensor::Tensor;
use bytes::Bytes;
use std::fs;
use std::io::{self, ErrorKind, Write};

/// Returns the contents of a file.
pub struct ReadFile;

impl Kernel for ReadFile {
    fn run(&self, run: &Run, inputs: Tensors) -> Result<Step> {
        let [name] = expect_inputs(&inputs)?;
        let name = FileName::new(scalar(name, "Input filename")?.clone());
        run.while_current(|| read_whole_file(&name)).map(Tensor::string).map(Step::one)
    }
}

/// Replaces a file once the new one is complete. Creates missing directories.
pub struct WriteFile;

impl Kernel for WriteFile {
    fn run(&self, run: &Run, inputs: Tensors) -> Result<Step> {
        let [name, contents] = expect_inputs(&inputs)?;
        let name = FileName::new(scalar(name, "Input filename")?.clone());
        let contents = scalar(contents, "Contents")?;
        let write = || write_file(&name, contents).map_err(|error| Error::io(name.text(), &error));
        run.while_current(write).map(|()| Step::none())
    }
}

fn write_file(name: &FileName, contents: &[u8]) -> io::Result<()> {
    let path = name.path();
    let directory = path.parent().filter(|directory| name.url().is_none() && !directory.as_os_str().is_empty());
    if let Some(directory) = directory {
        fs::create_dir_all(directory).map_err(|error| match error.kind() {
            ErrorKind::AlreadyExists => ErrorKind::NotADirectory.into(),
            _ => error,
        })?;
    }
    let (mut file, mut output) = AtomicFile::create(name)?;
    output.write_all(contents)?;
    output.flush()?;
    file.publish()
}

fn scalar<'a>(tensor: &'a Tensor, what: &str) -> Result<&'a Bytes> {
    match (tensor.string_values(), tensor.shape().is_empty()) {
        ([value], true) => Ok(value),
        _ => {
            let text = format!("{what} tensor must be scalar, but had shape: {}", tensor.shape());
            Err(Error::invalid_argument(text))
        }
    }
}
