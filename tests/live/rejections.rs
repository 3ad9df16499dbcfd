//! What the server refuses: for good, for now, and without a word.

use crate::cell::Cell;
use crate::world::{PATIENCE, World, deliver, number, quoted, wait_for, wait_rows};
use qwp::{Decimal, DecimalWidth, ErrorKind, Geohash, LinkState, QueryClient, Row, Sender, TimestampNanos};

/// What an existing table has as `c`, and what is written to it.
fn conflicts() -> Vec<(&'static str, Cell)> {
    vec![
        ("long", Cell::text("no number")),
        ("long", Cell::symbol("no number")),
        ("byte", Cell::Long(1000)),
        ("int", Cell::double(1.5)),
        ("double", Cell::Bytes(vec![0, 1])),
        ("symbol", Cell::doubles(&[1], &[1.0])),
        ("uuid", Cell::text("no uuid")),
        ("boolean", Cell::Long(1)),
        ("ipv4", Cell::text("1.2.3.4")),
        ("geohash(5b)", Cell::geohash(1, 6)),
        ("double[]", Cell::doubles(&[1, 1], &[1.0])),
        ("decimal(18, 2)", Cell::decimal("1.234", DecimalWidth::W64)),
    ]
}

fn create(client: &mut QueryClient, table: &str, columns: &str) {
    let sql = format!(
        "create table {} ({columns}, timestamp timestamp_ns) timestamp(timestamp) partition by day wal",
        quoted(table)
    );
    client.execute(&sql).unwrap();
}

fn row(sender: &mut Sender, table: &str, at: i64, fill: impl FnOnce(&mut Row<'_>)) {
    let mut row = sender.table(table);
    fill(&mut row);
    row.at(TimestampNanos::new(at)).unwrap();
}

// R05
#[test]
#[ignore = "needs a server: QWP_TEST_SERVER"]
fn errp_01_a_value_of_a_wrong_type_is_a_terminal_error_with_status_and_text() {
    let world = World::new();
    let mut client = world.client("");
    for (at, (column_type, value)) in conflicts().into_iter().enumerate() {
        let table = world.table(&format!("conflict{at}"));
        create(&mut client, &table, &format!("c {column_type}"));
        let mut sender = world.sender("auto_flush=off;");
        row(&mut sender, &table, 0, |row| value.set(row, "c"));
        let error = sender.drain(PATIENCE).unwrap_err();
        assert_eq!(error.kind(), ErrorKind::Rejected, "{column_type}: {error}");
        let status = error.server_status().unwrap();
        assert_eq!(status.status, 0x03, "{column_type}: {error}");
        assert!(!status.message.is_empty() && error.to_string().contains(&status.message), "{error}");
        // It stays so, and is told at the next call as well.
        assert_eq!(sender.health().state, LinkState::Failed);
        assert_eq!(sender.table(&table).column_i64("c", 1).at_now().unwrap_err().kind(), ErrorKind::Rejected);
        assert_eq!(sender.counters().server_errors.schema_mismatch, 1, "not tried again");
    }
}

// Also R04: frames behind the rejected one are not stored, those before it are.
#[test]
#[ignore = "needs a server: QWP_TEST_SERVER"]
fn errp_01_frames_before_a_rejected_one_are_stored() {
    let world = World::new();
    let mut client = world.client("");
    let (good, bad) = (world.table("good"), world.table("bad"));
    create(&mut client, &bad, "c long");
    let mut sender = world.sender("auto_flush=off;");
    for at in 0..3 {
        row(&mut sender, &good, at, |row| {
            row.column_i64("i", at);
        });
        sender.flush().unwrap();
    }
    row(&mut sender, &bad, 9, |row| {
        row.column_str("c", "no number");
    });
    let error = sender.drain(PATIENCE).unwrap_err();
    assert_eq!(error.server_status().unwrap().status, 0x03);
    wait_rows(&mut client, &good, 3);
    wait_rows(&mut client, &bad, 0);
}

// R04, R05: internal error. A view is no table; once it is gone, the rows make one.
#[test]
#[ignore = "needs a server: QWP_TEST_SERVER"]
fn errp_02_an_internal_error_is_tried_again_until_its_cause_is_gone() {
    let world = World::new();
    let mut client = world.client("");
    let (table, view) = (world.table("base"), world.table("view"));
    create(&mut client, &table, "x long");
    client.execute(&format!("create view {} as (select * from {})", quoted(&view), quoted(&table))).unwrap();
    let mut sender = world.sender("auto_flush=off;");
    for at in 0..3 {
        row(&mut sender, &view, at, |row| {
            row.column_i64("x", at).symbol("s", format!("s{at}"));
        });
        sender.flush().unwrap();
    }
    wait_for("the rejection", || (sender.counters().server_errors.internal_error > 0).then_some(()));
    client.execute(&format!("drop view {}", quoted(&view))).unwrap();
    deliver(&mut sender);
    assert_eq!(sender.health().state, LinkState::Connected);
    wait_rows(&mut client, &view, 3);
    let wrong = format!("select count() from {} where s is null or s != concat('s', x)", quoted(&view));
    assert_eq!(number(&mut client, &wrong), 0);
}

// R05: write error. A geohash goes to no number; once the column is gone, it makes its own.
#[test]
#[ignore = "needs a server: QWP_TEST_SERVER"]
fn errp_02_a_write_error_is_tried_again_until_its_cause_is_gone() {
    let world = World::new();
    let mut client = world.client("");
    let table = world.table("write");
    create(&mut client, &table, "x long, g long");
    let mut sender = world.sender("auto_flush=off;");
    for at in 0..3 {
        row(&mut sender, &table, at, |row| {
            row.column_i64("x", at).column_geohash("g", Geohash::new(3, 20).unwrap());
        });
        sender.flush().unwrap();
    }
    wait_for("the rejection", || (sender.counters().server_errors.write_error > 0).then_some(()));
    client.execute(&format!("alter table {} drop column g", quoted(&table))).unwrap();
    deliver(&mut sender);
    wait_rows(&mut client, &table, 3);
    assert_eq!(number(&mut client, &format!("select sum(x) from {}", quoted(&table))), 3);
}

// R19: nothing that a client can prevent; it goes on.
#[test]
#[ignore = "needs a server: QWP_TEST_SERVER"]
fn ack_07_a_table_dropped_between_two_flushes_costs_its_next_frame_and_no_other() {
    let world = World::new();
    let mut client = world.client("");
    let (dropped, kept) = (world.table("dropped"), world.table("kept"));
    let mut sender = world.sender("auto_flush=off;");
    for at in 0..4 {
        row(&mut sender, &dropped, at, |row| {
            row.column_i64("i", at).symbol("s", format!("s{at}"));
        });
        row(&mut sender, &kept, at, |row| {
            row.column_i64("i", at);
        });
        deliver(&mut sender);
        wait_rows(&mut client, &kept, at as u64 + 1);
        if at == 1 {
            wait_rows(&mut client, &dropped, 2);
            client.execute(&format!("drop table {}", quoted(&dropped))).unwrap();
        }
    }
    // The frame behind the drop was acknowledged and lost by the server (wire.md 6.2).
    wait_rows(&mut client, &dropped, 1);
    let name = quoted(&dropped);
    assert_eq!(number(&mut client, &format!("select count() from {name} where i = 3 and s = 's3'")), 1);
    assert_eq!(sender.counters().connects, 1);
}

// wire.md 4.8: what an existing column takes beside its own type.
#[test]
#[ignore = "needs a server: QWP_TEST_SERVER"]
fn values_that_fit_a_column_of_another_type_are_converted() {
    let world = World::new();
    let mut client = world.client("");
    let table = world.table("converted");
    create(&mut client, &table, "a varchar, b double, c long, d decimal(18, 4), e symbol, f byte");
    let mut sender = world.sender("auto_flush=off;");
    row(&mut sender, &table, 0, |row| {
        row.symbol("a", "text")
            .column_i64("b", 5)
            .column_bool("c", true)
            .column_decimal("d", "1.25".parse::<Decimal>().unwrap())
            .column_i64("e", 77)
            .column_f64("f", -3.0);
    });
    deliver(&mut sender);
    wait_rows(&mut client, &table, 1);
    let result =
        client.query(&format!("select a, b, c, d, e, f from {}", quoted(&table))).fetch_all().unwrap();
    let shown: Vec<String> =
        result.rows().flat_map(|row| row.values()).map(|value| value.to_string()).collect();
    assert_eq!(shown, ["text", "5.0", "1", "1.2500", "77", "-3"]);
}
