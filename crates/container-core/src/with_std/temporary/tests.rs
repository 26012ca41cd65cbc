use std::os::unix::fs::symlink;
use std::process::Command;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;

use super::*;
use crate::{Output, OutputFolder, OutputOptions, Overwrite, SyncPolicy};

fn names(folder: &Path) -> Vec<String> {
    let entries = fs::read_dir(folder).unwrap();
    let mut names: Vec<_> = entries.map(|entry| entry.unwrap().file_name().into_string().unwrap()).collect();
    names.sort();
    names
}

/// Cleanup can find a folder before its creator has locked it.
#[test]
fn creation_succeeds_during_concurrent_cleanup() {
    let folder = tempfile::tempdir().unwrap();
    let done = AtomicBool::new(false);
    thread::scope(|scope| {
        for _ in 0..2 {
            scope.spawn(|| {
                while !done.load(Ordering::Relaxed) {
                    remove_stale_in(folder.path());
                }
            });
        }
        let created: io::Result<()> = (0..3_000).try_for_each(|_| {
            let temporary = Temporary::folder(folder.path())?;
            fs::write(temporary.path().join("file"), "x")?;
            let (_, mut file) = Temporary::file(folder.path(), 0o600)?;
            io::Write::write_all(&mut file, b"x")
        });
        done.store(true, Ordering::Relaxed);
        created.unwrap();
    });
    assert_eq!(names(folder.path()), [""; 0]);
}

#[test]
fn removes_only_files_of_dead_processes() {
    let directory = tempfile::tempdir().unwrap();
    let at = |name: &str| directory.path().join(name);
    let living = Output::create(at("living"), OutputOptions::default()).unwrap();
    let living_folder = TemporaryFolder::beside(&at("living")).unwrap();
    fs::create_dir(living_folder.path().join("more")).unwrap();
    let dead = format!(".wharf-{:08x}-0123456789abcdef.tmp", host());
    let dead_folder = format!(".wharf-{:08x}-f123456789abcdef.tmp", host());
    fs::write(at(&dead), "half").unwrap();
    fs::create_dir_all(at(&dead_folder).join("new/x/y")).unwrap();
    // Similar names that must stay.
    let similar = [
        ".wharf-0123456789abcdef.tmp",
        ".wharf-notes.tmp",
        ".wharf-0123abcd-0123456789abcdef.tmp.bak",
        ".wharf-0123abcd-0123456789ABCDEF.tmp",
        ".wharf-0123abcd-0123456789abcde.tmp",
        ".wharf-+123abcd-0123456789abcdef.tmp",
        "x.wharf-0123abcd-0123456789abcdef.tmp",
    ];
    similar.iter().for_each(|name| fs::write(at(name), "user data").unwrap());
    fs::write(at("file"), "user data").unwrap();
    let link = ".wharf-0123abcd-aaaaaaaaaaaaaaaa.tmp";
    symlink("file", at(link)).unwrap();
    remove_stale_in(directory.path());
    let mut expected: Vec<_> = similar.iter().map(ToString::to_string).collect();
    expected.extend(["file".to_owned(), link.to_owned()]);
    for living in [living.temporary_path(), living_folder.path()] {
        expected.push(living.file_name().unwrap().to_str().unwrap().to_owned());
    }
    expected.sort();
    assert_eq!(names(directory.path()), expected);
    living.finish().unwrap();
    drop(living_folder);
    assert_eq!(names(directory.path()).len(), expected.len() - 1);
}

#[cfg(target_os = "linux")]
#[test]
fn removes_files_of_other_hosts_only_on_local_disks() {
    let directory = tempfile::tempdir().unwrap();
    let name = directory.path().join(format!(".wharf-{:08x}-0123456789abcdef.tmp", !host()));
    fs::write(&name, "half").unwrap();
    remove_stale_in(directory.path());
    assert!(!name.exists(), "a container has another host name and the same disk");
    // On shared file systems, only files of this host are removed. /proc is not a local disk.
    assert!(!sys::is_local(&File::open("/proc/self/status").unwrap()));
}

#[test]
fn output_removes_stale_temporaries() {
    let directory = tempfile::tempdir().unwrap();
    let dead = directory.path().join(".wharf-00000000-0123456789abcdef.tmp");
    fs::write(&dead, "half").unwrap();
    Output::create(directory.path().join("a"), OutputOptions::default()).unwrap().finish().unwrap();
    assert_eq!(names(directory.path()), ["a"]);
}

/// Leaves the state of a two-step replacement killed after `step` steps.
fn killed_after(step: u32, directory: &Path) {
    let temporary = directory.join(".wharf-00000000-0123456789abcdef.tmp");
    let (old, new) = (temporary.join("old"), temporary.join("new"));
    for (path, text) in [(directory.join("a"), "old"), (new.join("a"), "new")] {
        fs::create_dir_all(&path).unwrap();
        fs::write(path.join("text"), text).unwrap();
    }
    let steps: [&dyn Fn() -> io::Result<()>; 3] =
        [&|| fs::create_dir(&old), &|| fs::rename(directory.join("a"), old.join("a")), &|| {
            fs::rename(new.join("a"), directory.join("a"))
        }];
    steps.iter().take(step as usize).for_each(|step| step().unwrap());
}

#[test]
fn interrupted_replacement_is_repaired() {
    for (step, text) in [(0, "old"), (1, "old"), (2, "old"), (3, "new")] {
        let directory = tempfile::tempdir().unwrap();
        killed_after(step, directory.path());
        remove_stale_in(directory.path());
        assert_eq!(fs::read_to_string(directory.path().join("a/text")).unwrap(), text, "{step}");
        assert_eq!(names(directory.path()), ["a"], "{step}");
    }
    // Something else was created at the target: nothing is removed.
    let directory = tempfile::tempdir().unwrap();
    killed_after(2, directory.path());
    fs::write(directory.path().join("a"), "another").unwrap();
    remove_stale_in(directory.path());
    assert_eq!(names(directory.path()).len(), 2);
    assert_eq!(fs::read_to_string(directory.path().join("a")).unwrap(), "another");
    // A new folder that was removed since is not restored.
    let directory = tempfile::tempdir().unwrap();
    killed_after(3, directory.path());
    fs::remove_dir_all(directory.path().join("a")).unwrap();
    remove_stale_in(directory.path());
    assert!(names(directory.path()).is_empty());
}

const ISOLATED: &str = "CONTAINER_CORE_ISOLATED";

/// Runs a test of this module in a separate process, since remove_temporaries() affects the whole process.
fn run_isolated(name: &str) {
    let ran = Command::new(std::env::current_exe().unwrap())
        .args(["--exact", &format!("with_std::temporary::tests::{name}"), "--nocapture"])
        .env(ISOLATED, "1")
        .output()
        .unwrap();
    assert!(ran.status.success(), "{}", String::from_utf8_lossy(&ran.stderr));
    assert!(String::from_utf8_lossy(&ran.stdout).contains("1 passed"), "it ran");
}

fn is_isolated() -> bool {
    std::env::var_os(ISOLATED).is_some()
}

#[test]
fn outputs_block_while_guard_lives() {
    if !is_isolated() {
        return run_isolated("outputs_block_while_guard_lives");
    }
    let directory = tempfile::tempdir().unwrap();
    let at = |name: &str| directory.path().join(name);
    let unfinished = Output::create(at("unfinished"), OutputOptions::default()).unwrap();
    let folder = OutputFolder::create(&at("folder")).unwrap();
    let continued = AtomicBool::new(false);
    thread::scope(|scope| {
        let guard = remove_temporaries();
        assert_eq!(names(directory.path()), <[&str; 0]>::default());
        scope.spawn(|| {
            let created = Output::create(at("late"), OutputOptions::default()).unwrap();
            continued.store(true, Ordering::SeqCst);
            created.finish().unwrap();
        });
        scope.spawn(|| {
            assert!(unfinished.finish().is_err());
            assert!(folder.commit(Overwrite::Refuse, SyncPolicy::Never).is_err());
            assert!(continued.load(Ordering::SeqCst) || names(directory.path()).len() < 2);
        });
        thread::sleep(Duration::from_millis(30));
        assert!(!continued.load(Ordering::SeqCst));
        assert_eq!(names(directory.path()), <[&str; 0]>::default());
        drop(guard);
    });
    assert_eq!(names(directory.path()), ["late"]);
}

#[test]
fn removal_waits_for_running_step() {
    if !is_isolated() {
        return run_isolated("removal_waits_for_running_step");
    }
    let directory = tempfile::tempdir().unwrap();
    let target = directory.path().join("a");
    let stepped = AtomicBool::new(false);
    thread::scope(|scope| {
        let (started, wait_started) = std::sync::mpsc::channel();
        let (stepped, target) = (&stepped, &target);
        scope.spawn(move || {
            uninterrupted(|| {
                started.send(()).unwrap();
                thread::sleep(Duration::from_millis(30));
                // A nested step must not wait for the removal, which waits for this step.
                Output::create(target, OutputOptions::default()).unwrap().finish().unwrap();
                stepped.store(true, Ordering::SeqCst);
            });
        });
        wait_started.recv().unwrap();
        drop(remove_temporaries());
        assert!(stepped.load(Ordering::SeqCst));
    });
    assert_eq!(names(directory.path()), ["a"]);
}

#[test]
fn removes_folder_during_concurrent_writes() {
    if !is_isolated() {
        return run_isolated("removes_folder_during_concurrent_writes");
    }
    let directory = tempfile::tempdir().unwrap();
    for _ in 0..20 {
        let folder = OutputFolder::create(&directory.path().join("a")).unwrap();
        let (running, path) = (&AtomicBool::new(true), folder.path());
        thread::scope(|scope| {
            scope.spawn(move || {
                for number in 0.. {
                    let created = uninterrupted(|| File::create(path.join(number.to_string())));
                    if created.is_err() || !running.load(Ordering::SeqCst) {
                        break;
                    }
                }
            });
            thread::sleep(Duration::from_millis(2));
            let guard = remove_temporaries();
            let remaining = names(directory.path());
            running.store(false, Ordering::SeqCst);
            drop(guard);
            assert_eq!(remaining, <[&str; 0]>::default());
        });
    }
}
