//! Results: large, wide, empty, with many symbols, and NULLs that SQL makes.

use crate::cell::Cell;
use crate::proxy::Proxy;
use crate::world::{World, number, quoted, wait_rows};
use qwp::{Batch, ColumnType, QueryClient};

#[test]
#[ignore = "needs a server: QWP_TEST_SERVER"]
fn qry_07_a_million_rows_come_in_batches_and_add_up() {
    const ROWS: i64 = 1_000_000;
    let world = World::new();
    let sql = format!("select x, x * 0.5 half, cast(x as varchar) text from long_sequence({ROWS})");
    for keys in ["", "initial_credit=0;", "initial_credit=64k;", "max_batch_rows=1000;"] {
        let mut client = world.client(keys);
        let mut cursor = client.query(&sql).run().unwrap();
        let (mut next, mut batches, mut half, mut text) = (1, 0, 0.0, 0);
        while let Some(batch) = cursor.next_batch().unwrap() {
            for x in batch.column("x").unwrap().as_i64().unwrap().values() {
                assert_eq!(x, next);
                next += 1;
            }
            half += batch.column("half").unwrap().as_f64().unwrap().values().sum::<f64>();
            let texts = batch.column("text").unwrap().as_str().unwrap();
            text += texts.values().map(|text| text.parse::<i64>().unwrap()).sum::<i64>();
            batches += 1;
        }
        let sum = ROWS * (ROWS + 1) / 2;
        assert_eq!((next - 1, text, half), (ROWS, sum, sum as f64 / 2.0), "{keys}");
        assert!(batches >= if keys.contains("1000") { 1000 } else { 60 }, "{batches}");
        assert!(cursor.next_batch().unwrap().is_none(), "the end stays the end");
        drop(cursor);
        assert_eq!((client.counters().rows(), client.counters().batches()), (ROWS as u64, batches));
    }
}

// Q01
#[test]
#[ignore = "needs a server: QWP_TEST_SERVER"]
fn qry_12_an_empty_result_has_a_schema_and_no_rows() {
    let world = World::new();
    let mut client = world.client("");
    let sql = "select x, x::varchar v from long_sequence(10) where x > 10";
    let result = client.query(sql).fetch_all().unwrap();
    let schema = result.schema().unwrap();
    assert_eq!((result.row_count(), schema.len(), schema.position("v")), (0, 2, Some(1)));
    let mut cursor = client.query(sql).run().unwrap();
    for _ in 0..3 {
        assert!(cursor.next_batch().unwrap().is_none());
    }
}

// Q02
#[test]
#[ignore = "needs a server: QWP_TEST_SERVER"]
fn lim_19_2049_columns_and_a_name_of_500_bytes_are_read() {
    let world = World::new();
    let mut client = world.client("");
    let columns: Vec<String> = (0..2049).map(|n| format!("x + {n} c{n}")).collect();
    let sql = format!("select {} from long_sequence(3)", columns.join(", "));
    let result = client.query(&sql).fetch_all().unwrap();
    let batch = &result.batches()[0];
    assert_eq!((result.row_count(), batch.column_count()), (3, 2049));
    for n in [0, 1, 2047, 2048] {
        let column = batch.column(&format!("c{n}")).unwrap();
        let values: Vec<i64> = column.as_i64().unwrap().values().collect();
        assert_eq!(values, [n + 1, n + 2, n + 3]);
    }
    let name = "n".repeat(500);
    let result = client.query(&format!("select x {name} from long_sequence(1)")).fetch_all().unwrap();
    assert_eq!(result.rows().next().unwrap().get::<i64>(&name).unwrap(), 1);
}

/// The texts of the only column.
fn texts(batch: &Batch) -> Vec<Option<String>> {
    batch.column_at(0).unwrap().as_symbol().unwrap().iter().map(|text| text.map(str::to_owned)).collect()
}

/// A table whose symbols tell the row: `t1`, `t2` and so on.
fn symbols(world: &World, client: &mut QueryClient, name: &str, rows: i64) -> String {
    let table = world.table(name);
    client
        .execute(&format!(
            "create table {} as (select cast(concat('t', x) as symbol) s, cast(x as timestamp) ts from long_sequence({rows})) timestamp(ts) partition by year",
            quoted(&table)
        ))
        .unwrap();
    wait_rows(client, &table, rows as u64);
    table
}

// Q04
#[test]
#[ignore = "needs a server: QWP_TEST_SERVER"]
fn qry_08_texts_stay_right_when_the_server_empties_its_dictionary() {
    const ROWS: i64 = 100_001;
    let world = World::new();
    let mut maker = world.client("");
    let table = quoted(&symbols(&world, &mut maker, "symbols", ROWS));
    let proxy = Proxy::new(world.addr(), []);
    let mut client = QueryClient::from_conf(&format!("ws::addr={};", proxy.addr())).unwrap();
    let wanted =
        |range: std::ops::RangeInclusive<i64>| -> Vec<_> { range.map(|x| Some(format!("t{x}"))).collect() };
    let all = client.query(&format!("select s from {table}")).fetch_all().unwrap();
    // By now it is over the limit, so this one begins anew, as does the fourth.
    for _ in 0..3 {
        let few = client.query(&format!("select s from {table} limit -3")).fetch_all().unwrap();
        assert_eq!(texts(&few.batches()[0]), wanted(ROWS - 2..=ROWS));
    }
    let again = client.query(&format!("select s from {table}")).fetch_all().unwrap();
    let few = client.query(&format!("select s from {table} limit 2")).reset_dict().fetch_all().unwrap();
    assert_eq!(texts(&few.batches()[0]), wanted(1..=2));
    // What is kept stays readable.
    for result in [&all, &again] {
        let read: Vec<_> = result.batches().iter().flat_map(texts).collect();
        assert_eq!(read, wanted(1..=ROWS));
    }
    assert_eq!(proxy.connections(), 1);
}

// Q14
#[test]
#[ignore = "needs a server: QWP_TEST_SERVER"]
fn qry_08_texts_stay_right_after_a_query_that_died_between_two_batches() {
    const ROWS: i64 = 50_000;
    let world = World::new();
    let mut other = world.client("");
    let table = quoted(&symbols(&world, &mut other, "dying", ROWS));
    let proxy = Proxy::new(world.addr(), []);
    let conf = format!("ws::addr={};max_batch_rows=1000;initial_credit=1;", proxy.addr());
    let mut client = QueryClient::from_conf(&conf).unwrap();
    let sql = format!("select s from {table} /* {} */", world.prefix());
    let mut cursor = client.query(&sql).run().unwrap();
    let mut kept = vec![cursor.next_batch().unwrap().unwrap(), cursor.next_batch().unwrap().unwrap()];
    let found = other
        .query(
            "select query_id from query_activity() where query like $1 and query not like '%query_activity%'",
        )
        .bind(format!("%{}%", world.prefix()))
        .fetch_all()
        .unwrap();
    let id: i64 = found.rows().next().unwrap().get("query_id").unwrap();
    other.execute(&format!("cancel query {id}")).unwrap();
    let error = loop {
        match cursor.next_batch() {
            Ok(Some(batch)) => kept.push(batch),
            Ok(None) => panic!("it cannot be whole"),
            Err(error) => break error,
        }
    };
    assert_eq!(error.server_status().unwrap().status, 0x0a, "{error}");
    drop(cursor);
    let last = client.query(&format!("select s from {table} limit -5")).fetch_all().unwrap();
    let wanted: Vec<_> = (ROWS - 4..=ROWS).map(|x| Some(format!("t{x}"))).collect();
    assert_eq!(texts(&last.batches()[0]), wanted);
    let read: Vec<_> = kept.iter().flat_map(texts).collect();
    let wanted: Vec<_> = (1..=read.len()).map(|x| Some(format!("t{x}"))).collect();
    assert_eq!(read, wanted);
    assert_eq!(proxy.connections(), 1);
}

// Q11: NULL and value as SQL makes them, for each type that has NULL.
#[test]
#[ignore = "needs a server: QWP_TEST_SERVER"]
fn qry_14_nulls_that_sql_makes_are_told_from_values() {
    let world = World::new();
    let mut client = world.client("");
    let types = [
        ("int", ColumnType::Int, "1"),
        ("long", ColumnType::Long, "1"),
        ("float", ColumnType::Float, "1.5"),
        ("double", ColumnType::Double, "1.5"),
        ("varchar", ColumnType::Varchar, "''"),
        ("symbol", ColumnType::Symbol, "'a'"),
        ("timestamp", ColumnType::Timestamp, "0"),
        ("timestamp_ns", ColumnType::TimestampNanos, "0"),
        ("date", ColumnType::Date, "0"),
        ("uuid", ColumnType::Uuid, "'00000000-0000-0000-0000-000000000001'"),
        ("ipv4", ColumnType::Ipv4, "'1.2.3.4'"),
        ("long256", ColumnType::Long256, "'0x01'"),
        ("decimal(18,2)", ColumnType::Decimal64, "'1.25'"),
    ];
    for (name, column_type, value) in types {
        for rows in [1, 8, 9, 64, 65] {
            let sql = format!(
                "select cast(case when x % 3 = 1 then cast(null as {name}) else cast({value} as {name}) end as {name}) v \
                 from long_sequence({rows})"
            );
            let result = client.query(&sql).fetch_all().unwrap_or_else(|error| panic!("{name}: {error}"));
            let column = result.batches()[0].column("v").unwrap();
            assert_eq!(column.column_type(), column_type, "{name}");
            let cells = Cell::column(&column);
            for (at, cell) in cells.iter().enumerate() {
                assert_eq!(cell.is_none(), at % 3 == 0, "{name}, row {at} of {rows}");
                assert!(cell.is_none() || *cell == cells[1], "{name}");
            }
        }
    }
    let text = "select concat(x, '') v, x = 2 b from long_sequence(2)";
    let result = client.query(text).fetch_all().unwrap();
    let shown: Vec<String> =
        result.rows().flat_map(|row| row.values()).map(|value| value.to_string()).collect();
    assert_eq!(shown, ["1", "false", "2", "true"]);
    assert_eq!(number(&mut client, "select 1::long"), 1);
}

// E10
#[test]
#[ignore = "needs a server: QWP_TEST_SERVER"]
fn qry_14_the_reader_shows_addresses_as_the_server_sent_them() {
    let world = World::new();
    let mut client = world.client("");
    let sql = "select cast('128.0.0.0' as ipv4) a, cast('255.255.255.255' as ipv4) b, cast('0.0.0.0' as ipv4) c from long_sequence(1)";
    let result = client.query(sql).fetch_all().unwrap();
    let shown: Vec<String> =
        result.rows().flat_map(|row| row.values()).map(|value| value.to_string()).collect();
    assert_eq!(shown, ["128.0.0.0", "255.255.255.255", "null"]);
}
