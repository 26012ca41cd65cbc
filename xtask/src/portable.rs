//! The tests of the format crates for other processors, and those of the smallest crates under Miri.
//!
//! s390x is big-endian, i686 has 32-bit pointers, aarch64 runs the NEON kernels. aarch64 and s390x are emulated by QEMU, which
//! tests correctness only: nothing here says anything about speed.

use std::process::Command;

use crate::registry::{self, Trouble};
use crate::shell;

/// Crates that are tested on every target.
const CRATES: [&str; 9] = [
    "leb128-codec",
    "simplebloom",
    "deflate-lanes",
    "container-core",
    "container-arrow",
    "idv",
    "datadings",
    "dsfmt",
    "zdx",
];

/// What is not tested on a target, and why.
const NOT_TESTED: [(&str, &str, &str); 1] =
    [("s390x", "container-arrow", "arrow-rs has inline views and packed booleans for little-endian targets only")];

/// Modules whose tests start the test program again, which QEMU's user mode cannot.
const RESTARTING: [&str; 3] = ["temporary::tests::", "crash::", "kill::"];

/// Crates tested under Miri, and the tests: those of `unsafe` code and of parsers that finish within minutes.
const UNDER_MIRI: [(&str, &[&str]); 4] = [
    ("leb128-codec", &["--lib"]),
    ("simplebloom", &["--lib"]),
    ("deflate-lanes", &["--lib", "--", "huffman::", "stats::", "quiet::"]),
    ("container-core", &["--lib", "--", "cursor::", "wire::", "nom::", "position::", "limits::"]),
];

/// Features that Miri can interpret the AVX2 kernels with. It has no other vectors of this length.
const MIRI_FEATURES: &str = "-C target-feature=+avx2,+bmi1,+bmi2,+lzcnt,+popcnt";

struct Target {
    /// The architecture as rustc names it.
    arch: &'static str,
    /// The Debian package with the linker and the C library, and the prefix of its programs.
    package: &'static str,
    prefix: &'static str,
    emulator: &'static str,
    /// Whether x86-64 kernels usually run its programs without the emulator.
    native: bool,
}

const TARGETS: [Target; 3] = [
    Target {
        arch: "aarch64",
        package: "gcc-aarch64-linux-gnu",
        prefix: "aarch64-linux-gnu",
        emulator: "qemu-aarch64",
        native: false,
    },
    Target {
        arch: "s390x",
        package: "gcc-s390x-linux-gnu",
        prefix: "s390x-linux-gnu",
        emulator: "qemu-s390x",
        native: false,
    },
    Target {
        arch: "i686",
        package: "gcc-i686-linux-gnu",
        prefix: "i686-linux-gnu",
        emulator: "qemu-i386",
        native: true,
    },
];

/// Tests each crate on each target. A target that cannot be had on this machine is skipped, which the summary says.
///
/// # Errors
/// If a test fails: all are run.
pub(crate) fn targets() -> Result<String, String> {
    let (mut summary, mut failed) = (Vec::new(), Vec::new());
    for target in &TARGETS {
        if let Err(trouble) = target.install() {
            eprintln!("SKIPPED: target {}: {trouble}", target.arch);
            summary.push(format!("{} SKIPPED: {trouble}", target.arch));
            continue;
        }
        let emulated = target.is_emulated();
        let mut tested = 0;
        for package in CRATES {
            if let Some((.., why)) = NOT_TESTED.iter().find(|(arch, name, _)| (*arch, *name) == (target.arch, package))
            {
                println!("SKIPPED: {package} on {}: {why}", target.arch);
                summary.push(format!("{package} on {} SKIPPED: {why}", target.arch));
                continue;
            }
            println!("{package} on {}", target.arch);
            tested += 1;
            if let Err(error) = shell::run(target.test(package, emulated)) {
                eprintln!("{error}");
                failed.push(format!("{package} on {}", target.arch));
            }
        }
        let how = if emulated { target.emulator } else { "natively" };
        summary.push(format!("{}: {tested} crates, {how}", target.arch));
    }
    outcome(&summary, &failed)
}

/// Tests the smallest crates under Miri, which checks their `unsafe` code.
///
/// # Errors
/// If a test fails: all are run.
pub(crate) fn miri() -> Result<String, String> {
    let mut rustup = shell::program("rustup");
    rustup.args(["component", "add", "miri", "rust-src", "--toolchain", "nightly"]);
    if let Err(trouble) = registry::run(rustup) {
        eprintln!("SKIPPED: Miri: {trouble}");
        return Ok(format!("SKIPPED: {trouble}"));
    }
    let (mut summary, mut failed) = (Vec::new(), Vec::new());
    for (package, tests) in UNDER_MIRI {
        println!("{package} under Miri");
        let mut cargo = shell::program("rustup");
        cargo.args(["run", "nightly", "cargo", "miri", "test", "--package", package]).args(tests);
        cargo.env("MIRIFLAGS", "-Zmiri-disable-isolation").env("RUSTFLAGS", MIRI_FEATURES);
        proptest_cases(&mut cargo, "1");
        match shell::run(cargo) {
            Ok(()) => summary.push(package.to_owned()),
            Err(error) => {
                eprintln!("{error}");
                failed.push(package.to_owned());
            }
        }
    }
    outcome(&summary, &failed)
}

fn outcome(summary: &[String], failed: &[String]) -> Result<String, String> {
    if failed.is_empty() { Ok(summary.join("; ")) } else { Err(format!("failed: {}", failed.join(", "))) }
}

/// Property tests take long there. `PROPTEST_CASES` applies unless a test fixes its number of cases.
fn proptest_cases(command: &mut Command, cases: &str) {
    if std::env::var_os("PROPTEST_CASES").is_none() {
        command.env("PROPTEST_CASES", cases);
    }
}

impl Target {
    fn triple(&self) -> String {
        format!("{}-unknown-linux-gnu", self.arch)
    }

    fn linker(&self) -> String {
        format!("{}-gcc", self.prefix)
    }

    /// Installs the linker, the emulator and the standard library, if they are missing.
    fn install(&self) -> Result<(), Trouble> {
        let why = format!("tests run on {}", self.arch);
        if !shell::works(self.emulator, &["-version"]) {
            registry::apt_install("qemu-user", &why)?;
        }
        if !shell::works(&self.linker(), &["--version"]) {
            registry::apt_install(self.package, &why)?;
        }
        let library = format!("libc6-dev-{}-cross", self.debian_arch());
        // What programs are linked with; compilers bring the library alone.
        if !std::path::Path::new(&self.sysroot()).join("lib/crt1.o").exists() {
            registry::apt_install(&library, &why)?;
        }
        let mut rustup = shell::program("rustup");
        rustup.args(["target", "add", &self.triple()]);
        registry::run(rustup)
    }

    fn debian_arch(&self) -> &'static str {
        match self.arch {
            "aarch64" => "arm64",
            "i686" => "i386",
            other => other,
        }
    }

    fn sysroot(&self) -> String {
        format!("/usr/{}", self.prefix)
    }

    /// Some kernels lack the 32-bit system calls.
    fn is_emulated(&self) -> bool {
        !self.native || !shell::works(&format!("{}/lib/ld-linux.so.2", self.sysroot()), &["--version"])
    }

    /// The command that builds and runs a crate's tests. Examples and benchmarks are built for this machine elsewhere.
    fn test(&self, package: &str, emulated: bool) -> Command {
        let mut cargo = shell::cargo(["test", "--quiet", "--no-fail-fast", "--lib", "--tests"]);
        cargo.args(["--package", package, "--target", &self.triple()]);
        let set = |cargo: &mut Command, name: &str, value: &str| {
            let triple = self.triple().to_uppercase().replace('-', "_");
            cargo.env(format!("CARGO_TARGET_{triple}_{name}"), value);
        };
        set(&mut cargo, "LINKER", &self.linker());
        if emulated {
            set(&mut cargo, "RUNNER", &format!("{} -L {}", self.emulator, self.sysroot()));
            cargo.env("WHARF_SLOWDOWN", "20");
            // Emulated code runs some 20 times as long: optimizing it pays. Overflows are still checked.
            cargo.env("CARGO_PROFILE_DEV_OPT_LEVEL", "1");
            proptest_cases(&mut cargo, "16");
            cargo.arg("--").args(RESTARTING.iter().flat_map(|module| ["--skip", module]));
        } else {
            // Linked statically, the programs need no loader in the place where this system has none.
            set(&mut cargo, "RUSTFLAGS", "-C target-feature=+crt-static");
        }
        cargo
    }
}
