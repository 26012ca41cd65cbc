//! `.md5`: its lines, and the sums of the files that it lists.

use container_core::{Error, Result, Source};

use super::Plan;
use super::findings::{Findings, What};
use crate::md5::Md5;
use crate::read::Reader;
use crate::wire::Part;
use crate::wire::md5_file::{md5_lines, put_md5_line};

/// Bytes that are hashed at once.
const CHUNK: u64 = 1 << 20;

/// A file of the set, and the sum that it should have.
pub(super) struct Listed {
    pub(super) part: Part,
    sum: [u8; 16],
    line: u64,
}

impl Listed {
    pub(super) fn compare(&self, reader: &Reader, sum: &[u8; 16], findings: &mut Findings<'_>) {
        if *sum != self.sum {
            let detail = format!("the MD5 sum is {}, line {} of .md5 says {}", hex(sum), self.line, hex(&self.sum));
            findings.push(What::Sum, || reader.in_part(self.part, Error::invalid(detail)));
        }
    }
}

fn hex(sum: &[u8; 16]) -> String {
    Md5::hex(sum)
}

/// Reads the lines, and tells of those that are wrong and of files that have none. Gives each file that is there once.
pub(super) fn listed(reader: &Reader, findings: &mut Findings<'_>) -> Result<Vec<Listed>> {
    let mut listed: Vec<Listed> = Vec::new();
    let Some(set) = &reader.set else { return Ok(listed) };
    let Some(bytes) = reader.part_bytes(Part::Md5)? else { return Ok(listed) };
    let place = |error| reader.in_part(Part::Md5, error);
    let parts = [&[Part::Data][..], &Part::BESIDE].concat();
    let exists = |part: Part| set.path(part).try_exists().unwrap_or(true);
    let mut lines = bytes.split(|&byte| byte == b'\n');
    for line in md5_lines(&bytes) {
        let raw = lines.next().unwrap_or_default();
        let line = match line {
            Ok(line) => line,
            Err(error) => {
                findings.push(What::SumLine, || place(error));
                continue;
            }
        };
        let wrong = |detail: String| place(Error::invalid(detail).in_line(line.line));
        let mut usual = String::new();
        put_md5_line(&mut usual, &line.sum, line.name);
        if usual.trim_end_matches('\n').as_bytes() != raw {
            findings.push(What::SumForm, || {
                wrong("the line is not as md5sum writes it: small letters, two spaces, the name".to_owned())
            });
        }
        let part = parts.iter().copied().find(|part| set.name(*part) == line.name && *part != Part::Md5);
        match part {
            None if line.name.contains(['/', '\\']) => {
                findings.push(What::SumLine, || {
                    wrong(format!("{:?} is in another folder: it is not looked at", line.name))
                });
            }
            None => findings.push(What::SumForm, || {
                wrong(format!("{:?} is no file of this dataset: it is not looked at", line.name))
            }),
            Some(part) if !exists(part) => {
                findings.push(What::SumLine, || wrong(format!("the file {:?} is not there", line.name)));
            }
            Some(part) => match listed.iter().find(|known| known.part == part) {
                Some(known) => findings.push(What::SumLine, || {
                    wrong(format!("the file {:?} is listed in line {} too", line.name, known.line))
                }),
                None => listed.push(Listed { part, sum: line.sum, line: line.line }),
            },
        }
    }
    if bytes.last().is_some_and(|&last| last != b'\n') {
        findings.push(What::SumForm, || place(Error::invalid("the last line has no end").at(bytes.len() as u64)));
    }
    for part in parts {
        if part != Part::Md5 && exists(part) && !listed.iter().any(|known| known.part == part) {
            let detail = format!("there is no sum of {:?}", set.name(part));
            findings.push(What::Unlisted, || place(Error::invalid(detail)));
        }
    }
    listed.sort_by_key(|listed| (listed.part != Part::Data, listed.line));
    Ok(listed)
}

impl Plan<'_> {
    /// The sum of a file.
    pub(super) fn sum(&self, part: Part) -> Result<[u8; 16]> {
        if part == Part::Data {
            return self.sum_source(&self.reader.data, true).map_err(|error| self.reader.in_data(error));
        }
        match self.reader.part(part)? {
            Some(source) => self.sum_source(&source, false).map_err(|error| self.reader.in_part(part, error)),
            // It was there before.
            None => Ok([0; 16]),
        }
    }

    fn sum_source(&self, source: &Source, tells: bool) -> Result<[u8; 16]> {
        let mut md5 = Md5::new();
        let mut buffer = Vec::new();
        let mut at = 0;
        while at < source.len() && !self.stopped() {
            let end = source.len().min(at + CHUNK);
            md5.update(source.view(at..end, &mut buffer)?);
            if tells {
                self.advance(end - at);
            }
            at = end;
        }
        Ok(md5.finish())
    }
}
