//! Runs a program repeatedly with different feeds.

use super::Program;
use super::frame::Frame;
use crate::error::{Error, Result};
use crate::run::Run;
use crate::tensor::Tensor;

/// A program that is run for many rows. The memory for its values is only allocated once.
pub struct Repeated<'p> {
    program: &'p Program,
    frame: Frame<'p>,
}

impl Program {
    /// Prepares this program to be run many times.
    pub fn repeated(&self) -> Repeated<'_> {
        Repeated { program: self, frame: Frame::new(self) }
    }
}

impl Repeated<'_> {
    /// Runs all nodes once with these feeds. [`Repeated::fetched`] returns the fetched values until
    /// the next run.
    pub fn run(&mut self, feeds: impl Iterator<Item = Result<Tensor>>, run: &Run) -> Result<()> {
        self.frame.clear();
        let mut slots = self.program.feeds.iter();
        for value in feeds {
            let Some(slot) = slots.next() else { return Err(unequal()) };
            self.frame.values[*slot] = Some(value?);
        }
        if slots.next().is_some() {
            return Err(unequal());
        }
        self.frame.execute(run)
    }

    /// The fetched values of the last run.
    pub fn fetched(&self) -> impl Iterator<Item = Result<Tensor>> {
        self.program.fetches.iter().enumerate().map(|(index, slot)| self.frame.fetched(index, *slot))
    }
}

#[cold]
fn unequal() -> Error {
    Error::internal("a program got the wrong number of feeds")
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::kernels::{self, attrs::Attrs};
    use crate::program::ProgramBuilder;
    use crate::sync::cancellation::Cancellation;

    #[test]
    fn program_can_run_again_with_different_values() {
        let mut builder = ProgramBuilder::new();
        let fed = builder.feed();
        let negate = kernels::build("Neg", &Attrs::default()).unwrap().unwrap();
        let (_, first) = builder.node("a".into(), negate, &[fed], &[], &[], 1).unwrap();
        let square = kernels::build("Square", &Attrs::default()).unwrap().unwrap();
        let (_, second) = builder.node("b".into(), square, &[first], &[], &[], 1).unwrap();
        let program = builder.build(vec![first, second]).unwrap();
        let cancellation = Cancellation::new();
        let run = Run::new(&cancellation);
        let mut repeated = program.repeated();
        for value in [2, 3] {
            repeated.run([Ok(Tensor::scalar(value))].into_iter(), &run).unwrap();
            let fetched: Vec<_> = repeated.fetched().map(Result::unwrap).collect();
            assert_eq!(fetched, [Tensor::scalar(-value), Tensor::scalar(value * value)]);
        }
        assert!(repeated.run(std::iter::empty(), &run).is_err());
    }
}
