//! Batches: many tables, many rows, many bytes, and times.

use crate::cell::Cell;
use crate::world::{PATIENCE, World, count, deliver, number, quoted, say, wait_for, wait_rows};
use qwp::{ErrorKind, QueryClient, TimestampMicros, TimestampNanos};

const START: i64 = 1_700_000_000_000_000_000;

fn times(client: &mut QueryClient, table: &str) -> Vec<Option<Cell>> {
    let sql = format!("select timestamp from {} order by i", quoted(table));
    client.query(&sql).fetch_all().unwrap().rows().map(|row| Cell::of(row.value(0).unwrap())).collect()
}

#[test]
#[ignore = "needs a server: QWP_TEST_SERVER"]
fn flush_01_several_tables_in_one_flush() {
    let world = World::new();
    let (mut sender, mut client) = (world.sender("auto_flush=off;"), world.client(""));
    let tables = ["a", "b", "c"].map(|name| world.table(name));
    for i in 0..300 {
        let table = &tables[i % 3];
        // Each table has a column of its own beside the common ones.
        let own = ["x", "y", "z"][i % 3];
        sender
            .table(table)
            .symbol("s", ["one", "two"][i % 2])
            .column_i64("i", i as i64)
            .column_i64(own, -(i as i64))
            .at(TimestampNanos::new(START + i as i64))
            .unwrap();
    }
    deliver(&mut sender);
    assert_eq!(sender.counters().frames_published, 1);
    for (at, table) in tables.iter().enumerate() {
        wait_rows(&mut client, table, 100);
        let own = ["x", "y", "z"][at];
        let wrong = format!(
            "select count() from {} where i + {own} != 0 or i % 3 != {at} or s != (case when i % 2 = 0 then 'one' else 'two' end)",
            quoted(table)
        );
        assert_eq!(number(&mut client, &wrong), 0, "{table}");
    }
}

// R20
#[test]
#[ignore = "needs a server: QWP_TEST_SERVER"]
fn conn_10_700_tables_in_one_flush() {
    const TABLES: u64 = 700;
    let world = World::new();
    let (mut sender, mut client) = (world.sender("auto_flush=off;"), world.client(""));
    // Long names, for an answer beyond 64 KiB, which lists them all.
    let filler = "x".repeat(90);
    let name = |n| world.table(&format!("{n:04}{filler}"));
    // Some at a time at first: a server that makes them all for one message may be silent for so long
    // that the connection counts as dead.
    for n in 0..TABLES {
        sender.table(&name(n)).column_i64("n", n as i64).at(TimestampNanos::new(START)).unwrap();
        if n % 50 == 49 {
            deliver(&mut sender);
        }
    }
    let before = sender.counters().frames_published;
    for n in 0..TABLES {
        sender.table(&name(n)).column_i64("n", n as i64).at(TimestampNanos::new(START + 1)).unwrap();
    }
    deliver(&mut sender);
    assert_eq!((sender.counters().frames_published - before, sender.counters().connects), (1, 1));
    let sql = format!("select count() from tables() where table_name like '{}%'", world.prefix());
    assert_eq!(number(&mut client, &sql), TABLES as i64);
    for n in [0, 1, TABLES / 2, TABLES - 1] {
        wait_rows(&mut client, &name(n), 2);
        assert_eq!(number(&mut client, &format!("select sum(n) from {}", quoted(&name(n)))), 2 * n as i64);
    }
    wait_for("rows in all tables", || {
        let union: Vec<String> = (0..TABLES).map(|n| format!("select n from {}", quoted(&name(n)))).collect();
        let sums = union
            .chunks(100)
            .map(|some| number(&mut client, &format!("select sum(n) from ({})", some.join(" union all "))));
        (sums.sum::<i64>() == (TABLES * (TABLES - 1)) as i64).then_some(())
    });
}

// E34's siblings: beyond one message, below one commit group.
#[test]
#[ignore = "needs a server: QWP_TEST_SERVER"]
fn flush_03_a_batch_of_50_mib_is_split_and_commits_as_one() {
    const ROWS: u64 = 51_200;
    let world = World::new();
    let (mut sender, mut client) = (world.sender("auto_flush=off;"), world.client(""));
    let table = world.table("large");
    // Only a table that is there can be seen to grow.
    client
        .execute(&format!(
            "create table {} (i long, t varchar, timestamp timestamp_ns) timestamp(timestamp) partition by day wal",
            quoted(&table)
        ))
        .unwrap();
    let mut text = "x".repeat(1024);
    for i in 0..ROWS {
        text.replace_range(0..8, &format!("{i:08}"));
        sender
            .table(&table)
            .column_i64("i", i as i64)
            .column_str("t", &text)
            .at(TimestampNanos::new(START + i as i64))
            .unwrap();
    }
    let fsn = sender.flush().unwrap();
    let counters = sender.counters();
    assert!(counters.bytes_published > 50 << 20, "{counters:?}");
    assert!(counters.frames_published > 20, "{counters:?}");
    let mut seen = Vec::new();
    wait_for("the commit", || {
        let rows = count(&mut client, &table);
        if seen.last() != Some(&rows) {
            seen.push(rows);
        }
        (rows == ROWS).then_some(())
    });
    assert!(seen == [0, ROWS] || seen == [ROWS], "all at once: {seen:?}");
    sender.wait_acked(fsn, PATIENCE).unwrap();
    let right = format!(
        "select count() from {} where t::string like '%x' and length(t) = 1024 and cast(left(t, 8) as long) = i",
        quoted(&table)
    );
    assert_eq!(number(&mut client, &right), ROWS as i64);
}

#[test]
#[ignore = "needs a server: QWP_TEST_SERVER"]
fn flush_02_a_million_rows_by_auto_flush_are_counted_exactly() {
    const ROWS: i64 = 1_000_000;
    let world = World::new();
    let (mut sender, mut client) = (world.sender(""), world.client(""));
    let table = world.table("million");
    for i in 0..ROWS {
        sender
            .table(&table)
            .symbol("s", ["buy", "sell"][(i % 2) as usize])
            .column_i64("i", i)
            .column_f64("half", i as f64 / 2.0)
            .at(TimestampNanos::new(START + i * 1000))
            .unwrap();
    }
    deliver(&mut sender);
    wait_rows(&mut client, &table, ROWS as u64);
    let sums = format!("select sum(i) from {}", quoted(&table));
    assert_eq!(number(&mut client, &sums), ROWS * (ROWS - 1) / 2);
    let distinct = format!("select count_distinct(i) from {}", quoted(&table));
    assert_eq!(number(&mut client, &distinct), ROWS);
    let wrong = format!(
        "select count() from {} where half * 2 != i or s != (case when i % 2 = 0 then 'buy' else 'sell' end)",
        quoted(&table)
    );
    assert_eq!(number(&mut client, &wrong), 0);
    say(&format!("a million rows: {:?}", sender.counters()));
}

// E26
#[test]
#[ignore = "needs a server: QWP_TEST_SERVER"]
fn flush_09_two_resolutions_of_time_in_two_batches() {
    let world = World::new();
    let (mut sender, mut client) = (world.sender("auto_flush=off;"), world.client(""));
    let [nanos_first, micros_first] = ["nanos", "micros"].map(|name| world.table(name));
    for table in [&nanos_first, &micros_first] {
        let nanos_now = table == &nanos_first;
        for (i, nanos) in [nanos_now, !nanos_now].into_iter().enumerate() {
            let mut row = sender.table(table);
            row.column_i64("i", i as i64);
            match nanos {
                true => row.at(TimestampNanos::new(1_000_999)).unwrap(),
                false => row.at(TimestampMicros::new(2_000)).unwrap(),
            }
            drop(row);
            // Within a batch it is an error at the call, and the first row stays.
            let mut row = sender.table(table);
            row.column_i64("i", 9);
            let error = match nanos {
                true => row.at(TimestampMicros::new(1)),
                false => row.at(TimestampNanos::new(1)),
            };
            assert_eq!(error.unwrap_err().kind(), ErrorKind::InvalidCall);
            drop(row);
            deliver(&mut sender);
        }
        wait_rows(&mut client, table, 2);
    }
    // The first batch made the column; nanoseconds that go into microseconds are cut.
    assert_eq!(
        times(&mut client, &nanos_first),
        [Some(Cell::Nanos(1_000_999)), Some(Cell::Nanos(2_000_000))]
    );
    assert_eq!(times(&mut client, &micros_first), [Some(Cell::Micros(2_000)), Some(Cell::Micros(1_000))]);
}

// E26
#[test]
#[ignore = "needs a server: QWP_TEST_SERVER"]
fn flush_09_rows_without_a_time_get_the_servers_beside_rows_with_one() {
    let world = World::new();
    let (mut sender, mut client) = (world.sender("auto_flush=off;"), world.client(""));
    let [mixed, all_now] = ["mixed", "now"].map(|name| world.table(name));
    let wall = |client: &mut QueryClient| number(client, "select cast(now() as long)");
    let before = wall(&mut client);
    for i in 0..9 {
        let mut row = sender.table(&mixed);
        row.column_i64("i", i);
        match i % 2 {
            0 => row.at(TimestampNanos::new(START + i)).unwrap(),
            _ => row.at_now().unwrap(),
        }
        drop(row);
        sender.table(&all_now).column_i64("i", i).at_now().unwrap();
    }
    deliver(&mut sender);
    let after = wall(&mut client);
    wait_rows(&mut client, &mixed, 9);
    wait_rows(&mut client, &all_now, 9);
    for (i, time) in times(&mut client, &mixed).into_iter().enumerate() {
        let Some(Cell::Nanos(time)) = time else { panic!("{time:?}") };
        match i % 2 {
            0 => assert_eq!(time, START + i as i64),
            _ => assert!((before..=after).contains(&(time / 1000)), "{time}"),
        }
    }
    let times = times(&mut client, &all_now);
    let Some(Cell::Micros(time)) = times[0] else { panic!("{times:?}") };
    assert!((before..=after).contains(&time) && times.iter().all(|other| *other == times[0]), "{times:?}");
}

#[test]
#[ignore = "needs a server: QWP_TEST_SERVER"]
fn lim_12_the_first_and_the_last_designated_time_that_may_be_written() {
    let world = World::new();
    let (mut sender, mut client) = (world.sender("auto_flush=off;"), world.client(""));
    let [micros, nanos] = ["micros", "nanos"].map(|name| world.table(name));
    // 9999-12-31T23:59:59.999999 and 2261-12-31T23:59:59.999999999.
    let (last_micros, last_nanos) = (253_402_300_799_999_999, 9_214_646_399_999_999_999);
    for (i, (micro, nano)) in [(0, 0), (last_micros, last_nanos)].into_iter().enumerate() {
        sender.table(&micros).column_i64("i", i as i64).at(TimestampMicros::new(micro)).unwrap();
        sender.table(&nanos).column_i64("i", i as i64).at(TimestampNanos::new(nano)).unwrap();
    }
    for refused in [-1, last_micros + 1] {
        sender.table(&micros).column_i64("i", 9).at(TimestampMicros::new(refused)).unwrap_err();
    }
    for refused in [-1, last_nanos + 1] {
        sender.table(&nanos).column_i64("i", 9).at(TimestampNanos::new(refused)).unwrap_err();
    }
    deliver(&mut sender);
    wait_rows(&mut client, &micros, 2);
    wait_rows(&mut client, &nanos, 2);
    assert_eq!(times(&mut client, &micros), [0, last_micros].map(|time| Some(Cell::Micros(time))));
    assert_eq!(times(&mut client, &nanos), [0, last_nanos].map(|time| Some(Cell::Nanos(time))));
}
