//! A reader of Thrift's compact protocol, for fields that the `parquet` crate does not expose.
//!
//! Source: the specification of Thrift's compact protocol.

/// The maximum nesting depth of structs and lists.
pub const MAX_DEPTH: usize = 8;
/// The maximum nesting depth of a struct that is checked.
const WALKED_DEPTH: usize = 32;

/// A reader of Thrift's compact protocol.
pub struct Thrift<'a> {
    bytes: &'a [u8],
}

/// The kind of a value.
#[derive(Clone, Copy)]
pub enum Kind {
    Bool,
    Byte,
    Int,
    Double,
    Binary,
    List,
    Map,
    Struct,
    Uuid,
}

impl Kind {
    fn of(code: u8) -> Option<Self> {
        Some(match code {
            1 | 2 => Self::Bool,
            3 => Self::Byte,
            4..=6 => Self::Int,
            7 => Self::Double,
            8 => Self::Binary,
            9 | 10 => Self::List,
            11 => Self::Map,
            12 => Self::Struct,
            13 => Self::Uuid,
            _ => return None,
        })
    }
}

impl<'a> Thrift<'a> {
    /// Reads these bytes.
    pub fn new(bytes: &'a [u8]) -> Self {
        Self { bytes }
    }

    /// The number of remaining bytes.
    pub fn num_bytes(&self) -> usize {
        self.bytes.len()
    }

    fn byte(&mut self) -> Option<u8> {
        let (byte, rest) = self.bytes.split_first()?;
        self.bytes = rest;
        Some(*byte)
    }

    fn varint(&mut self) -> Option<u64> {
        let mut value = 0;
        for shift in (0..64).step_by(7) {
            let byte = self.byte()?;
            value |= u64::from(byte & 0x7f) << shift;
            if byte < 0x80 {
                return Some(value);
            }
        }
        None
    }

    fn int(&mut self) -> Option<i64> {
        let value = self.varint()?;
        Some((value >> 1).cast_signed() ^ -((value & 1).cast_signed()))
    }

    /// Reads a non-negative number. Returns `None` if it is damaged.
    pub fn count(&mut self) -> Option<u64> {
        u64::try_from(self.int()?).ok()
    }

    /// Reads the type of the next field of a struct and stores its number in `field`. Returns
    /// `None` at the end of the struct.
    pub fn field(&mut self, field: &mut i64) -> Option<Option<Kind>> {
        let head = self.byte()?;
        if head == 0 {
            return Some(None);
        }
        *field = match head >> 4 {
            0 => self.int()?,
            delta => field.checked_add(i64::from(delta))?,
        };
        Kind::of(head & 0x0f).map(Some)
    }

    /// Reads the number and the type of a list's items.
    pub fn list(&mut self) -> Option<(u64, Kind)> {
        let head = self.byte()?;
        let count = match head >> 4 {
            15 => self.varint()?,
            count => count.into(),
        };
        Some((count, Kind::of(head & 0x0f)?))
    }

    /// The bytes of a text.
    pub fn binary(&mut self) -> Option<&'a [u8]> {
        let length = usize::try_from(self.varint()?).ok()?;
        let (bytes, rest) = self.bytes.split_at_checked(length)?;
        self.bytes = rest;
        Some(bytes)
    }

    /// Moves to the value of a struct's field. Returns `None` if there is none.
    pub fn find(&mut self, id: i64) -> Option<Kind> {
        let mut field = 0;
        loop {
            let kind = self.field(&mut field)??;
            if field == id {
                return Some(kind);
            }
            self.skip(kind, MAX_DEPTH)?;
        }
    }

    /// Moves to an item of a list of structs. Returns `None` if there is none.
    pub fn item(&mut self, number: usize) -> Option<()> {
        let (count, kind) = self.list()?;
        if !matches!(kind, Kind::Struct) || number as u64 >= count {
            return None;
        }
        (0..number).try_for_each(|_| self.skip(kind, MAX_DEPTH))
    }

    /// Returns true if the bytes contain a complete struct. The `parquet` crate skips as many bools
    /// as a list claims, even though bools take no bytes there.
    pub fn has_struct(bytes: &[u8]) -> bool {
        Thrift::new(bytes).skip(Kind::Struct, WALKED_DEPTH).is_some()
    }

    /// Skips an item of a list. A bool takes one byte there.
    pub fn skip_item(&mut self, kind: Kind, depth: usize) -> Option<()> {
        match kind {
            Kind::Bool => self.byte().map(drop),
            kind => self.skip(kind, depth),
        }
    }

    /// Skips the value of a field.
    pub fn skip(&mut self, kind: Kind, depth: usize) -> Option<()> {
        let skipped = match kind {
            Kind::Bool => 0,
            Kind::Byte => 1,
            Kind::Double => 8,
            Kind::Uuid => 16,
            Kind::Int => return self.varint().map(drop),
            Kind::Binary => usize::try_from(self.varint()?).ok()?,
            Kind::List => {
                if self.bytes.first().is_some_and(|head| head >> 4 == 0) {
                    // Some programs omit the item type of an empty list.
                    return self.byte().map(drop);
                }
                let (count, kind) = self.list()?;
                let depth = depth.checked_sub(1)?;
                return (0..count).try_for_each(|_| self.skip_item(kind, depth));
            }
            Kind::Map => {
                let count = self.varint()?;
                let kinds = if count > 0 { self.byte()? } else { return Some(()) };
                let (key, value, depth) = (Kind::of(kinds >> 4)?, Kind::of(kinds & 0x0f)?, depth.checked_sub(1)?);
                return (0..count).try_for_each(|_| {
                    self.skip_item(key, depth)?;
                    self.skip_item(value, depth)
                });
            }
            Kind::Struct => {
                let depth = depth.checked_sub(1)?;
                let mut field = 0;
                while let Some(kind) = self.field(&mut field)? {
                    self.skip(kind, depth)?;
                }
                0
            }
        };
        self.bytes = self.bytes.get(skipped..)?;
        Some(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_of_all_lengths_are_read() {
        let int = |bytes: &[u8]| Thrift::new(bytes).int();
        assert_eq!([int(&[0]), int(&[1]), int(&[2]), int(&[0xff, 0x01])], [Some(0), Some(-1), Some(1), Some(-128)]);
        assert_eq!((int(&[0xff; 11]), int(&[0x80])), (None, None));
    }

    #[test]
    fn list_and_map_items_must_occupy_bytes() {
        // Field 1 is a list of two bools, or of 2^31 of them, or a map from a bool to an int.
        assert!(Thrift::has_struct(&[0x19, 0x21, 1, 2, 0]));
        assert!(!Thrift::has_struct(&[0x19, 0x21, 1]));
        assert!(!Thrift::has_struct(&[0x19, 0xf1, 0xff, 0xff, 0xff, 0xff, 0x07, 1, 2, 0]));
        assert!(Thrift::has_struct(&[0x1b, 1, 0x15, 1, 4, 0]));
        assert!(Thrift::has_struct(&[0x1b, 0, 0]));
        assert!(Thrift::has_struct(&[0x19, 0, 0]));
        assert!(!Thrift::has_struct(&[0x1b, 0xff, 0xff, 0x03, 0x11, 1, 1, 0]));
    }
}
