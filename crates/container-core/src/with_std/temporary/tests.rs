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

/// A cleaner can see a folder before its creator has it open and locked.
#[test]
fn a_creator_gets_its_temporary_whoever_cleans_up_meanwhile() {
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
        let made: io::Result<()> = (0..3_000).try_for_each(|_| {
            let temporary = Temporary::folder(folder.path())?;
            fs::write(temporary.path().join("file"), "x")?;
            let (_, mut file) = Temporary::file(folder.path(), 0o600)?;
            io::Write::write_all(&mut file, b"x")
        });
        done.store(true, Ordering::Relaxed);
        made.unwrap();
    });
    assert_eq!(names(folder.path()), [""; 0]);
}

#[test]
fn only_what_a_dead_process_left_is_removed() {
    let place = tempfile::tempdir().unwrap();
    let at = |name: &str| place.path().join(name);
    let living = Output::create(at("living"), OutputOptions::default()).unwrap();
    let living_folder = TemporaryFolder::beside(&at("living")).unwrap();
    fs::create_dir(living_folder.path().join("more")).unwrap();
    let dead = format!(".wharf-{:08x}-0123456789abcdef.tmp", host());
    let dead_folder = format!(".wharf-{:08x}-f123456789abcdef.tmp", host());
    fs::write(at(&dead), "half").unwrap();
    fs::create_dir_all(at(&dead_folder).join("new/x/y")).unwrap();
    // They look alike.
    let alike = [
        ".wharf-0123456789abcdef.tmp",
        ".wharf-notes.tmp",
        ".wharf-0123abcd-0123456789abcdef.tmp.bak",
        ".wharf-0123abcd-0123456789ABCDEF.tmp",
        ".wharf-0123abcd-0123456789abcde.tmp",
        ".wharf-+123abcd-0123456789abcdef.tmp",
        "x.wharf-0123abcd-0123456789abcdef.tmp",
    ];
    alike.iter().for_each(|name| fs::write(at(name), "of somebody").unwrap());
    fs::write(at("file"), "of somebody").unwrap();
    let link = ".wharf-0123abcd-aaaaaaaaaaaaaaaa.tmp";
    symlink("file", at(link)).unwrap();
    remove_stale_in(place.path());
    let mut expected: Vec<_> = alike.iter().map(ToString::to_string).collect();
    expected.extend(["file".to_owned(), link.to_owned()]);
    for living in [living.temporary_path(), living_folder.path()] {
        expected.push(living.file_name().unwrap().to_str().unwrap().to_owned());
    }
    expected.sort();
    assert_eq!(names(place.path()), expected);
    living.finish().unwrap();
    drop(living_folder);
    assert_eq!(names(place.path()).len(), expected.len() - 1);
}

#[cfg(target_os = "linux")]
#[test]
fn of_another_machine_only_what_is_on_our_disk_is_removed() {
    let place = tempfile::tempdir().unwrap();
    let name = place.path().join(format!(".wharf-{:08x}-0123456789abcdef.tmp", !host()));
    fs::write(&name, "half").unwrap();
    remove_stale_in(place.path());
    assert!(!name.exists(), "a container has another name, and the same disk");
    // Where other machines write, too, only what this one made is removed. /proc is not a disk.
    assert!(!sys::is_local(&File::open("/proc/self/status").unwrap()));
}

#[test]
fn an_output_removes_what_dead_ones_left() {
    let place = tempfile::tempdir().unwrap();
    let dead = place.path().join(".wharf-00000000-0123456789abcdef.tmp");
    fs::write(&dead, "half").unwrap();
    Output::create(place.path().join("a"), OutputOptions::default()).unwrap().finish().unwrap();
    assert_eq!(names(place.path()), ["a"]);
}

/// Replaces `old` by `new` up to a point at which the process is killed.
fn killed_between(step: u32, place: &Path) {
    let temporary = place.join(".wharf-00000000-0123456789abcdef.tmp");
    let (old, new) = (temporary.join("old"), temporary.join("new"));
    for (path, text) in [(place.join("a"), "old"), (new.join("a"), "new")] {
        fs::create_dir_all(&path).unwrap();
        fs::write(path.join("text"), text).unwrap();
    }
    let steps: [&dyn Fn() -> io::Result<()>; 3] =
        [&|| fs::create_dir(&old), &|| fs::rename(place.join("a"), old.join("a")), &|| {
            fs::rename(new.join("a"), place.join("a"))
        }];
    steps.iter().take(step as usize).for_each(|step| step().unwrap());
}

#[test]
fn a_replacement_that_was_broken_off_is_put_right() {
    for (step, text) in [(0, "old"), (1, "old"), (2, "old"), (3, "new")] {
        let place = tempfile::tempdir().unwrap();
        killed_between(step, place.path());
        remove_stale_in(place.path());
        assert_eq!(fs::read_to_string(place.path().join("a/text")).unwrap(), text, "{step}");
        assert_eq!(names(place.path()), ["a"], "{step}");
    }
    // Somebody else has taken the place: nothing is lost.
    let place = tempfile::tempdir().unwrap();
    killed_between(2, place.path());
    fs::write(place.path().join("a"), "another").unwrap();
    remove_stale_in(place.path());
    assert_eq!(names(place.path()).len(), 2);
    assert_eq!(fs::read_to_string(place.path().join("a")).unwrap(), "another");
    // What was in place and was removed since does not come back.
    let place = tempfile::tempdir().unwrap();
    killed_between(3, place.path());
    fs::remove_dir_all(place.path().join("a")).unwrap();
    remove_stale_in(place.path());
    assert!(names(place.path()).is_empty());
}

const ALONE: &str = "CONTAINER_CORE_ALONE";

/// Runs a test of this module in a process of its own: the end of a process is that of all its outputs.
fn alone(name: &str) {
    let ran = Command::new(std::env::current_exe().unwrap())
        .args(["--exact", &format!("with_std::temporary::tests::{name}"), "--nocapture"])
        .env(ALONE, "1")
        .output()
        .unwrap();
    assert!(ran.status.success(), "{}", String::from_utf8_lossy(&ran.stderr));
    assert!(String::from_utf8_lossy(&ran.stdout).contains("1 passed"), "it ran");
}

fn is_alone() -> bool {
    std::env::var_os(ALONE).is_some()
}

#[test]
fn nothing_begins_after_the_end() {
    if !is_alone() {
        return alone("nothing_begins_after_the_end");
    }
    let place = tempfile::tempdir().unwrap();
    let at = |name: &str| place.path().join(name);
    let begun = Output::create(at("begun"), OutputOptions::default()).unwrap();
    let folder = OutputFolder::create(&at("folder")).unwrap();
    let went_on = AtomicBool::new(false);
    thread::scope(|scope| {
        let ended = remove_temporaries();
        assert_eq!(names(place.path()), <[&str; 0]>::default());
        scope.spawn(|| {
            let made = Output::create(at("late"), OutputOptions::default()).unwrap();
            went_on.store(true, Ordering::SeqCst);
            made.finish().unwrap();
        });
        scope.spawn(|| {
            assert!(begun.finish().is_err());
            assert!(folder.commit(Overwrite::Refuse, SyncPolicy::Never).is_err());
            assert!(went_on.load(Ordering::SeqCst) || names(place.path()).len() < 2);
        });
        thread::sleep(Duration::from_millis(30));
        assert!(!went_on.load(Ordering::SeqCst));
        assert_eq!(names(place.path()), <[&str; 0]>::default());
        drop(ended);
    });
    assert_eq!(names(place.path()), ["late"]);
}

#[test]
fn the_end_waits_for_a_step() {
    if !is_alone() {
        return alone("the_end_waits_for_a_step");
    }
    let place = tempfile::tempdir().unwrap();
    let target = place.path().join("a");
    let stepped = AtomicBool::new(false);
    thread::scope(|scope| {
        let (told, hear) = std::sync::mpsc::channel();
        let (stepped, target) = (&stepped, &target);
        scope.spawn(move || {
            uninterrupted(|| {
                told.send(()).unwrap();
                thread::sleep(Duration::from_millis(30));
                // Steps in a step do not wait for the end, which waits for this one.
                Output::create(target, OutputOptions::default()).unwrap().finish().unwrap();
                stepped.store(true, Ordering::SeqCst);
            });
        });
        hear.recv().unwrap();
        drop(remove_temporaries());
        assert!(stepped.load(Ordering::SeqCst));
    });
    assert_eq!(names(place.path()), ["a"]);
}

#[test]
fn a_folder_that_others_write_into_is_removed() {
    if !is_alone() {
        return alone("a_folder_that_others_write_into_is_removed");
    }
    let place = tempfile::tempdir().unwrap();
    for _ in 0..20 {
        let folder = OutputFolder::create(&place.path().join("a")).unwrap();
        let (go, path) = (&AtomicBool::new(true), folder.path());
        thread::scope(|scope| {
            scope.spawn(move || {
                for number in 0.. {
                    let made = uninterrupted(|| File::create(path.join(number.to_string())));
                    if made.is_err() || !go.load(Ordering::SeqCst) {
                        break;
                    }
                }
            });
            thread::sleep(Duration::from_millis(2));
            let ended = remove_temporaries();
            let left = names(place.path());
            go.store(false, Ordering::SeqCst);
            drop(ended);
            assert_eq!(left, <[&str; 0]>::default());
        });
    }
}
