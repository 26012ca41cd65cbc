use super::*;
use crate::convert::import::ds::column::bytes_of;

#[test]
fn bytes_come_from_base64() {
    let bytes = |text: &str| bytes_of(&format!("{{\"$bytes\": \"{text}\"}}"));
    for (text, wanted) in [("", &b""[..]), ("Zg==", b"f"), ("Zm8=", b"fo"), ("Zm9v", b"foo"), ("+/8=", &[0xfb, 0xff])] {
        assert_eq!(bytes(text).as_deref(), Some(wanted), "{text}");
    }
    for text in ["Z", "Zg=", "Z===", "Zm 9", "Zg==Zg=="] {
        assert_eq!(bytes(text), None, "{text}");
    }
    assert_eq!(bytes_of("{\"$bytes\": \"\", \"x\": 1}"), None);
    assert_eq!(DsOptions::default().dimension, "row");
}
