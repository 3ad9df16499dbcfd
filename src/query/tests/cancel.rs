//! Cancels, time-outs and dropped cursors.

use super::*;

/// A server that streams as a real one does (wire.md 8.6, 8.7): while the budget is above 0 it sends
/// and reads nothing; a CANCEL is noted when it waits for credit, and acted on at the next CREDIT.
struct Streaming {
    batches: u64,
    sent: u64,
    budget: i128,
    unlimited: bool,
    cancelled: bool,
    over: bool,
}

impl Streaming {
    fn script(batches: u64) -> impl FnMut(&Heard) -> Vec<PeerAction> + Send + 'static {
        let mut server =
            Streaming { batches, sent: 0, budget: 0, unlimited: false, cancelled: false, over: true };
        move |heard| server.on(heard)
    }

    fn on(&mut self, heard: &Heard) -> Vec<PeerAction> {
        match heard {
            Heard::Query { id, credit, .. } => {
                (self.sent, self.budget, self.unlimited) = (0, i128::from(*credit), *credit == 0);
                (self.cancelled, self.over) = (false, false);
                self.stream(*id)
            }
            Heard::Cancel(_) => {
                self.cancelled = true;
                Vec::new()
            }
            Heard::Credit(id, _) if self.cancelled && !self.over => {
                self.over = true;
                send(&[query_error(*id, 0x0a, "cancelled by client")])
            }
            Heard::Credit(id, bytes) => {
                self.budget += i128::from(*bytes);
                self.stream(*id)
            }
            Heard::Ping | Heard::Close => Vec::new(),
        }
    }

    fn stream(&mut self, id: i64) -> Vec<PeerAction> {
        let mut messages = Vec::new();
        while !self.over && (self.unlimited || self.budget > 0) {
            if self.sent == self.batches {
                messages.push(result_end(id, self.sent - 1, self.sent));
                self.over = true;
                break;
            }
            let batch = long_batch(id, self.sent, &[self.sent as i64]);
            self.budget -= batch.len() as i128;
            self.sent += 1;
            messages.push(batch);
        }
        send(&messages)
    }
}

/// Answers the first query with `first`, the others with 1, 2, 3.
fn first_then_good(
    first: impl FnMut(&Heard) -> Vec<PeerAction> + Send + Clone + 'static,
) -> impl FnMut(usize) -> Script + Send + 'static {
    move |nth| {
        let mut first = first.clone();
        Box::new(move |heard: &Heard| match heard {
            Heard::Query { id, .. } if nth > 0 || *id > 1 => one_two_three(*id),
            heard => first(heard),
        })
    }
}

fn silent(_: &Heard) -> Vec<PeerAction> {
    Vec::new()
}

const CANCELLED: Option<ErrorKind> = Some(ErrorKind::Cancelled);

#[test]
fn qry_13_a_cancel_before_the_request_has_left_prevents_it() {
    let stage = Stage::new();
    stage.server("a", |_| answers(one_two_three));
    let mut client = stage.client("a", "");
    let query = client.query("q");
    query.cancel_handle().cancel();
    assert_eq!(query.run().map(|_| ()).expect_err("cancelled").kind(), ErrorKind::Cancelled);
    assert!(stage.visited().is_empty(), "not even a connection was made");
    assert_eq!(run(&mut client, "q").0, [1, 2, 3], "the next query is another one");
}

#[test]
fn qry_13_a_cancel_ends_the_wait_for_a_connection() {
    let stage = Stage::new();
    stage.host("a", |_| Answer::BlackHole);
    stage.server("b", |_| answers(one_two_three));
    let mut client = stage.client("a,b", "");
    let query = client.query("q");
    let handle = query.cancel_handle();
    stage.world.clock.at(Duration::from_secs(2), move || handle.cancel());
    assert_eq!(query.run().map(|_| ()).expect_err("cancelled").kind(), ErrorKind::Cancelled);
    assert_eq!(stage.elapsed(), Duration::from_secs(2));
    assert_eq!(stage.visited(), ["a"]);
}

// Q13
#[test]
fn qry_07_a_stream_that_waits_for_credit_hears_a_cancel_and_the_connection_stays() {
    for credit in ["1", "100", "64k"] {
        let stage = Stage::new();
        stage.server("a", |_| Streaming::script(100_000));
        let mut client = stage.client("a", &format!("initial_credit={credit};max_batch_rows=1;"));
        let mut cursor = client.query("q").run().expect("connected");
        let held = cursor.next_batch().expect("rows").expect("rows");
        cursor.next_batch().expect("rows").expect("rows");
        let began = stage.elapsed();
        cursor.cancel_handle().cancel();
        let error = cursor.next_batch().expect_err("cancelled");
        assert_eq!(error.kind(), ErrorKind::Cancelled);
        assert_eq!(cursor.next_batch().expect_err("QRY-12").kind(), ErrorKind::Cancelled);
        assert_eq!(stage.elapsed(), began, "the server answers at once");
        assert_eq!(longs_of(&held), [0], "a batch in hand stays readable");
        drop(cursor);
        let heard = stage.heard();
        let at = heard.iter().position(|h| *h == Heard::Cancel(1)).expect("a CANCEL");
        assert_eq!(heard[at + 1], Heard::Credit(1, 1), "and CREDIT 1 right behind it");
        assert_eq!(client.query("q").run().expect("the same connection").restarts(), 0);
        assert_eq!(stage.visited(), ["a"]);
        assert!(client.counters().cancels() >= 1);
    }
}

// Q13
#[test]
fn qry_07_without_credit_the_whole_result_is_read_past_and_the_query_is_cancelled_all_the_same() {
    let stage = Stage::new();
    stage.server("a", |_| Streaming::script(50));
    let mut client = stage.client("a", "initial_credit=0;");
    let mut cursor = client.query("q").run().expect("connected");
    cursor.next_batch().expect("rows").expect("rows");
    cursor.cancel_handle().cancel();
    assert_eq!(drain(&mut cursor).1.map(|e| e.kind()), CANCELLED);
    drop(cursor);
    assert_eq!(run(&mut client, "q").0.len(), 50);
    assert_eq!(stage.visited(), ["a"]);
}

// Q05, Q13: a long aggregation hears nothing before its first batch.
#[test]
fn qry_07_a_server_that_does_not_answer_a_cancel_is_left_after_query_close_timeout_ms() {
    let stage = Stage::new();
    stage.server("a", first_then_good(silent));
    let mut client = stage.client("a", "query_close_timeout_ms=700;");
    let mut cursor = client.query("q").run().expect("connected");
    let handle = cursor.cancel_handle();
    let began = stage.elapsed();
    stage.world.clock.at(began + Duration::from_secs(3), move || handle.cancel());
    let error = cursor.next_batch().expect_err("cancelled");
    assert_eq!(error.kind(), ErrorKind::Cancelled);
    assert_eq!(stage.elapsed() - began, Duration::from_millis(3700));
    assert_eq!(stage.visited(), ["a"], "no failover once a cancel was asked for (QFO-09)");
    drop(cursor);
    assert_eq!(run(&mut client, "q").0, [1, 2, 3]);
    assert_eq!(stage.visited(), ["a", "a"]);
}

/// A server keeps what it read ahead of a batch that was cut by size, and gives it to the next result.
#[test]
fn qry_07_a_connection_is_not_kept_when_a_batch_of_the_cancelled_result_was_not_full() {
    for (rows, visited) in [(1, 1), (2, 2), (16_384, 2)] {
        let stage = Stage::new();
        stage.server("a", |_| Streaming::script(1_000));
        // Batches of this server have one row each.
        let mut client = stage.client("a", &format!("initial_credit=300;max_batch_rows={rows};"));
        let mut cursor = client.query("q").run().expect("connected");
        cursor.next_batch().expect("rows").expect("rows");
        cursor.cancel_handle().cancel();
        assert_eq!(cursor.next_batch().expect_err("cancelled").kind(), ErrorKind::Cancelled);
        drop(cursor);
        let mut cursor = client.query("q").run().expect("connected");
        assert_eq!(longs_of(&cursor.next_batch().expect("rows").expect("rows")), [0]);
        drop(cursor);
        assert_eq!(stage.visited().len(), visited, "{rows} rows");
    }
}

// Q05
#[test]
fn qry_07_batches_that_still_come_after_a_cancel_are_read_past_and_their_symbols_count() {
    fn symbols(id: i64, seq: u64, start: u64, texts: &[&str], ids: &[u8]) -> Vec<u8> {
        let schema = [("x", crate::ColumnType::Symbol)];
        let column = [&[0], ids].concat();
        let rows = ids.len() as u64;
        TestBatch { id, seq, start, texts, rows, schema: &schema, columns: &[&column] }.bytes()
    }
    let stage = Stage::new();
    stage.server("a", |_| {
        |heard: &Heard| match heard {
            Heard::Query { id: 1, .. } => send(&[symbols(1, 0, 0, &["a"], &[0])]),
            Heard::Credit(1, 1) => send(&[
                symbols(1, 1, 1, &["b"], &[1]),
                symbols(1, 2, 2, &["c"], &[2]),
                query_error(1, 0x0a, "cancelled by client"),
            ]),
            Heard::Query { id, .. } => send(&[symbols(*id, 0, 3, &[], &[2, 0]), result_end(*id, 0, 2)]),
            _ => Vec::new(),
        }
    });
    for dropped in [false, true] {
        let mut client = stage.client("a", "max_batch_rows=1;");
        let mut cursor = client.query("q").run().expect("connected");
        cursor.next_batch().expect("rows").expect("rows");
        if !dropped {
            cursor.cancel_handle().cancel();
            assert_eq!(cursor.next_batch().expect_err("cancelled").kind(), ErrorKind::Cancelled);
        }
        drop(cursor);
        let mut cursor = client.query("q").run().expect("the same connection");
        let batch = cursor.next_batch().expect("rows").expect("rows");
        let texts: Vec<_> = batch.column("x").expect("x").as_symbol().expect("SYMBOL").values().collect();
        assert_eq!(texts, ["c", "a"]);
    }
    assert_eq!(stage.visited(), ["a", "a"], "one connection for each client");
}

// Q05
#[test]
fn qry_13_a_cancel_after_the_end_or_for_an_earlier_query_does_nothing() {
    let stage = Stage::new();
    stage.server("a", |_| answers(one_two_three));
    let mut client = stage.client("a", "");
    let mut cursor = client.query("q").run().expect("connected");
    let early = cursor.cancel_handle();
    assert_eq!(drain(&mut cursor).0, [1, 2, 3]);
    early.cancel();
    assert!(cursor.next_batch().expect("still the end").is_none());
    drop(cursor);
    let mut cursor = client.query("q").run().expect("connected");
    cursor.next_batch().expect("rows").expect("rows");
    early.cancel();
    assert_eq!(drain(&mut cursor).0, [3]);
    assert!(!stage.heard().iter().any(|heard| matches!(heard, Heard::Cancel(_))));
}

#[test]
fn qry_07_a_cancel_from_another_thread_ends_a_blocked_read() {
    let stage = Stage::new();
    // Nothing is planned in this world: the reader really waits for the other thread.
    stage.server("a", |_| {
        |heard: &Heard| match heard {
            Heard::Credit(id, 1) => send(&[query_error(*id, 0x0a, "cancelled")]),
            _ => Vec::new(),
        }
    });
    let mut client = stage.client("a", "initial_credit=0;");
    let mut cursor = client.query("q").run().expect("connected");
    let handle = cursor.cancel_handle();
    let other = std::thread::spawn(move || handle.cancel());
    assert_eq!(cursor.next_batch().expect_err("cancelled").kind(), ErrorKind::Cancelled);
    other.join().expect("cancel returns");
}

#[test]
fn qfo_09_once_a_cancel_was_asked_for_a_lost_connection_starts_no_failover() {
    let stage = Stage::new();
    stage.server("a", |_| {
        |heard: &Heard| match heard {
            Heard::Cancel(_) => vec![Act::Reset.now()],
            _ => Vec::new(),
        }
    });
    stage.server("b", |_| answers(one_two_three));
    let mut client = stage.client("a,b", "");
    let mut cursor = client.query("q").run().expect("connected");
    cursor.cancel_handle().cancel();
    assert_eq!(cursor.next_batch().expect_err("cancelled").kind(), ErrorKind::Cancelled);
    drop(cursor);
    assert_eq!(stage.visited(), ["a"]);
    assert_eq!(client.counters().restarts(), 0);
}

#[test]
fn qfo_09_a_cancel_ends_failover_while_it_pauses() {
    let stage = Stage::new();
    stage.server("a", |_| answers(|_| vec![Act::Reset.now()]));
    let keys = "failover_max_attempts=1000;failover_backoff_initial_ms=60000;failover_backoff_max_ms=60000;\
                failover_max_duration_ms=0;";
    let mut client = stage.client("a", keys);
    let mut cursor = client.query("q").run().expect("connected");
    stage.host("a", |_| Answer::Refuse);
    let handle = cursor.cancel_handle();
    let at = stage.elapsed() + Duration::from_millis(500);
    stage.world.clock.at(at, move || handle.cancel());
    assert_eq!(cursor.next_batch().expect_err("cancelled").kind(), ErrorKind::Cancelled);
    assert!(stage.elapsed() <= at + Duration::from_millis(50), "{:?}", stage.elapsed());
}

#[test]
fn qry_07_a_dropped_cursor_is_cancelled_on_a_thread_of_its_own_and_the_connection_stays() {
    let stage = Stage::new();
    stage.server("a", |_| Streaming::script(1_000));
    let mut client = stage.client("a", "initial_credit=300;max_batch_rows=1;");
    for _ in 0..3 {
        let mut cursor = client.query("q").run().expect("the same connection");
        assert_eq!(longs_of(&cursor.next_batch().expect("rows").expect("rows")), [0]);
    }
    assert_eq!(stage.visited(), ["a"]);
    assert!(stage.heard().iter().filter(|heard| matches!(heard, Heard::Cancel(_))).count() >= 2);
    assert_eq!(client.counters().cancels(), 3);
}

#[test]
fn qry_07_a_dropped_cursor_whose_server_says_nothing_costs_the_connection_and_no_more_than_the_timeout() {
    let stage = Stage::new();
    stage.server("a", first_then_good(silent));
    let mut client = stage.client("a", "query_close_timeout_ms=800;");
    let began = {
        let _cursor = client.query("q").run().expect("connected");
        stage.elapsed()
    };
    assert_eq!(run(&mut client, "q").0, [1, 2, 3]);
    let took = stage.elapsed() - began;
    assert!(took >= Duration::from_millis(800) && took < Duration::from_millis(900), "{took:?}");
    assert_eq!(stage.visited(), ["a", "a"]);
}

// Q07
#[test]
fn qry_17_a_timeout_of_the_call_cancels_returns_at_once_and_starts_no_failover() {
    let stage = Stage::new();
    stage.server("a", |_| answers(|id| send(&[long_batch(id, 0, &[1])])));
    stage.server("b", |_| answers(one_two_three));
    let mut client = stage.client("a,b", "query_close_timeout_ms=300;");
    client.connect().expect("a");
    let began = stage.elapsed();
    let mut cursor = client.query("q").timeout(Duration::from_millis(1500)).run().expect("connected");
    cursor.next_batch().expect("rows").expect("rows");
    let error = cursor.next_batch().expect_err("silence");
    assert_eq!(error.kind(), ErrorKind::Timeout);
    assert_eq!(stage.visited(), ["a"], "no failover");
    drop(cursor);
    // The drain runs on: how far depends on when its thread gets the processor.
    assert!(stage.elapsed() - began >= Duration::from_millis(1500));
    drop(client.query("q").run().expect("another connection"));
    assert_eq!(stage.visited(), ["a", "a"]);
    assert!(stage.heard().contains(&Heard::Cancel(1)));
}

#[test]
fn qry_17_bytes_that_trickle_in_do_not_hold_a_timeout_back() {
    let stage = Stage::new();
    stage.server("a", |_| {
        answers(|id| {
            let batches = (0..600)
                .map(|seq| Act::Message(long_batch(id, seq, &[])).after(Duration::from_millis(100 * seq)));
            batches.collect()
        })
    });
    let mut client = stage.client("a", "");
    let began = stage.elapsed();
    let mut cursor = client.query("q").timeout(Duration::from_secs(2)).run().expect("connected");
    assert_eq!(cursor.next_batch().expect_err("no row").kind(), ErrorKind::Timeout);
    assert!(stage.elapsed() - began >= Duration::from_secs(2));
    drop(cursor);
}

#[test]
fn qry_17_a_silent_server_is_waited_for_without_bound() {
    let stage = Stage::new();
    stage.server("a", |_| {
        answers(|id| {
            one_two_three(id).into_iter().map(|a| a.act.after(Duration::from_secs(36_000))).collect()
        })
    });
    assert_eq!(run(&mut stage.client("a", ""), "q").0, [1, 2, 3]);
    assert!(stage.elapsed() >= Duration::from_secs(36_000));
}
