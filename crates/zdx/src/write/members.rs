//! The members of a JSON object, located in its text, and edits that leave the rest untouched.

use std::ops::Range;

/// The location of a member.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Member {
    /// Its name, including the quotes.
    pub(crate) name: Range<usize>,
    pub(crate) value: Range<usize>,
}

/// Iterator over the members of an object, not of nested ones. The JSON must have passed [`scan`](crate::wire::json::scan); otherwise the result
/// is meaningless.
#[derive(Debug, Clone)]
pub(crate) struct Members<'j> {
    json: &'j [u8],
    at: usize,
}

/// Iterates over the members of an object.
pub(crate) fn members(json: &[u8]) -> Members<'_> {
    let at = json.iter().position(|byte| *byte == b'{').map_or(json.len(), |at| at + 1);
    Members { json, at }
}

impl Members<'_> {
    fn skip(&mut self, any: &[u8]) {
        let rest = self.json.get(self.at..).unwrap_or_default();
        self.at += rest.iter().take_while(|byte| any.contains(byte)).count();
    }

    fn string(&mut self) {
        self.at += 1;
        while let Some(found) = memchr::memchr2(b'"', b'\\', self.json.get(self.at..).unwrap_or_default()) {
            self.at += found;
            match self.json.get(self.at) {
                Some(b'"') => break,
                _ => self.at += 2,
            }
        }
        self.at += 1;
    }

    fn value(&mut self) {
        let mut depth = 0u32;
        loop {
            match self.json.get(self.at) {
                Some(b'"') => self.string(),
                Some(b'{' | b'[') => (depth, self.at) = (depth + 1, self.at + 1),
                Some(b'}' | b']') if depth > 0 => (depth, self.at) = (depth - 1, self.at + 1),
                None | Some(b'}' | b']') => return,
                Some(_) if depth > 0 => {
                    self.at += 1;
                    continue;
                }
                Some(_) => {
                    let rest = self.json.get(self.at..).unwrap_or_default();
                    self.at += rest.iter().take_while(|byte| !b",}] \t\r\n".contains(byte)).count();
                }
            }
            if depth == 0 {
                return;
            }
        }
    }
}

impl Iterator for Members<'_> {
    type Item = Member;

    fn next(&mut self) -> Option<Member> {
        self.skip(b" \t\r\n,");
        if self.json.get(self.at) != Some(&b'"') {
            return None;
        }
        let start = self.at;
        self.string();
        let name = start..self.at.min(self.json.len());
        self.skip(b" \t\r\n:");
        let start = self.at;
        self.value();
        let end = self.at.min(self.json.len());
        Some(Member { name, value: start.min(end)..end })
    }
}

/// Whether a member has this name. Unescapes it if necessary.
pub(crate) fn is_named(json: &[u8], member: &Member, name: &str) -> bool {
    let quoted = json.get(member.name.clone()).unwrap_or_default();
    if !quoted.contains(&b'\\') {
        return quoted.get(1..quoted.len().saturating_sub(1)) == Some(name.as_bytes());
    }
    serde_json::from_slice::<String>(quoted).is_ok_and(|found| found == name)
}

/// The last member with this name, which is the one that counts.
pub(crate) fn find(json: &[u8], name: &str) -> Option<Member> {
    members(json).filter(|member| is_named(json, member, name)).last()
}

/// Removes all members with this name. The others are kept verbatim, without white space between them.
pub(crate) fn remove(json: &[u8], name: &str) -> Vec<u8> {
    let mut out = Vec::with_capacity(json.len());
    for member in members(json).filter(|member| !is_named(json, member, name)) {
        out.push(if out.is_empty() { b'{' } else { b',' });
        out.extend_from_slice(json.get(member.name).unwrap_or_default());
        out.push(b':');
        out.extend_from_slice(json.get(member.value).unwrap_or_default());
    }
    if out.is_empty() {
        out.push(b'{');
    }
    out.push(b'}');
    out
}

/// Sets a member of an object, or of a nested one, given by its path. Everything else is kept verbatim; a missing member is appended. A value
/// on the path that is not an object is replaced by one.
pub(crate) fn set(json: &str, path: &[&str], value: &str) -> String {
    let Some((first, rest)) = path.split_first() else { return value.to_owned() };
    if let Some(member) = find(json.as_bytes(), first) {
        let (before, behind) = (json.get(..member.value.start), json.get(member.value.end..));
        let old = json.get(member.value).filter(|old| old.starts_with('{')).unwrap_or("{}");
        return [before.unwrap_or_default(), &set(old, rest, value), behind.unwrap_or_default()].concat();
    }
    let name = serde_json::Value::from(*first).to_string();
    let value = set("{}", rest, value);
    let last = members(json.as_bytes()).last();
    // Formatted as the last member: on a line of its own, with the same indentation.
    let at = last.as_ref().map_or_else(|| json.find('{').map_or(json.len(), |at| at + 1), |last| last.value.end);
    let (before, behind) = json.split_at_checked(at).unwrap_or((json, ""));
    let (comma, gap) = match &last {
        Some(last) => (",", gap_before(json, last.name.start)),
        None => ("", ""),
    };
    let colon = if gap.is_empty() { ":" } else { ": " };
    [before, comma, gap, &name, colon, &value, behind].concat()
}

/// The white space before an offset.
fn gap_before(json: &str, at: usize) -> &str {
    let before = json.get(..at).unwrap_or_default();
    before.get(before.trim_end_matches([' ', '\t', '\r', '\n']).len()..).unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn iterates_over_members_of_the_outer_object() {
        let json = r#" { "a" : { "b" : [1, "}\"]"] } , "c\"d":-1.5e3,"e":"x\\","f":[[],{}],"g":null } "#;
        let found: Vec<_> = members(json.as_bytes()).map(|m| (&json[m.name], &json[m.value])).collect();
        let expected = [
            (r#""a""#, r#"{ "b" : [1, "}\"]"] }"#),
            (r#""c\"d""#, "-1.5e3"),
            (r#""e""#, r#""x\\""#),
            (r#""f""#, "[[],{}]"),
            (r#""g""#, "null"),
        ];
        assert_eq!(found, expected);
        assert_eq!(members(b"{}").count(), 0);
        // Terminates on invalid JSON.
        for rubbish in [&b"{\"a\":[[["[..], b"", b"{\"a", b"{\"a\":\"\\", b"{\"a\":}}]"] {
            assert!(members(rubbish).count() <= 1);
        }
    }

    #[test]
    fn removes_members() {
        for (json, expected) in [
            (r#"{"_id":"a"}"#, "{}"),
            (r#"{"x":{"_id":1},"_id":"a","y":2}"#, r#"{"x":{"_id":1},"y":2}"#),
            (r#"{"\u005fid":"a","_id":"b","z":[]}"#, r#"{"z":[]}"#),
        ] {
            assert_eq!(String::from_utf8(remove(json.as_bytes(), "_id")).unwrap(), expected);
        }
    }

    #[test]
    fn set_keeps_the_rest_verbatim() {
        let set = |json: &str, path: &[&str], value: &str| super::set(json, path, value);
        assert_eq!(set("{\"b\": 1,  \"a\":2}", &["b"], "7"), "{\"b\": 7,  \"a\":2}");
        assert_eq!(set("{}", &["a", "b"], "1"), r#"{"a":{"b":1}}"#);
        assert_eq!(set(r#"{"a":5,"z":0}"#, &["a", "b"], "1"), r#"{"a":{"b":1},"z":0}"#);
        let pretty = "{\n  \"x\": 1,\n  \"in\": {\n    \"k\": {}\n  }\n}\n";
        assert_eq!(set(pretty, &["new"], "2"), pretty.replace("  }\n}", "  },\n  \"new\": 2\n}"));
        let expected = "{\n  \"x\": 1,\n  \"in\": {\n    \"k\": {\"count\":3}\n  }\n}\n";
        assert_eq!(set(pretty, &["in", "k", "count"], "3"), expected);
    }
}
