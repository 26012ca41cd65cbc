use std::fmt::Debug;
use std::io::{self, Write};

use crate::error::Result;
use crate::with_std::map::map_test_file;
use crate::{Access, Map, ReadAt, Source};

/// `read_all` must give the same result (or the same error text) whichever way the bytes come: in memory, mapped, by
/// position from a file, and from a medium that counts on every range being asked for exactly.
///
/// # Panics
/// When two ways differ.
pub fn every_source_agrees<T: PartialEq + Debug>(bytes: &[u8], read_all: impl Fn(Source) -> Result<T>) {
    let read_all = |source| read_all(source).map_err(|error| error.to_string());
    let expected = read_all(Source::from(bytes.to_vec()));
    let agree = |way: &str, source| assert_eq!(read_all(source), expected, "{way} differs from memory");

    let mut file = tempfile::NamedTempFile::new().unwrap_or_else(|error| panic!("no temporary file: {error}"));
    file.write_all(bytes).unwrap_or_else(|error| panic!("cannot write the temporary file: {error}"));
    for access in [Access::Auto, mapped(), Access::Positional] {
        match Source::open_with(file.path(), access) {
            Ok(source) => agree(&format!("{access:?}"), source),
            Err(error) => panic!("{access:?}: {error}"),
        }
    }
    agree("a strict medium", Source::new(Strict(bytes.to_vec())));
}

/// Files are mapped. For tests and benchmarks, which do not change what they read.
#[must_use]
pub const fn mapped() -> Access {
    Access::Mapped(Map::new(map_test_file))
}

/// Bytes that are only given by range, and only inside.
struct Strict(Vec<u8>);

impl ReadAt for Strict {
    fn len(&self) -> u64 {
        self.0.len() as u64
    }

    fn read_exact_at(&self, offset: u64, buffer: &mut [u8]) -> io::Result<()> {
        let range = usize::try_from(offset).ok().and_then(|start| Some(start..start.checked_add(buffer.len())?));
        match range.and_then(|range| self.0.get(range)) {
            Some(bytes) => buffer.copy_from_slice(bytes),
            None => return Err(io::ErrorKind::UnexpectedEof.into()),
        }
        Ok(())
    }
}
