//! Failover of a running query: the seed's table "Query execution-time failover", and QFO.

use super::*;

/// Sends `rows` and then breaks the connection.
fn breaks_after(rows: &'static [i64]) -> impl FnMut(&Heard) -> Vec<PeerAction> + Send + 'static {
    answers(move |id| {
        let mut actions = Vec::new();
        if !rows.is_empty() {
            actions = send(&[long_batch(id, 0, rows)]);
        }
        actions.push(Act::Reset.now());
        actions
    })
}

/// `a` breaks after these rows, `b` has 1, 2, 3.
fn a_breaks(rows: &'static [i64]) -> Stage {
    let stage = Stage::new();
    stage.server("a", move |_| breaks_after(rows));
    stage.server("b", |_| answers(one_two_three));
    stage
}

#[test]
fn qfo_01_a_lost_connection_before_the_first_batch_is_restarted_elsewhere_silently() {
    let ends: [fn() -> PeerAction; 4] = [
        || Act::Reset.now(),
        || Act::End.now(),
        || Act::Close { code: Some(1000), reason: String::new() }.now(),
        || Act::Message(b"garbage".to_vec()).now(),
    ];
    for end in ends {
        let stage = Stage::new();
        stage.server("a", move |_| answers(move |_| vec![end()]));
        stage.server("b", |_| answers(one_two_three));
        let mut client = stage.client("a,b", "");
        let told = Arc::new(Mutex::new(0));
        let count = told.clone();
        let mut cursor =
            client.query("q").on_failover_reset(move |_| *count.lock() += 1).run().expect("connected");
        let (rows, error) = drain(&mut cursor);
        assert_eq!((rows, kind(error)), (vec![1, 2, 3], None));
        assert_eq!((cursor.restarts(), *told.lock()), (1, 0), "QFO-02: silent");
        assert_eq!(cursor.server_info().expect("b").endpoint, "b:9000");
        assert_eq!(stage.visited(), ["a", "b"]);
    }
}

#[test]
fn qfo_02_after_a_batch_the_caller_is_told_of_the_new_node_before_replayed_rows() {
    let stage = a_breaks(&[7]);
    let mut client = stage.client("a,b", "");
    let rows = Arc::new(Mutex::new(Vec::new()));
    let discard = rows.clone();
    let nodes = Arc::new(Mutex::new(Vec::new()));
    let seen = nodes.clone();
    let query = client.query("q").on_failover_reset(move |node| {
        seen.lock().push((node.endpoint.clone(), discard.lock().clone()));
        discard.lock().clear();
    });
    let mut cursor = query.run().expect("connected");
    while let Some(batch) = cursor.next_batch().expect("rows") {
        rows.lock().extend(longs_of(&batch));
    }
    assert_eq!(*rows.lock(), [1, 2, 3]);
    assert_eq!(*nodes.lock(), [("b:9000".to_owned(), vec![7])]);
}

#[test]
fn qfo_02_without_a_way_to_tell_it_fails_once_a_batch_was_delivered() {
    let stage = a_breaks(&[7]);
    let mut client = stage.client("a,b", "");
    let (rows, error) = run(&mut client, "q");
    let error = error.expect("rows were delivered");
    assert_eq!((rows, error.kind()), (vec![7], ErrorKind::FailoverWouldDuplicate));
    assert!(error.to_string().contains("on_failover_reset"), "{error}");
    assert!(std::error::Error::source(&error).is_some(), "the cause is kept");
    assert_eq!(stage.visited(), ["a"]);
    // The next query connects, to another host (HOST-05).
    assert_eq!(run(&mut client, "q").0, [1, 2, 3]);
    assert_eq!(stage.visited(), ["a", "b"]);
}

#[test]
fn qfo_02_a_batch_that_was_only_read_ahead_was_not_delivered() {
    let stage = Stage::new();
    stage.server("a", |_| answers(|id| vec![Act::Message(long_batch(id, 0, &[])).now(), Act::Reset.now()]));
    stage.server("b", |_| answers(one_two_three));
    let mut client = stage.client("a,b", "");
    let mut cursor = client.query("q").run().expect("connected");
    cursor.schema().expect("a schema").expect("a schema");
    assert_eq!(drain(&mut cursor).0, [1, 2, 3]);
}

#[test]
fn qfo_05_without_failover_the_failure_is_returned_and_the_next_query_connects() {
    let stage = a_breaks(&[7]);
    let mut client = stage.client("a,b", "failover=off;");
    let (rows, error) = run(&mut client, "q");
    let error = error.expect("lost");
    assert_eq!((rows, error.kind()), (vec![7], ErrorKind::Transport));
    assert_eq!(error.endpoints()[0].phase, crate::Phase::Stream);
    assert_eq!(stage.visited(), ["a"]);
    assert_eq!(run(&mut client, "q").0, [1, 2, 3]);
    assert_eq!(stage.visited(), ["a", "b"]);
}

#[test]
fn qfo_03_attempts_and_time_are_bounded_and_the_error_tells_both() {
    let stage = Stage::new();
    stage.server("a", |_| breaks_after(&[]));
    stage.host("b", |_| Answer::Refuse);
    let mut client = stage.client("a,b", "failover_max_attempts=4;");
    // The host stands: each round connects to it, and loses it.
    let (_, error) = run(&mut client, "q");
    let error = error.expect("bounded");
    assert_eq!(error.kind(), ErrorKind::Transport);
    assert_eq!(stage.queries(), 4, "the original and three rounds that connected");
    assert!(error.to_string().contains("attempts 4"), "{error}");
    let phases: Vec<_> = error.endpoints().iter().map(|e| (e.endpoint.as_str(), e.phase)).collect();
    assert_eq!(phases, [("a:9000", crate::Phase::Stream), ("b:9000", crate::Phase::Connect)]);

    let stage = Stage::new();
    stage.server("a", |_| breaks_after(&[]));
    let mut client = stage.client("a", "failover_max_attempts=1000;failover_max_duration_ms=5000;");
    let query = client.query("q").run().expect("connected");
    stage.host("a", |_| Answer::Refuse);
    let began = stage.elapsed();
    let mut cursor = query;
    let error = drain(&mut cursor).1.expect("bounded");
    let took = stage.elapsed() - began;
    assert!(took > Duration::from_secs(4) && took <= Duration::from_millis(5002), "{took:?}");
    assert_eq!(error.kind(), ErrorKind::Transport);
    let rounds = stage.visited().len();
    assert!(rounds > 8 && rounds < 40, "BACK-04: {rounds} rounds in 5 s");
}

#[test]
fn qfo_03_a_host_that_comes_back_within_the_bounds_is_used() {
    let stage = Stage::new();
    stage.server("a", |nth| -> Script {
        if nth == 0 { Box::new(breaks_after(&[])) } else { Box::new(answers(one_two_three)) }
    });
    let mut client = stage.client("a", "");
    assert_eq!(run(&mut client, "q").0, [1, 2, 3]);
    assert_eq!(client.counters().restarts(), 1);
}

#[test]
fn qfo_04_auth_and_role_rejects_of_all_fail_the_query_at_once() {
    type Answers = fn(&Knock) -> Answer;
    let cases: [(Answers, ErrorKind); 3] = [
        (|_| Answer::Http(401), ErrorKind::Auth),
        (|_| Answer::Http(403), ErrorKind::Auth),
        (|_| Answer::Role("PRIMARY", None), ErrorKind::RoleMismatch),
    ];
    for (answer, wanted) in cases {
        let stage = Stage::new();
        stage.server_as("a", server_info(2, 2, "a", None), |_| breaks_after(&[]));
        let mut client = stage.client("a,b", "target=replica;");
        let mut cursor = client.query("q").run().expect("connected");
        stage.host("a", answer);
        stage.host("b", answer);
        let began = stage.elapsed();
        assert_eq!(drain(&mut cursor).1.map(|e| e.kind()), Some(wanted));
        assert!(stage.elapsed() - began < Duration::from_millis(20), "at once");
    }
}

#[test]
fn qfo_07_a_statement_whose_request_left_is_in_doubt_and_not_sent_again() {
    let stage = a_breaks(&[]);
    let mut client = stage.client("a,b", "");
    let error = client.execute("insert").expect_err("lost");
    assert!(error.in_doubt() && error.kind() == ErrorKind::Transport, "{error:?}");
    assert!(error.to_string().contains("may have run"), "{error}");
    assert_eq!((stage.queries(), stage.visited()), (1, vec!["a".to_owned()]));
}

#[test]
fn qfo_07_a_statement_declared_idempotent_is_sent_again() {
    let stage = Stage::new();
    stage.server("a", |_| breaks_after(&[]));
    stage.server("b", |_| answers(|id| send(&[exec_done(id, 2, 3)])));
    let mut client = stage.client("a,b", "");
    let done = client.query("insert").idempotent().execute().expect("b did it");
    assert_eq!(done.rows_affected, Some(3));
    assert_eq!(stage.queries(), 2);
    // When that fails, too, it may have run all the same.
    stage.server("b", |_| breaks_after(&[]));
    let mut client = stage.client("a,b", "failover_max_attempts=2;");
    let error = client.query("insert").idempotent().execute().expect_err("bounded");
    assert!(error.in_doubt(), "{error}");
}

#[test]
fn qfo_07_a_statement_whose_request_did_not_leave_is_sent_to_the_next() {
    /// Reads nothing, and goes.
    struct Stuck;
    impl SimPeer for Stuck {
        fn on_connect(&mut self, _: Instant) -> Vec<PeerAction> {
            let info = Act::Message(server_info(0, 0, "a", None)).now();
            vec![info, Act::StopReading.now(), Act::Reset.after(Duration::from_secs(1))]
        }
        fn on_message(&mut self, _: &[u8], _: Instant) -> Vec<PeerAction> {
            Vec::new()
        }
    }
    let stage = Stage::new();
    stage.host("a", |_| Answer::Accept(Upgrade::default(), Box::new(Stuck)));
    stage.server("b", |_| answers(|id| send(&[exec_done(id, 2, 3)])));
    let done = stage.client("a,b", "").execute("insert").expect("b did it");
    assert_eq!(done.rows_affected, Some(3));
    assert_eq!(stage.queries(), 1);
}

#[test]
fn qfo_07_a_cancelled_or_timed_out_statement_is_in_doubt_once_its_request_left() {
    let stage = Stage::new();
    stage.server("a", |_| answers(|_| Vec::new()));
    let mut client = stage.client("a", "query_close_timeout_ms=100;");
    let error = client.query("insert").timeout(Duration::from_secs(1)).execute().expect_err("silence");
    assert!(error.in_doubt() && error.kind() == ErrorKind::Timeout, "{error:?}");
}

#[test]
fn qfo_08_a_restart_sends_the_same_under_a_new_id_with_the_initial_credit_and_takes_another_schema() {
    let stage = Stage::new();
    stage.server("a", |_| breaks_after(&[7, 8]));
    stage.server("b", |_| {
        let schema = [("y", crate::ColumnType::Byte)];
        answers(move |id| {
            let batch =
                TestBatch { id, rows: 1, schema: &schema, columns: &[&[0, 5]], ..TestBatch::default() };
            send(&[batch.bytes(), result_end(id, 0, 1)])
        })
    });
    let mut client = stage.client("a,b", "initial_credit=1000;");
    let query = client.query("select $1").bind(5_i64).on_failover_reset(|_| ());
    let mut cursor = query.run().expect("connected");
    assert_eq!(cursor.next_batch().expect("rows").expect("rows").schema().name(0), Some("x"));
    let batch = cursor.next_batch().expect("rows").expect("rows");
    assert_eq!(batch.schema().name(0), Some("y"));
    assert!(cursor.next_batch().expect("the end").is_none());
    let queries: Vec<_> = stage.heard().into_iter().filter(|h| matches!(h, Heard::Query { .. })).collect();
    assert_eq!(queries.len(), 2);
    assert_eq!(queries[0], queries[1], "ids count per connection; the rest is the same");
    let Heard::Query { credit: 1000, binds: 1, .. } = queries[1] else { panic!("{queries:?}") };
}

#[test]
fn qfo_10_two_hosts_that_send_what_does_not_decode_end_the_query() {
    let stage = Stage::new();
    for name in ["a", "b", "c"] {
        stage.server(name, |_| {
            answers(|id| {
                let mut batch = long_batch(id, 0, &[1]);
                let at = batch.len() - 10;
                batch[at] = 0x08; // no type has this code
                send(&[batch])
            })
        });
    }
    let mut client = stage.client("a,b,c", "");
    let error = run(&mut client, "q").1.expect("two of them");
    assert_eq!(error.kind(), ErrorKind::ProtocolViolation);
    assert!(error.to_string().contains("column type"), "{error}");
    assert_eq!(stage.visited(), ["a", "b"]);
}

#[test]
fn qfo_01_errors_and_cancels_of_the_server_never_fail_over() {
    for status in [0x03, 0x05, 0x06, 0x08, 0x0a, 0x0b, 0x0e, 0x77] {
        let stage = Stage::new();
        stage.server("a", move |_| answers(move |id| send(&[query_error(id, status, "no")])));
        stage.server("b", |_| answers(one_two_three));
        let mut client = stage.client("a,b", "");
        let error = run(&mut client, "q").1.expect("refused");
        assert_eq!(error.server_status().map(|s| s.status), Some(status));
        assert_eq!(stage.visited(), ["a"], "{status:#x}");
    }
}

#[test]
fn qfo_01_a_server_that_shuts_down_is_a_lost_connection() {
    for (after, restarts) in [(0, 1), (150, 1), (300, 0)] {
        let stage = Stage::new();
        stage.server("a", move |_| {
            answers(move |id| {
                let cancelled = Act::Message(query_error(id, 0x0a, "[-1] cancelled by user [fd=1]")).now();
                vec![cancelled, Act::End.after(Duration::from_millis(after))]
            })
        });
        stage.server("b", |_| answers(one_two_three));
        let mut client = stage.client("a,b", "");
        let (rows, error) = run(&mut client, "q");
        assert_eq!(client.counters().restarts(), restarts, "end after {after} ms");
        match restarts {
            1 => assert_eq!((rows, kind(error)), (vec![1, 2, 3], None)),
            _ => assert_eq!(kind(error), Some(ErrorKind::Cancelled)),
        }
    }
    // Under the rule of QFO-07 a statement is in doubt.
    let stage = Stage::new();
    stage.server("a", |_| {
        answers(|id| vec![Act::Message(query_error(id, 0x0a, "cancelled")).now(), Act::End.now()])
    });
    let error = stage.client("a", "").execute("insert").expect_err("shut down");
    assert!(error.in_doubt(), "{error}");
}

#[test]
fn host_05_a_lost_host_is_tried_last_and_zones_and_roles_count_in_failover() {
    let stage = Stage::new();
    for (name, zone, role) in [("a", "eu", 2), ("b", "us", 2), ("c", "eu", 2)] {
        stage.server_as(name, server_info(role, 3, name, Some(zone)), move |nth| -> Script {
            if name == "a" && nth == 0 {
                Box::new(breaks_after(&[]))
            } else {
                Box::new(answers(one_two_three))
            }
        });
    }
    let mut client = stage.client("a,b,c", "zone=eu;target=replica;");
    assert_eq!(run(&mut client, "q").0, [1, 2, 3]);
    assert_eq!(stage.visited(), ["a", "b"]);
}
