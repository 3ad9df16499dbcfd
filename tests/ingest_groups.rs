//! LIM-03: commit groups that a server would commit by itself.

#![allow(clippy::unwrap_used, reason = "test code: a panic is a failed test")]

mod kit;
mod support;

use kit::*;
use qwp::{ErrorKind, Sender};
use support::{Server, State};

const LIMIT: i64 = 1_000_000;

/// A server that fails a group of a million rows instead of committing a part of it.
fn strict() -> Server {
    Server::with(|config| config.keep_frames = false)
}

fn big(server: &Server, keys: &str) -> Sender {
    sender(server, &format!("max_buf_size=1g;sf_max_total_bytes=256m;{keys}"))
}

/// So many rows of a table at once.
fn rows(sender: &mut Sender, table: &str, count: i64) -> qwp::Result<()> {
    let values = vec![1; usize::try_from(count).unwrap()];
    sender.columns(table).column_i8("x", &values).at_now().map(drop)
}

fn commits(state: &State, table: &str) -> (usize, i64) {
    state.catalog.get(table).map_or((0, 0), |table| (table.rows, table.txn))
}

/// E34: three groups, none of a million rows.
#[test]
fn lim_03_two_and_a_half_million_rows_in_one_flush() {
    let server = strict();
    let mut sender = big(&server, "");
    rows(&mut sender, "t", 5 * LIMIT / 2).unwrap();
    drain(&mut sender);
    assert_eq!(server.state(|state| commits(state, "t")), (2_500_000, 3));
}

/// E34: under `transaction=on` the row that would is an error, and the rest still goes out.
#[test]
fn lim_03_a_transaction_refuses_its_millionth_row() {
    let server = strict();
    let mut sender = big(&server, "transaction=on;");
    rows(&mut sender, "t", LIMIT - 2).unwrap();
    let one = |sender: &mut Sender| sender.table("t").column_i8("x", 1).at_now();
    one(&mut sender).unwrap();
    assert_eq!(kind(one(&mut sender)), ErrorKind::TooLarge);
    assert_eq!(kind(rows(&mut sender, "t", 1)), ErrorKind::TooLarge);
    sender.table("u").column_i64("x", 1).at(at(0)).unwrap();
    drain(&mut sender);
    assert_eq!(server.state(|state| (commits(state, "t"), commits(state, "u"))), ((999_999, 1), (1, 1)));
}
