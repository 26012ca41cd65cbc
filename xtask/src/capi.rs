//! The C ABI: compares its header with the exported functions, and runs programs in C and Python against the library.

use std::env::consts::{DLL_PREFIX, DLL_SUFFIX};
use std::ffi::OsStr;
use std::path::{Path, PathBuf};
use std::process::Command;

use clap::Args;

use crate::{interop, shell};

#[derive(Args, Default)]
pub(crate) struct Options {
    /// Write the header instead of comparing it
    #[arg(long)]
    update: bool,
}

/// Test programs in C, and the golden files that they read. Each gets an empty directory too.
const PROGRAMS: [(&str, &str); 3] = [("formats", "cross"), ("errors", ""), ("threads", "")];

/// Flags of the C compiler: C99 without warnings.
const FLAGS: [&str; 6] = ["-std=c99", "-pedantic", "-Wall", "-Wextra", "-Werror", "-g"];

/// Memory that is lost for good, and invalid accesses, are errors. The threads of a pool live as long as the process. Valgrind runs one thread at
/// a time: without turns, one that is always busy keeps the others from running for minutes.
const VALGRIND: [&str; 6] = [
    "--quiet",
    "--fair-sched=try",
    "--error-exitcode=99",
    "--leak-check=full",
    "--show-leak-kinds=definite",
    "--errors-for-leak-kinds=definite",
];

/// What the program of the README is run with, and prints as shown there.
const README_INPUT: &str = "tests/golden/cross/iris.idv";

pub(crate) fn run(options: &Options) -> Result<(), String> {
    if options.update {
        shell::write(&header_path(), header()?)?;
    } else {
        check_header()?;
    }
    // All libraries at once: with one package, Cargo would select fewer features, and compile everything again.
    shell::run(shell::cargo(["build", "--quiet", "--lib"]))?;
    let folder = tempfile::tempdir().map_err(|error| format!("cannot create a temporary directory: {error}"))?;
    let suite = Suite { libraries: shell::target()?.join("debug"), folder: folder.path().to_owned() };
    suite.programs()?;
    suite.readme()?;
    suite.python()
}

fn package() -> PathBuf {
    shell::root().join("crates/wharf-capi")
}

fn header_path() -> PathBuf {
    package().join("include/wharf.h")
}

/// The header as cbindgen generates it from the exported functions.
fn header() -> Result<String, String> {
    let package = package();
    let config = cbindgen::Config::from_file(package.join("cbindgen.toml"))?;
    let sources = ["error.rs", "abi.rs"].map(|name| package.join("src").join(name));
    let builder = cbindgen::Builder::new().with_config(config);
    let builder = sources.iter().fold(builder, |builder, source| builder.with_src(source));
    let mut header = Vec::new();
    builder.generate().map_err(|error| format!("cbindgen: {error}"))?.write(&mut header);
    String::from_utf8(header).map_err(|error| format!("cbindgen: {error}"))
}

fn check_header() -> Result<(), String> {
    let path = header_path();
    if shell::read(&path)? == header()? {
        return Ok(());
    }
    Err(format!("{} does not declare the exported functions (cargo xtask capi --update writes it)", path.display()))
}

/// Runs programs against the library.
struct Suite {
    libraries: PathBuf,
    /// For programs and their outputs.
    folder: PathBuf,
}

impl Suite {
    /// Runs the test programs, and again under valgrind if there is one.
    fn programs(&self) -> Result<(), String> {
        let valgrind = shell::works("valgrind", &["--version"]);
        if !valgrind {
            println!("SKIPPED: valgrind, which is not installed");
        }
        let golden = shell::root().join("tests/golden");
        for (name, input) in PROGRAMS {
            let source = package().join("tests/c").join(name).with_extension("c");
            let program = self.compile(name, &source, ["-lwharf_capi", "-lm", "-lpthread"])?;
            let run = |mut command: Command| {
                let outputs = self.empty("outputs")?;
                command.arg(golden.join(input)).arg(outputs).env("LD_LIBRARY_PATH", &self.libraries);
                shell::run(command)
            };
            run(shell::program(&program))?;
            if valgrind {
                let mut command = shell::program("valgrind");
                command.args(VALGRIND).arg(&program);
                run(command)?;
            }
            println!("{name}.c passed{}", if valgrind { ", also under valgrind" } else { "" });
        }
        Ok(())
    }

    /// Links the program of the README with the static library, and compares its output with the one shown.
    fn readme(&self) -> Result<(), String> {
        let readme = package().join("README.md");
        let text = shell::read(&readme)?;
        let program = text.split("```c\n").nth(1).and_then(|rest| rest.split("```").next());
        let source = self.folder.join("read.c");
        shell::write(&source, program.ok_or_else(|| format!("{} shows no program", readme.display()))?)?;
        let library = self.libraries.join("libwharf_capi.a");
        let libraries = [library.as_os_str(), "-lpthread".as_ref(), "-ldl".as_ref(), "-lm".as_ref()];
        let mut read = shell::program(self.compile("read", &source, libraries)?);
        read.arg(README_INPUT);
        let output = shell::text(read)?;
        if !text.contains(&format!("{README_INPUT}\n{output}```")) {
            return Err(format!("{} shows another output than\n{output}", readme.display()));
        }
        println!("README.md: the program prints the output shown");
        Ok(())
    }

    /// Compares tables with pyarrow.
    fn python(&self) -> Result<(), String> {
        let Some(python) = interop::python_or_skip("streams between the C ABI and pyarrow")? else { return Ok(()) };
        let mut streams = shell::program(python.interpreter());
        streams.env("PYTHONDONTWRITEBYTECODE", "1").env("PYTHONUTF8", "1");
        streams.arg(package().join("tests/python/streams.py"));
        streams.arg(self.libraries.join(format!("{DLL_PREFIX}wharf_capi{DLL_SUFFIX}")));
        streams.arg(shell::root().join("tests/golden")).arg(self.empty("outputs")?);
        shell::run(streams)
    }

    fn compile(
        &self,
        name: &str,
        source: &Path,
        libraries: impl IntoIterator<Item = impl AsRef<OsStr>>,
    ) -> Result<PathBuf, String> {
        let program = self.folder.join(name);
        let mut cc = shell::program("cc");
        cc.args(FLAGS).arg("-I").arg(package().join("include")).arg(source).arg("-o").arg(&program);
        cc.arg("-L").arg(&self.libraries).args(libraries);
        shell::run(cc)?;
        Ok(program)
    }

    fn empty(&self, name: &str) -> Result<PathBuf, String> {
        let directory = self.folder.join(name);
        shell::empty_directory(&directory)?;
        Ok(directory)
    }
}

#[cfg(test)]
mod tests {
    #[test]
    fn header_declares_the_exported_functions() {
        super::check_header().unwrap();
    }
}
