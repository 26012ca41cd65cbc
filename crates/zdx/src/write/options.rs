//! How a store is written.

use std::time::SystemTime;

use container_core::Limits;

use crate::write::disk::{Disk, Hook};

/// When what was written has to be on the disk, and not only in the hands of the system: what a power cut may take. The death of the
/// process alone takes nothing that the writer has written, whichever is chosen.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Hash)]
#[non_exhaustive]
pub enum Durability {
    /// The system decides: after a power cut, data and index may not fit together, though each file is whole or the old one.
    None,
    /// At each [`flush`](crate::CollectionWriter::flush) and [`finish`](crate::CollectionWriter::finish).
    #[default]
    Flush,
    /// Also at every single put and delete, before it returns.
    EveryPut,
}

/// How a [`StoreWriter`](crate::StoreWriter) works.
#[derive(Debug, Clone)]
#[non_exhaustive]
pub struct WriterOptions {
    /// Make the store, and its collections, where there are none. Default on.
    pub create: bool,
    /// What a power cut may take.
    pub durability: Durability,
    /// Threads that may work at once; 0 for as many as the machine has.
    pub threads: usize,
    /// All documents of a collection must have one schema, as if its manifest said so. Of a collection that is made, the manifest will.
    pub strict: bool,
    /// Pass the index over and make a new one out of the data: deleted documents whose lines are still there come back.
    pub rebuild: bool,
    /// The time that metadata and the lock state; the present one where none is given.
    pub time: Option<SystemTime>,
    /// What readers take by default: nothing is written that they would refuse.
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
    /// Replaces [`create`](Self::create).
    #[must_use]
    pub fn with_create(mut self, create: bool) -> Self {
        self.create = create;
        self
    }

    /// Replaces [`durability`](Self::durability).
    #[must_use]
    pub fn with_durability(mut self, durability: Durability) -> Self {
        self.durability = durability;
        self
    }

    /// Replaces [`threads`](Self::threads).
    #[must_use]
    pub fn with_threads(mut self, threads: usize) -> Self {
        self.threads = threads;
        self
    }

    /// Replaces [`strict`](Self::strict).
    #[must_use]
    pub fn with_strict(mut self, strict: bool) -> Self {
        self.strict = strict;
        self
    }

    /// Replaces [`rebuild`](Self::rebuild).
    #[must_use]
    pub fn with_rebuild(mut self, rebuild: bool) -> Self {
        self.rebuild = rebuild;
        self
    }

    /// Replaces [`time`](Self::time).
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

/// What is done with a document whose id there is already.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Hash)]
#[non_exhaustive]
pub enum OnDuplicate {
    /// The later one holds.
    #[default]
    Replace,
    /// It is an error.
    Refuse,
    /// The earlier one holds.
    Keep,
}

/// How lines are loaded.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct LoadOptions {
    /// The member that gives the id, a text or an integer: `_id` is put in front of the others. None: documents have an `_id`.
    pub id_field: Option<String>,
    /// What is done with a document whose id there is already, in the collection or in the input.
    pub on_duplicate: OnDuplicate,
    /// Threads that may work at once; 0, the default, as [`WriterOptions::threads`].
    pub threads: usize,
    /// Look at every token of every line. Without it a line that begins with a plain `_id` is taken for JSON. Default on.
    pub validate: bool,
}

impl Default for LoadOptions {
    fn default() -> Self {
        Self { id_field: None, on_duplicate: OnDuplicate::default(), threads: 0, validate: true }
    }
}

impl LoadOptions {
    /// Replaces [`id_field`](Self::id_field).
    #[must_use]
    pub fn with_id_field(mut self, field: impl Into<String>) -> Self {
        self.id_field = Some(field.into());
        self
    }

    /// Replaces [`on_duplicate`](Self::on_duplicate).
    #[must_use]
    pub fn with_on_duplicate(mut self, on_duplicate: OnDuplicate) -> Self {
        self.on_duplicate = on_duplicate;
        self
    }

    /// Replaces [`threads`](Self::threads).
    #[must_use]
    pub fn with_threads(mut self, threads: usize) -> Self {
        self.threads = threads;
        self
    }

    /// Replaces [`validate`](Self::validate).
    #[must_use]
    pub fn with_validate(mut self, validate: bool) -> Self {
        self.validate = validate;
        self
    }
}

/// What was loaded.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Loaded {
    /// Documents that were put.
    pub documents: u64,
    /// Bytes that were appended.
    pub bytes: u64,
    /// Documents among those put that took the place of others.
    pub replaced: u64,
    /// Documents that were not put, as there was one of their id.
    pub kept: u64,
}
