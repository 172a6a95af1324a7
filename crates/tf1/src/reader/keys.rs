//! The keys of records.

use bytes::Bytes;
use headrace_engine::files::name::FileName;

/// Builds the keys of a file's records: `PATH:NUMBER`.
pub struct Keys {
    prefix: Vec<u8>,
}

impl Keys {
    pub fn new(name: &FileName) -> Self {
        Self { prefix: [name.bytes(), &b":"[..]].concat() }
    }

    pub fn key(&self, number: u64) -> Bytes {
        let mut digits = [0; 20];
        let mut start = digits.len();
        let mut rest = number;
        loop {
            start -= 1;
            digits[start] = b'0' + (rest % 10) as u8;
            rest /= 10;
            if rest == 0 {
                break;
            }
        }
        let digits = &digits[start..];
        #[expect(clippy::disallowed_methods, reason = "the length of a path")]
        let mut key = Vec::with_capacity(self.prefix.len() + digits.len());
        key.extend_from_slice(&self.prefix);
        key.extend_from_slice(digits);
        key.into()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn key_consists_of_the_name_and_a_number() {
        let keys = Keys::new(&FileName::new("a/b"));
        assert_eq!([0, 7, 10, u64::MAX].map(|n| keys.key(n)), ["a/b:0", "a/b:7", "a/b:10", "a/b:18446744073709551615"]);
    }
}
