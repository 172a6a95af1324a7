//! Operations on strings.

pub mod base64;
pub mod case;
pub mod chat;
pub mod convert;
pub mod hash_bucket;
pub mod join;
pub mod regex;
pub mod split;
pub mod substr;
pub mod tokenize;
pub mod word_tokens;

use crate::error::Result;
use crate::kernel::Kernel;
use crate::kernels::attrs::Attrs;
use std::sync::Arc;

/// Creates the kernel for operations of type `op_type`. Returns `None` if this module has none.
pub fn build(op_type: &str, attrs: &Attrs) -> Result<Option<Arc<dyn Kernel>>> {
    Ok(Some(match op_type {
        "Chat" => Arc::new(chat::Chat::from_attrs(attrs)?),
        "DecodeBase64" => Arc::new(base64::DecodeBase64),
        "EncodeBase64" => Arc::new(base64::EncodeBase64::from_attrs(attrs)?),
        "RegexFullMatch" => Arc::new(regex::RegexFullMatch::default()),
        "RegexReplace" => Arc::new(regex::RegexReplace::from_attrs(attrs)?),
        "StaticRegexFullMatch" => Arc::new(regex::StaticRegexFullMatch::from_attrs(attrs)?),
        "StaticRegexReplace" => Arc::new(regex::StaticRegexReplace::from_attrs(attrs)?),
        "StringJoin" => Arc::new(join::StringJoin::from_attrs(attrs)?),
        "StringLength" => Arc::new(substr::StringLength::from_attrs(attrs)?),
        "StringLower" => Arc::new(case::ChangeCase::from_attrs(false, attrs)?),
        "StringSplit" => Arc::new(split::StringSplit::from_attrs(attrs)?),
        "StringSplitV2" => Arc::new(split::StringSplit::from_attrs_of_v2(attrs)?),
        "StringStrip" => Arc::new(case::Strip),
        "StringToHashBucket" | "StringToHashBucketFast" | "StringToHashBucketStrong" => {
            Arc::new(hash_bucket::HashBucket::from_attrs(op_type, attrs)?)
        }
        "StringToNumber" => Arc::new(convert::StringToNumber::from_attrs(attrs)?),
        "StringUpper" => Arc::new(case::ChangeCase::from_attrs(true, attrs)?),
        "Substr" => Arc::new(substr::Substr::from_attrs(attrs)?),
        "Tokenize" => Arc::new(tokenize::Tokenize::from_attrs(attrs)?),
        _ => return Ok(None),
    }))
}
