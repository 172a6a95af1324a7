//! Small programs for testing single passes.

use crate::kernels;
use crate::kernels::attrs::Attrs;
use crate::program::draft::Draft;
use crate::program::{ProgramBuilder, Slot};

#[derive(Default)]
pub struct Example {
    pub builder: ProgramBuilder,
}

impl Example {
    /// Adds an operation of type `op_type` and returns its output.
    pub fn node(&mut self, op_type: &str, inputs: &[Slot]) -> Slot {
        self.add(op_type, inputs, &[])
    }

    /// Adds an operation that is skipped unless `guard` is true, and returns its output.
    pub fn guarded_node(&mut self, op_type: &str, inputs: &[Slot], guard: Slot) -> Slot {
        self.add(op_type, inputs, &[(guard, true)])
    }

    fn add(&mut self, op_type: &str, inputs: &[Slot], guards: &[(Slot, bool)]) -> Slot {
        let kernel = kernels::build(op_type, &Attrs::default()).unwrap().unwrap();
        self.builder.node(op_type.into(), kernel, inputs, &[], guards, 1).unwrap().1
    }

    /// Returns the program after one pass.
    pub fn after(self, pass: fn(&mut Draft), fetches: &[Slot]) -> Draft {
        let mut draft = self.builder.into_draft();
        draft.fetches = fetches.to_vec();
        pass(&mut draft);
        draft
    }
}
