//! Cuts SQL into words.

use super::input::{Refusal, malformed};

/// What a word is.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Kind {
    Word,
    Quoted,
    Number,
    Text,
    Bind,
    Mark,
    End,
}

/// A word, and its place in UTF-16 units.
#[derive(Clone, Debug)]
pub struct Token {
    pub kind: Kind,
    pub text: String,
    pub at: usize,
}

impl Token {
    /// Whether it is this keyword or mark.
    pub fn is(&self, text: &str) -> bool {
        matches!(self.kind, Kind::Word | Kind::Mark) && self.text.eq_ignore_ascii_case(text)
    }
}

/// An error of SQL at a place.
pub fn at(place: usize, text: impl std::fmt::Display) -> Refusal {
    malformed(format!("[{place}] {text}"))
}

/// All words, and an end mark behind them.
pub fn tokens(sql: &str) -> Result<Vec<Token>, Refusal> {
    let chars: Vec<char> = sql.chars().collect();
    let mut out = Vec::new();
    let (mut i, mut place) = (0, 0);
    while i < chars.len() {
        if chars[i].is_whitespace() {
            place += chars[i].len_utf16();
            i += 1;
            continue;
        }
        let (kind, text, used) = token(&chars[i..]).map_err(|what| at(place, what))?;
        out.push(Token { kind, text, at: place });
        place += chars[i..i + used].iter().map(|c| c.len_utf16()).sum::<usize>();
        i += used;
    }
    out.push(Token { kind: Kind::End, text: String::new(), at: place });
    Ok(out)
}

fn token(rest: &[char]) -> Result<(Kind, String, usize), &'static str> {
    let run = |from: usize, holds: &dyn Fn(char) -> bool| {
        from + rest[from..].iter().take_while(|c| holds(**c)).count()
    };
    let text = |end: usize| rest[..end].iter().collect::<String>();
    let first = rest[0];
    if first == '\'' || first == '"' {
        return quoted(rest, first);
    }
    if first == '$' {
        let end = run(1, &|c| c.is_ascii_digit());
        return Ok((Kind::Bind, rest[1..end].iter().collect(), end));
    }
    if first.is_ascii_digit() {
        let end = run(0, &|c| c.is_ascii_alphanumeric() || c == '.');
        return Ok((Kind::Number, text(end), end));
    }
    if first.is_alphanumeric() || first == '_' {
        let end = run(0, &|c| c.is_alphanumeric() || matches!(c, '_' | '.'));
        return Ok((Kind::Word, text(end), end));
    }
    let pair = text(rest.len().min(2));
    if ["||", "::", "<=", ">=", "!=", "<>"].contains(&pair.as_str()) {
        return Ok((Kind::Mark, pair, 2));
    }
    Ok((Kind::Mark, first.to_string(), 1))
}

fn quoted(rest: &[char], quote: char) -> Result<(Kind, String, usize), &'static str> {
    let kind = if quote == '\'' { Kind::Text } else { Kind::Quoted };
    let mut out = String::new();
    let mut i = 1;
    while let Some(c) = rest.get(i) {
        if *c != quote {
            out.push(*c);
        } else if rest.get(i + 1) == Some(&quote) {
            out.push(quote);
            i += 1;
        } else {
            return Ok((kind, out, i + 1));
        }
        i += 1;
    }
    Err("unclosed quoted string?")
}
