//! Installs packages through the registries' own clients, and tells an unreachable registry from a refusal.

use std::process::Command;

use crate::shell;

/// Why an installation failed.
#[derive(Debug)]
pub(crate) enum Trouble {
    /// A package registry cannot be reached: the only failure that lets a task be skipped.
    Unreachable(String),
    /// Anything else.
    Failed(String),
}

impl std::fmt::Display for Trouble {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Self::Unreachable(why) => write!(f, "a package registry cannot be reached: {why}"),
            Self::Failed(why) => f.write_str(why),
        }
    }
}

impl From<String> for Trouble {
    fn from(message: String) -> Self {
        Self::Failed(message)
    }
}

/// Installs a Debian package; `why` says who needs it.
pub(crate) fn apt_install(package: &str, why: &str) -> Result<(), Trouble> {
    let root = shell::output(shell::program("id").arg("-u")).is_ok_and(|output| output.stdout.trim_ascii() == b"0");
    if !root || !shell::works("apt-get", &["--version"]) {
        return Err(Trouble::Failed(format!("{why}: install the package {package} (apt-get install {package})")));
    }
    println!("installing {package}: {why}");
    let apt = |arguments: &[&str]| {
        let mut apt = shell::program("apt-get");
        apt.args(["-qq", "-o", "DPkg::Lock::Timeout=300"]).args(arguments);
        apt.env("DEBIAN_FRONTEND", "noninteractive").env("LC_ALL", "C.UTF-8");
        apt
    };
    // An update may fail where older package lists suffice: the installation decides.
    let update = shell::output(&mut apt(&["update"]))?;
    run(apt(&["install", "-y", "--no-install-recommends", package])).map_err(|trouble| {
        let update = String::from_utf8_lossy(&update.stderr);
        match (trouble, unreachable(&update)) {
            (Trouble::Failed(_), Some(line)) => Trouble::Unreachable(line.to_owned()),
            (trouble, _) => trouble,
        }
    })
}

/// Runs a registry's client. Its output is shown only if it fails.
pub(crate) fn run(mut client: Command) -> Result<(), Trouble> {
    let output = shell::output(&mut client)?;
    if output.status.success() {
        return Ok(());
    }
    let printed = [output.stdout, output.stderr].concat();
    let printed = String::from_utf8_lossy(&printed);
    eprintln!("{}", printed.trim_end());
    match unreachable(&printed) {
        Some(line) => Err(Trouble::Unreachable(line.to_owned())),
        None => Err(Trouble::Failed(format!("`{}` ended with {}", shell::command_line(&client), output.status))),
    }
}

/// The line in which pip, apt-get or cargo reports that a registry does not answer. A registry that answers, with anything, is reachable.
fn unreachable(output: &str) -> Option<&str> {
    const SIGNS: [&str; 19] = [
        "NewConnectionError",
        "NameResolutionError",
        "ConnectTimeoutError",
        "ReadTimeoutError",
        "ProxyError",
        "ProtocolError",
        "Connection refused",
        "Connection reset",
        "Connection timed out",
        "connection timed out",
        "Network is unreachable",
        "Could not resolve",
        "Temporary failure resolving",
        "Could not connect",
        "Unable to connect",
        "Couldn't connect", // curl, as used by cargo
        "Couldn't resolve",
        "Timeout was reached",
        "too many 50", // a gateway without a server behind it
    ];
    /// Signs that the registry did answer after failed attempts.
    const ANSWERS: [&str; 3] = ["DO NOT MATCH THE HASHES", "HTTP error", "(from versions: "];
    let answered =
        |line: &str| !line.contains("(from versions: none)") && ANSWERS.iter().any(|sign| line.contains(sign));
    if output.lines().any(answered) {
        return None;
    }
    output.lines().map(str::trim).find(|line| SIGNS.iter().any(|sign| line.contains(sign)))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn tells_unreachable_from_refused() {
        let unanswered = [
            "WARNING: Retrying (Retry(total=4, connect=None)) after connection broken by 'NewConnectionError('<pip>: \
             Failed to establish a new connection: [Errno -3] Temporary failure in name resolution')': /simple/nimbusml/",
            "WARNING: Retrying (Retry(total=0)) after connection broken by 'ProxyError('Cannot connect to proxy.')'",
            "Err:1 http://host/debian bookworm InRelease\n  Temporary failure resolving 'host'",
            "E: Failed to fetch http://host/pool/mono-mcs.deb  Could not connect to host:80 (192.0.2.1)",
            "Caused by:\n  [7] Could not connect to server (Failed to connect to host port 443 after 0 ms)",
            "Caused by:\n  [5] Could not resolve proxy name (Could not resolve proxy: host)",
        ];
        for output in unanswered {
            assert!(unreachable(output).is_some(), "{output}");
        }
        let answered = [
            "ERROR: Could not find a version that satisfies the requirement nimbusml==1.8.1 (from versions: 1.8.0)",
            "ERROR: THESE PACKAGES DO NOT MATCH THE HASHES FROM THE REQUIREMENTS FILE.",
            "ERROR: HTTP error 404 while getting nimbusml",
            "E: Unable to locate package mono-mcs",
            "error: failed to select a version for the requirement `zippy_data = \"=0.1.3\"`",
            "error: the lock file Cargo.lock needs to be updated but --locked was passed to prevent this",
            "E: Could not get lock /var/lib/dpkg/lock-frontend",
            "",
        ];
        let failed_attempt = unanswered.first().unwrap();
        assert!(unreachable(&format!("{failed_attempt}\nERROR: none (from versions: none)")).is_some());
        assert_eq!(unreachable(&format!("{failed_attempt}\nERROR: THESE PACKAGES DO NOT MATCH THE HASHES")), None);
        for output in answered {
            assert_eq!(unreachable(output), None);
        }
    }
}
