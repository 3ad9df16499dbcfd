//! Expressions of the little SQL: parsed without knowing the columns, then bound to them.

use std::cmp::Ordering;

use super::convert;
use super::input::{INTERNAL_ERROR, Refusal, refusal};
use super::lexer::{Kind, Token, at};
use super::value::{Decimal, Type, Value};

/// An expression as it was written.
#[derive(Clone, Debug)]
pub enum Ast {
    Constant(Type, Value),
    Null,
    Name(String, usize),
    Bind(usize),
    Count,
    Binary(String, usize, Box<Ast>, Box<Ast>),
    Cast(Box<Ast>, Type),
    IsNull(Box<Ast>, bool),
}

/// An expression bound to columns.
#[derive(Debug)]
pub enum Expr {
    Constant(Value),
    Column(usize),
    Binary(Operator, Box<Expr>, Box<Expr>),
    /// From one type to another.
    Cast(Box<Expr>, Type, Type),
    IsNull(Box<Expr>, bool),
}

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Operator {
    /// Whole numbers: add, subtract, multiply, divide, rest.
    Whole(u8),
    Double(u8),
    Concat,
    And,
    Compare(Test),
}

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Test {
    Equal,
    NotEqual,
    Less,
    AtMost,
    More,
    AtLeast,
}

/// Reads expressions from words.
pub struct Parser {
    tokens: Vec<Token>,
    next: usize,
}

impl Parser {
    pub fn new(tokens: Vec<Token>) -> Parser {
        Parser { tokens, next: 0 }
    }

    pub fn peek(&self) -> &Token {
        &self.tokens[self.next]
    }

    pub fn take(&mut self) -> Token {
        let token = self.tokens[self.next].clone();
        if token.kind != Kind::End {
            self.next += 1;
        }
        token
    }

    /// Takes the next word if it is this one.
    pub fn eat(&mut self, text: &str) -> bool {
        let found = self.peek().is(text);
        if found {
            self.take();
        }
        found
    }

    pub fn expect(&mut self, text: &str) -> Result<Token, Refusal> {
        let token = self.take();
        if token.is(text) { Ok(token) } else { Err(at(token.at, format!("'{text}' expected"))) }
    }

    pub fn name(&mut self, what: &str) -> Result<Token, Refusal> {
        let token = self.take();
        match token.kind {
            Kind::Word | Kind::Quoted | Kind::Text => Ok(token),
            _ => Err(at(token.at, format!("{what} expected"))),
        }
    }

    pub fn number(&mut self) -> Result<i64, Refusal> {
        let minus = self.eat("-");
        let token = self.take();
        let n = token.text.parse::<i64>().map_err(|_| at(token.at, "number expected"))?;
        Ok(if minus { -n } else { n })
    }

    /// An expression whose operators bind at least this tightly.
    pub fn expression(&mut self, least: u8) -> Result<Ast, Refusal> {
        let mut left = self.operand()?;
        loop {
            let token = self.peek().clone();
            if token.is("::") {
                self.take();
                left = Ast::Cast(Box::new(left), self.column_type()?);
                continue;
            }
            if token.is("is") && least <= 2 {
                self.take();
                let not = self.eat("not");
                self.expect("null")?;
                left = Ast::IsNull(Box::new(left), !not);
                continue;
            }
            let Some(strength) = strength(&token).filter(|s| *s >= least) else { return Ok(left) };
            self.take();
            let right = self.expression(strength + 1)?;
            left = Ast::Binary(token.text.to_ascii_lowercase(), token.at, Box::new(left), Box::new(right));
        }
    }

    fn operand(&mut self) -> Result<Ast, Refusal> {
        let token = self.take();
        match token.kind {
            Kind::Number => number(&token, false),
            Kind::Text => Ok(text_constant(&token.text)),
            Kind::Bind => {
                let index = token.text.parse::<usize>().ok().filter(|n| *n > 0);
                index.map(Ast::Bind).ok_or_else(|| at(token.at, "invalid bind variable index"))
            }
            Kind::Mark if token.is("-") => {
                let next = self.take();
                number(&next, true)
            }
            Kind::Mark if token.is("(") => {
                let inner = self.expression(0)?;
                self.expect(")")?;
                Ok(inner)
            }
            Kind::Word => self.word(token),
            Kind::Quoted => Ok(Ast::Name(token.text, token.at)),
            Kind::Mark | Kind::End => Err(at(token.at, "expression expected")),
        }
    }

    fn word(&mut self, token: Token) -> Result<Ast, Refusal> {
        match token.text.to_ascii_lowercase().as_str() {
            "null" => return Ok(Ast::Null),
            "true" => return Ok(Ast::Constant(Type::Boolean, Value::Boolean(true))),
            "false" => return Ok(Ast::Constant(Type::Boolean, Value::Boolean(false))),
            "count" if self.peek().is("(") => {
                self.take();
                self.eat("*");
                self.expect(")")?;
                return Ok(Ast::Count);
            }
            "cast" if self.peek().is("(") => {
                self.take();
                let inner = self.expression(0)?;
                self.expect("as")?;
                let ty = self.column_type()?;
                self.expect(")")?;
                return Ok(Ast::Cast(Box::new(inner), ty));
            }
            _ => {}
        }
        if self.peek().is("(") {
            return Err(at(token.at, format!("unknown function name: {}", token.text)));
        }
        Ok(Ast::Name(token.text, token.at))
    }

    /// The name of a column type, with its parameters.
    pub fn column_type(&mut self) -> Result<Type, Refusal> {
        let token = self.take();
        let ty = match token.text.to_ascii_lowercase().as_str() {
            "boolean" => Type::Boolean,
            "byte" => Type::Byte,
            "short" => Type::Short,
            "int" => Type::Int,
            "long" => Type::Long,
            "float" => Type::Float,
            "double" => self.dimensions(Type::Double)?,
            "symbol" => Type::Symbol,
            "timestamp" => Type::Timestamp,
            "timestamp_ns" => Type::TimestampNanos,
            "date" => Type::Date,
            "uuid" => Type::Uuid,
            "long256" => Type::Long256,
            "varchar" => Type::Varchar,
            "string" => Type::Text,
            "char" => Type::Char,
            "binary" => Type::Binary,
            "ipv4" => Type::Ipv4,
            "geohash" => self.geohash()?,
            "decimal" => self.decimal()?,
            _ => return Err(at(token.at, format!("unsupported column type: {}", token.text))),
        };
        Ok(ty)
    }

    fn dimensions(&mut self, element: Type) -> Result<Type, Refusal> {
        let mut count = 0;
        while self.eat("[") {
            self.expect("]")?;
            count += 1;
        }
        Ok(if count == 0 { element } else { Type::DoubleArray(count) })
    }

    fn geohash(&mut self) -> Result<Type, Refusal> {
        self.expect("(")?;
        let token = self.take();
        let (digits, unit) = token.text.split_at(token.text.len().saturating_sub(1));
        let count = digits.parse::<u8>().ok();
        let bits = count.and_then(|n| if unit == "c" { n.checked_mul(5) } else { Some(n) });
        self.expect(")")?;
        bits.map(Type::Geohash).ok_or_else(|| at(token.at, "invalid GEOHASH size"))
    }

    fn decimal(&mut self) -> Result<Type, Refusal> {
        if !self.eat("(") {
            return Ok(Type::Decimal(Decimal::of(18, 3)));
        }
        let place = self.peek().at;
        let precision = self.number()?;
        let scale = if self.eat(",") { self.number()? } else { 0 };
        self.expect(")")?;
        let pair = u8::try_from(precision).ok().zip(u8::try_from(scale).ok());
        let pair = pair.filter(|(p, s)| (1..=76).contains(p) && s <= p);
        pair.map(|(p, s)| Type::Decimal(Decimal::of(p, s))).ok_or_else(|| at(place, "invalid DECIMAL type"))
    }
}

fn strength(token: &Token) -> Option<u8> {
    if !matches!(token.kind, Kind::Mark | Kind::Word) {
        return None;
    }
    Some(match token.text.to_ascii_lowercase().as_str() {
        "and" => 1,
        "=" | "!=" | "<>" | "<" | "<=" | ">" | ">=" => 2,
        "||" => 3,
        "+" | "-" => 4,
        "*" | "/" | "%" => 5,
        _ => return None,
    })
}

fn number(token: &Token, minus: bool) -> Result<Ast, Refusal> {
    let bad = || at(token.at, format!("invalid number: {}", token.text));
    if token.kind != Kind::Number {
        return Err(at(token.at, "expression expected"));
    }
    let text = if minus { format!("-{}", token.text) } else { token.text.clone() };
    if token.text.contains('.') || token.text.contains(['e', 'E']) {
        return text.parse().map(|n| Ast::Constant(Type::Double, Value::Double(n))).map_err(|_| bad());
    }
    let n: i64 = text.trim_end_matches(['L', 'l']).parse().map_err(|_| bad())?;
    Ok(match i32::try_from(n) {
        Ok(n) if !token.text.ends_with(['L', 'l']) => Ast::Constant(Type::Int, Value::Int(n)),
        _ => Ast::Constant(Type::Long, Value::Long(n)),
    })
}

/// One character is a CHAR (wire.md 8.4).
fn text_constant(text: &str) -> Ast {
    let mut units = text.encode_utf16();
    match (units.next(), units.next()) {
        (Some(unit), None) => Ast::Constant(Type::Char, Value::Char(unit)),
        _ => Ast::Constant(Type::Text, Value::varchar(text)),
    }
}

/// What an expression may refer to.
pub struct Scope<'a> {
    pub columns: &'a [(String, Type)],
    pub binds: &'a [(Type, Value)],
    pub rows: usize,
}

impl Scope<'_> {
    /// Binds an expression; its type comes with it, `None` for the untyped NULL.
    pub fn resolve(&self, ast: &Ast) -> Result<(Expr, Option<Type>), Refusal> {
        match ast {
            Ast::Constant(ty, value) => Ok((Expr::Constant(value.clone()), Some(*ty))),
            Ast::Null => Ok((Expr::Constant(Value::Null), None)),
            Ast::Count => {
                let rows = i64::try_from(self.rows).expect("rows fit");
                Ok((Expr::Constant(Value::Long(rows)), Some(Type::Long)))
            }
            Ast::Bind(index) => {
                let missing = (Type::Varchar, Value::Null);
                let (ty, value) = self.binds.get(index - 1).unwrap_or(&missing);
                Ok((Expr::Constant(value.clone()), Some(*ty)))
            }
            Ast::Name(name, place) => {
                let folded = super::tables::fold(name);
                let index = self.columns.iter().position(|(n, _)| super::tables::fold(n) == folded);
                let index = index.ok_or_else(|| at(*place, format!("Invalid column: {name}")))?;
                Ok((Expr::Column(index), Some(self.columns[index].1)))
            }
            Ast::Cast(inner, to) => {
                let (inner, from) = self.resolve(inner)?;
                Ok((Expr::Cast(Box::new(inner), from.unwrap_or(*to), *to), Some(*to)))
            }
            Ast::IsNull(inner, wanted) => {
                Ok((Expr::IsNull(Box::new(self.resolve(inner)?.0), *wanted), Some(Type::Boolean)))
            }
            Ast::Binary(word, place, left, right) => self.binary(word, *place, left, right),
        }
    }

    fn binary(&self, word: &str, place: usize, l: &Ast, r: &Ast) -> Result<(Expr, Option<Type>), Refusal> {
        let (left, left_type) = self.resolve(l)?;
        let (right, right_type) = self.resolve(r)?;
        let whole =
            |t: Option<Type>| matches!(t, Some(Type::Byte | Type::Short | Type::Int | Type::Long) | None);
        let number = |t: Option<Type>| whole(t) || matches!(t, Some(Type::Float | Type::Double));
        let first = word.as_bytes()[0];
        let (operator, ty) = match word {
            "||" => (Operator::Concat, Type::Varchar),
            "and" => (Operator::And, Type::Boolean),
            "+" | "-" | "*" | "/" | "%" if whole(left_type) && whole(right_type) => {
                let long = left_type == Some(Type::Long) || right_type == Some(Type::Long);
                (Operator::Whole(first), if long { Type::Long } else { Type::Int })
            }
            "+" | "-" | "*" | "/" | "%" if number(left_type) && number(right_type) => {
                (Operator::Double(first), Type::Double)
            }
            "+" | "-" | "*" | "/" | "%" => return Err(no_match(word, place, left_type, right_type)),
            _ => {
                self.comparable(word, place, (left_type, l), (right_type, r))?;
                let test = match word {
                    "=" => Test::Equal,
                    "<" => Test::Less,
                    "<=" => Test::AtMost,
                    ">" => Test::More,
                    ">=" => Test::AtLeast,
                    _ => Test::NotEqual,
                };
                (Operator::Compare(test), Type::Boolean)
            }
        };
        Ok((Expr::Binary(operator, Box::new(left), Box::new(right)), Some(ty)))
    }

    fn comparable(
        &self,
        word: &str,
        place: usize,
        left: (Option<Type>, &Ast),
        right: (Option<Type>, &Ast),
    ) -> Result<(), Refusal> {
        let boolean = |t: Option<Type>| t == Some(Type::Boolean);
        if boolean(left.0) != boolean(right.0) && left.0.is_some() && right.0.is_some() {
            return Err(no_match(word, place, left.0, right.0));
        }
        for ((ty, _), (other, ast)) in [(left, right), (right, left)] {
            let number = matches!(ty, Some(Type::Byte | Type::Short | Type::Int | Type::Long));
            if let (true, Some(Type::Varchar), Ast::Bind(index)) = (number, other, ast) {
                // The server looks for a CHAR there (captured: binds-odd).
                let shown = self.binds.get(index - 1).map(|(_, v)| convert::plain(v)).unwrap_or_default();
                return Err(refusal(
                    INTERNAL_ERROR,
                    format!("inconvertible value: `{shown}` [VARCHAR -> CHAR]"),
                ));
            }
        }
        Ok(())
    }
}

fn no_match(word: &str, place: usize, left: Option<Type>, right: Option<Type>) -> Refusal {
    let name = |t: Option<Type>| t.map_or("NULL".into(), Type::name);
    let types = format!("{} {word} {}", name(left), name(right));
    at(place, format!("there is no matching operator `{word}` with the argument types: {types}"))
}

impl Expr {
    /// The value for a row whose cells `cell` gives.
    pub fn evaluate(&self, cell: &dyn Fn(usize) -> Value) -> Result<Value, Refusal> {
        match self {
            Expr::Constant(value) => Ok(value.clone()),
            Expr::Column(index) => Ok(cell(*index)),
            Expr::IsNull(inner, wanted) => Ok(Value::Boolean(inner.evaluate(cell)?.is_null() == *wanted)),
            Expr::Cast(inner, from, to) => cast(&inner.evaluate(cell)?, *from, *to),
            Expr::Binary(operator, left, right) => {
                let (left, right) = (left.evaluate(cell)?, right.evaluate(cell)?);
                Ok(apply(*operator, &left, &right))
            }
        }
    }
}

/// Turns a value into another type as SQL does.
pub fn cast(value: &Value, from: Type, to: Type) -> Result<Value, Refusal> {
    if value.is_null() {
        return Ok(to.absent());
    }
    let from = if from == Type::Text { Type::Varchar } else { from };
    let out = match (value, to) {
        (Value::Char(_), _) if !matches!(to, Type::Char) => {
            convert::parse(convert::plain(value).as_bytes(), to, "cast").or_else(|why| {
                if matches!(to, Type::Varchar | Type::Text) {
                    Ok(Value::varchar(&convert::plain(value)))
                } else {
                    Err(why)
                }
            })
        }
        _ => convert::convert(std::slice::from_ref(value), from, to, "cast").map(|mut v| v.remove(0)),
    };
    out.map_err(|_| inconvertible(value, from, to))
}

/// The error for a value that a column does not take.
pub fn inconvertible(value: &Value, from: Type, to: Type) -> Refusal {
    let shown = convert::plain(value);
    refusal(INTERNAL_ERROR, format!("inconvertible value: `{shown}` [{} -> {}]", from.name(), to.name()))
}

fn apply(operator: Operator, left: &Value, right: &Value) -> Value {
    if operator == Operator::Concat {
        return Value::varchar(&format!("{}{}", convert::plain(left), convert::plain(right)));
    }
    if operator == Operator::And {
        return Value::Boolean(*left == Value::Boolean(true) && *right == Value::Boolean(true));
    }
    if let Operator::Compare(test) = operator {
        return Value::Boolean(order(left, right).is_some_and(|o| holds(test, o)));
    }
    if left.is_null() || right.is_null() {
        return Value::Null;
    }
    match operator {
        Operator::Whole(mark) => {
            let int = matches!((left, right), (Value::Int(_), Value::Int(_)));
            match whole(left).zip(whole(right)).and_then(|(a, b)| calculate(mark, a, b)) {
                Some(n) if int => i32::try_from(n).map_or(Value::Null, Value::Int),
                Some(n) => Value::Long(n),
                None => Value::Null,
            }
        }
        _ => {
            let Operator::Double(mark) = operator else { return Value::Null };
            let (a, b) = (real(left), real(right));
            Value::Double(match mark {
                b'+' => a + b,
                b'-' => a - b,
                b'*' => a * b,
                b'/' => a / b,
                _ => a % b,
            })
            .or_null()
        }
    }
}

fn calculate(mark: u8, a: i64, b: i64) -> Option<i64> {
    match mark {
        b'+' => Some(a.wrapping_add(b)),
        b'-' => Some(a.wrapping_sub(b)),
        b'*' => Some(a.wrapping_mul(b)),
        b'/' => a.checked_div(b),
        _ => a.checked_rem(b),
    }
}

fn holds(test: Test, order: Ordering) -> bool {
    match test {
        Test::Equal => order.is_eq(),
        Test::NotEqual => order.is_ne(),
        Test::Less => order.is_lt(),
        Test::AtMost => order.is_le(),
        Test::More => order.is_gt(),
        Test::AtLeast => order.is_ge(),
    }
}

/// How two cells compare; NULL with nothing.
pub fn order(left: &Value, right: &Value) -> Option<Ordering> {
    if left.is_null() || right.is_null() {
        return None;
    }
    if let Some((a, b)) = whole(left).zip(whole(right)) {
        return Some(a.cmp(&b));
    }
    let number = |v: &Value| whole(v).is_some() || matches!(v, Value::Float(_) | Value::Double(_));
    if number(left) && number(right) {
        return real(left).partial_cmp(&real(right));
    }
    match (left, right) {
        (Value::Decimal(a), Value::Decimal(b)) if a.1 == b.1 => Some(a.0.cmp(&b.0)),
        (Value::Ipv4(a), Value::Ipv4(b)) => Some(a.cmp(b)),
        (Value::Boolean(a), Value::Boolean(b)) => Some(a.cmp(b)),
        _ => Some(convert::plain(left).cmp(&convert::plain(right))),
    }
}

fn whole(value: &Value) -> Option<i64> {
    match value {
        Value::Byte(n) => Some(i64::from(*n)),
        Value::Short(n) => Some(i64::from(*n)),
        Value::Int(n) => Some(i64::from(*n)),
        Value::Long(n) | Value::Timestamp(n) | Value::TimestampNanos(n) | Value::Date(n) => Some(*n),
        _ => None,
    }
}

#[expect(clippy::cast_precision_loss, reason = "as SQL computes")]
fn real(value: &Value) -> f64 {
    match value {
        Value::Float(n) => f64::from(*n),
        Value::Double(n) => *n,
        other => whole(other).map_or(f64::NAN, |n| n as f64),
    }
}
