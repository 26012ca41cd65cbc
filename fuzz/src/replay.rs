//! Runs targets on recorded inputs, without a fuzzer.

use std::fs;
use std::path::Path;

/// The name of a target and its body.
pub type Target = (&'static str, fn(&[u8]));

/// Runs every seed and every regression of these targets. They must be all whose names begin with one of `ours`, in alphabetical order, except
/// `elsewhere`, which are replayed by another test.
pub fn replay(fuzz: &Path, targets: &[Target], ours: &[&str], elsewhere: &[&str]) {
    let stem = |path: &Path| path.file_stem().unwrap().to_str().unwrap().to_owned();
    let all = fs::read_dir(fuzz.join("fuzz_targets")).unwrap().map(|entry| stem(&entry.unwrap().path()));
    let is_ours = |name: &String| ours.iter().any(|start| name.starts_with(start)) && !elsewhere.contains(&&name[..]);
    let mut names: Vec<String> = all.filter(is_ours).collect();
    names.sort();
    assert_eq!(names, targets.iter().map(|(name, _)| *name).collect::<Vec<_>>(), "incomplete list of targets");
    for (name, run) in targets {
        let mut count = 0;
        for directory in ["seeds", "regressions"] {
            let Ok(entries) = fs::read_dir(fuzz.join(directory).join(name)) else { continue };
            for entry in entries {
                let path = entry.unwrap().path();
                // Shown if the test fails.
                println!("{}", path.display());
                run(&fs::read(path).unwrap());
                count += 1;
            }
        }
        assert!(count > 0, "no input for {name}");
    }
}
