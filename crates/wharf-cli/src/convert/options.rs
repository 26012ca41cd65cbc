//! Options of `wharf convert`, by what they are for.

use std::path::{Path, PathBuf};

use clap::ValueEnum;
use container_arrow::{OnMismatch, Sparse, Times};
use container_core::{Error, Result};
use wharf::convert::import::{FileOptions, Keys};
use wharf::hub::convert as hub;

use super::super::writing::Blocks;
use super::{Form, refuse};

/// What the inputs are said to be.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(super) enum Source {
    /// JSON lines, or one array of objects
    Jsonl,
    /// Comma-separated values
    Csv,
    /// Tab-separated values
    Tsv,
    /// IDV
    Idv,
    /// datadings
    Datadings,
    /// A ZIP archive of files
    Zip,
}

/// How inputs are read that are text.
#[derive(Debug, Clone, Default, clap::Args)]
#[command(next_help_heading = "Options for inputs of text")]
pub(super) struct Text {
    /// What the inputs are, where neither content nor extension says it
    #[arg(long, value_enum, value_name = "FORM")]
    pub(super) from: Option<Source>,

    /// CSV and TSV have no line of names: columns are called c0, c1, ...
    #[arg(long)]
    no_header: bool,

    /// What stands between two cells of CSV
    #[arg(long, value_name = "CHARACTER")]
    delimiter: Option<char>,

    /// The types of the columns of a text, and, into ds, Parquet and Arrow IPC, of datadings and ZDS: {"age": "Single"}, the
    /// `wharf info --json` of a file that has them, or that file. Types have the names that IDV has for them; into ds, Parquet and Arrow
    /// IPC those of Arrow, too: {"at": "Timestamp(us)"}. Without, they are inferred from all rows
    #[arg(long, value_name = "FILE")]
    pub(super) schema: Option<PathBuf>,
}

impl Text {
    /// Fails when one of these is given for an output that is written from containers alone.
    pub(super) fn refuse(&self, form: Form) -> Result<()> {
        let text = matches!(self.from, Some(Source::Jsonl | Source::Csv | Source::Tsv));
        let given = [("--from", text), ("--no-header", self.no_header), ("--delimiter", self.delimiter.is_some())];
        refuse(&given, "outputs other than netcdf", form)
    }

    /// Fails when types of columns are given for an output that does not take them.
    pub(super) fn refuse_schema(&self, form: Form) -> Result<()> {
        refuse(&[("--schema", self.schema.is_some())], "the outputs idv, ds, parquet, arrow and arrows", form)
    }

    /// Fails when files are given for an output that takes rows.
    pub(super) fn refuse_files(&self, form: Form) -> Result<()> {
        refuse(&[("--from zip", self.from == Some(Source::Zip))], "the output datadings", form)
    }

    pub(super) fn set(&self, text: &mut hub::TextInput) {
        text.from = self.from.map(|from| match from {
            Source::Jsonl => hub::InputForm::Jsonl,
            Source::Csv => hub::InputForm::Csv,
            Source::Tsv => hub::InputForm::Tsv,
            Source::Idv => hub::InputForm::Idv,
            Source::Datadings => hub::InputForm::Datadings,
            Source::Zip => hub::InputForm::Zip,
        });
        text.no_header = self.no_header;
        text.delimiter = self.delimiter;
        text.schema.clone_from(&self.schema);
    }
}

/// Options that only the output IDV has.
#[derive(Debug, Clone, Default, clap::Args)]
#[command(next_help_heading = "Options for the output IDV")]
pub(super) struct Idv {
    /// What becomes of integers that are missing in Parquet and Arrow IPC [default: error]
    #[arg(long, value_enum, value_name = "HOW")]
    null_integers: Option<Missing>,

    #[command(flatten)]
    blocks: Blocks,
}

/// What becomes of integers that are missing.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
enum Missing {
    /// An error
    Error,
    /// Columns of integers that may be missing become Double, where NaN is missing
    Double,
}

impl Idv {
    /// Fails when one of these is given for another output.
    pub(super) fn refuse(&self, form: Form) -> Result<()> {
        let Blocks { level, rows_per_block, bytes_per_block } = &self.blocks;
        let given = [
            ("--null-integers", self.null_integers.is_some()),
            ("--level", level.is_some()),
            ("--rows-per-block", rows_per_block.is_some()),
            ("--bytes-per-block", bytes_per_block.is_some()),
        ];
        refuse(&given, "the output idv", form)
    }

    pub(super) fn set(&self, compression: Option<&str>, idv: &mut hub::IdvOutput) -> Result<()> {
        let compression = compression.map(|name| {
            let unknown = |_| Error::usage(format!("IDV has no compression {name:?}: it has none, deflate and zlib"));
            <super::super::writing::Compression as ValueEnum>::from_str(name, false).map_err(unknown)
        });
        idv.compression = compression.transpose()?.map(Into::into);
        idv.missing_as_double = self.null_integers == Some(Missing::Double);
        (idv.level, idv.rows_per_block) = (self.blocks.level, self.blocks.rows_per_block);
        idv.bytes_per_block = self.blocks.bytes_per_block;
        Ok(())
    }
}

/// Options that only the output datadings has.
#[derive(Debug, Clone, Default, clap::Args)]
#[group(id = "datadings")]
#[command(next_help_heading = "Options for the output datadings")]
pub(super) struct Datadings {
    /// The column whose texts or integers are the keys; it stays, and "key" is added in front [default: the column "key"]
    #[arg(long, value_name = "COLUMN", conflicts_with = "number")]
    key: Option<String>,

    /// The number of each row, in ten digits, is its key
    #[arg(long)]
    number: bool,

    /// Cells of CSV and TSV stay text; else columns of numbers, bools, and JSON become these
    #[arg(long)]
    text: bool,

    /// Write no .md5: faster, where MD5 is slower than the disk
    #[arg(long)]
    no_md5: bool,

    #[command(flatten)]
    files: Files,
}

/// Options for samples that are files.
#[derive(Debug, Clone, Default, clap::Args)]
#[group(id = "files")]
#[command(next_help_heading = "Options for the output datadings from folders and ZIP archives of files")]
struct Files {
    /// Which files, relative to the input: {LABEL} is the folder whose name is the label, * ? [a-z] stand for parts of a name, ** for any
    /// folders; may be given several times [default: {LABEL}/**]
    #[arg(long, value_name = "PATTERN", conflicts_with = "list")]
    pattern: Vec<String>,

    /// Which files: a text with a path on each line, then a tabulator and the label, if there are labels
    #[arg(long, value_name = "FILE")]
    list: Option<PathBuf>,

    /// What separates path and label in the list [default: a tabulator]
    #[arg(long, value_name = "TEXT", requires = "list")]
    separator: Option<String>,

    /// Of these files, only those whose path matches; * also matches slashes; may be given several times
    #[arg(long, value_name = "PATTERN")]
    include: Vec<String>,

    /// Not those whose path matches; may be given several times
    #[arg(long, value_name = "PATTERN")]
    exclude: Vec<String>,

    /// Import what links, and the paths of --list, lead to outside of the folder, too: otherwise that is an error
    #[arg(long)]
    follow: bool,

    /// Samples are {key, NAME, label}, NAME being the content: image, say. Without: {key, label, path, _additional_info, _label, data}, as
    /// Python's DirectoryReader has them
    #[arg(long, value_name = "NAME")]
    field: Option<String>,

    /// Labels are their texts and not their numbers
    #[arg(long, conflicts_with = "label_names")]
    text_labels: bool,

    /// A text with a label on each line, in the order of their numbers [default: all there are, sorted, 2 before 10]
    #[arg(long, value_name = "FILE")]
    label_names: Option<PathBuf>,
}

impl Datadings {
    /// Fails when one of these is given for another output.
    pub(super) fn refuse(&self, form: Form) -> Result<()> {
        let rest = [
            ("--key", self.key.is_some()),
            ("--number", self.number),
            ("--text", self.text),
            ("--no-md5", self.no_md5),
        ];
        let given: Vec<_> = rest.into_iter().chain(self.files.given()).collect();
        refuse(&given, "the output datadings", form)
    }

    /// Files that are read besides the inputs.
    pub(super) fn read_besides(&self) -> impl Iterator<Item = &PathBuf> {
        self.files.list.iter().chain(&self.files.label_names)
    }

    pub(super) fn set(&self, datadings: &mut hub::DatadingsOutput) -> Result<()> {
        datadings.keys = match (&self.key, self.number) {
            (Some(column), _) if column != "key" => Keys::Column(column.clone()),
            (_, true) => Keys::Number,
            _ => Keys::Key,
        };
        (datadings.text, datadings.no_md5) = (self.text, self.no_md5);
        datadings.files = self.files.options()?;
        Ok(())
    }
}

impl Files {
    fn given(&self) -> impl Iterator<Item = (&'static str, bool)> {
        [
            ("--pattern", !self.pattern.is_empty()),
            ("--list", self.list.is_some()),
            ("--include", !self.include.is_empty()),
            ("--exclude", !self.exclude.is_empty()),
            ("--follow", self.follow),
            ("--field", self.field.is_some()),
            ("--text-labels", self.text_labels),
            ("--label-names", self.label_names.is_some()),
        ]
        .into_iter()
    }

    fn options(&self) -> Result<FileOptions> {
        let taken = ["key", "label"];
        if let Some(field) = self.field.as_deref().filter(|field| taken.contains(field)) {
            return Err(Error::usage(format!("--field {field:?} is the name of another field of the samples")));
        }
        let mut options = FileOptions::default();
        options.patterns.clone_from(&self.pattern);
        options.list = self.list.as_deref().map(text_file).transpose()?;
        options.separator = self.separator.clone().unwrap_or_default();
        options.include.clone_from(&self.include);
        options.exclude.clone_from(&self.exclude);
        options.follow = self.follow;
        options.field.clone_from(&self.field);
        options.text_labels = self.text_labels;
        options.labels = self.label_names.as_deref().map(text_file).transpose()?;
        Ok(options)
    }
}

/// A text file's name and content.
fn text_file(path: &Path) -> Result<(String, String)> {
    let name = path.display().to_string();
    match std::fs::read_to_string(path) {
        Ok(text) => Ok((name, text.strip_prefix('\u{feff}').unwrap_or(&text).to_owned())),
        Err(cause) if cause.kind() == std::io::ErrorKind::InvalidData => {
            Err(Error::invalid("the text is not UTF-8").in_file(name))
        }
        Err(cause) => Err(Error::io("cannot read", cause).in_file(name)),
    }
}

/// Options that only the output ds has.
#[derive(Debug, Clone, Default, clap::Args)]
#[command(next_help_heading = "Options for the output ds")]
pub(super) struct Ds {
    /// The dimension along which rows lie [default: row; of a ds file that is cut by --rows the only one there is]
    #[arg(long, value_name = "NAME")]
    dim: Option<String>,

    /// Apply scale_factor and add_offset of NetCDF; without, they stay attributes
    #[arg(long)]
    scaled: bool,

    /// What becomes of lists of different lengths [default: refuse]
    #[arg(long, value_enum, value_name = "HOW")]
    ragged: Option<RaggedChoice>,

    /// What becomes of structs and objects [default: refuse]
    #[arg(long, value_enum, value_name = "HOW")]
    structs: Option<StructsChoice>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
enum RaggedChoice {
    /// An error
    Refuse,
    /// All are as long as the longest: filled up with missing elements, counted as a loss
    Pad,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
enum StructsChoice {
    /// An error
    Refuse,
    /// Each member becomes a variable, called a.b
    Flatten,
}

impl Ds {
    /// Fails when one of these is given for another output.
    pub(super) fn refuse(&self, form: Form) -> Result<()> {
        let given = [
            ("--ragged", self.ragged.is_some()),
            ("--structs", self.structs.is_some()),
            ("--dim", self.dim.is_some()),
            ("--scaled", self.scaled),
        ];
        refuse(&given, "the output ds", form)
    }

    pub(super) fn set(&self, ds: &mut hub::DsOutput) {
        use dsfmt::arrow::{Ragged, Structs};

        ds.dim.clone_from(&self.dim);
        ds.scaled = self.scaled;
        ds.ragged = self.ragged.map(|choice| match choice {
            RaggedChoice::Refuse => Ragged::Refuse,
            RaggedChoice::Pad => Ragged::Pad,
        });
        ds.structs = self.structs.map(|choice| match choice {
            StructsChoice::Refuse => Structs::Refuse,
            StructsChoice::Flatten => Structs::Flatten,
        });
    }
}

/// Options that only the output NetCDF has.
#[derive(Debug, Clone, Default, clap::Args)]
#[command(next_help_heading = "Options for the output NetCDF")]
pub(super) struct Netcdf {
    /// The kind of file [default: the first of the classic ones that holds the data]
    #[arg(long, value_enum, value_name = "KIND")]
    nc_kind: Option<NcKind>,

    /// The dimension that may grow later
    #[arg(long, value_name = "NAME")]
    unlimited: Option<String>,

    /// Compress the values of NetCDF-4
    #[arg(long, value_name = "1..9", value_parser = clap::value_parser!(u8).range(1..=9))]
    deflate: Option<u8>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
enum NcKind {
    /// CDF-1
    Classic,
    /// CDF-2, for large files
    #[value(name = "64bit-offset")]
    Offset64,
    /// CDF-5, also with unsigned and 64-bit integers
    Cdf5,
    /// NetCDF-4, which is HDF5
    #[value(name = "netcdf4")]
    Hdf5,
}

impl Netcdf {
    /// Fails when one of these is given for another output.
    pub(super) fn refuse(&self, form: Form) -> Result<()> {
        let Self { nc_kind, unlimited, deflate } = self;
        let given =
            [("--nc-kind", nc_kind.is_some()), ("--unlimited", unlimited.is_some()), ("--deflate", deflate.is_some())];
        refuse(&given, "the output netcdf", form)
    }

    pub(super) fn set(&self, netcdf: &mut hub::NetcdfOutput) {
        use dsfmt::netcdf::Kind;

        netcdf.kind = self.nc_kind.map(|kind| match kind {
            NcKind::Classic => Kind::Classic,
            NcKind::Offset64 => Kind::Offset64,
            NcKind::Cdf5 => Kind::Data64,
            NcKind::Hdf5 => Kind::Hdf5,
        });
        netcdf.unlimited.clone_from(&self.unlimited);
        netcdf.deflate = self.deflate;
    }
}

/// Options that only the output zds has.
#[derive(Debug, Clone, Default, clap::Args)]
#[group(id = "zds")]
#[command(next_help_heading = "Options for the output zds")]
pub(super) struct Zds {
    /// The member whose texts or integers are the ids; it stays, and "_id" is added in front. Dots lead into objects [default: _id, and else
    /// the number of the row in ten digits]
    #[arg(long, value_name = "FIELD")]
    id: Option<String>,

    /// The collection's name [default: the name of the input]
    #[arg(long, value_name = "NAME")]
    collection: Option<String>,
}

impl Zds {
    /// Fails when one of these is given for another output.
    pub(super) fn refuse(&self, form: Form) -> Result<()> {
        refuse(&[("--id", self.id.is_some()), ("--collection", self.collection.is_some())], "the output zds", form)
    }

    pub(super) fn set(&self, zds: &mut hub::ZdsOutput) {
        zds.id.clone_from(&self.id);
        zds.collection.clone_from(&self.collection);
    }
}

/// Options that only the outputs Parquet and Arrow IPC have.
#[derive(Debug, Clone, Default, clap::Args)]
#[command(next_help_heading = "Options for the outputs parquet, arrow and arrows")]
pub(super) struct Columnar {
    /// Rows of a row group of Parquet at most [default: 1048576, or as many as 16 to 64 MiB hold]
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u64).range(1..))]
    row_group: Option<u64>,

    /// Rows of a batch of Arrow IPC at most, and of what is read at once [default: 65536, or as many as 32 MiB hold]
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u64).range(1..))]
    batch_rows: Option<u64>,

    /// What becomes of times that are finer than microseconds; also of those that are finer than 100 ns, into IDV [default: exact]
    #[arg(long, value_enum, value_name = "HOW")]
    times: Option<TimesChoice>,

    /// What becomes of sparse vectors [default: lists]
    #[arg(long, value_enum, value_name = "HOW")]
    sparse: Option<SparseChoice>,

    /// What becomes of a value that its column's type cannot hold, where the input has no schema; also of one from datadings into ds
    /// [default: error]
    #[arg(long, value_enum, value_name = "HOW")]
    on_mismatch: Option<UnfitChoice>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
enum TimesChoice {
    /// Microseconds; a finer one is an error
    Exact,
    /// The microsecond at or before the time, also before 1970; a finer time is counted as a loss
    Floor,
    /// What `floor` was called: refused, with the name it has now.
    #[value(hide = true)]
    Truncate,
    /// Nanoseconds; one outside of 1677 to 2262 is an error
    Nanoseconds,
    /// Ticks of 100 ns, as integers
    Ticks,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
enum SparseChoice {
    /// Lists with all elements
    Lists,
    /// Structs of length, indices and values
    Structs,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
enum UnfitChoice {
    /// An error
    Error,
    /// Null, counted as a loss
    Null,
    /// All values of the column become JSON
    Json,
    /// All values of the column become msgpack
    Msgpack,
}

impl Columnar {
    /// Fails for a choice that has another name now.
    pub(super) fn check(&self) -> Result<()> {
        match self.times {
            Some(TimesChoice::Truncate) => Err(Error::usage(
                "--times truncate is called --times floor: a finer time becomes the microsecond before it, also before 1970",
            )),
            _ => Ok(()),
        }
    }

    /// Fails when one of these is given for another output.
    pub(super) fn refuse(&self, form: Form) -> Result<()> {
        let given = [
            ("--row-group", self.row_group.is_some()),
            ("--batch-rows", self.batch_rows.is_some()),
            ("--times", self.times.is_some() && !form.has_times()),
            ("--sparse", self.sparse.is_some()),
            ("--on-mismatch", self.on_mismatch.is_some() && !form.has_mismatches()),
        ];
        refuse(&given, "the outputs parquet, arrow and arrows", form)
    }

    /// Fails when rows of a group are given for an output without groups.
    pub(super) fn refuse_row_group(&self, form: Form) -> Result<()> {
        refuse(&[("--row-group", self.row_group.is_some())], "the output parquet", form)
    }

    pub(super) fn set(&self, compression: Option<&str>, columnar: &mut hub::ColumnarOutput) {
        columnar.compression = compression.map(str::to_owned);
        (columnar.row_group, columnar.batch_rows) = (self.row_group, self.batch_rows);
        columnar.times = self.times.map(|choice| match choice {
            TimesChoice::Exact => Times::Exact,
            TimesChoice::Floor | TimesChoice::Truncate => Times::Floor,
            TimesChoice::Nanoseconds => Times::Nanoseconds,
            TimesChoice::Ticks => Times::Ticks,
        });
        columnar.sparse = self.sparse.map(|choice| match choice {
            SparseChoice::Lists => Sparse::Lists,
            SparseChoice::Structs => Sparse::Structs,
        });
        columnar.on_mismatch = self.on_mismatch.map(|choice| match choice {
            UnfitChoice::Error => OnMismatch::Error,
            UnfitChoice::Null => OnMismatch::Null,
            UnfitChoice::Json => OnMismatch::Json,
            UnfitChoice::Msgpack => OnMismatch::Msgpack,
        });
    }
}
