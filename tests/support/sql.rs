//! The little SQL that the stand-in understands; everything else is an error with a position.
//!
//! `SELECT items [FROM table | long_sequence(n)] [WHERE ...] [ORDER BY column [DESC]] [LIMIT n]`,
//! `CREATE TABLE`, `DROP TABLE`, `TRUNCATE TABLE`, `ALTER TABLE .. ADD COLUMN`, `INSERT INTO .. VALUES`,
//! `SET`, `BEGIN`, the empty text.

use super::convert;
use super::cursor::{Cursor, Source};
use super::expr::{self, Ast, Expr, Parser, Scope};
use super::input::{INTERNAL_ERROR, Refusal, refusal};
use super::lexer::{self, Kind, at};
use super::tables::{Catalog, Column, Table, fold};
use super::value::{Type, Value};

/// What a statement leads to.
pub enum Outcome {
    Rows(Cursor),
    /// `rows` is -1 where the server does not know.
    Done {
        kind: u8,
        rows: i64,
    },
}

/// Statement kinds of EXEC_DONE.
const INSERT: u8 = 2;
const TRUNCATE: u8 = 3;
const ALTER: u8 = 4;
const SET: u8 = 6;
const DROP: u8 = 7;
const CREATE_TABLE: u8 = 9;
const BEGIN: u8 = 18;
const EMPTY: u8 = 39;

/// Carries out one statement.
pub fn run(sql: &str, binds: &[(Type, Value)], catalog: &mut Catalog) -> Result<Outcome, Refusal> {
    let mut parser = Parser::new(lexer::tokens(sql)?);
    let first = parser.peek().clone();
    let statement = match first.kind {
        Kind::End => return Ok(Outcome::Done { kind: EMPTY, rows: -1 }),
        Kind::Word => first.text.to_ascii_lowercase(),
        _ => return Err(at(first.at, format!("unexpected token [{}]", first.text))),
    };
    if statement != "select" && KEYWORDS.contains(&statement.as_str()) {
        parser.take();
    }
    let outcome = match statement.as_str() {
        "select" => select(&mut parser, binds, catalog),
        "create" => create(&mut parser, catalog),
        "drop" => drop_table(&mut parser, catalog),
        "truncate" => truncate(&mut parser, catalog),
        "alter" => alter(&mut parser, catalog),
        "insert" => insert(&mut parser, binds, catalog),
        "set" => {
            while parser.take().kind != Kind::End {}
            Ok(Outcome::Done { kind: SET, rows: -1 })
        }
        "begin" => Ok(Outcome::Done { kind: BEGIN, rows: -1 }),
        _ => rest_of_select(&mut parser, vec![Item::Everything], binds, catalog),
    }?;
    parser.eat(";");
    let rest = parser.peek();
    match rest.kind {
        Kind::End => Ok(outcome),
        _ => Err(at(rest.at, format!("unexpected token [{}]", rest.text))),
    }
}

const KEYWORDS: [&str; 7] = ["create", "drop", "truncate", "alter", "insert", "set", "begin"];

/// Something in a select list.
enum Item {
    Everything,
    Expression { ast: Ast, name: String, at: usize },
}

fn select(parser: &mut Parser, binds: &[(Type, Value)], catalog: &Catalog) -> Result<Outcome, Refusal> {
    parser.take();
    let mut items = Vec::new();
    loop {
        items.push(item(parser)?);
        if parser.eat(",") {
            continue;
        }
        let next = parser.peek().clone();
        if next.is("from") {
            parser.take();
            return rest_of_select(parser, items, binds, catalog);
        }
        if next.kind == Kind::End || next.is(";") {
            return finish(items, Rowset::nothing(), binds, None);
        }
        let length = next.text.encode_utf16().count();
        let what = format!("found [tok='{}', len={length}] ',', 'from' or 'over' expected", next.text);
        return Err(at(next.at, what));
    }
}

fn item(parser: &mut Parser) -> Result<Item, Refusal> {
    if parser.eat("*") {
        return Ok(Item::Everything);
    }
    let start = parser.peek().clone();
    let ast = parser.expression(0)?;
    let explicit = parser.eat("as");
    let next = parser.peek().clone();
    let keyword = ["from", "where", "order", "limit", "union"].iter().any(|k| next.is(k));
    if explicit || (matches!(next.kind, Kind::Word | Kind::Quoted) && !keyword) {
        let alias = parser.name("alias")?;
        return Ok(Item::Expression { ast, name: alias.text, at: alias.at });
    }
    let name = match &ast {
        Ast::Name(name, _) => name.clone(),
        Ast::Count => "count".into(),
        Ast::Cast(..) => "cast".into(),
        Ast::Bind(index) => format!("${index}"),
        _ => start.text.clone(),
    };
    Ok(Item::Expression { ast, name, at: start.at })
}

/// Rows to choose from.
struct Rowset {
    columns: Vec<(String, Type)>,
    source: Source,
    rows: usize,
}

impl Rowset {
    fn nothing() -> Rowset {
        Rowset { columns: Vec::new(), source: Source::Nothing, rows: 1 }
    }

    fn table(table: &Table) -> Rowset {
        let mut kept: Vec<usize> = (0..table.rows).collect();
        if let Some(designated) = table.designated {
            let values = &table.columns[designated].values;
            kept.sort_by(|a, b| expr::order(&values[*a], &values[*b]).unwrap_or(std::cmp::Ordering::Equal));
        }
        Rowset {
            columns: table.columns.iter().map(|c| (c.name.clone(), c.ty)).collect(),
            source: Source::Table { columns: table.columns.iter().map(|c| c.values.clone()).collect(), kept },
            rows: table.rows,
        }
    }

    fn cell(&self, row: usize, column: usize) -> Value {
        match &self.source {
            Source::Table { columns, kept } => columns[column][kept[row]].clone(),
            Source::Sequence { first } => Value::Long(first + i64::try_from(row).expect("rows fit")),
            Source::Nothing => Value::Null,
        }
    }

    /// Keeps these rows, in this order.
    fn keep(&mut self, rows: &[usize]) {
        self.rows = rows.len();
        if let Source::Sequence { first } = self.source {
            let n = |row: &usize| vec![Value::Long(first + i64::try_from(*row).expect("rows fit"))];
            let column: Vec<Value> = rows.iter().flat_map(n).collect();
            self.source = Source::Table { columns: vec![column], kept: (0..rows.len()).collect() };
        } else if let Source::Table { kept, .. } = &mut self.source {
            *kept = rows.iter().map(|row| kept[*row]).collect();
        }
    }

    /// Keeps a stretch of the rows, without looking at them.
    fn cut(&mut self, from: usize, to: usize) {
        match &mut self.source {
            Source::Sequence { first } => *first += i64::try_from(from).expect("rows fit"),
            Source::Table { kept, .. } => *kept = kept[from..to].to_vec(),
            Source::Nothing => {}
        }
        self.rows = to - from;
    }
}

fn rest_of_select(
    parser: &mut Parser,
    items: Vec<Item>,
    binds: &[(Type, Value)],
    catalog: &Catalog,
) -> Result<Outcome, Refusal> {
    let mut rows = rowset(parser, catalog)?;
    if parser.eat("where") {
        filter(parser, &mut rows, binds)?;
    }
    if parser.eat("order") {
        parser.expect("by")?;
        sort(parser, &mut rows)?;
    }
    let mut limit = None;
    if parser.eat("limit") {
        let first = parser.number()?;
        limit = Some((first, if parser.eat(",") { Some(parser.number()?) } else { None }));
    }
    finish(items, rows, binds, limit)
}

type Limit = Option<(i64, Option<i64>)>;

fn rowset(parser: &mut Parser, catalog: &Catalog) -> Result<Rowset, Refusal> {
    let name = parser.name("table name")?;
    if name.text.eq_ignore_ascii_case("long_sequence") && parser.eat("(") {
        let count = parser.number()?;
        parser.expect(")")?;
        let columns = vec![("x".into(), Type::Long)];
        let rows = usize::try_from(count).unwrap_or(0);
        return Ok(Rowset { columns, source: Source::Sequence { first: 1 }, rows });
    }
    let Some(table) = catalog.get(&name.text) else { return Err(no_table(name.at, &name.text)) };
    match &table.broken {
        Some(why) => Err(refusal(INTERNAL_ERROR, why.clone())),
        None => Ok(Rowset::table(table)),
    }
}

fn no_table(place: usize, name: &str) -> Refusal {
    at(place, format!("table does not exist [table={name}]"))
}

fn filter(parser: &mut Parser, rows: &mut Rowset, binds: &[(Type, Value)]) -> Result<(), Refusal> {
    let ast = parser.expression(0)?;
    let scope = Scope { columns: &rows.columns, binds, rows: rows.rows };
    let (condition, _) = scope.resolve(&ast)?;
    let mut kept = Vec::new();
    for row in 0..rows.rows {
        if condition.evaluate(&|column| rows.cell(row, column))? == Value::Boolean(true) {
            kept.push(row);
        }
    }
    rows.keep(&kept);
    Ok(())
}

fn sort(parser: &mut Parser, rows: &mut Rowset) -> Result<(), Refusal> {
    let name = parser.name("column name")?;
    let folded = fold(&name.text);
    let column = rows.columns.iter().position(|(n, _)| fold(n) == folded);
    let column = column.ok_or_else(|| at(name.at, format!("Invalid column: {}", name.text)))?;
    let descending = parser.eat("desc");
    parser.eat("asc");
    let mut order: Vec<usize> = (0..rows.rows).collect();
    order.sort_by(|a, b| {
        let (a, b) = (rows.cell(*a, column), rows.cell(*b, column));
        let order = expr::order(&a, &b).unwrap_or_else(|| b.is_null().cmp(&a.is_null()));
        if descending { order.reverse() } else { order }
    });
    rows.keep(&order);
    Ok(())
}

fn finish(
    items: Vec<Item>,
    mut rows: Rowset,
    binds: &[(Type, Value)],
    limit: Limit,
) -> Result<Outcome, Refusal> {
    let counted = items.iter().any(|i| matches!(i, Item::Expression { ast: Ast::Count, .. }));
    let mut schema: Vec<(String, Type)> = Vec::new();
    let mut expressions = Vec::new();
    let scope = Scope { columns: &rows.columns, binds, rows: rows.rows };
    for item in &items {
        match item {
            Item::Everything => {
                schema.extend(rows.columns.iter().cloned());
                expressions.extend((0..rows.columns.len()).map(Expr::Column));
            }
            Item::Expression { ast, name, at: place } => {
                let (expression, ty) = scope.resolve(ast)?;
                if schema.iter().any(|(n, _)| fold(n) == fold(name)) {
                    return Err(at(*place, format!("Duplicate column [name={name}]")));
                }
                schema.push((name.clone(), travels(ty)?));
                expressions.push(expression);
            }
        }
    }
    for (_, ty) in &schema {
        travels(Some(*ty))?;
    }
    if counted {
        rows = Rowset::nothing();
    }
    if let Some(limit) = limit {
        let (from, to) = stretch(limit, rows.rows);
        rows.cut(from, to);
    }
    Ok(Outcome::Rows(Cursor { schema, expressions, source: rows.source, rows: rows.rows, at: 0 }))
}

/// Types without a code on the wire fail the whole query (wire.md 8.4).
fn travels(ty: Option<Type>) -> Result<Type, Refusal> {
    let unsupported =
        |name: String| refusal(INTERNAL_ERROR, format!("QWP egress: unsupported column type {name}"));
    match ty {
        None => Err(unsupported("NULL".into())),
        Some(Type::Decimal(d)) if d.precision <= 9 => Err(unsupported(Type::Decimal(d).name())),
        Some(ty) => Ok(ty),
    }
}

fn stretch((first, second): (i64, Option<i64>), rows: usize) -> (usize, usize) {
    let place = |n: i64| match usize::try_from(n) {
        Ok(n) => n.min(rows),
        Err(_) => rows.saturating_sub(usize::try_from(n.unsigned_abs()).unwrap_or(usize::MAX)),
    };
    let (from, to) = match second {
        Some(second) => (place(first), place(second)),
        None if first < 0 => (place(first), rows),
        None => (0, place(first)),
    };
    (from, to.max(from))
}

fn create(parser: &mut Parser, catalog: &mut Catalog) -> Result<Outcome, Refusal> {
    parser.expect("table")?;
    let lenient = if parser.eat("if") {
        parser.expect("not")?;
        parser.expect("exists")?;
        true
    } else {
        false
    };
    let name = parser.name("table name")?;
    parser.expect("(")?;
    let mut columns = Vec::new();
    loop {
        let column = parser.name("column name")?;
        columns.push((column.text, parser.column_type()?));
        if !parser.eat(",") {
            break;
        }
    }
    parser.expect(")")?;
    let mut designated = None;
    let mut wal = true;
    if parser.eat("timestamp") {
        parser.expect("(")?;
        let column = parser.name("column name")?;
        designated = columns.iter().position(|(n, _)| fold(n) == fold(&column.text));
        if designated.is_none() {
            return Err(at(column.at, format!("invalid designated timestamp column [name={}]", column.text)));
        }
        parser.expect(")")?;
    } else {
        wal = false;
    }
    if parser.eat("partition") {
        parser.expect("by")?;
        parser.name("partition unit")?;
    }
    if parser.eat("bypass") {
        wal = false;
    }
    parser.eat("wal");
    if catalog.get(&name.text).is_some() {
        if lenient {
            return Ok(Outcome::Done { kind: CREATE_TABLE, rows: 0 });
        }
        return Err(at(name.at, "table already exists"));
    }
    catalog.create(&name.text, columns, designated).wal = wal;
    Ok(Outcome::Done { kind: CREATE_TABLE, rows: 0 })
}

fn drop_table(parser: &mut Parser, catalog: &mut Catalog) -> Result<Outcome, Refusal> {
    parser.expect("table")?;
    let lenient = parser.eat("if");
    if lenient {
        parser.expect("exists")?;
    }
    let name = parser.name("table name")?;
    if !catalog.drop_table(&name.text) && !lenient {
        return Err(no_table(name.at, &name.text));
    }
    Ok(Outcome::Done { kind: DROP, rows: 0 })
}

fn existing<'c>(parser: &mut Parser, catalog: &'c mut Catalog) -> Result<&'c mut Table, Refusal> {
    let name = parser.name("table name")?;
    catalog.get_mut(&name.text).ok_or_else(|| no_table(name.at, &name.text))
}

fn truncate(parser: &mut Parser, catalog: &mut Catalog) -> Result<Outcome, Refusal> {
    parser.expect("table")?;
    let table = existing(parser, catalog)?;
    table.rows = 0;
    table.columns.iter_mut().for_each(|c| c.values.clear());
    table.txn += 1;
    Ok(Outcome::Done { kind: TRUNCATE, rows: -1 })
}

fn alter(parser: &mut Parser, catalog: &mut Catalog) -> Result<Outcome, Refusal> {
    parser.expect("table")?;
    let table = existing(parser, catalog)?;
    parser.expect("add")?;
    parser.expect("column")?;
    let name = parser.name("column name")?;
    let ty = parser.column_type()?;
    if table.column(&name.text).is_some() {
        return Err(at(name.at, format!("column '{}' already exists", name.text)));
    }
    table.add_column(&name.text, ty);
    Ok(Outcome::Done { kind: ALTER, rows: 0 })
}

fn insert(parser: &mut Parser, binds: &[(Type, Value)], catalog: &mut Catalog) -> Result<Outcome, Refusal> {
    parser.expect("into")?;
    let table = existing(parser, catalog)?;
    let mut targets: Vec<usize> = (0..table.columns.len()).collect();
    if parser.eat("(") {
        targets.clear();
        loop {
            let name = parser.name("column name")?;
            let index = table.column(&name.text);
            targets.push(index.ok_or_else(|| at(name.at, format!("Invalid column: {}", name.text)))?);
            if !parser.eat(",") {
                break;
            }
        }
        parser.expect(")")?;
    }
    parser.expect("values")?;
    let mut rows: Vec<Vec<Value>> = Vec::new();
    loop {
        rows.push(value_row(parser, binds, table, &targets)?);
        if !parser.eat(",") {
            break;
        }
    }
    let count = rows.len();
    for row in rows {
        for (column, value) in table.columns.iter_mut().zip(row) {
            column.values.push(value);
        }
    }
    table.rows += count;
    table.txn += 1;
    Ok(Outcome::Done { kind: INSERT, rows: i64::try_from(count).expect("few rows") })
}

fn value_row(
    parser: &mut Parser,
    binds: &[(Type, Value)],
    table: &Table,
    targets: &[usize],
) -> Result<Vec<Value>, Refusal> {
    parser.expect("(")?;
    let scope = Scope { columns: &[], binds, rows: 0 };
    let mut row: Vec<Value> = table.columns.iter().map(|c| c.ty.absent()).collect();
    for (i, target) in targets.iter().enumerate() {
        if i > 0 {
            parser.expect(",")?;
        }
        let start = parser.peek().clone();
        let (expression, from) = scope.resolve(&parser.expression(0)?)?;
        let value = expression.evaluate(&|_| Value::Null)?;
        let Column { name, ty: to, .. } = &table.columns[*target];
        let to = *to;
        let from = from.unwrap_or(to);
        let words = matches!(from, Type::Text | Type::Varchar | Type::Char);
        if !words && convert::check(from, to, name).is_err() {
            let dollar = if start.kind == Kind::Bind { "$" } else { "" };
            let what = format!("[from={dollar}{}, to={name}]", start.text);
            let types = format!("{} -> {}", from.name(), to.name());
            return Err(at(start.at, format!("inconvertible types: {types} {what}")));
        }
        row[*target] = expr::cast(&value, from, to).map_err(|_| expr::inconvertible(&value, from, to))?;
    }
    parser.expect(")")?;
    Ok(row)
}
