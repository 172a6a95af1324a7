//! Rewrites the tags `{% generation %}` and `{% endgeneration %}`, which the crate `minijinja` does
//! not have, as a call block. transformers compiles them in the same way.

use regex::{Captures, Regex};
use std::sync::LazyLock;

/// The name that the call block calls.
pub const CALLED: &str = "__generation__";

/// A template without tags that `minijinja` does not have.
pub struct Rewritten {
    /// The text of the template.
    pub source: String,
    /// True if it has `{% generation %}` blocks.
    pub has_blocks: bool,
    /// True if one of them is in a block whose output becomes a value first, such as a macro.
    pub is_captured: bool,
}

/// Comments, raw blocks, tags and expressions: text in a string or a comment is no tag.
static TAGS: LazyLock<Option<Regex>> = LazyLock::new(|| {
    let code = r#"(?:"(?:[^"\\]|\\.)*"|'(?:[^'\\]|\\.)*'|[^"'])*?"#;
    let raw = r"\{%[-+]?\s*raw\s*[-+]?%\}.*?\{%[-+]?\s*endraw\s*[-+]?%\}";
    let tag = format!(r"\{{%(?<before>[-+]?)\s*(?<word>\w+)(?<code>{code})(?<after>[-+]?)%\}}");
    Regex::new(&format!(r"(?s)\{{#.*?#\}}|{raw}|{tag}|\{{\{{{code}\}}\}}")).ok()
});

/// Rewrites the blocks of a template.
pub fn rewritten(source: &str) -> Rewritten {
    let (mut has_blocks, mut is_captured) = (false, false);
    let mut num_captures = 0_usize;
    let replace = |tag: &Captures<'_>| {
        let whole = || tag[0].to_owned();
        let (Some(word), Some(code)) = (tag.name("word"), tag.name("code")) else { return whole() };
        let (before, after) = (&tag["before"], &tag["after"]);
        match word.as_str() {
            "generation" if code.as_str().trim().is_empty() => {
                has_blocks = true;
                is_captured |= num_captures > 0;
                num_captures += 1;
                // Variables that the block sets are local to it. Its last tag decides about the
                // spaces after it.
                format!("{{%{before} with %}}{{{{ {CALLED}(true) }}}}{{% if false %}}{{% endif {after}%}}")
            }
            "endgeneration" if code.as_str().trim().is_empty() => {
                num_captures = num_captures.saturating_sub(1);
                format!("{{%{before} if false %}}{{% endif %}}{{{{ {CALLED}(false) }}}}{{% endwith {after}%}}")
            }
            "macro" | "call" | "filter" => {
                num_captures += 1;
                whole()
            }
            "set" if !code.as_str().contains('=') => {
                num_captures += 1;
                whole()
            }
            "endmacro" | "endcall" | "endfilter" | "endset" => {
                num_captures = num_captures.saturating_sub(1);
                whole()
            }
            "for" if code.as_str().trim_end().ends_with("recursive") => {
                is_captured = true;
                whole()
            }
            _ => whole(),
        }
    };
    let source = TAGS.as_ref().map_or_else(|| source.to_owned(), |tags| tags.replace_all(source, replace).into_owned());
    Rewritten { source, has_blocks, is_captured: is_captured && has_blocks }
}
