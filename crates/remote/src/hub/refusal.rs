//! The error for a request that the hub rejected.

use headrace_engine::error::{Code, Error};
use object_store::client::{HttpError, HttpErrorKind};
use reqwest::StatusCode;
use std::fmt;

/// A request that the hub rejected.
#[derive(Debug)]
pub struct Refusal {
    pub status: StatusCode,
    pub message: String,
    pub has_token: bool,
}

impl Refusal {
    /// Returns the error, with a remedy.
    pub fn error(&self) -> Error {
        let code = match self.status {
            StatusCode::UNAUTHORIZED => Code::Unauthenticated,
            StatusCode::FORBIDDEN => Code::PermissionDenied,
            _ => Code::Unavailable,
        };
        let remedy = match (code, self.has_token) {
            (Code::Unavailable, true) => "Wait some minutes, or set HEADRACE_STORAGE_RETRIES to more than 8.",
            (Code::Unavailable, false) => {
                "Wait some minutes, or set HF_TOKEN: with a token, more requests are allowed."
            }
            (_, true) => {
                "Check the name, and whether the token in HF_TOKEN may read it: for a gated data set, request access \
                 on its page."
            }
            (_, false) => "Check the name, and set HF_TOKEN to a token that may read it, if it is private or gated.",
        };
        Error::new(code, self.to_string()).with_remedy(remedy)
    }
}

impl fmt::Display for Refusal {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "the hub answered {}", self.status)?;
        match self.message.is_empty() {
            true => Ok(()),
            false => write!(f, " ({})", self.message.trim_end_matches('.')),
        }
    }
}

impl std::error::Error for Refusal {}

impl From<Refusal> for HttpError {
    fn from(refusal: Refusal) -> Self {
        Self::new(HttpErrorKind::Unknown, refusal)
    }
}
