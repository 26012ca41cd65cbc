use std::fmt::Debug;
use std::io::{self, Write};

use crate::error::Result;
use crate::with_std::map::map_test_file;
use crate::{Access, Map, ReadAt, Source};

/// Checks that `read_all` gives the same result or error message for every kind of source: in memory, mapped, positional, and a medium that
/// rejects reads past its end.
///
/// # Panics
/// If results differ.
pub fn every_source_agrees<T: PartialEq + Debug>(bytes: &[u8], read_all: impl Fn(Source) -> Result<T>) {
    let read_all = |source| read_all(source).map_err(|error| error.to_string());
    let expected = read_all(Source::from(bytes.to_vec()));
    let agree = |kind: &str, source| assert_eq!(read_all(source), expected, "{kind} differs from memory");

    let mut file =
        tempfile::NamedTempFile::new().unwrap_or_else(|error| panic!("cannot create a temporary file: {error}"));
    file.write_all(bytes).unwrap_or_else(|error| panic!("cannot write the temporary file: {error}"));
    for access in [Access::Auto, mapped(), Access::Positional] {
        match Source::open_with(file.path(), access) {
            Ok(source) => agree(&format!("{access:?}"), source),
            Err(error) => panic!("{access:?}: {error}"),
        }
    }
    agree("a strict medium", Source::new(Strict(bytes.to_vec())));
}

/// The access that maps files, for tests and benchmarks, which do not change the files they read.
#[must_use]
pub const fn mapped() -> Access {
    Access::Mapped(Map::new(map_test_file))
}

/// A medium that rejects reads past its end.
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
