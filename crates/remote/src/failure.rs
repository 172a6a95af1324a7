//! Errors of failed requests, with helpful messages.

use crate::http::fault::Fault;
use crate::hub::Refusal;
use headrace_engine::error::{Code, Error, Result};
use headrace_engine::files::storage::{changed, without_passwords};
use object_store::Error as Failure;
use std::error::Error as _;

/// The maximum length of a URL in bytes. HTTP clients cannot request longer ones.
const MAX_URL_BYTES: usize = 65_534;

/// Fails if a URL is too long to be requested.
pub fn check_length(url: &str) -> Result<()> {
    match url.len() <= MAX_URL_BYTES {
        true => Ok(()),
        false => Err(Error::invalid_argument(format!(
            "the URL has {} bytes, expected at most {MAX_URL_BYTES}. Shorten it, or copy the file to this machine",
            url.len()
        ))),
    }
}

/// The error for a request that has finally failed.
pub fn failed(failure: &Failure) -> Error {
    if let Failure::NotSupported { source } = failure
        && source.to_string().contains("Range request")
    {
        let text = "the server sends only whole files, so records cannot be accessed at random";
        return Error::unimplemented(text)
            .with_remedy("Copy the file to this machine, or read it in order or with a window.");
    }
    if let Some(refusal) = cause::<Refusal>(failure) {
        return refusal.error();
    }
    if let Some(fault) = cause::<Fault>(failure) {
        return at_fault(fault);
    }
    let error = match failure {
        Failure::NotFound { .. } => {
            return Error::new(
                Code::NotFound,
                "No such file or directory: the server answered 404 Not Found. Check the URL, and the endpoint if you set one.",
            );
        }
        Failure::Precondition { .. } | Failure::NotModified { .. } => return changed("its ETag has changed"),
        Failure::AlreadyExists { .. } => Code::AlreadyExists,
        Failure::PermissionDenied { .. } => Code::PermissionDenied,
        Failure::Unauthenticated { .. } => Code::Unauthenticated,
        Failure::NotSupported { .. } | Failure::NotImplemented { .. } => Code::Unimplemented,
        Failure::InvalidPath { .. } | Failure::UnknownConfigurationKey { .. } => Code::InvalidArgument,
        _ => Code::Unavailable,
    };
    let text = without_markup(&chain(failure));
    let text = without_passwords(&text);
    if text.contains("NoSuchBucket") {
        return Error::new(Code::NotFound, "the bucket does not exist. Check the name and the endpoint.");
    }
    let error = Error::new(error, text.trim_end_matches('.'));
    match error.code() {
        Code::PermissionDenied | Code::Unauthenticated => error.with_remedy(
            "Check the credentials (the same as for the storage's command-line tools) and their permissions.",
        ),
        Code::Unavailable if text.contains("169.254.169.254") || text.contains("metadata.google.internal") => error
            .with_remedy(
                "No credentials were found. Set AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY, or \
                 GOOGLE_APPLICATION_CREDENTIALS; or AWS_SKIP_SIGNATURE=true, or GOOGLE_SKIP_SIGNATURE=true, for public files.",
            ),
        Code::Unavailable => error.with_remedy("Check the network and the endpoint, then try again."),
        _ => error,
    }
}

/// The error for a misbehaving server. Sending the request again would not help.
pub fn at_fault(fault: &Fault) -> Error {
    let remedy = "The fault is in the server or in a proxy in front of it. Copy the file to this machine, or use another \
         server.";
    Error::new(Code::FailedPrecondition, fault.to_string()).with_remedy(remedy)
}

fn cause<T: std::error::Error + 'static>(failure: &Failure) -> Option<&T> {
    let mut cause = failure.source();
    while let Some(error) = cause {
        if let Some(source) = error.downcast_ref() {
            return Some(source);
        }
        cause = error.source();
    }
    None
}

/// Reduces an XML response to its code and message.
fn without_markup(text: &str) -> String {
    let within = |tag: &str| {
        let (_, rest) = text.split_once(&format!("<{tag}>"))?;
        rest.split_once(&format!("</{tag}>")).map(|(inside, _)| inside)
    };
    match (text.find('<'), within("Code"), within("Message")) {
        (Some(start), Some(code), Some(message)) => format!("{}{code}: {message}", &text[..start]),
        _ => text.to_owned(),
    }
}

/// Formats an error and its causes. A cause that the text already contains is left out.
fn chain(failure: &Failure) -> String {
    let mut text = failure.to_string();
    let mut cause = failure.source();
    while let Some(next) = cause {
        let words = next.to_string();
        if !text.contains(&words) {
            text.push_str(": ");
            text.push_str(&words);
        }
        cause = next.source();
    }
    text
}
