//! Options of the writer.

use std::time::SystemTime;

use container_core::Limits;

use crate::write::disk::{Disk, Hook};

/// When writes must reach the disk, and so what a power cut may lose. If only the process dies, nothing that was written is lost in any mode.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Hash)]
#[non_exhaustive]
pub enum Durability {
    /// Never: the operating system decides. After a power cut data and index may not match, though each file is either whole or the old one.
    None,
    /// At each [`flush`](crate::CollectionWriter::flush) and [`finish`](crate::CollectionWriter::finish).
    #[default]
    Flush,
    /// Also at every put and delete, before it returns.
    EveryPut,
}

/// Options of a [`StoreWriter`](crate::StoreWriter).
#[derive(Debug, Clone)]
#[non_exhaustive]
pub struct WriterOptions {
    /// Create the store and its collections if missing. Default: true.
    pub create: bool,
    /// When writes must reach the disk.
    pub durability: Durability,
    /// Number of threads; 0, the default, uses all available ones.
    pub threads: usize,
    /// Require one schema for all documents of a collection, as if its manifest did. New collections get it into their manifest.
    pub strict: bool,
    /// Ignore the index and rebuild it from the data: deleted documents whose lines remain come back.
    pub rebuild: bool,
    /// Time recorded in metadata and lock; `None`, the default, for the current time.
    pub time: Option<SystemTime>,
    /// Default limits of readers: nothing is written that they would refuse.
    pub(crate) limits: Limits,
    pub(crate) hook: Hook,
}

impl Default for WriterOptions {
    fn default() -> Self {
        Self {
            create: true,
            durability: Durability::default(),
            threads: 0,
            strict: false,
            rebuild: false,
            time: None,
            limits: Limits::default(),
            hook: Hook::default(),
        }
    }
}

impl WriterOptions {
    /// Sets [`create`](Self::create).
    #[must_use]
    pub fn with_create(mut self, create: bool) -> Self {
        self.create = create;
        self
    }

    /// Sets [`durability`](Self::durability).
    #[must_use]
    pub fn with_durability(mut self, durability: Durability) -> Self {
        self.durability = durability;
        self
    }

    /// Sets [`threads`](Self::threads).
    #[must_use]
    pub fn with_threads(mut self, threads: usize) -> Self {
        self.threads = threads;
        self
    }

    /// Sets [`strict`](Self::strict).
    #[must_use]
    pub fn with_strict(mut self, strict: bool) -> Self {
        self.strict = strict;
        self
    }

    /// Sets [`rebuild`](Self::rebuild).
    #[must_use]
    pub fn with_rebuild(mut self, rebuild: bool) -> Self {
        self.rebuild = rebuild;
        self
    }

    /// Sets [`time`](Self::time).
    #[must_use]
    pub fn with_time(mut self, time: SystemTime) -> Self {
        self.time = Some(time);
        self
    }

    pub(crate) fn now(&self) -> SystemTime {
        self.time.unwrap_or_else(SystemTime::now)
    }

    pub(crate) fn disk(&self) -> Disk {
        let sync = match self.durability {
            Durability::None => container_core::SyncPolicy::Never,
            Durability::Flush | Durability::EveryPut => container_core::SyncPolicy::Disk,
        };
        Disk::new(self.hook.clone(), sync)
    }
}

/// What to do with a document whose id already exists.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Hash)]
#[non_exhaustive]
pub enum OnDuplicate {
    /// Replace the existing document.
    #[default]
    Replace,
    /// Return an error: nothing is put.
    Refuse,
    /// Keep the existing document.
    Keep,
}

/// Options of [`CollectionWriter::load`](crate::CollectionWriter::load).
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct LoadOptions {
    /// The member to use as id, a string or an integer; it is added as `_id` in front of the others. `None`: documents have an `_id`.
    pub id_field: Option<String>,
    /// What to do with a document whose id already exists in the collection or earlier in the input.
    pub on_duplicate: OnDuplicate,
    /// Number of threads; 0, the default, as [`WriterOptions::threads`].
    pub threads: usize,
    /// Validate every token of every line. Otherwise a line that begins with a plain `_id` is assumed to be valid JSON. Default: true.
    pub validate: bool,
}

impl Default for LoadOptions {
    fn default() -> Self {
        Self { id_field: None, on_duplicate: OnDuplicate::default(), threads: 0, validate: true }
    }
}

impl LoadOptions {
    /// Sets [`id_field`](Self::id_field).
    #[must_use]
    pub fn with_id_field(mut self, field: impl Into<String>) -> Self {
        self.id_field = Some(field.into());
        self
    }

    /// Sets [`on_duplicate`](Self::on_duplicate).
    #[must_use]
    pub fn with_on_duplicate(mut self, on_duplicate: OnDuplicate) -> Self {
        self.on_duplicate = on_duplicate;
        self
    }

    /// Sets [`threads`](Self::threads).
    #[must_use]
    pub fn with_threads(mut self, threads: usize) -> Self {
        self.threads = threads;
        self
    }

    /// Sets [`validate`](Self::validate).
    #[must_use]
    pub fn with_validate(mut self, validate: bool) -> Self {
        self.validate = validate;
        self
    }
}

/// Result of [`CollectionWriter::load`](crate::CollectionWriter::load).
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct LoadSummary {
    /// Documents put.
    pub documents: u64,
    /// Bytes appended.
    pub bytes: u64,
    /// Documents put that replaced existing ones.
    pub replaced: u64,
    /// Documents not put because their id existed.
    pub kept: u64,
}
