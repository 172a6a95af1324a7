//! `MergeSummary`: merges summaries into one.

use crate::error::{Error, Result};
use crate::kernel::{Kernel, Step, Tensors};
use crate::run::Run;
use crate::tensor::Tensor;
use crate::wire::{Cursor, DELIMITED_VALUE};
use std::collections::HashSet;

/// Merges the summaries in any number of string tensors into one with all their values. Tags must
/// be unique.
pub struct MergeSummary;

impl Kernel for MergeSummary {
    fn run(&self, _run: &Run, inputs: Tensors) -> Result<Step> {
        let mut seen = HashSet::new();
        let mut merged = Vec::new();
        for summary in inputs.iter().flat_map(Tensor::string_values) {
            let malformed = || Error::invalid_argument("Could not parse one of the summary inputs");
            for tag in tags(summary).ok_or_else(malformed)? {
                if !seen.insert(tag) {
                    let tag = String::from_utf8_lossy(tag);
                    return Err(Error::invalid_argument(format!("Duplicate tag {tag} found in summary inputs")));
                }
            }
            // Two concatenated messages form a message with the values of both.
            merged.extend_from_slice(summary);
        }
        Ok(Step::one(Tensor::string(merged)))
    }
}

/// Returns the tags of a summary's values.
fn tags(summary: &[u8]) -> Option<Vec<&[u8]>> {
    let mut tags = Vec::new();
    let mut summary = Cursor::new(summary);
    while !summary.is_at_end() {
        if !summary.skip_tag(DELIMITED_VALUE) {
            summary.skip_field()?;
            continue;
        }
        let mut value = Cursor::new(summary.delimited()?);
        while !value.is_at_end() {
            if value.skip_tag(DELIMITED_VALUE) {
                tags.push(value.delimited()?);
            } else {
                value.skip_field()?;
            }
        }
    }
    Some(tags)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::kernels::summary::scalar::ScalarSummary;
    use crate::kernels::testing::{error_text, run_one};

    fn summary(tag: &str) -> Tensor {
        run_one(&ScalarSummary, &[Tensor::string(tag.to_owned()), Tensor::scalar(1_f32)]).unwrap()
    }

    #[test]
    fn merged_summary_has_all_values() {
        let merged = run_one(&MergeSummary, &[summary("a"), summary("b")]).unwrap();
        assert_eq!(tags(&merged.string_values()[0]).unwrap(), [b"a", b"b"]);
    }

    #[test]
    fn duplicate_tags_and_invalid_summaries_are_rejected() {
        let text = error_text(&MergeSummary, &[summary("a"), summary("a")]);
        assert!(text.contains("Duplicate tag a found in summary inputs"), "{text}");
        let text = error_text(&MergeSummary, &[Tensor::string(&b"\x0a\x05a"[..])]);
        assert!(text.contains("Could not parse one of the summary inputs"), "{text}");
    }
}
