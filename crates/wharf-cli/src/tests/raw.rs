//! `get --raw` on a terminal and into a pipe that closes.

use std::io::ErrorKind;

use datadings::{Writer, WriterOptions};

use super::TestFolder;

fn dataset() -> TestFolder {
    let place = TestFolder::new();
    let mut writer = Writer::create(place.path("a.msgpack"), WriterOptions::default()).unwrap();
    writer.append_message(b"\x82\xa3key\xa1x\xa5image\xc4\x01\x07").unwrap();
    writer.finish().unwrap();
    place
}

#[test]
fn refuses_bytes_but_not_text_on_a_terminal() {
    let place = dataset().on_terminal(80);
    let refused = "error: cannot write binary data to a terminal; use a file or a pipe";
    assert_eq!(place.wharf(&["get", "@a.msgpack", "x", "--raw"]).failed(2), refused);
    assert_eq!(place.wharf(&["get", "@a.msgpack", "x", "--raw", "--field", "image"]).failed(2), refused);
    assert_eq!(place.wharf(&["get", "@a.msgpack", "x", "--raw", "--field", "key"]).ok(), "x");
    assert_eq!(dataset().wharf(&["get", "@a.msgpack", "x", "--raw", "--field", "image"]).ok(), "\u{7}");
}

#[test]
fn closed_pipe_succeeds_and_broken_output_fails() {
    let arguments = ["get", "@a.msgpack", "--row", "0", "--raw", "--field", "image"];
    assert_eq!(dataset().with_pipe(0, ErrorKind::BrokenPipe).wharf(&arguments).ok(), "");
    let error = dataset().with_pipe(0, ErrorKind::StorageFull).wharf(&arguments).failed(1);
    assert!(error.starts_with("error: cannot write to standard output"), "{error}");
}
