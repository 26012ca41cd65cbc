use super::*;

fn files() -> TestFolder {
    let finding = |severity: &str, byte: u64| json!({"severity": severity, "message": "bad sum", "byte": byte});
    TestFolder::new()
        .with_document("good", &json!({"version": "1", "tables": []}))
        .with_document("warned", &json!({"findings": [finding("warning", 5)], "tables": []}))
        .with_document("bad", &json!({"findings": [finding("error", 7), finding("warning", 8), finding("error", 9)]}))
}

#[test]
fn prints_a_line_per_finding_and_a_verdict_per_file() {
    let ran = files().wharf(&["verify", "@good", "@bad", "@warned", "@none"]);
    let expected = "\
@good: ok
error: mock: @bad: bad sum (byte 7)
warning: mock: @bad: bad sum (byte 8)
error: mock: @bad: bad sum (byte 9)
@bad: 2 problems, 1 warning
warning: mock: @warned: bad sum (byte 5)
@warned: ok, 1 warning
error: @none: cannot open: No such file or directory (os error 2)
@none: 1 problem
";
    assert_eq!((ran.code, ran.err.as_str()), (1, ""));
    assert_eq!(ran.out, expected);
}

#[test]
fn warnings_do_not_fail() {
    assert!(files().wharf(&["verify", "@good", "@warned"]).ok().ends_with("@warned: ok, 1 warning\n"));
}

#[test]
fn json_has_an_object_per_file() {
    let ran = files().wharf(&["verify", "@good", "@bad", "@no*", "--json"]);
    let lines: Vec<Value> = ran.out.lines().map(|line| serde_json::from_str(line).unwrap()).collect();
    assert_eq!(lines[0], json!({"file": "@good", "format": "mock", "version": "1", "findings": [], "ok": true}));
    assert_eq!(lines[1]["ok"], false);
    assert_eq!(
        lines[1]["findings"][0],
        json!({"severity": "error", "kind": "invalid", "format": "mock", "message": "mock: bad sum (byte 7)", "byte": 7})
    );
    assert_eq!(lines[1]["findings"].as_array().unwrap().len(), 3);
    assert_eq!(lines[2]["file"], "@no*");
    assert_eq!(lines[2]["findings"][0]["kind"], "io");
    assert_eq!((ran.code, ran.err.as_str(), lines.len()), (1, "", 3));
}

#[test]
fn aborted_verification_is_a_finding_and_continues_with_the_next_file() {
    let place = files().with_document("broken", &json!({"verify_fails": "disk on fire", "tables": []}));
    let ran = place.wharf(&["verify", "@broken", "@good"]);
    assert_eq!(ran.code, 1);
    assert_eq!(ran.out, "error: @broken: cannot read: disk on fire\n@broken: 1 problem\n@good: ok\n");
}

#[test]
fn reports_a_full_disk() {
    let ran = files().with_pipe(1, io::ErrorKind::StorageFull).wharf(&["verify", "@bad"]);
    assert_eq!((ran.code, ran.out.as_str()), (1, "error: mock: @bad: bad sum (byte 7)\n"));
    assert!(ran.err.contains("cannot write to standard output"), "{}", ran.err);
}

#[test]
fn closed_pipe_does_not_hide_errors() {
    for form in [&[][..], &["--json"]] {
        for writes in 0..5 {
            let verify = |files: &[&str]| {
                let place = self::files().with_pipe(writes, io::ErrorKind::BrokenPipe);
                let ran = place.wharf(&[&["verify"], files, form].concat());
                assert_eq!(ran.err, "", "{files:?} {form:?}");
                ran.code
            };
            assert_eq!(verify(&["@good", "@warned"]), 0, "{form:?}, {writes} writes");
            assert_eq!(verify(&["@bad"]), 1, "{form:?}, {writes} writes");
            assert_eq!(verify(&["@good", "@warned", "@bad"]), 1, "the files after the pipe closed are checked, too");
            assert_eq!(verify(&["@good", "@none"]), 1, "{form:?}, {writes} writes");
        }
    }
}
