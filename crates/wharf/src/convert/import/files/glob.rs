//! Patterns with the meaning of Python's `glob` (paths) and `fnmatch` (names).
//!
//! A name is matched by the crate `glob`. Paths are matched component by component here, because no crate offers what [`State`] needs: whether any
//! longer path can match, to skip folders, and whether two folders match the same paths below them, to visit linked folders once. `glob::glob`
//! walks the file system itself, not archives, and `globset` matches complete paths only; it also has no rule for leading dots, and gives `{}` and
//! `\` a meaning. Neither captures a `{LABEL}`.

use container_core::{Error, Result};

/// The component that stands for the label folder.
const LABEL: &str = "{LABEL}";

/// A path pattern, relative to a folder or an archive.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Pattern {
    parts: Vec<Part>,
    /// The index of the label component.
    pub(super) label: Option<usize>,
    /// All components before the label are literal, so keys can omit them.
    is_prefix_literal: bool,
}

#[derive(Debug, Clone, PartialEq, Eq)]
enum Part {
    Name(String),
    Wild(glob::Pattern),
    /// `**`: any number of folders.
    Any,
}

/// The states of a pattern, as an NFA, after some components of a path: element i is set if the first i parts may have matched.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct State(Vec<bool>);

impl Pattern {
    pub(super) fn new(text: &str) -> Result<Self> {
        let refuse = |why: &str| Error::usage(format!("the pattern {text:?} {why}"));
        if text.is_empty() || text.starts_with('/') {
            return Err(refuse("must be relative to the input"));
        }
        let mut parts = Vec::new();
        let (mut label, mut is_prefix_literal) = (None, true);
        for part in text.split('/').filter(|part| !matches!(*part, "" | ".")) {
            parts.push(match part {
                ".." => return Err(refuse("leaves the input")),
                LABEL if label.is_some() => return Err(refuse("has two labels")),
                LABEL if parts.contains(&Part::Any) => {
                    return Err(refuse("has ** before its label, which is ambiguous"));
                }
                LABEL => {
                    is_prefix_literal = parts.iter().all(|part| matches!(part, Part::Name(_)));
                    label = Some(parts.len());
                    Part::Wild(compile("*")?)
                }
                "**" => Part::Any,
                wild if wild.contains(['*', '?', '[']) => Part::Wild(compile(wild)?),
                name if name.contains(LABEL) => return Err(refuse("has a label that is not a whole component")),
                name => Part::Name(name.to_owned()),
            });
        }
        Ok(Self { parts, label, is_prefix_literal })
    }

    /// The state before the first component.
    pub(super) fn start(&self) -> State {
        let mut state = State(vec![false; self.parts.len() + 1]);
        if let Some(first) = state.0.first_mut() {
            *first = true;
        }
        self.skip_any(&mut state);
        state
    }

    /// The state after one more component. Hidden names match only parts with a leading dot.
    pub(super) fn step(&self, state: &State, name: &str) -> State {
        let mut next = State(vec![false; state.0.len()]);
        for (index, part) in self.parts.iter().enumerate() {
            if state.0.get(index) != Some(&true) {
                continue;
            }
            let hidden = name.starts_with('.');
            let (to, matches) = match part {
                Part::Any => {
                    // At the end, `**` also matches the file itself.
                    if let Some(last) = next.0.last_mut().filter(|_| index + 1 == self.parts.len()) {
                        *last |= !hidden;
                    }
                    (index, !hidden)
                }
                Part::Name(own) => (index + 1, own == name),
                Part::Wild(wild) => (index + 1, (!hidden || wild.as_str().starts_with('.')) && wild.matches(name)),
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

    /// The state after all components of a path.
    pub(super) fn reach(&self, path: &str) -> State {
        path.split('/').fold(self.start(), |state, name| self.step(&state, name))
    }

    /// The label of a matching path.
    pub(super) fn label_of<'p>(&self, path: &'p str) -> Option<&'p str> {
        path.split('/').nth(self.label?)
    }

    /// The key of a matching path: from its label on, if the part before is literal.
    pub(super) fn key_of<'p>(&self, path: &'p str) -> &'p str {
        let Some(before) = self.label.filter(|_| self.is_prefix_literal) else { return path };
        let mut rest = path;
        for _ in 0..before {
            rest = rest.split_once('/').map_or(rest, |(_, rest)| rest);
        }
        rest
    }
}

impl State {
    /// Whether the path matches.
    pub(super) fn is_match(&self) -> bool {
        self.0.last() == Some(&true)
    }

    /// Whether a longer path may match.
    pub(super) fn may_continue(&self) -> bool {
        self.continuation().contains(&true)
    }

    /// The part of the state that decides about longer paths: if equal for two folders, the same paths match below both.
    pub(super) fn continuation(&self) -> &[bool] {
        self.0.split_last().map_or(&[], |(_, continuation)| continuation)
    }
}

/// A pattern of whole names. `*` also matches slashes, as in Python's `fnmatch`.
#[derive(Debug)]
pub(super) struct NamePattern(Option<glob::Pattern>);

impl NamePattern {
    pub(super) fn new(pattern: &str) -> Self {
        Self(compile(pattern).ok())
    }

    pub(super) fn matches(&self, name: &str) -> bool {
        self.0.as_ref().is_some_and(|pattern| pattern.matches(name))
    }
}

/// Compiles a pattern of a name. What `glob` rejects and Python accepts is rewritten: an unclosed bracket is literal, and a run of stars is one.
fn compile(pattern: &str) -> Result<glob::Pattern> {
    let mut text = String::with_capacity(pattern.len());
    let mut rest = pattern;
    while let Some(first) = rest.chars().next() {
        let (len, replacement) = match (first, class_len(rest)) {
            ('*', _) => (rest.len() - rest.trim_start_matches('*').len(), Some("*")),
            ('[', None) => (1, Some("[[]")),
            ('[', Some(len)) => (len, None),
            _ => (first.len_utf8(), None),
        };
        let (token, behind) = rest.split_at_checked(len).unwrap_or((rest, ""));
        text.push_str(replacement.unwrap_or(token));
        rest = behind;
    }
    glob::Pattern::new(&text).map_err(|cause| Error::usage(format!("invalid pattern {pattern:?}: {}", cause.msg)))
}

/// The length of the character class that a pattern begins with; `None` if it is unclosed. A bracket right after `[` or `[!` is part of the class.
fn class_len(pattern: &str) -> Option<usize> {
    let class = pattern.strip_prefix('[')?;
    let class = class.strip_prefix('!').unwrap_or(class);
    let first = class.chars().next()?.len_utf8();
    let close = first + class.get(first..)?.find(']')?;
    Some(pattern.len() - class.len() + close + 1)
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    /// An exhaustive matcher.
    fn naive(pattern: &[char], text: &[char]) -> bool {
        match (pattern, text) {
            ([], []) => true,
            (['*', rest @ ..], _) => (0..=text.len()).any(|taken| naive(rest, &text[taken..])),
            (['?', rest @ ..], [_, more @ ..]) => naive(rest, more),
            ([own, rest @ ..], [one, more @ ..]) => own == one && naive(rest, more),
            _ => false,
        }
    }

    /// An exhaustive matcher of paths: `**` is any folders, at the end at least one name.
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
        fn names_match_exhaustive_search(pattern in "[ab*?]{0,8}", text in "[ab]{0,10}") {
            let chars = |text: &str| text.chars().collect::<Vec<_>>();
            prop_assert_eq!(name(&pattern, &text), naive(&chars(&pattern), &chars(&text)));
        }

        #[test]
        fn paths_match_exhaustive_search(
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
        NamePattern::new(pattern).matches(text)
    }

    #[test]
    fn matches_names_like_fnmatch() {
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
            ("***", "ab"),
            ("[+-**]", "*"),
            ("[**]", "*"),
            ("{a,b}", "{a,b}"),
            ("a\\b", "a\\b"),
            ("[ä-ü]*", "ö1"),
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
    fn matches_paths() {
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
    fn rejects_invalid_patterns() {
        let refused = |pattern: &str| Pattern::new(pattern).unwrap_err().to_string();
        assert_eq!(refused("/a/*"), "the pattern \"/a/*\" must be relative to the input");
        assert_eq!(refused("../*"), "the pattern \"../*\" leaves the input");
        assert_eq!(refused("{LABEL}/{LABEL}"), "the pattern \"{LABEL}/{LABEL}\" has two labels");
        assert_eq!(refused("x{LABEL}/*"), "the pattern \"x{LABEL}/*\" has a label that is not a whole component");
        assert!(refused("**/{LABEL}/*").ends_with("has ** before its label, which is ambiguous"));
    }
}
