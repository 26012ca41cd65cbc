//! Parses predicates: a grammar over the tokens of sqlparser.
//!
//! The expression parser of sqlparser reads much more than a filter can be (queries, casts, intervals), tries alternatives one after the other,
//! so that its time can double with each nested one, and builds chains of operators as trees as deep as the chain is long. This grammar never goes
//! back, and its trees are at most [`MAX_DEPTH`] deep.

use container_core::{Error, Result};
use sqlparser::dialect::Dialect;
use sqlparser::tokenizer::{Token, TokenWithSpan, Tokenizer};

use super::expr::{Arithmetic, Comparison, Expr, Function, Literal, Pattern, TimeKind, quoted};

/// Maximum depth of an expression.
const MAX_DEPTH: usize = 128;

/// Maximum length of a predicate in bytes.
const MAX_LEN: usize = 1 << 20;

/// Maximum length of the pattern of `like` in bytes.
const MAX_PATTERN: usize = 1 << 10;

/// Words that are not names of columns unless they are quoted.
const RESERVED: [&str; 12] =
    ["and", "between", "escape", "false", "ilike", "in", "is", "like", "not", "null", "or", "true"];

/// Whether a name has to be quoted to be one.
pub(super) fn is_reserved(name: &str) -> bool {
    RESERVED.iter().chain(&["date", "time", "timestamp"]).any(|word| word.eq_ignore_ascii_case(name))
}

/// How tokens are told apart: names in double quotes, texts in single quotes, no escapes but the doubled quote.
#[derive(Debug)]
struct Plain;

impl Dialect for Plain {
    fn is_identifier_start(&self, ch: char) -> bool {
        ch.is_alphabetic() || ch == '_' || ch == '@' || ch == '#'
    }

    fn is_identifier_part(&self, ch: char) -> bool {
        ch.is_alphanumeric() || matches!(ch, '_' | '@' | '#' | '$')
    }
}

/// Parses a predicate.
pub(super) fn parse(text: &str) -> Result<Expr> {
    if text.len() > MAX_LEN {
        return Err(Error::limit("the length of the predicate", text.len() as u64, MAX_LEN as u64));
    }
    let tokens = Tokenizer::new(&Plain, text).tokenize_with_location();
    let tokens = tokens.map_err(|cause| Error::usage(format!("invalid SQL: {cause}")))?;
    let tokens = tokens.into_iter().filter(|token| !matches!(token.token, Token::Whitespace(_))).collect();
    let mut parser = Parser { tokens, at: 0, depth: 0 };
    if parser.tokens.is_empty() {
        return Err(Error::usage("expected a condition such as age > 30, found nothing"));
    }
    let tree = parser.expression(0)?;
    match parser.peek() {
        Token::EOF => Ok(tree.expr),
        _ => Err(parser.unexpected("an operator or the end")),
    }
}

struct Parser {
    tokens: Vec<TokenWithSpan>,
    at: usize,
    /// Calls of [`Parser::expression`] in progress.
    depth: usize,
}

/// An expression, and its depth.
struct Tree {
    expr: Expr,
    depth: usize,
}

impl Tree {
    fn leaf(expr: Expr) -> Self {
        Self { expr, depth: 1 }
    }
}

/// How tight operators bind, the loosest first.
mod binding {
    pub(super) const OR: u8 = 1;
    pub(super) const AND: u8 = 2;
    pub(super) const NOT: u8 = 3;
    pub(super) const IS: u8 = 4;
    pub(super) const COMPARISON: u8 = 5;
    /// `between`, `in`, `like`.
    pub(super) const RANGE: u8 = 6;
    pub(super) const SUM: u8 = 7;
    pub(super) const PRODUCT: u8 = 8;
    pub(super) const SIGN: u8 = 9;
}

/// An operator after its first operand.
enum Infix {
    Or,
    And,
    Is,
    Comparison(Comparison),
    Range,
    Arithmetic(Arithmetic),
}

impl Infix {
    const fn binding(&self) -> u8 {
        match self {
            Self::Or => binding::OR,
            Self::And => binding::AND,
            Self::Is => binding::IS,
            Self::Comparison(_) => binding::COMPARISON,
            Self::Range => binding::RANGE,
            Self::Arithmetic(Arithmetic::Add | Arithmetic::Subtract) => binding::SUM,
            Self::Arithmetic(_) => binding::PRODUCT,
        }
    }
}

impl Parser {
    fn peek(&self) -> &Token {
        self.tokens.get(self.at).map_or(&Token::EOF, |token| &token.token)
    }

    fn peek_second(&self) -> &Token {
        self.tokens.get(self.at + 1).map_or(&Token::EOF, |token| &token.token)
    }

    fn take_if(&mut self, token: &Token) -> bool {
        let is = self.peek() == token;
        self.at += usize::from(is);
        is
    }

    fn is_word(token: &Token, word: &str) -> bool {
        matches!(token, Token::Word(found) if found.quote_style.is_none() && found.value.eq_ignore_ascii_case(word))
    }

    fn take_word(&mut self, word: &str) -> bool {
        let is = Self::is_word(self.peek(), word);
        self.at += usize::from(is);
        is
    }

    fn expect(&mut self, token: &Token) -> Result<()> {
        if self.take_if(token) { Ok(()) } else { Err(self.unexpected(&format!("`{token}`"))) }
    }

    /// The error for the next token.
    fn unexpected(&self, expected: &str) -> Error {
        let Some(TokenWithSpan { token, span }) = self.tokens.get(self.at) else {
            return Error::usage(format!("expected {expected}, found the end"));
        };
        let line = if span.start.line > 1 { format!("line {}, ", span.start.line) } else { String::new() };
        let hint = match token {
            Token::ExclamationMark => "; `not a` negates, `a is null` asks whether a value is missing",
            Token::DoubleEq => "; `=` compares",
            Token::LBrace => "; objects cannot be compared, their fields can: a.b = 1",
            _ => "",
        };
        Error::usage(format!("expected {expected}, found `{token}` ({line}character {}){hint}", span.start.column))
    }

    /// A node on top of trees of this depth.
    fn node(&self, expr: Expr, below: usize) -> Result<Tree> {
        let depth = below + 1;
        if depth > MAX_DEPTH {
            return Err(Error::limit("the depth of the predicate", depth as u64, MAX_DEPTH as u64));
        }
        Ok(Tree { expr, depth })
    }

    /// An expression of operators that bind at least that tight.
    fn expression(&mut self, min: u8) -> Result<Tree> {
        self.depth += 1;
        if self.depth > MAX_DEPTH {
            return Err(Error::limit("the depth of the predicate", self.depth as u64, MAX_DEPTH as u64));
        }
        let mut left = self.prefix()?;
        while let Some(infix) = self.infix()?.filter(|infix| infix.binding() >= min) {
            left = self.operation(left, &infix)?;
        }
        self.depth -= 1;
        Ok(left)
    }

    /// The operator that comes next.
    fn infix(&self) -> Result<Option<Infix>> {
        Ok(Some(match self.peek() {
            Token::Eq => Infix::Comparison(Comparison::Eq),
            Token::Neq => Infix::Comparison(Comparison::NotEq),
            Token::Lt => Infix::Comparison(Comparison::Less),
            Token::LtEq => Infix::Comparison(Comparison::LessEq),
            Token::Gt => Infix::Comparison(Comparison::Greater),
            Token::GtEq => Infix::Comparison(Comparison::GreaterEq),
            Token::Plus => Infix::Arithmetic(Arithmetic::Add),
            Token::Minus => Infix::Arithmetic(Arithmetic::Subtract),
            Token::Mul => Infix::Arithmetic(Arithmetic::Multiply),
            Token::Div => Infix::Arithmetic(Arithmetic::Divide),
            Token::Mod => Infix::Arithmetic(Arithmetic::Remainder),
            Token::Word(word) if word.quote_style.is_none() => match word.value.to_ascii_lowercase().as_str() {
                "or" => Infix::Or,
                "and" => Infix::And,
                "is" => Infix::Is,
                "between" | "in" | "like" | "ilike" | "not" => Infix::Range,
                _ => return Err(self.unexpected("an operator or the end")),
            },
            _ => return Ok(None),
        }))
    }

    /// The operation of an operator on `left` and what follows.
    fn operation(&mut self, left: Tree, infix: &Infix) -> Result<Tree> {
        let right_binding = infix.binding() + 1;
        match infix {
            Infix::Or | Infix::And => self.chain(left, matches!(infix, Infix::And)),
            Infix::Is => {
                self.at += 1;
                self.is(left)
            }
            Infix::Range => self.range(left),
            Infix::Comparison(op) => {
                self.at += 1;
                let right = self.expression(right_binding)?;
                let below = left.depth.max(right.depth);
                self.node(Expr::Compare(Box::new(left.expr), *op, Box::new(right.expr)), below)
            }
            Infix::Arithmetic(op) => {
                self.at += 1;
                let right = self.expression(right_binding)?;
                let below = left.depth.max(right.depth);
                self.node(Expr::Arithmetic(Box::new(left.expr), *op, Box::new(right.expr)), below)
            }
        }
    }

    /// `left and b and c`, as one node.
    fn chain(&mut self, left: Tree, is_and: bool) -> Result<Tree> {
        let (word, binding) = if is_and { ("and", binding::AND) } else { ("or", binding::OR) };
        let (mut all, mut below) = (vec![left.expr], left.depth);
        while self.take_word(word) {
            let right = self.expression(binding + 1)?;
            below = below.max(right.depth);
            all.push(right.expr);
        }
        self.node(if is_and { Expr::And(all) } else { Expr::Or(all) }, below)
    }

    /// What follows `is`.
    fn is(&mut self, value: Tree) -> Result<Tree> {
        let negated = self.take_word("not");
        let (below, value) = (value.depth, Box::new(value.expr));
        if self.take_word("null") {
            return self.node(Expr::IsNull { value, negated }, below);
        }
        for is in [true, false] {
            if self.take_word(if is { "true" } else { "false" }) {
                return self.node(Expr::IsBool { value, is, negated }, below);
            }
        }
        Err(self.unexpected("null, true or false"))
    }

    /// `[not] between a and b`, `[not] in (a, b)`, `[not] like 'a%'`.
    fn range(&mut self, value: Tree) -> Result<Tree> {
        let negated = self.take_word("not");
        let (mut below, value) = (value.depth, Box::new(value.expr));
        if self.take_word("between") {
            let low = self.expression(binding::SUM)?;
            if !self.take_word("and") {
                return Err(self.unexpected("`and`"));
            }
            let high = self.expression(binding::SUM)?;
            below = below.max(low.depth).max(high.depth);
            let (low, high) = (Box::new(low.expr), Box::new(high.expr));
            return self.node(Expr::Between { value, low, high, negated }, below);
        }
        if self.take_word("in") {
            self.expect(&Token::LParen)?;
            let (list, deepest) = self.list()?;
            return self.node(Expr::In { value, list, negated }, below.max(deepest));
        }
        let ignores_case = Self::is_word(self.peek(), "ilike");
        if !ignores_case && !Self::is_word(self.peek(), "like") {
            return Err(self.unexpected("between, in or like"));
        }
        self.at += 1;
        let Token::SingleQuotedString(text) = self.peek().clone() else {
            return Err(self.unexpected("a pattern such as 'a%'"));
        };
        if text.len() > MAX_PATTERN {
            return Err(Error::limit("the length of the pattern", text.len() as u64, MAX_PATTERN as u64));
        }
        self.at += 1;
        let escape = if self.take_word("escape") { Some(self.escape(&text)?) } else { None };
        let pattern = Pattern { text, escape, ignores_case };
        self.node(Expr::Like { value, pattern, negated }, below)
    }

    /// What follows `escape`: one character, which only precedes `%`, `_` and itself in the pattern.
    fn escape(&mut self, pattern: &str) -> Result<char> {
        let Token::SingleQuotedString(text) = self.peek().clone() else {
            return Err(self.unexpected("a character such as '!'"));
        };
        let mut characters = text.chars();
        let (Some(escape), None) = (characters.next(), characters.next()) else {
            return Err(self.unexpected("one character"));
        };
        self.at += 1;
        let mut rest = pattern.chars();
        while let Some(character) = rest.next() {
            if character == escape && !rest.next().is_some_and(|next| matches!(next, '%' | '_') || next == escape) {
                let detail = "in the pattern the escape character stands only before %, _ and itself";
                return Err(Error::usage(format!("{detail}, found {}", quoted(pattern))));
            }
        }
        Ok(escape)
    }

    /// `a, b)`
    fn list(&mut self) -> Result<(Vec<Expr>, usize)> {
        let (mut list, mut deepest) = (Vec::new(), 0);
        loop {
            let one = self.expression(0)?;
            deepest = deepest.max(one.depth);
            list.push(one.expr);
            if !self.take_if(&Token::Comma) {
                self.expect(&Token::RParen)?;
                return Ok((list, deepest));
            }
        }
    }

    /// An operand, or `not` or a sign and what they apply to.
    fn prefix(&mut self) -> Result<Tree> {
        if self.take_word("not") {
            let value = self.expression(binding::NOT)?;
            return self.node(Expr::Not(Box::new(value.expr)), value.depth);
        }
        if self.take_if(&Token::Plus) {
            return self.expression(binding::SIGN);
        }
        if self.take_if(&Token::Minus) {
            let value = self.expression(binding::SIGN)?;
            return match value.expr {
                Expr::Literal(Literal::Number(digits)) => {
                    let negative = digits.strip_prefix('-').map_or_else(|| format!("-{digits}"), str::to_owned);
                    Ok(Tree::leaf(Expr::Literal(Literal::Number(negative))))
                }
                expr => self.node(Expr::Negate(Box::new(expr)), value.depth),
            };
        }
        let mut operand = self.operand()?;
        loop {
            if self.take_if(&Token::Period) {
                let Token::Word(name) = self.peek().clone() else { return Err(self.unexpected("the name of a field")) };
                self.at += 1;
                operand = self.node(Expr::Field(Box::new(operand.expr), name.value), operand.depth)?;
            } else if self.take_if(&Token::LBracket) {
                let number = match self.peek() {
                    Token::Number(digits, _) => digits.parse().ok().filter(|number| *number > 0),
                    _ => None,
                };
                let Some(number) = number else {
                    return Err(self.unexpected("the number of an element, counted from 1"));
                };
                self.at += 1;
                self.expect(&Token::RBracket)?;
                operand = self.node(Expr::Element(Box::new(operand.expr), number), operand.depth)?;
            } else {
                return Ok(operand);
            }
        }
    }

    fn operand(&mut self) -> Result<Tree> {
        let literal = match self.peek().clone() {
            Token::LParen => {
                self.at += 1;
                let inner = self.expression(0)?;
                self.expect(&Token::RParen)?;
                return Ok(inner);
            }
            Token::Number(digits, _) => Literal::Number(digits),
            Token::SingleQuotedString(text) => Literal::Text(text),
            Token::HexStringLiteral(digits) => Literal::Bytes(bytes(&digits)?),
            Token::Word(word) if word.quote_style.is_some() => {
                self.at += 1;
                return Ok(Tree::leaf(Expr::Column(word.value)));
            }
            Token::Word(word) => return self.word(&word.value),
            _ => return Err(self.unexpected("a column, a value or `(`")),
        };
        self.at += 1;
        Ok(Tree::leaf(Expr::Literal(literal)))
    }

    /// A column, a word that is a value, a function, or the type before a text.
    fn word(&mut self, word: &str) -> Result<Tree> {
        let lower = word.to_ascii_lowercase();
        let literal = match lower.as_str() {
            "null" => Some(Literal::Null),
            "true" => Some(Literal::Bool(true)),
            "false" => Some(Literal::Bool(false)),
            _ => None,
        };
        if let Some(literal) = literal {
            self.at += 1;
            return Ok(Tree::leaf(Expr::Literal(literal)));
        }
        if RESERVED.contains(&lower.as_str()) {
            return Err(self.unexpected("a column, a value or `(`"));
        }
        match (self.peek_second().clone(), lower.as_str()) {
            (Token::SingleQuotedString(text), "date" | "time" | "timestamp") => {
                self.at += 2;
                let kind = match lower.as_str() {
                    "date" => TimeKind::Date,
                    "time" => TimeKind::Time,
                    _ => TimeKind::Timestamp,
                };
                Ok(Tree::leaf(Expr::Literal(Literal::Time(kind, text))))
            }
            (Token::LParen, name) => {
                let Some(function) = Function::ALL.into_iter().find(|function| function.name() == name) else {
                    let known = Function::ALL.map(Function::name).join(", ");
                    return Err(Error::usage(format!("unknown function {word} (known: {known})")));
                };
                self.at += 2;
                let (arguments, deepest) = self.list()?;
                if function != Function::Coalesce && arguments.len() != 1 {
                    let detail = format!("{} takes one argument, found {}", function.name(), arguments.len());
                    return Err(Error::usage(detail));
                }
                self.node(Expr::Call(function, arguments), deepest)
            }
            (Token::SingleQuotedString(text), _) => {
                let detail = format!("{word} is no type: expected a text such as {} alone", quoted(&text));
                Err(Error::usage(detail))
            }
            _ => {
                self.at += 1;
                Ok(Tree::leaf(Expr::Column(word.to_owned())))
            }
        }
    }
}

/// The bytes of hexadecimal digits.
fn bytes(digits: &str) -> Result<Vec<u8>> {
    let invalid = || Error::usage(format!("expected pairs of hexadecimal digits, found x{}", quoted(digits)));
    let pair = |pair: &[u8]| {
        let digit = |byte: &u8| char::from(*byte).to_digit(16);
        let [high, low] = pair else { return None };
        u8::try_from(digit(high)? * 16 + digit(low)?).ok()
    };
    digits.as_bytes().chunks(2).map(|two| pair(two).ok_or_else(invalid)).collect()
}
