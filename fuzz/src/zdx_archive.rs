//! ZDS archives from arbitrary bytes.

use container_core::{Finding, Limits, OpenOptions, Severity, Source};
use zdx::Store;
use zdx::archive::Archive;

use super::zdx_parts::{Medium, crc32, told};

/// The maximum number of bytes that DEFLATE makes of one.
const RATIO: u64 = 1032;

/// The bytes are a ZIP archive.
pub fn zdx_archive(data: &[u8]) {
    let options = OpenOptions::default();
    let [archive, other] = [Source::from(data.to_vec()), Source::new(Medium(data.to_vec()))]
        .map(|source| told(Archive::from_source(source, None, &options)));
    let (archive, other) = match (archive, other) {
        (Ok(archive), Ok(other)) => (archive, other),
        (Err(error), Err(same)) => {
            assert_eq!(error, same);
            assert!(error.starts_with("zds: "), "{error}");
            return;
        }
        (archive, other) => panic!("{archive:?} and {other:?}"),
    };
    assert!(archive.files().eq(other.files()));
    let files: Vec<&str> = archive.files().collect();
    assert!(files.is_sorted() && files.len() <= data.len() / 46);
    for file in &files {
        assert!(!file.split('/').any(|part| part.is_empty() || part == ".." || part == "."), "{file}");
    }
    let mut findings = Vec::new();
    archive.verify(&mut |finding| findings.push(finding)).unwrap();
    let mut same = Vec::new();
    other.verify(&mut |finding| same.push(finding)).unwrap();
    let shown = |all: &[Finding]| all.iter().map(|one| one.error.to_string()).collect::<Vec<_>>();
    assert_eq!(shown(&findings), shown(&same));
    let strict = options.with_limits(Limits::default().with_block_bytes(100));
    let strict = Archive::from_source(Source::from(data.to_vec()), None, &strict).unwrap();
    for file in &files {
        let name = format!("{}{file}", archive.root());
        let is_whole = !findings.iter().any(|finding| {
            finding.severity == Severity::Error && finding.error.position().key.as_deref() == Some(&name)
        });
        let size = archive.size(file).unwrap();
        let [found, same] = [&archive, &other].map(|archive| {
            told(archive.file(file)).map(|source| source.unwrap()).map(|source| source.read(0..source.len()).unwrap())
        });
        assert_eq!(found, same);
        if let Ok(content) = &found {
            assert_eq!(content.len() as u64, size);
            assert!(size <= (data.len() as u64).saturating_mul(RATIO));
        }
        if is_whole {
            let content = found.as_ref().unwrap();
            assert!(declared(data, &name).any(|crc| crc == crc32(content)), "{name}");
        }
    }
    for name in archive.collections() {
        for id in archive.documents(name) {
            let file = archive.file(&format!("collections/{name}/docs/{id}.json"));
            let document = told(archive.document(name, id)).map(|found| found.unwrap());
            assert_eq!(document, told(other.document(name, id)).map(|found| found.unwrap()));
            if let Ok(document) = &document {
                let file = file.unwrap().unwrap();
                assert_eq!(file.read(0..file.len()).unwrap(), document);
            }
            let limited = strict.document(name, id);
            assert_eq!(limited.is_ok(), document.is_ok_and(|document| document.len() <= 100));
        }
    }
    let store = Store::from_source(Source::from(data.to_vec()), None, options).unwrap();
    assert_eq!(store.names().unwrap(), archive.collections());
    let _ = store.metadata();
    for name in archive.collections() {
        if let Ok(collection) = store.collection(name) {
            let walked = collection.documents().map(|all| all.take(1000).filter(Result::is_ok).count());
            let _ = (walked, collection.condition().map(|condition| condition.notes()), collection.manifest());
        }
    }
}

/// The CRCs that directory records declare for a name, anywhere in the bytes.
fn declared<'d>(data: &'d [u8], name: &'d str) -> impl Iterator<Item = u32> {
    data.windows(46 + name.len()).filter_map(move |record| {
        let is_of = record.starts_with(b"PK\x01\x02") && &record[46..] == name.as_bytes();
        is_of.then(|| u32::from_le_bytes([record[16], record[17], record[18], record[19]]))
    })
}
