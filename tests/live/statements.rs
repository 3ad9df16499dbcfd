//! Statements that are run for their effect, and errors of SQL.

use crate::world::{World, count, number, quoted, wait_for, wait_rows};
use qwp::{ErrorKind, OpType, TimestampMicros};

#[test]
#[ignore = "needs a server: QWP_TEST_SERVER"]
fn qry_06_ddl_insert_and_update_tell_what_they_did() {
    let world = World::new();
    let mut client = world.client("");
    let table = quoted(&world.table("plain"));
    let copy = quoted(&world.table("copy"));
    let steps = [
        (
            format!(
                "create table {table} (x long, s symbol, ts timestamp) timestamp(ts) partition by day bypass wal"
            ),
            OpType::CREATE_TABLE,
            Some(0),
        ),
        (format!("insert into {table} values (1, 'a', 0)"), OpType::INSERT, Some(1)),
        (format!("insert into {table} values (2, 'b', 1), (3, null, 2)"), OpType::INSERT, Some(2)),
        (
            format!(
                "insert into {table} select x + 3, 'c', cast(x + 10 as timestamp) from long_sequence(10)"
            ),
            OpType::INSERT_AS_SELECT,
            Some(10),
        ),
        (format!("update {table} set x = -x where x > 3"), OpType::UPDATE, Some(10)),
        (format!("update {table} set x = 0 where x > 1000"), OpType::UPDATE, Some(0)),
        (format!("alter table {table} add column y int"), OpType::ALTER, Some(0)),
        (format!("create table {copy} as (select * from {table})"), OpType::CREATE_TABLE_AS_SELECT, Some(0)),
        (format!("truncate table {copy}"), OpType::TRUNCATE, None),
        (format!("drop table {copy}"), OpType::DROP, Some(0)),
    ];
    for (sql, op_type, rows) in steps {
        let done = client.execute(&sql).unwrap_or_else(|error| panic!("{sql}: {error}"));
        assert_eq!((done.op_type, done.rows_affected), (op_type, rows), "{sql}");
    }
    assert_eq!(number(&mut client, &format!("select sum(x) from {table}")), 6 - (4..14).sum::<i64>());
}

#[test]
#[ignore = "needs a server: QWP_TEST_SERVER"]
fn qry_06_an_update_of_a_wal_table_is_applied_later_and_tells_no_row_count() {
    let world = World::new();
    let mut client = world.client("");
    let table = world.table("wal");
    let name = quoted(&table);
    client
        .execute(&format!("create table {name} (x long, ts timestamp) timestamp(ts) partition by day wal"))
        .unwrap();
    let insert = format!("insert into {name} select x, cast(x as timestamp) from long_sequence(1000)");
    let done = client.execute(&insert).unwrap();
    assert_eq!((done.op_type, done.rows_affected), (OpType::INSERT_AS_SELECT, Some(1000)));
    wait_rows(&mut client, &table, 1000);
    let done = client.execute(&format!("update {name} set x = -1 where x <= 500")).unwrap();
    assert_eq!(done.op_type, OpType::UPDATE);
    assert_ne!(done.rows_affected, Some(500));
    wait_for("the update", || {
        (number(&mut client, &format!("select count() from {name} where x = -1")) == 500).then_some(())
    });
}

#[test]
#[ignore = "needs a server: QWP_TEST_SERVER"]
fn qry_06_inserted_binds_are_stored() {
    let world = World::new();
    let mut client = world.client("");
    let table = world.table("binds");
    let name = quoted(&table);
    client
        .execute(&format!("create table {name} (x long, s symbol, v varchar, ts timestamp) timestamp(ts) partition by day wal"))
        .unwrap();
    let insert = format!("insert into {name} values ($1, $2, $3, $4)");
    let rows = [(1_i64, Some("a"), Some("na\u{ef}ve")), (2, None, Some("")), (3, Some("\u{1f680}"), None)];
    for (x, s, v) in rows {
        let bound = client.query(&insert).bind(x).bind(s).bind(v).bind(TimestampMicros::new(x));
        let done = bound.execute().unwrap();
        assert_eq!((done.op_type, done.rows_affected), (OpType::INSERT, Some(1)));
    }
    wait_rows(&mut client, &table, 3);
    let result = client.query(&format!("select x, s, v from {name}")).fetch_all().unwrap();
    let read: Vec<(i64, Option<&str>, Option<&str>)> = result
        .rows()
        .map(|row| (row.get("x").unwrap(), row.get("s").unwrap(), row.get("v").unwrap()))
        .collect();
    assert_eq!(read, rows);
}

#[test]
#[ignore = "needs a server: QWP_TEST_SERVER"]
fn qry_05_a_sql_error_has_its_position_and_text_and_the_connection_stays() {
    let world = World::new();
    let mut client = world.client("");
    for (sql, position, text) in [
        ("select * from qwp_no_such_table", 14, "table does not exist"),
        ("select nope from long_sequence(1)", 7, "Invalid column: nope"),
        // The position counts UTF-16 units.
        ("select '\u{1f680}', nope from long_sequence(1)", 13, "Invalid column: nope"),
        ("selec 1", 0, ""),
    ] {
        let error = client.query(sql).fetch_all().unwrap_err();
        assert_eq!(error.kind(), ErrorKind::Query, "{error}");
        let status = error.server_status().unwrap();
        assert_eq!((status.status, status.position), (0x05, Some(position)), "{sql}: {error}");
        assert!(status.message.contains(text), "{error}");
        assert!(!error.in_doubt());
    }
    let error = client.execute("drop table qwp_no_such_table").unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Query, "{error}");
    assert_eq!(number(&mut client, "select 1::long"), 1);
}

#[test]
#[ignore = "needs a server: QWP_TEST_SERVER"]
fn qry_05_a_type_that_does_not_travel_is_told() {
    let world = World::new();
    let mut client = world.client("");
    for sql in ["select null", "select 1.5::decimal(9,2) d", "select rnd_long256(), to_long128(1, 2)"] {
        let error = client.query(sql).fetch_all().unwrap_err();
        assert_eq!(error.kind(), ErrorKind::Query, "{sql}: {error}");
        let status = error.server_status().unwrap();
        assert_eq!(status.status, 0x06, "{sql}: {error}");
        assert!(status.message.contains("unsupported column type"), "{error}");
    }
    assert_eq!(number(&mut client, "select 1::long"), 1);
}

#[test]
#[ignore = "needs a server: QWP_TEST_SERVER"]
fn qry_06_a_statement_that_gives_rows_is_no_execute() {
    let world = World::new();
    let mut client = world.client("");
    assert_eq!(client.execute("select 1").unwrap_err().kind(), ErrorKind::InvalidCall);
    let mut cursor =
        client.query(&format!("create table {} (x int)", quoted(&world.table("run")))).run().unwrap();
    assert!(cursor.next_batch().unwrap().is_none());
    assert_eq!(cursor.executed().unwrap().op_type, OpType::CREATE_TABLE);
    drop(cursor);
    for sql in ["show tables", "explain select 1"] {
        assert!(client.query(sql).fetch_all().unwrap().row_count() > 0, "{sql}");
    }
    assert_eq!(count(&mut client, &world.table("nowhere")), 0);
}
