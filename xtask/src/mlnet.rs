//! ML.NET, the reference of IDV: installed into the target directory from two Python wheels, and run through the driver in
//! `tests/reference/mlnet`. Its README describes both.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use crate::registry::{self, Trouble};
use crate::shell;

/// Extracts the members of a wheel whose names have one of the given prefixes.
const UNPACK: &str = "import sys, zipfile
wheel = zipfile.ZipFile(sys.argv[1])
wheel.extractall(sys.argv[2], [name for name in wheel.namelist() if name.startswith(tuple(sys.argv[3:]))])";

/// Name prefixes of the members to extract from the two wheels.
const RUNTIME: [&str; 1] = ["dotnetcore2/bin/"];
const LIBRARIES: [&str; 5] = [
    "nimbusml/internal/libs/Microsoft.ML.",
    "nimbusml/internal/libs/Newtonsoft.Json.dll",
    "nimbusml/internal/libs/libCpuMathNative.so",
    "nimbusml/internal/libs/libFastTreeNative.so",
    "nimbusml/datasets/data/",
];

/// The ML.NET assemblies that the driver is compiled against.
const ASSEMBLIES: [&str; 6] = ["Core", "Data", "DataView", "Transforms", "StandardTrainers", "FastTree"];

const RUNTIME_CONFIG: &str = r#"{"runtimeOptions": {"tfm": "netcoreapp3.1",
  "framework": {"name": "Microsoft.NETCore.App", "version": "3.1.0"},
  "configProperties": {"System.Globalization.Invariant": true}}}
"#;

/// An installed ML.NET with its driver.
pub(crate) struct MlNet {
    directory: PathBuf,
}

impl MlNet {
    /// ML.NET, if it is installed. The driver is recompiled if its sources have changed.
    pub(crate) fn installed() -> Result<Option<Self>, Trouble> {
        let directory = directory()?;
        if !is_current(&directory)? {
            return Ok(None);
        }
        compile(&directory)?;
        Ok(Some(Self { directory }))
    }

    /// ML.NET, installed now if it is missing.
    pub(crate) fn install() -> Result<Self, Trouble> {
        if cfg!(not(all(target_os = "linux", target_arch = "x86_64"))) {
            return Err(Trouble::Failed("ML.NET comes in wheels for Linux on x86-64 only".to_owned()));
        }
        let directory = directory()?;
        if !is_current(&directory)? {
            println!("installing ML.NET into {}", directory.display());
            download_and_unpack(&directory)?;
        }
        compile(&directory)?;
        Ok(Self { directory })
    }

    /// The driver with one of its commands, to which the caller adds arguments.
    pub(crate) fn driver(&self, command: &str) -> Command {
        let mut driver = shell::program(self.directory.join("dotnetcore2/bin/dotnet"));
        // Without debugger pipes in the temporary directory.
        driver.env("COMPlus_EnableDiagnostics", "0").env("DOTNET_MULTILEVEL_LOOKUP", "0");
        driver.arg(self.directory.join("app/Driver.dll")).arg(command);
        driver
    }

    /// The datasets that come with ML.NET.
    pub(crate) fn datasets(&self) -> PathBuf {
        self.directory.join("nimbusml/datasets/data")
    }
}

/// The driver's sources.
fn sources() -> PathBuf {
    shell::root().join("tests/reference/mlnet")
}

fn requirements() -> PathBuf {
    sources().join("requirements.txt")
}

fn directory() -> Result<PathBuf, String> {
    Ok(shell::target()?.join("reference/mlnet"))
}

/// A copy of the requirements, written after everything else: if it is current, so is the installation.
fn stamp_path(directory: &Path) -> PathBuf {
    directory.join("installed.txt")
}

fn is_current(directory: &Path) -> Result<bool, String> {
    let required = shell::read(&requirements())?;
    Ok(fs::read_to_string(stamp_path(directory)).is_ok_and(|installed| installed == required))
}

/// Installs everything but the driver: into a sibling directory that is renamed at the end, so that the installation is whole or absent.
fn download_and_unpack(directory: &Path) -> Result<(), Trouble> {
    if !shell::works("python3", &["--version"]) {
        registry::apt_install("python3", "python3 is missing")?;
    }
    if !python(["-m", "pip", "--version"]).output().is_ok_and(|output| output.status.success()) {
        registry::apt_install("python3-pip", "python3 has no pip")?;
    }
    let parent = directory.parent().unwrap_or(directory);
    shell::make_directory(parent)?;
    let fresh = tempfile::Builder::new().prefix("mlnet.").tempdir_in(parent);
    let fresh = fresh.map_err(|error| format!("cannot create a directory in {}: {error}", parent.display()))?;
    let wheels = fresh.path().join("wheels");

    let mut pip =
        python(["-m", "pip", "--no-input", "download", "--no-deps", "--require-hashes", "--progress-bar=off"]);
    pip.args(["--only-binary=:all:", "--python-version=3.8", "--implementation=cp", "--abi=cp38"]);
    pip.args(["--platform=manylinux1_x86_64", "--dest"]).arg(&wheels).arg("--requirement").arg(requirements());
    registry::run(pip)?;

    unpack(&wheels, "dotnetcore2-", fresh.path(), &RUNTIME)?;
    unpack(&wheels, "nimbusml-", fresh.path(), &LIBRARIES)?;
    let mut executable = shell::program("chmod");
    executable.arg("+x").arg(fresh.path().join("dotnetcore2/bin/dotnet"));
    shell::run(executable)?;

    let app = fresh.path().join("app");
    let libraries = fresh.path().join("nimbusml/internal/libs");
    fs::rename(&libraries, &app).map_err(|error| format!("cannot move {}: {error}", libraries.display()))?;
    shell::write(&app.join("Driver.runtimeconfig.json"), RUNTIME_CONFIG)?;
    fs::remove_dir_all(&wheels).map_err(|error| format!("cannot remove {}: {error}", wheels.display()))?;
    shell::write(&stamp_path(fresh.path()), shell::read(&requirements())?)?;

    if directory.exists() {
        fs::remove_dir_all(directory).map_err(|error| format!("cannot remove {}: {error}", directory.display()))?;
    }
    let fresh = fresh.keep();
    fs::rename(&fresh, directory).map_err(|error| format!("cannot move {}: {error}", fresh.display()))?;
    Ok(())
}

fn unpack(wheels: &Path, prefix: &str, into: &Path, members: &[&str]) -> Result<(), String> {
    let all = shell::files_with_extension(wheels, "whl")?;
    let wheel = all.iter().find(|path| shell::file_name(path).starts_with(prefix));
    let wheel = wheel.ok_or_else(|| format!("wheel {prefix}* was not downloaded"))?;
    let mut unpack = python(["-c", UNPACK]);
    unpack.arg(wheel).arg(into).args(members);
    shell::run(unpack)
}

fn python(arguments: impl IntoIterator<Item = &'static str>) -> Command {
    let mut python = shell::program("python3");
    python.args(arguments).env("LC_ALL", "C.UTF-8");
    python
}

/// Compiles the driver, unless it is there and was compiled from the same sources.
fn compile(directory: &Path) -> Result<(), Trouble> {
    let files = shell::files_with_extension(&sources(), "cs")?;
    let mut content = String::new();
    for file in &files {
        content.push_str(&format!("{}\n{}", shell::file_name(file), shell::read(file)?));
    }
    let app = directory.join("app");
    let (driver, source_copy) = (app.join("Driver.dll"), app.join("Driver.sources"));
    if driver.exists() && fs::read_to_string(&source_copy).is_ok_and(|previous| previous == content) {
        return Ok(());
    }
    if !shell::works("mcs", &["--version"]) {
        registry::apt_install("mono-mcs", "the C# compiler mcs is missing")?;
    }
    // The compiler names the assembly after the file: build under the final name, in another directory.
    let fresh = tempfile::tempdir_in(&app)
        .map_err(|error| format!("cannot create a directory in {}: {error}", app.display()))?;
    let output = fresh.path().join("Driver.dll");
    let mut mcs = shell::program("mcs");
    mcs.args([
        "-nostdlib",
        "-noconfig",
        "-target:exe",
        "-langversion:7",
        "-optimize+",
        "-nowarn:1702",
        "-warnaserror+",
    ]);
    mcs.arg(argument("-out:", &output));
    for library in runtime_libraries(directory)? {
        mcs.arg(argument("-r:", &library));
    }
    for assembly in ASSEMBLIES {
        mcs.arg(argument("-r:", &app.join(format!("Microsoft.ML.{assembly}.dll"))));
    }
    shell::run_quietly(mcs.args(&files))?;
    fs::rename(&output, &driver).map_err(|error| format!("cannot move {}: {error}", output.display()))?;
    shell::write(&source_copy, content)?;
    Ok(())
}

/// The managed assemblies of the runtime.
fn runtime_libraries(directory: &Path) -> Result<Vec<PathBuf>, String> {
    let frameworks = directory.join("dotnetcore2/bin/shared/Microsoft.NETCore.App");
    let framework = shell::entries(&frameworks)?.pop();
    let framework = framework.ok_or_else(|| format!("no runtime in {}", frameworks.display()))?;
    let mut libraries = shell::files_with_extension(&framework, "dll")?;
    libraries.retain(|path| is_managed(&shell::file_name(path)));
    Ok(libraries)
}

fn is_managed(name: &str) -> bool {
    let exact = ["mscorlib.dll", "netstandard.dll", "Microsoft.CSharp.dll"];
    (name.starts_with("System") && !name.contains("Native")) || exact.contains(&name)
}

fn argument(option: &str, path: &Path) -> std::ffi::OsString {
    let mut argument = std::ffi::OsString::from(option);
    argument.push(path);
    argument
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn recognizes_managed_libraries() {
        for name in ["System.dll", "System.Memory.dll", "mscorlib.dll", "netstandard.dll", "Microsoft.CSharp.dll"] {
            assert!(is_managed(name), "{name}");
        }
        for name in ["System.IO.Compression.Native.so.dll", "Microsoft.VisualBasic.dll", "WindowsBase.dll"] {
            assert!(!is_managed(name), "{name}");
        }
    }

    #[test]
    fn wheels_are_pinned_by_hash() {
        let text = shell::read(&requirements()).unwrap();
        assert_eq!(text.lines().filter(|line| line.contains("==") && line.contains(" --hash=sha256:")).count(), 2);
    }
}
