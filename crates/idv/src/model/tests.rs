use super::*;

#[test]
fn role_depends_on_name() {
    for (name, expected) in [
        ("TrainingInfo/Version.txt", Some(Role::Version)),
        ("TrainingInfo\\Version.txt", Some(Role::Version)),
        ("a/TrainingInfo/Version.txt", None),
        ("TrainingInfo/Version.txt/more", None),
        ("TrainingInfo/RoleMapping.txt", None),
        ("Schema", Some(Role::Schema)),
        ("Schema.idv", Some(Role::Schema)),
        ("Loader/Schema.idv", Some(Role::Schema)),
        ("a/b\\c/d/Schema", Some(Role::Schema)),
        ("a/Schema/b", None),
        ("a/b/Schema/c/d", None),
        ("Schema/", None),
        ("schema", None),
        ("MySchema", None),
        ("", None),
        ("Loader", None),
        ("Loader/Model.key", Some(Role::Loader)),
        ("DataLoaderModel/Transform_000/Model.key", Some(Role::Loader)),
        ("TransformerChain/Loader/Model.key", None),
    ] {
        assert_eq!(role(name.as_bytes()), expected, "{name}");
    }
}

#[test]
fn version_is_the_first_word() {
    for (text, expected) in [
        (&b"1.5.28711.2 @BuiltBy: someone @Branch: master"[..], Some("1.5.28711.2")),
        (b"1.0.0-preview+12\r\n", Some("1.0.0-preview+12")),
        (b"\xEF\xBB\xBF3.0.1", Some("3.0.1")),
        (b"", None),
        (b" 1.5", None),
        (b"v1.5", None),
        (b"1.5\x1b[31m", None),
        (b"1.\xff", None),
        (&[b'1'; 65], None),
    ] {
        assert_eq!(version_of(text).as_deref(), expected, "{text:?}");
    }
}
