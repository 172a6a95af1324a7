//! Reads credentials and the region from the files of the AWS command line, if the environment
//! has none.
//!
//! Source: "Configuration and credential file settings" in the user guide of the AWS Command Line
//! Interface.

use object_store::aws::AmazonS3Builder;
use std::path::PathBuf;
use std::{env, fs};

/// Environment variables that specify a source of credentials.
const SOURCES: [&str; 5] = [
    "AWS_ACCESS_KEY_ID",
    "AWS_WEB_IDENTITY_TOKEN_FILE",
    "AWS_CONTAINER_CREDENTIALS_RELATIVE_URI",
    "AWS_CONTAINER_CREDENTIALS_FULL_URI",
    "AWS_SKIP_SIGNATURE",
];

/// Adds values from the files to the builder if the environment lacks them.
pub fn completed(mut builder: AmazonS3Builder) -> AmazonS3Builder {
    let profile = env::var("AWS_PROFILE").unwrap_or_else(|_| "default".to_owned());
    let credentials = file("AWS_SHARED_CREDENTIALS_FILE", "credentials");
    let config = file("AWS_CONFIG_FILE", "config");
    let section = if profile == "default" { profile.clone() } else { format!("profile {profile}") };
    let setting = |key: &str| value(&credentials, &profile, key).or_else(|| value(&config, &section, key));
    if !SOURCES.iter().any(|name| env::var_os(name).is_some())
        && let (Some(id), Some(secret)) = (setting("aws_access_key_id"), setting("aws_secret_access_key"))
    {
        builder = builder.with_access_key_id(id).with_secret_access_key(secret);
        if let Some(token) = setting("aws_session_token") {
            builder = builder.with_token(token);
        }
    }
    if env::var_os("AWS_REGION").is_none()
        && env::var_os("AWS_DEFAULT_REGION").is_none()
        && let Some(region) = setting("region")
    {
        builder = builder.with_region(region);
    }
    builder
}

/// Reads a file in the `.aws` directory, unless a variable specifies another file. Empty if it
/// cannot be read.
fn file(variable: &str, name: &str) -> String {
    let home = env::var_os("HOME").or_else(|| env::var_os("USERPROFILE")).map(PathBuf::from);
    let path = env::var_os(variable).map(PathBuf::from).or_else(|| Some(home?.join(".aws").join(name)));
    path.and_then(|path| fs::read_to_string(path).ok()).unwrap_or_default()
}

/// The value of a key in a section.
fn value(text: &str, section: &str, key: &str) -> Option<String> {
    let mut is_inside = false;
    for line in text.lines().map(str::trim) {
        if let Some(name) = line.strip_prefix('[').and_then(|line| line.strip_suffix(']')) {
            is_inside = name.trim() == section;
        } else if is_inside
            && let Some((name, value)) = line.split_once('=')
            && name.trim() == key
        {
            return Some(value.trim().to_owned());
        }
    }
    None
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn values_come_from_the_right_section() {
        let text = "# a comment\n[default]\nkey = one\n[profile other]\n key=two \nregion = here=there\n";
        assert_eq!(value(text, "default", "key").as_deref(), Some("one"));
        assert_eq!(value(text, "profile other", "key").as_deref(), Some("two"));
        assert_eq!(value(text, "profile other", "region").as_deref(), Some("here=there"));
        assert_eq!(value(text, "default", "region"), None);
        assert_eq!(value(text, "third", "key"), None);
    }
}
