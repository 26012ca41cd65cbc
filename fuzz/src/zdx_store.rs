//! A store modified by choices, compared with a map of its expected content.

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};
use std::rc::Rc;

use container_core::Source;
use serde_json::{Map, Value, json};
use zdx::wire::index::{Entry, Index, header, put};
use zdx::{CollectionWriter, Durability, LoadOptions, OnDuplicate, Store, StoreWriter, WriterOptions};

use super::choices::Choices;
use super::zdx_parts::{Medium, NAME};

/// Lines of documents by id; shared between histories.
type Documents = BTreeMap<String, Rc<str>>;

/// More bytes than the writer buffers.
const LARGE: usize = 600 << 10;

/// The bytes are choices of operations.
pub fn zdx_store(data: &[u8]) {
    let mut choices = Choices::new(data);
    let folder = tempfile::tempdir().unwrap();
    let mut run = Run::new(folder.path());
    let mut large = 1;
    for _ in 0..40 {
        if choices.is_empty() {
            break;
        }
        run.step(&mut choices, &mut large);
    }
    run.crash();
    run.close(true);
    run.same_on_disk();
}

struct Run<'f> {
    folder: &'f Path,
    writer: Option<(StoreWriter, CollectionWriter)>,
    now: Documents,
    /// The state at the last flush and after each change since: the possible states after a crash.
    before: Vec<Documents>,
}

fn options() -> WriterOptions {
    WriterOptions::default().with_durability(Durability::None).with_threads(1)
}

fn open(root: &Path) -> (StoreWriter, CollectionWriter) {
    let store = StoreWriter::open(root, options()).unwrap();
    let collection = store.collection(NAME).unwrap();
    (store, collection)
}

fn finish((store, collection): (StoreWriter, CollectionWriter)) {
    collection.finish().unwrap();
    store.finish().unwrap();
}

fn read(root: &Path) -> Documents {
    // It is created by its first change.
    if !root.join("collections").join(NAME).exists() {
        return Documents::new();
    }
    let collection = Store::open(root).unwrap().collection(NAME).unwrap();
    let mut all = Documents::new();
    for document in collection.documents().unwrap() {
        let document = document.unwrap();
        let line = std::str::from_utf8(document.bytes()).unwrap();
        assert!(all.insert(document.id().to_owned(), line.into()).is_none(), "{} twice", document.id());
    }
    for (id, line) in all.iter().take(8) {
        assert_eq!(collection.get(id).unwrap().unwrap().bytes(), line.as_bytes());
    }
    assert_eq!(collection.len().unwrap(), all.len() as u64);
    all
}

fn copy(from: &Path, to: &Path) {
    fs::create_dir_all(to).unwrap();
    for entry in fs::read_dir(from).into_iter().flatten() {
        let (path, target) = entry.map(|entry| (entry.path(), to.join(entry.file_name()))).unwrap();
        if path.is_dir() {
            copy(&path, &target);
        } else {
            fs::copy(&path, &target).unwrap();
            let time = fs::metadata(&path).unwrap().modified().unwrap();
            fs::File::options().write(true).open(&target).unwrap().set_modified(time).unwrap();
        }
    }
}

/// Ids that often repeat.
fn some_id(choices: &mut Choices<'_>) -> String {
    match choices.below(24) {
        0 => "z".repeat(255),
        1 => "..".to_owned(),
        n => format!("id{n}"),
    }
}

/// The members of a document.
fn some_members(choices: &mut Choices<'_>, large: &mut u32) -> Map<String, Value> {
    let mut members = Map::new();
    for _ in 0..choices.below(4) {
        let name = choices.pick(&["n", "x_id", "", "\u{e9}\"", "inner", "_i"]);
        let value = match choices.below(7) {
            0 => json!(null),
            1 => json!({"_id": "inner", "a": [1.5, -0.0, u64::MAX]}),
            2 => json!("\n\r\u{2028}\\\"_id\":\"no\""),
            3 => json!([[], {}, [{"_id": 7}]]),
            4 if *large > 0 && choices.below(8) == 0 => {
                *large -= 1;
                json!("x".repeat(LARGE))
            }
            _ => json!(choices.byte()),
        };
        members.insert(name.to_owned(), value);
    }
    members
}

fn line_of(id: &str, members: &Map<String, Value>) -> String {
    match serde_json::to_string(members).unwrap().strip_prefix('{').unwrap() {
        "}" => format!("{{\"_id\":\"{id}\"}}"),
        rest => format!("{{\"_id\":\"{id}\",{rest}"),
    }
}

impl<'f> Run<'f> {
    fn new(folder: &'f Path) -> Self {
        let mut run = Self { folder, writer: None, now: Documents::new(), before: Vec::new() };
        run.reopen();
        run.flushed();
        run
    }

    fn root(&self) -> PathBuf {
        self.folder.join("store")
    }

    fn meta(&self, name: &str) -> PathBuf {
        self.root().join("collections").join(NAME).join("meta").join(name)
    }

    fn collection(&mut self) -> &mut CollectionWriter {
        &mut self.writer.as_mut().unwrap().1
    }

    fn flushed(&mut self) {
        self.before = vec![self.now.clone()];
    }

    fn changed(&mut self) {
        self.before.push(self.now.clone());
    }

    fn reopen(&mut self) {
        self.writer = Some(open(&self.root()));
        let now = self.now.clone();
        let collection = self.collection();
        assert_eq!(collection.len(), now.len() as u64);
        self.same();
    }

    /// Checks the content as the writer sees it.
    fn same(&mut self) {
        let now = self.now.clone();
        let collection = self.collection();
        assert_eq!((collection.len(), collection.is_empty()), (now.len() as u64, now.is_empty()));
        for n in 0..24 {
            let id = format!("id{n}");
            assert_eq!(collection.contains(&id), now.contains_key(&id));
        }
        for (id, line) in now.iter().take(3) {
            assert_eq!(collection.get(id).unwrap().as_deref(), Some(line.as_bytes()));
        }
    }

    fn same_on_disk(&self) {
        assert_eq!(read(&self.root()), self.now);
        let collection = Store::open(self.root()).unwrap().collection(NAME).unwrap();
        assert_eq!(collection.condition().unwrap().notes(), [""; 0]);
        assert!(!self.meta("wharf.journal").exists());
    }

    /// Drops the writer; unflushed changes may be lost unless `flush`.
    fn close(&mut self, flush: bool) {
        let writer = self.writer.take().unwrap();
        if flush {
            finish(writer);
        } else {
            drop(writer);
            let found = read(&self.root());
            assert!(self.before.contains(&found), "{found:?} was never there: {:?}", self.before);
            self.now = found;
        }
        self.flushed();
    }

    /// Simulates a crash: copies the files, reads the copy, and writes to it.
    fn crash(&mut self) {
        let copied = tempfile::tempdir().unwrap();
        copy(&self.root(), copied.path());
        let found = read(copied.path());
        assert!(self.before.contains(&found), "{found:?} was never there: {:?}", self.before);
        finish(open(copied.path()));
        assert_eq!(read(copied.path()), found);
        // A reader of the open store sees the same.
        assert_eq!(read(&self.root()), found);
    }

    fn step(&mut self, choices: &mut Choices<'_>, large: &mut u32) {
        match choices.below(18) {
            16.. => self.load(choices, large),
            0..4 => {
                let (id, members) = (some_id(choices), some_members(choices, large));
                self.collection().put(&id, &members).unwrap();
                self.now.insert(id.clone(), line_of(&id, &members).into());
                self.changed();
            }
            4..6 => self.put_line(choices, large),
            6..9 => {
                let id = some_id(choices);
                let was_there = self.now.remove(&id).is_some();
                assert_eq!(self.collection().delete(&id).unwrap(), was_there);
                self.changed();
            }
            9 => {
                self.collection().flush().unwrap();
                self.flushed();
                assert_eq!(read(&self.root()), self.now);
            }
            10 => {
                let flush = choices.below(2) == 0;
                self.close(flush);
                self.reopen();
            }
            11 => {
                let compacted = self.collection().compact().unwrap();
                self.flushed();
                assert_eq!(read(&self.root()), self.now);
                let bytes: usize = self.now.values().map(|line| line.len() + 1).sum();
                assert!(compacted.after == bytes as u64 && compacted.before >= compacted.after, "{compacted:?}");
            }
            12 => self.crash(),
            13 => self.refused(choices),
            14 => self.same(),
            _ => {
                let flush = choices.below(2) == 0;
                self.close(flush);
                self.another(choices);
                self.reopen();
                self.flushed();
            }
        }
    }

    fn put_line(&mut self, choices: &mut Choices<'_>, large: &mut u32) {
        let (id, members) = (some_id(choices), some_members(choices, large));
        let plain = line_of(&id, &members);
        let inner = serde_json::to_string(&members).unwrap();
        let inner = inner.strip_prefix('{').and_then(|rest| rest.strip_suffix('}')).unwrap();
        let comma = if inner.is_empty() { "" } else { "," };
        let given = match choices.below(7) {
            0 => plain.clone(),
            1 => format!("{plain}\r\n"),
            2 => format!("{{{inner}{comma}\"_id\":\"{id}\"}}"),
            3 => format!(" {{ \"\\u005fid\" : \"{id}\" {comma}{inner} }} "),
            4 => format!("{{\"_id\":\"first\",\"_id\":\"{id}\"{comma}{inner}}}\n"),
            // Line breaks are removed.
            5 => format!("{{\n\"_id\":\r\n\"{id}\"{comma}{inner}\n\n}}\n"),
            _ => format!("{{{inner}{comma}\"_id\":\"\\u00{:02x}{}\"}}", id.as_bytes()[0], &id[1..]),
        };
        let trimmed = given.strip_suffix('\n').unwrap_or(&given);
        let trimmed = trimmed.strip_suffix('\r').unwrap_or(trimmed);
        let stored = if trimmed.contains('\n') { plain } else { trimmed.to_owned() };
        let collection = self.collection();
        if choices.below(2) == 0 {
            assert_eq!(collection.put_line(given.as_bytes()).unwrap(), id);
        } else {
            collection.put_raw(&id, given.as_bytes()).unwrap();
        }
        self.now.insert(id, stored.into());
        self.changed();
    }

    /// Loads lines in bulk: all of them, or none.
    fn load(&mut self, choices: &mut Choices<'_>, large: &mut u32) {
        let on = choices.pick(&[OnDuplicate::Replace, OnDuplicate::Refuse, OnDuplicate::Keep]);
        let by_field = choices.below(4) == 0;
        let mut input = if choices.below(8) == 0 { "\u{feff}".to_owned() } else { String::new() };
        let (mut after, mut is_refused, mut counts) = (self.now.clone(), false, [0; 3]);
        for _ in 0..choices.below(6) {
            let (id, members) = (some_id(choices), some_members(choices, large));
            let plain = line_of(&id, &members);
            let given = match choices.below(12) {
                _ if by_field => plain.replacen("\"_id\"", "\"key\"", 1),
                0 => format!(" {plain} "),
                1 => plain.replacen("_id", "\\u005fid", 1),
                _ => plain,
            };
            let stored = match by_field {
                true => format!("{{\"_id\":\"{id}\",{}", &given[1..]),
                false => given.clone(),
            };
            input += &given;
            input += choices.pick(&["\n", "\n", "\r\n", "\n \n\r\n"]);
            let is_there = after.contains_key(&id);
            is_refused |= on == OnDuplicate::Refuse && is_there;
            let is_kept = on == OnDuplicate::Keep && is_there;
            counts[if is_kept { 2 } else { 0 }] += 1;
            counts[1] += u64::from(is_there && !is_kept);
            if !is_kept {
                after.insert(id, stored.into());
            }
        }
        match choices.below(12) {
            0 => {
                input += "{\"_id\":\"id1\"\n";
                is_refused = true;
            }
            1 => {
                input += "{\"n\":1}\n";
                is_refused = true;
            }
            2..5 => input.truncate(input.trim_end_matches(['\n', '\r']).len()),
            _ => {}
        }
        let mut options = LoadOptions::default().with_on_duplicate(on);
        if by_field {
            options = options.with_id_field("key");
        }
        let source = match choices.below(2) {
            0 => Source::from(input.into_bytes()),
            _ => Source::new(Medium(input.into_bytes())),
        };
        match self.collection().load(&source, &options) {
            Ok(loaded) => {
                assert!(!is_refused);
                assert_eq!([loaded.documents, loaded.replaced, loaded.kept], counts);
                self.now = after;
                self.changed();
            }
            Err(error) => assert!(is_refused, "{error}"),
        }
        self.same();
    }

    /// A rejected operation changes nothing.
    fn refused(&mut self, choices: &mut Choices<'_>) {
        let which = choices.below(9);
        let collection = self.collection();
        let error = match which {
            0 => collection.put("", &json!({})).unwrap_err(),
            1 => collection.put("a/b", &json!({})).unwrap_err(),
            2 => collection.put("id5", &json!([1])).unwrap_err(),
            3 => collection.put("id5", &json!({"_id": "id6"})).unwrap_err(),
            4 => collection.put_line(b"{\"_id\":\"id5\"").map(drop).unwrap_err(),
            5 => collection.put_line(b"{\"_id\":\"id 5\"}").map(drop).unwrap_err(),
            6 => collection.put_line(b"{\"x\":{\"_id\":\"id5\"}}").map(drop).unwrap_err(),
            7 => collection.put_raw("id5", b"{\"_id\":\"id6\"}").unwrap_err(),
            _ => collection.put_line(b"{\"_id\":\"id5\"}\n{\"_id\":\"id6\"}").map(drop).unwrap_err(),
        };
        assert!(error.to_string().starts_with("zds: "), "{error}");
        self.same();
    }

    /// Another program writes as the reference does: it appends lines, and writes an index in another order.
    fn another(&mut self, choices: &mut Choices<'_>) {
        let (data, index) = (self.meta("data.jsonl"), self.meta("index.bin"));
        // It ignores the journal; an index exists from the first flush on.
        let Some(bytes) = fs::read(&index).ok().filter(|_| !self.meta("wharf.journal").exists()) else { return };
        let mut lines = fs::read(&data).unwrap();
        let found = Index::parse(&bytes).unwrap();
        let mut entries: Vec<(String, u64, u32)> = found
            .entries()
            .map(Result::unwrap)
            .map(|entry| (String::from_utf8(entry.id.to_vec()).unwrap(), entry.offset, entry.length))
            .collect();
        if lines.last().is_some_and(|last| *last != b'\n') {
            lines.push(b'\n');
        }
        for _ in 0..choices.below(4) {
            let id = some_id(choices);
            let line = format!("{{\"_id\":\"{id}\",\"by\":{}}}", choices.byte());
            entries.retain(|(other, _, _)| *other != id);
            entries.push((id.clone(), lines.len() as u64, u32::try_from(line.len() + 1).unwrap()));
            lines.extend(line.as_bytes());
            lines.push(b'\n');
            self.now.insert(id, line.into());
        }
        if choices.below(3) == 0 && !entries.is_empty() {
            let (id, _, _) = entries.swap_remove(choices.below(entries.len().min(256)));
            self.now.remove(&id);
        }
        if choices.below(2) == 0 {
            entries.reverse();
        }
        let mut out = header(entries.len() as u64).to_vec();
        for (id, offset, length) in &entries {
            // The entry's length is that of the line alone.
            let end = usize::try_from(offset + u64::from(*length)).unwrap();
            let length = length - u32::from(choices.below(4) == 0 && lines[end - 1] == b'\n');
            put(&Entry { id: id.as_bytes(), offset: *offset, length }, &mut out).unwrap();
        }
        fs::write(&data, &lines).unwrap();
        fs::write(&index, &out).unwrap();
        match choices.below(4) {
            // Deleted documents reappear, unless all their lines are gone.
            0 if entries.len() == lines.iter().filter(|byte| **byte == b'\n').count() => {
                fs::remove_file(&index).unwrap()
            }
            // A truncated last line, which is not a document.
            1 if !entries.is_empty() => {
                lines.extend(b"{\"_id\":\"torn\",");
                fs::write(&data, &lines).unwrap();
                fs::write(&index, &out).unwrap();
            }
            _ => {}
        }
        assert_eq!(read(&self.root()), self.now);
    }
}
