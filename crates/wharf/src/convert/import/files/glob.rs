//! Patterns: of paths, component by component, and of whole names, as Python's `glob` and `fnmatch` understand them.

use container_core::{Error, Result};

/// The component that says which folder is the label.
const LABEL: &str = "{LABEL}";

/// A pattern of paths, relative to a folder or an archive.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Pattern {
    parts: Vec<Part>,
    /// Which component of a path is its label.
    pub(super) label: Option<usize>,
    /// The components before the label are names, so that keys need not have them.
    named: bool,
}

#[derive(Debug, Clone, PartialEq, Eq)]
enum Part {
    Name(String),
    Wild(Vec<char>),
    /// Any folders, also none.
    Any,
}

/// Which parts of a pattern a path may be at: bit i for the first i parts being behind it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct State(Vec<bool>);

impl Pattern {
    pub(super) fn new(text: &str) -> Result<Self> {
        let refuse = |why: &str| Error::usage(format!("the pattern {text:?} {why}"));
        if text.is_empty() || text.starts_with('/') {
            return Err(refuse("must be relative to the input"));
        }
        let mut parts = Vec::new();
        let (mut label, mut named) = (None, true);
        for part in text.split('/').filter(|part| !matches!(*part, "" | ".")) {
            parts.push(match part {
                ".." => return Err(refuse("leaves the input")),
                LABEL if label.is_some() => return Err(refuse("has two labels")),
                LABEL if parts.contains(&Part::Any) => {
                    return Err(refuse("has ** before its label, so that any folder could be it"));
                }
                LABEL => {
                    named = parts.iter().all(|part| matches!(part, Part::Name(_)));
                    label = Some(parts.len());
                    Part::Wild(vec!['*'])
                }
                "**" => Part::Any,
                wild if wild.contains(['*', '?', '[']) => Part::Wild(wild.chars().collect()),
                name if name.contains(LABEL) => return Err(refuse("has a label that is no whole component")),
                name => Part::Name(name.to_owned()),
            });
        }
        Ok(Self { parts, label, named })
    }

    /// Before the first component of a path.
    pub(super) fn start(&self) -> State {
        let mut state = State(vec![false; self.parts.len() + 1]);
        if let Some(first) = state.0.first_mut() {
            *first = true;
        }
        self.skip_any(&mut state);
        state
    }

    /// Behind one more component; what is hidden is matched by patterns alone that begin with a dot too.
    pub(super) fn step(&self, state: &State, name: &str) -> State {
        let mut next = State(vec![false; state.0.len()]);
        for (index, part) in self.parts.iter().enumerate() {
            if state.0.get(index) != Some(&true) {
                continue;
            }
            let hidden = name.starts_with('.');
            let (to, matches) = match part {
                Part::Any => {
                    // At the end it is also the file itself, but not nothing.
                    if let Some(last) = next.0.last_mut().filter(|_| index + 1 == self.parts.len()) {
                        *last |= !hidden;
                    }
                    (index, !hidden)
                }
                Part::Name(own) => (index + 1, own == name),
                Part::Wild(wild) => (index + 1, (!hidden || wild.first() == Some(&'.')) && matches(wild, name)),
            };
            if let Some(there) = next.0.get_mut(to) {
                *there |= matches;
            }
        }
        self.skip_any(&mut next);
        next
    }

    fn skip_any(&self, state: &mut State) {
        for (index, part) in self.parts.iter().enumerate() {
            if *part == Part::Any
                && index + 1 < self.parts.len()
                && state.0.get(index) == Some(&true)
                && let Some(next) = state.0.get_mut(index + 1)
            {
                *next = true;
            }
        }
    }

    /// Behind all components of a path.
    pub(super) fn reach(&self, path: &str) -> State {
        path.split('/').fold(self.start(), |state, name| self.step(&state, name))
    }

    /// The label of a path that matches.
    pub(super) fn label_of<'p>(&self, path: &'p str) -> Option<&'p str> {
        path.split('/').nth(self.label?)
    }

    /// The key of a path that matches: from its label on, where what stands before is the same for all paths.
    pub(super) fn key_of<'p>(&self, path: &'p str) -> &'p str {
        let Some(before) = self.label.filter(|_| self.named) else { return path };
        let mut rest = path;
        for _ in 0..before {
            rest = rest.split_once('/').map_or(rest, |(_, rest)| rest);
        }
        rest
    }
}

impl State {
    /// The path matches.
    pub(super) fn is_match(&self) -> bool {
        self.0.last() == Some(&true)
    }

    /// A path that goes on may match.
    pub(super) fn may_continue(&self) -> bool {
        self.continuation().contains(&true)
    }

    /// What decides whether paths that go on match: equal for two folders, the same paths match below both.
    pub(super) fn continuation(&self) -> &[bool] {
        self.0.split_last().map_or(&[], |(_, continuation)| continuation)
    }
}

/// A pattern of whole names: `*` also matches slashes, as for Python's `fnmatch`.
#[derive(Debug, Clone)]
pub(super) struct Name(Vec<char>);

impl Name {
    pub(super) fn new(text: &str) -> Self {
        Self(text.chars().collect())
    }

    pub(super) fn matches(&self, name: &str) -> bool {
        matches(&self.0, name)
    }
}

/// `*` is any characters, `?` one, `[a-z]` one of these, `[!a-z]` none of these; all else is itself.
fn matches(pattern: &[char], text: &str) -> bool {
    let text: Vec<char> = text.chars().collect();
    let (mut p, mut t) = (0, 0);
    // Where to go on when it fails behind the last star: the star takes one character more.
    let mut star: Option<(usize, usize)> = None;
    loop {
        let one = text.get(t);
        let step = match (pattern.get(p), one) {
            (Some('*'), _) => {
                star = Some((p, t));
                p += 1;
                continue;
            }
            (Some('?'), Some(_)) => Some(1),
            (Some('['), Some(&one)) => match class(pattern.get(p + 1..).unwrap_or_default(), one) {
                Some((true, len)) => Some(len + 1),
                Some((false, _)) => None,
                None => (one == '[').then_some(1),
            },
            (Some(own), Some(one)) => (own == one).then_some(1),
            (None, None) => return true,
            _ => None,
        };
        match (step, star) {
            (Some(len), _) => {
                p += len;
                t += 1;
            }
            (None, Some((at, from))) if from < text.len() => {
                star = Some((at, from + 1));
                p = at + 1;
                t = from + 1;
            }
            _ => return false,
        }
    }
}

/// Whether a character is of the class that begins here, behind its bracket, and how long that is; `None` for a bracket that is not
/// closed.
fn class(pattern: &[char], one: char) -> Option<(bool, usize)> {
    let negated = pattern.first() == Some(&'!');
    let first = usize::from(negated);
    // A bracket that comes first is one of the class.
    let close = first + 1 + pattern.get(first + 1..)?.iter().position(|&c| c == ']')?;
    let mut rest = pattern.get(first..close)?;
    let mut found = false;
    while let [low, others @ ..] = rest {
        rest = match others {
            ['-', high, others @ ..] => {
                found |= (low..=high).contains(&&one);
                others
            }
            _ => {
                found |= *low == one;
                others
            }
        };
    }
    Some((found != negated, close + 1))
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    /// The same by trying everything.
    fn naive(pattern: &[char], text: &[char]) -> bool {
        match (pattern, text) {
            ([], []) => true,
            (['*', rest @ ..], _) => (0..=text.len()).any(|taken| naive(rest, &text[taken..])),
            (['?', rest @ ..], [_, more @ ..]) => naive(rest, more),
            ([own, rest @ ..], [one, more @ ..]) => own == one && naive(rest, more),
            _ => false,
        }
    }

    /// Paths by trying everything: ** is any folders, at the end also at least one name.
    fn naive_path(parts: &[&str], names: &[&str]) -> bool {
        match (parts, names) {
            ([], []) => true,
            (["**"], [_, ..]) => names.iter().all(|name| !name.starts_with('.')),
            (["**", rest @ ..], _) => {
                let shown = names.iter().take_while(|name| !name.starts_with('.')).count();
                !rest.is_empty() && (0..=shown).any(|taken| naive_path(rest, &names[taken..]))
            }
            ([part, rest @ ..], [name, more @ ..]) => {
                let chars = |text: &str| text.chars().collect::<Vec<_>>();
                let hidden = name.starts_with('.') && !part.starts_with('.');
                !hidden && naive(&chars(part), &chars(name)) && naive_path(rest, more)
            }
            _ => false,
        }
    }

    proptest! {
        #[test]
        fn stars_match_what_trying_everything_does(pattern in "[ab*?]{0,8}", text in "[ab]{0,10}") {
            let chars = |text: &str| text.chars().collect::<Vec<_>>();
            prop_assert_eq!(name(&pattern, &text), naive(&chars(&pattern), &chars(&text)));
        }

        #[test]
        fn paths_match_what_trying_everything_does(
            parts in prop::collection::vec("a|b|\\*|\\.\\*|\\*\\*|a\\*|\\.a", 1..5),
            names in prop::collection::vec("a|b|ab|\\.a|\\.b", 1..6),
        ) {
            let found = Pattern::new(&parts.join("/")).unwrap().reach(&names.join("/")).is_match();
            let parts: Vec<_> = parts.iter().map(String::as_str).collect();
            let names: Vec<_> = names.iter().map(String::as_str).collect();
            prop_assert_eq!(found, naive_path(&parts, &names));
        }
    }

    fn name(pattern: &str, text: &str) -> bool {
        Name::new(pattern).matches(text)
    }

    #[test]
    fn names() {
        for (pattern, text) in [
            ("*", ""),
            ("*", "a/b"),
            ("*.jpg", "x/y.jpg"),
            ("a?c", "abc"),
            ("[ab]c", "bc"),
            ("[!ab]c", "xc"),
            ("[a-c]", "b"),
            ("[]]", "]"),
            ("[!]]", "a"),
            ("[-a]", "-"),
            ("[a-]", "-"),
            ("[", "["),
            ("[a", "[a"),
            ("*a*b*c", "xaybzc"),
            ("ä?", "äö"),
            ("a**b", "ab"),
        ] {
            assert!(name(pattern, text), "{pattern} {text}");
        }
        for (pattern, text) in [
            ("", "a"),
            ("a", ""),
            ("?", ""),
            ("*.jpg", "x.jpeg"),
            ("[ab]c", "cc"),
            ("[!ab]c", "ac"),
            ("[a-c]", "d"),
            ("[]]", "a"),
            ("A", "a"),
            ("[c-a]", "b"),
            ("*a", "ab"),
            ("[!]", "a"),
        ] {
            assert!(!name(pattern, text), "{pattern} {text}");
        }
        let long = "a".repeat(3000);
        assert!(!name(&"*a".repeat(40).replace("aa", "a"), &format!("{long}b")));
    }

    #[test]
    fn paths() {
        let find = |pattern: &str, path: &'static str| {
            let pattern = Pattern::new(pattern).unwrap();
            pattern.reach(path).is_match().then(|| pattern.label_of(path))
        };
        assert_eq!(find("{LABEL}/**", "cat/1.jpg"), Some(Some("cat")));
        assert_eq!(find("{LABEL}/**", "cat/x/y/1.jpg"), Some(Some("cat")));
        assert_eq!(find("{LABEL}/**", "1.jpg"), None);
        assert_eq!(find("{LABEL}/*", "cat/x/1.jpg"), None);
        assert_eq!(find("train/{LABEL}/*.jpg", "train/cat/1.jpg"), Some(Some("cat")));
        assert_eq!(find("**", "a/b"), Some(None));
        assert_eq!(find("**", "a/.b"), None);
        assert_eq!(find("**", ".a/b"), None);
        assert_eq!(find("*", ".a"), None);
        assert_eq!(find(".*", ".a"), Some(None));
        assert_eq!(find(".a", ".a"), Some(None));
        assert_eq!(find("**/*.png", "x.png"), Some(None));
        assert_eq!(find("**/*.png", "a/b/x.png"), Some(None));
        assert_eq!(find("a/**/b/*", "a/b/b/b/x"), Some(None));
        assert_eq!(find("a/**/b/*", "a/c/x"), None);
        assert_eq!(find("./a//b", "a/b"), Some(None));
    }

    #[test]
    fn keys_begin_at_the_label() {
        let key = |pattern: &str, path: &'static str| Pattern::new(pattern).unwrap().key_of(path);
        assert_eq!(key("{LABEL}/**", "cat/1.jpg"), "cat/1.jpg");
        assert_eq!(key("train/x/{LABEL}/**", "train/x/cat/1.jpg"), "cat/1.jpg");
        assert_eq!(key("*/{LABEL}/**", "train/cat/1.jpg"), "train/cat/1.jpg");
        assert_eq!(key("train/**", "train/cat/1.jpg"), "train/cat/1.jpg");
    }

    #[test]
    fn what_is_no_pattern() {
        let refused = |pattern: &str| Pattern::new(pattern).unwrap_err().to_string();
        assert_eq!(refused("/a/*"), "the pattern \"/a/*\" must be relative to the input");
        assert_eq!(refused("../*"), "the pattern \"../*\" leaves the input");
        assert_eq!(refused("{LABEL}/{LABEL}"), "the pattern \"{LABEL}/{LABEL}\" has two labels");
        assert_eq!(refused("x{LABEL}/*"), "the pattern \"x{LABEL}/*\" has a label that is no whole component");
        assert!(refused("**/{LABEL}/*").ends_with("has ** before its label, so that any folder could be it"));
    }
}
