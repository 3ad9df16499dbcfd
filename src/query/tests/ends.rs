//! How results begin and end.

use super::*;

#[test]
fn qry_12_the_end_stays_the_end_and_an_error_the_same_error() {
    let stage = Stage::new();
    stage.server("a", |_| answers(one_two_three));
    let mut client = stage.client("a", "");
    let mut cursor = client.query("q").run().expect("connected");
    assert_eq!(drain(&mut cursor).0, [1, 2, 3]);
    for _ in 0..3 {
        assert!(cursor.next_batch().expect("the end").is_none());
    }
    drop(cursor);

    stage.server("b", |_| {
        answers(|id| send(&[long_batch(id, 0, &[1]), query_error(id, 0x0b, "[-1] timeout, query aborted")]))
    });
    let mut client = stage.client("b", "");
    let mut cursor = client.query("q").run().expect("connected");
    let (rows, error) = drain(&mut cursor);
    let error = error.expect("refused");
    assert_eq!((rows, error.kind()), (vec![1], ErrorKind::Query));
    for _ in 0..3 {
        assert_eq!(cursor.next_batch().expect_err("again").to_string(), error.to_string());
    }
}

// Q01
#[test]
fn qry_06_an_empty_result_has_a_schema_and_no_rows() {
    let stage = Stage::new();
    stage.server("a", |_| answers(|id| send(&[long_batch(id, 0, &[]), result_end(id, 0, 0)])));
    let mut client = stage.client("a", "");
    let mut cursor = client.query("q").run().expect("connected");
    let schema = cursor.schema().expect("a result").expect("a schema");
    assert_eq!((schema.len(), schema.name(0)), (1, Some("x")));
    assert!(cursor.next_batch().expect("a result").is_none());
    assert!(cursor.next_batch().expect("the end again").is_none());
    assert!(cursor.schema().expect("a result").is_some());
}

// Q01
#[test]
fn qry_06_an_end_without_a_batch_is_an_end_without_a_schema() {
    let stage = Stage::new();
    stage.server("a", |_| answers(|id| send(&[result_end(id, 0, 0)])));
    let mut client = stage.client("a", "");
    let mut cursor = client.query("q").run().expect("connected");
    assert!(cursor.next_batch().expect("the end").is_none());
    assert!(cursor.schema().expect("no schema").is_none());
    assert_eq!(cursor.executed(), None);
}

// Q01
#[test]
fn qry_06_a_statement_run_as_a_query_tells_what_it_did() {
    let stage = Stage::new();
    stage.server("a", |_| answers(|id| send(&[exec_done(id, 2, 3)])));
    let mut client = stage.client("a", "");
    let mut cursor = client.query("insert").run().expect("connected");
    assert!(cursor.next_batch().expect("the end").is_none());
    assert!(cursor.schema().expect("no schema").is_none());
    let done = cursor.executed().expect("done");
    assert_eq!((done.op_type, done.rows_affected), (OpType::INSERT, Some(3)));
}

// Q01: "no row after it lost".
#[test]
fn qry_06_an_empty_later_batch_is_skipped_and_rows_after_it_come() {
    let stage = Stage::new();
    stage.server("a", |_| {
        answers(|id| {
            let batches = [&[1, 2][..], &[], &[3]].into_iter().enumerate();
            let mut all: Vec<_> = batches.map(|(seq, rows)| long_batch(id, seq as u64, rows)).collect();
            all.push(result_end(id, 2, 3));
            send(&all)
        })
    });
    assert_eq!(run(&mut stage.client("a", ""), "q").0, [1, 2, 3]);
}

#[test]
fn the_schema_can_be_asked_for_before_the_rows_without_losing_any() {
    let stage = Stage::new();
    stage.server("a", |_| answers(one_two_three));
    let mut client = stage.client("a", "");
    let mut cursor = client.query("q").run().expect("connected");
    assert_eq!(cursor.schema().expect("a result").expect("a schema").name(0), Some("x"));
    assert_eq!(cursor.schema().expect("a result").expect("a schema").name(0), Some("x"));
    assert_eq!(drain(&mut cursor).0, [1, 2, 3]);
}

#[test]
fn qry_06_execute_tells_kind_and_rows_and_unknown_is_not_0() {
    let stage = Stage::new();
    stage.server("a", |_| {
        let mut answers = vec![(2, 3), (9, 0), (3, u64::MAX)].into_iter();
        self::answers(move |id| {
            let (op, rows) = answers.next().expect("three statements");
            send(&[exec_done(id, op, rows)])
        })
    });
    let mut client = stage.client("a", "");
    let mut did = || client.execute("x").map(|done| (done.op_type, done.rows_affected)).expect("done");
    assert_eq!(did(), (OpType::INSERT, Some(3)));
    assert_eq!(did(), (OpType::CREATE_TABLE, Some(0)));
    assert_eq!(did(), (OpType::TRUNCATE, None));
}

#[test]
fn qry_06_execute_of_a_statement_with_rows_says_to_use_query_and_the_connection_stays() {
    let stage = Stage::new();
    stage.server("a", |_| {
        let mut first = true;
        move |heard| match heard {
            Heard::Query { id, .. } if std::mem::take(&mut first) => send(&[long_batch(*id, 0, &[1])]),
            Heard::Query { id, .. } => one_two_three(*id),
            Heard::Credit(id, 1) => send(&[query_error(*id, 0x0a, "cancelled by client")]),
            _ => Vec::new(),
        }
    });
    let mut client = stage.client("a", "max_batch_rows=1;");
    let error = client.execute("select").expect_err("rows");
    assert_eq!(error.kind(), ErrorKind::InvalidCall);
    assert!(error.to_string().contains("`query`") && !error.in_doubt(), "{error}");
    assert_eq!(run(&mut client, "q").0, [1, 2, 3]);
    assert_eq!(stage.visited(), ["a"], "one connection for both");
    // A SELECT without rows has no effect either.
    stage.server("b", |_| answers(|id| send(&[long_batch(id, 0, &[]), result_end(id, 0, 0)])));
    let error = stage.client("b", "").execute("select").expect_err("a result");
    assert_eq!(error.kind(), ErrorKind::InvalidCall);
}

#[test]
fn a_sql_error_has_position_and_text_and_leaves_the_connection() {
    let stage = Stage::new();
    stage.server("a", |_| {
        let mut first = true;
        answers(move |id| match std::mem::take(&mut first) {
            true => send(&[query_error(id, 0x05, "[7] Invalid column: nocol")]),
            false => one_two_three(id),
        })
    });
    let mut client = stage.client("a", "");
    let error = run(&mut client, "select nocol from t").1.expect("refused");
    assert_eq!(error.server_status().and_then(|status| status.position), Some(7));
    assert!(error.to_string().contains("`select >>>nocol from t`"), "{error}");
    assert_eq!(run(&mut client, "q").0, [1, 2, 3]);
    assert_eq!(stage.visited(), ["a"]);
}

// wire.md 8.5: ids 0 and -1 appear in errors that belong to no request.
#[test]
fn an_error_for_no_request_is_that_of_the_running_one() {
    for id in [0, -1] {
        let stage = Stage::new();
        stage.server("a", move |_| answers(move |_| send(&[query_error(id, 0x05, "bad")])));
        assert_eq!(kind(run(&mut stage.client("a", ""), "q").1), Some(ErrorKind::Query));
    }
}

// Q04
#[test]
fn qry_08_resets_are_taken_between_results_and_refused_within_one() {
    fn symbols(id: i64, seq: u64, start: u64, texts: &[&str], ids: &[u8]) -> Vec<u8> {
        let schema = [("x", crate::ColumnType::Symbol)];
        let column = [&[0], ids].concat();
        let rows = ids.len() as u64;
        TestBatch { id, seq, start, texts, rows, schema: &schema, columns: &[&column] }.bytes()
    }
    fn texts(batch: &Batch) -> Vec<&str> {
        batch.column_at(0).expect("x").as_symbol().expect("SYMBOL").values().collect()
    }
    let stage = Stage::new();
    stage.server("a", |_| {
        answers(|id| match id {
            1 => send(&[symbols(1, 0, 0, &["a", "b"], &[0, 1]), result_end(1, 0, 2), cache_reset(1)]),
            2 => send(&[cache_reset(0x82), symbols(2, 0, 0, &["c", "d"], &[0, 1]), result_end(2, 0, 2)]),
            3 => send(&[cache_reset(1), symbols(3, 0, 0, &["e"], &[0]), result_end(3, 0, 1)]),
            4 => send(&[symbols(4, 0, 1, &[], &[0]), cache_reset(1), symbols(4, 1, 0, &["f"], &[0])]),
            _ => Vec::new(),
        })
    });
    let mut client = stage.client("a", "failover=off;");
    let mut held = Vec::new();
    for wanted in [&["a", "b"][..], &["c", "d"], &["e"]] {
        let mut cursor = client.query("q").run().expect("connected");
        let batch = cursor.next_batch().expect("rows").expect("rows");
        assert_eq!(texts(&batch), wanted);
        assert!(cursor.next_batch().expect("the end").is_none());
        held.push(batch);
    }
    assert_eq!(texts(&held[0]), ["a", "b"], "a batch in hand keeps its texts");
    let mut cursor = client.query("q").run().expect("connected");
    assert_eq!(texts(&cursor.next_batch().expect("rows").expect("rows")), ["e"]);
    let error = cursor.next_batch().expect_err("a reset between two batches");
    assert_eq!(error.kind(), ErrorKind::ProtocolViolation);
}

#[test]
fn qry_09_what_cannot_come_now_loses_the_connection() {
    type Messages = fn(i64) -> Vec<Vec<u8>>;
    let cases: [(&str, Messages); 9] = [
        ("another request", |id| vec![long_batch(id + 1, 0, &[1])]),
        ("another request", |id| vec![result_end(id + 1, 0, 0)]),
        ("another request", |id| vec![query_error(id + 1, 5, "x")]),
        ("second SERVER_INFO", |_| vec![server_info(0, 0, "a", None)]),
        ("another last batch", |id| vec![long_batch(id, 0, &[1]), result_end(id, 1, 1)]),
        ("another last batch", |id| vec![result_end(id, 1, 0)]),
        ("EXEC_DONE behind batches", |id| vec![long_batch(id, 0, &[1]), exec_done(id, 2, 1)]),
        ("batch sequence", |id| vec![long_batch(id, 1, &[1])]),
        ("magic", |_| vec![b"QWP2 and more bytes".to_vec()]),
    ];
    for (why, messages) in cases {
        let stage = Stage::new();
        stage.server("a", move |_| answers(move |id| send(&messages(id))));
        let mut client = stage.client("a", "failover=off;");
        let error = run(&mut client, "q").1.expect("a violation");
        assert_eq!(error.kind(), ErrorKind::ProtocolViolation, "{why}");
        assert!(error.to_string().contains(why), "{why}: {error}");
        assert!(client.server_info().is_none(), "the connection is dropped");
    }
}

// OBS-06
#[test]
fn obs_06_counters_can_be_read_while_a_query_runs() {
    let stage = Stage::new();
    stage.server("a", |_| answers(one_two_three));
    let mut client = stage.client("a", "");
    let counters = client.counters();
    let mut cursor = client.query("q").run().expect("connected");
    assert_eq!((counters.queries(), counters.batches()), (1, 0));
    cursor.next_batch().expect("rows").expect("rows");
    let bytes = long_batch(1, 0, &[1, 2]).len() as u64;
    assert_eq!((counters.batches(), counters.rows()), (1, 2));
    assert_eq!((counters.bytes_received(), counters.bytes_decompressed()), (bytes, bytes));
    let reader = std::thread::spawn(move || counters.rows());
    assert_eq!(reader.join().expect("a count"), 2);
    assert_eq!((cursor.restarts(), drain(&mut cursor).0), (0, vec![3]));
}
