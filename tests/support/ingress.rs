//! One ingest connection: sequences, acknowledgements, deferred groups (wire.md 5.1, 6.2).

use std::collections::HashMap;

use super::input::{Refusal, SECURITY_ERROR, WRITE_ERROR, refusal};
use super::message::{Dictionary, Message};
use super::tables::{Catalog, Staged, fold};
use super::{Durability, Limits};

/// An OK is due when so many messages wait for one.
const OWED_MAX: usize = 8;

/// What the server knows about a connection that writes.
#[derive(Default)]
pub struct Ingest {
    next: i64,
    dictionary: Dictionary,
    /// Tables written to, by folded name, in the order of their first use.
    known: HashMap<String, Known>,
    pending: Vec<Staged>,
    owed: usize,
    /// The last message that no deferred one before it keeps from being acknowledged.
    settled: Option<i64>,
    acked: Option<i64>,
    /// After an error: nothing is read any more, and nothing said.
    dead: bool,
    durable: Durable,
}

struct Known {
    order: usize,
    id: u64,
    /// The last transaction, if no OK has listed it yet.
    fresh: Option<(String, i64)>,
}

/// Transactions that an OK has listed, and those of them that were uploaded.
#[derive(Default)]
struct Durable {
    waiting: Vec<(String, i64)>,
}

/// What of the server's settings a message meets.
pub struct Rules<'a> {
    pub limits: &'a Limits,
    pub read_only: bool,
    pub now_micros: i64,
}

impl Ingest {
    /// Messages taken so far.
    pub fn taken(&self) -> i64 {
        self.next
    }

    pub fn is_dead(&self) -> bool {
        self.dead
    }

    /// Takes a binary message; the answers that go out at once, and what was refused.
    pub fn message(
        &mut self,
        bytes: &[u8],
        catalog: &mut Catalog,
        rules: &Rules<'_>,
    ) -> (Vec<Vec<u8>>, Option<Refusal>) {
        let sequence = self.next;
        self.next += 1;
        if self.dead {
            return (Vec::new(), None);
        }
        match self.apply(bytes, catalog, rules) {
            Ok(true) => {
                let group = self.settled.map_or(0, |s| s + 1) < sequence;
                self.settled = Some(sequence);
                self.owed += 1;
                let due = group || self.owed >= OWED_MAX;
                (if due { self.flush().into_iter().collect() } else { Vec::new() }, None)
            }
            Ok(false) => (Vec::new(), None),
            Err(why) => (self.refuse(sequence, &why), Some(why)),
        }
    }

    /// The answer to a message that is refused, after the OK owed for those before it.
    pub fn refuse(&mut self, sequence: i64, why: &Refusal) -> Vec<Vec<u8>> {
        self.dead = true;
        self.pending.clear();
        let mut answers: Vec<Vec<u8>> = self.flush().into_iter().collect();
        answers.push(error(sequence, why));
        answers
    }

    /// The OK that is owed, if one is.
    pub fn flush(&mut self) -> Option<Vec<u8>> {
        let settled = self.settled?;
        if self.acked == Some(settled) {
            return None;
        }
        self.acked = Some(settled);
        self.owed = 0;
        let tables = self.fresh();
        self.durable.waiting.extend(tables.iter().cloned());
        Some(ok(settled, &tables))
    }

    /// The OK with the sequence that a script wants, whatever is owed.
    pub fn acknowledge(&mut self, sequence: i64) -> Vec<u8> {
        let tables = self.fresh();
        self.acked = Some(sequence);
        self.owed = 0;
        self.durable.waiting.extend(tables.iter().cloned());
        ok(sequence, &tables)
    }

    /// The durable ack for what earlier OKs have listed, if there is any.
    pub fn durable_ack(&mut self, durability: Durability, ping: bool) -> Option<Vec<u8>> {
        let now = match durability {
            Durability::Off | Durability::Held => false,
            Durability::OnPing => ping,
            Durability::Prompt => true,
        };
        if !now || self.durable.waiting.is_empty() {
            return None;
        }
        let mut latest: Vec<(String, i64)> = Vec::new();
        for (name, txn) in self.durable.waiting.drain(..) {
            match latest.iter_mut().find(|(n, _)| *n == name) {
                Some((_, known)) => *known = txn,
                None => latest.push((name, txn)),
            }
        }
        Some(durable(&latest))
    }

    fn fresh(&mut self) -> Vec<(String, i64)> {
        let mut tables: Vec<_> =
            self.known.values_mut().filter_map(|k| k.fresh.take().map(|(n, t)| (k.order, n, t))).collect();
        tables.sort_by_key(|(order, ..)| *order);
        tables.into_iter().map(|(_, name, txn)| (name, txn)).collect()
    }

    /// Whether the message may be acknowledged as soon as those before it.
    fn apply(&mut self, bytes: &[u8], catalog: &mut Catalog, rules: &Rules<'_>) -> Result<bool, Refusal> {
        if rules.read_only {
            return Err(refusal(SECURITY_ERROR, "replica access is read-only"));
        }
        if bytes.is_empty() {
            return Ok(self.pending.is_empty() && self.settled.map_or(0, |s| s + 1) == self.next - 1);
        }
        let mut message = Message::open(bytes, &mut self.dictionary)?;
        for _ in 0..message.blocks {
            let block = message.block(&self.dictionary, rules.limits)?;
            let folded = fold(&block.table);
            let live = catalog.get(&block.table).map(|t| t.id);
            if let Some(known) = self.known.get(&folded) {
                if Some(known.id) != live {
                    // Dropped since this connection wrote to it: these rows are lost, the next are not.
                    self.known.remove(&folded);
                    continue;
                }
            } else if self.known.len() >= rules.limits.tables {
                let text = format!("too many distinct tables, limit: {}", rules.limits.tables);
                return Err(refusal(WRITE_ERROR, text));
            }
            let staged = catalog.stage(&block, rules.limits, rules.now_micros)?;
            let order = self.known.len();
            self.known.entry(folded).or_insert(Known { order, id: staged.table, fresh: None });
            self.push(staged, catalog, rules.limits);
        }
        if message.deferred() {
            return Ok(false);
        }
        self.commit(catalog);
        Ok(true)
    }

    /// Adds rows to the group; a table with too many is committed without a word.
    fn push(&mut self, staged: Staged, catalog: &mut Catalog, limits: &Limits) {
        let table = staged.table;
        self.pending.push(staged);
        let rows: usize = self.pending.iter().filter(|s| s.table == table).map(|s| s.rows).sum();
        if rows < limits.uncommitted_rows {
            return;
        }
        let (own, others) = self.pending.drain(..).partition(|s| s.table == table);
        self.pending = others;
        commit_one(own, table, catalog);
    }

    fn commit(&mut self, catalog: &mut Catalog) {
        let mut groups: Vec<(u64, Vec<Staged>)> = Vec::new();
        for staged in self.pending.drain(..) {
            match groups.iter_mut().find(|(id, _)| *id == staged.table) {
                Some((_, group)) => group.push(staged),
                None => groups.push((staged.table, vec![staged])),
            }
        }
        for (id, group) in groups {
            let Some((name, txn)) = commit_one(group, id, catalog) else { continue };
            if let Some(known) = self.known.get_mut(&fold(&name)) {
                known.fresh = Some((name, txn));
            }
        }
    }
}

/// Commits rows of one table as one transaction; `None` if it is gone or there are none.
fn commit_one(group: Vec<Staged>, id: u64, catalog: &mut Catalog) -> Option<(String, i64)> {
    let table = catalog.by_id(id)?;
    let before = table.rows;
    for staged in group {
        table.commit(staged);
    }
    if table.rows == before {
        return None;
    }
    table.txn += 1;
    Some((table.name.clone(), table.txn))
}

/// An OK (wire.md 6.1).
pub fn ok(sequence: i64, tables: &[(String, i64)]) -> Vec<u8> {
    let mut out = vec![0x00];
    out.extend(sequence.to_le_bytes());
    put_tables(&mut out, tables);
    out
}

/// A durable ack (wire.md 6.4).
pub fn durable(tables: &[(String, i64)]) -> Vec<u8> {
    let mut out = vec![0x02];
    put_tables(&mut out, tables);
    out
}

/// An error for one message; its text is cut to what the server allows.
pub fn error(sequence: i64, why: &Refusal) -> Vec<u8> {
    let mut out = vec![why.status];
    out.extend(sequence.to_le_bytes());
    let mut end = why.text.len().min(1024);
    while !why.text.is_char_boundary(end) {
        end -= 1;
    }
    put_text(&mut out, &why.text[..end]);
    out
}

fn put_tables(out: &mut Vec<u8>, tables: &[(String, i64)]) {
    out.extend(u16::try_from(tables.len()).expect("at most 10,000 tables").to_le_bytes());
    for (name, txn) in tables {
        put_text(out, name);
        out.extend(txn.to_le_bytes());
    }
}

/// A text behind its length of 16 bits.
pub fn put_text(out: &mut Vec<u8>, text: &str) {
    out.extend(u16::try_from(text.len()).expect("short texts only").to_le_bytes());
    out.extend(text.as_bytes());
}
