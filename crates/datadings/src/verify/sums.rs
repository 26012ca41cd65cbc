//! Checks `.md5`: its lines, and the sums of the listed files.

use container_core::{Error, Result, Source};

use super::Plan;
use super::findings::{FindingKind, Findings};
use crate::md5::Md5;
use crate::read::Reader;
use crate::wire::Part;
use crate::wire::md5_file::{md5_lines, put_md5_line};

/// Bytes hashed at once.
const CHUNK: u64 = 1 << 20;

/// A file of the set and the sum listed for it.
pub(super) struct ListedSum {
    pub(super) part: Part,
    sum: [u8; 16],
    line: u64,
}

impl ListedSum {
    pub(super) fn compare(&self, reader: &Reader, sum: &[u8; 16], findings: &mut Findings<'_>) {
        if *sum != self.sum {
            let detail =
                format!("MD5 sum: expected {} (line {} of .md5), found {}", hex(&self.sum), self.line, hex(sum));
            findings.push(FindingKind::WrongSum, || reader.in_part(self.part, Error::invalid(detail)));
        }
    }
}

fn hex(sum: &[u8; 16]) -> String {
    Md5::hex(sum)
}

/// Reads `.md5`; reports invalid lines and unlisted files. Returns each existing file once, the data first.
pub(super) fn listed(reader: &Reader, findings: &mut Findings<'_>) -> Result<Vec<ListedSum>> {
    let mut listed: Vec<ListedSum> = Vec::new();
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
                findings.push(FindingKind::SumLine, || place(error));
                continue;
            }
        };
        let in_line = |detail: String| place(Error::invalid(detail).in_line(line.line));
        let mut canonical = String::new();
        put_md5_line(&mut canonical, &line.sum, line.name);
        if canonical.trim_end_matches('\n').as_bytes() != raw {
            findings.push(FindingKind::SumFormat, || {
                in_line("unusual format: md5sum writes lower-case digits, two spaces and the name".to_owned())
            });
        }
        let part = parts.iter().copied().find(|part| set.name(*part) == line.name && *part != Part::Md5);
        match part {
            None if line.name.contains(['/', '\\']) => {
                findings.push(FindingKind::SumLine, || {
                    in_line(format!("{:?} is in another folder and was not checked", line.name))
                });
            }
            None => findings.push(FindingKind::SumFormat, || {
                in_line(format!("{:?} is not a file of this dataset and was not checked", line.name))
            }),
            Some(part) if !exists(part) => {
                findings.push(FindingKind::SumLine, || in_line(format!("file {:?} does not exist", line.name)));
            }
            Some(part) => match listed.iter().find(|known| known.part == part) {
                Some(known) => findings.push(FindingKind::SumLine, || {
                    in_line(format!("file {:?} is already listed in line {}", line.name, known.line))
                }),
                None => listed.push(ListedSum { part, sum: line.sum, line: line.line }),
            },
        }
    }
    if bytes.last().is_some_and(|&last| last != b'\n') {
        findings.push(FindingKind::SumFormat, || {
            place(Error::invalid("the last line has no line feed").at(bytes.len() as u64))
        });
    }
    for part in parts {
        if part != Part::Md5 && exists(part) && !listed.iter().any(|known| known.part == part) {
            let detail = format!("no MD5 sum of {:?}", set.name(part));
            findings.push(FindingKind::Unlisted, || place(Error::invalid(detail)));
        }
    }
    listed.sort_by_key(|listed| (listed.part != Part::Data, listed.line));
    Ok(listed)
}

impl Plan<'_> {
    /// The MD5 sum of a file.
    pub(super) fn sum(&self, part: Part) -> Result<[u8; 16]> {
        if part == Part::Data {
            return self.sum_source(&self.reader.data, true).map_err(|error| self.reader.in_data(error));
        }
        match self.reader.part(part)? {
            Some(source) => self.sum_source(&source, false).map_err(|error| self.reader.in_part(part, error)),
            // It existed when `.md5` was read.
            None => Ok([0; 16]),
        }
    }

    fn sum_source(&self, source: &Source, counts_progress: bool) -> Result<[u8; 16]> {
        let mut md5 = Md5::new();
        let mut buffer = Vec::new();
        let mut at = 0;
        while at < source.len() && !self.stopped() {
            let end = source.len().min(at + CHUNK);
            md5.update(source.view(at..end, &mut buffer)?);
            if counts_progress {
                self.advance(end - at)?;
            }
            at = end;
        }
        Ok(md5.finish())
    }
}
