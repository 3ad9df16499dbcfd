//! The handler interface, and whole results.

use super::*;

/// Writes down what it is told.
#[derive(Default)]
struct Notes {
    told: Vec<String>,
    refuse_batches: bool,
}

impl BatchHandler for Notes {
    fn on_batch(&mut self, batch: Batch) -> crate::Result<()> {
        self.told.push(format!("batch {:?}", longs_of(&batch)));
        match self.refuse_batches {
            true => Err(Error::new(ErrorKind::InvalidCall, "enough")),
            false => Ok(()),
        }
    }

    fn on_end(&mut self) {
        self.told.push("end".into());
    }

    fn on_exec_done(&mut self, done: Executed) {
        self.told.push(format!("done {} {:?}", done.op_type, done.rows_affected));
    }

    fn on_error(&mut self, error: &Error) {
        self.told.push(format!("error {:?}", error.kind()));
    }

    fn on_failover_reset(&mut self, node: &ServerInfo) {
        self.told.push(format!("reset {}", node.node_id));
    }
}

fn told(client: &mut QueryClient) -> Vec<String> {
    let mut notes = Notes::default();
    let _ = client.query("q").run_with(&mut notes);
    notes.told
}

#[test]
fn qry_04_a_handler_is_told_of_batches_ends_and_errors() {
    let stage = Stage::new();
    stage.server("a", |_| answers(one_two_three));
    assert_eq!(told(&mut stage.client("a", "")), ["batch [1, 2]", "batch [3]", "end"]);
    stage.server("b", |_| answers(|id| send(&[exec_done(id, 2, 7)])));
    assert_eq!(told(&mut stage.client("b", "")), ["done INSERT Some(7)"]);
    stage.server("c", |_| answers(|id| send(&[long_batch(id, 0, &[1]), query_error(id, 0x0b, "no")])));
    assert_eq!(told(&mut stage.client("c", "")), ["batch [1]", "error Query"]);
    assert_eq!(told(&mut stage.client("d", "")), ["error Transport"]);
}

#[test]
fn qry_04_a_handler_is_told_of_a_restart_before_replayed_batches() {
    let stage = Stage::new();
    stage.server("a", |_| answers(|id| vec![Act::Message(long_batch(id, 0, &[1])).now(), Act::Reset.now()]));
    stage.server("b", |_| answers(one_two_three));
    let wanted = ["batch [1]", "reset b", "batch [1, 2]", "batch [3]", "end"];
    assert_eq!(told(&mut stage.client("a,b", "")), wanted);
}

#[test]
fn qry_04_an_error_of_the_handler_ends_the_query_and_the_client_goes_on() {
    let stage = Stage::new();
    stage.server("a", |_| answers(one_two_three));
    let mut client = stage.client("a", "");
    let mut notes = Notes { refuse_batches: true, ..Notes::default() };
    let error = client.query("q").run_with(&mut notes).expect_err("the handler's own");
    assert_eq!(error.to_string(), "enough");
    assert_eq!(run(&mut client, "q").0, [1, 2, 3]);
}

#[test]
fn qfo_02_a_whole_result_is_that_of_one_run() {
    let stage = Stage::new();
    stage.server("a", |_| answers(|id| vec![Act::Message(long_batch(id, 0, &[7])).now(), Act::Reset.now()]));
    stage.server("b", |_| answers(one_two_three));
    let result = stage.client("a,b", "").query("q").fetch_all().expect("b");
    assert_eq!(result.row_count(), 3);
    assert_eq!(result.schema().and_then(|schema| schema.name(0)), Some("x"));
    let rows: Vec<i64> = result.rows().map(|row| row.get("x").expect("x")).collect();
    assert_eq!(rows, [1, 2, 3]);
}

#[test]
fn a_whole_result_has_a_bound() {
    let stage = Stage::new();
    stage.server("a", |_| {
        answers(|id| {
            let rows = vec![0; 400_000];
            let mut all: Vec<_> = (0..3).map(|seq| long_batch(id, seq, &rows)).collect();
            all.push(result_end(id, 2, 1_200_000));
            send(&all)
        })
    });
    let error = stage.client("a", "").query("q").fetch_all().expect_err("1.2 million rows");
    assert_eq!(error.kind(), ErrorKind::TooLarge);
}
