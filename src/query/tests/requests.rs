//! What is sent: connecting, options, credit.

use super::*;

#[test]
fn qry_02_a_client_connects_at_its_first_query() {
    let stage = Stage::new();
    stage.server("a", |_| answers(one_two_three));
    let mut client = stage.client("a", "");
    assert!(stage.visited().is_empty() && client.server_info().is_none());
    assert_eq!(run(&mut client, "q").0, [1, 2, 3]);
    let info = client.server_info().expect("connected");
    assert_eq!(
        (info.endpoint.as_str(), info.node_id.as_str(), info.role),
        ("a:9000", "a", crate::Role::Standalone)
    );
}

// Q07
#[test]
fn qry_01_a_server_without_a_server_info_is_left_for_the_next() {
    let stage = Stage::new();
    stage.host("a", |_| Answer::Accept(Upgrade::default(), Box::new(crate::sim::Silent)));
    stage.server("b", |_| answers(one_two_three));
    let mut client = stage.client("a,b", "server_info_timeout_ms=700;");
    client.connect().expect("b");
    assert_eq!(stage.visited(), ["a", "b"]);
    assert!(stage.elapsed() >= Duration::from_millis(700) && stage.elapsed() < Duration::from_millis(900));
}

#[test]
fn qry_01_another_first_message_garbage_and_a_close_are_that_endpoints_failures() {
    let firsts: [(&str, Vec<PeerAction>); 4] = [
        ("no SERVER_INFO", send(&[result_end(1, 0, 0)])),
        ("magic", send(&[vec![0; 20]])),
        ("code 1000", vec![Act::Close { code: Some(1000), reason: "x".into() }.now()]),
        ("ended the connection", vec![Act::End.now()]),
    ];
    for (why, actions) in firsts {
        let stage = Stage::new();
        stage.host("a", move |_| {
            struct First(Vec<PeerAction>);
            impl SimPeer for First {
                fn on_connect(&mut self, _: Instant) -> Vec<PeerAction> {
                    self.0.clone()
                }
                fn on_message(&mut self, _: &[u8], _: Instant) -> Vec<PeerAction> {
                    Vec::new()
                }
            }
            Answer::Accept(Upgrade::default(), Box::new(First(actions.clone())))
        });
        let error = stage.client("a", "").connect().expect_err("nobody");
        assert_eq!(error.kind(), ErrorKind::Transport);
        assert_eq!(error.endpoints()[0].phase, crate::Phase::ServerInfo);
        assert!(error.to_string().contains(why), "{why}: {error}");
    }
}

#[test]
fn role_02_a_node_of_another_role_is_left_politely_and_the_error_names_roles_and_target() {
    let stage = Stage::new();
    stage.server_as("a", server_info(1, 1, "a", Some("z")), |_| answers(one_two_three));
    stage.server_as("b", server_info(99, 0, "b", None), |_| answers(one_two_three));
    let error = stage.client("a,b", "target=replica;").connect().expect_err("no replica");
    assert_eq!(error.kind(), ErrorKind::RoleMismatch);
    for word in ["target replica", "PRIMARY", "unknown role 99"] {
        assert!(error.to_string().contains(word), "ROLE-04: {word} in {error}");
    }
    assert_eq!(stage.heard(), [Heard::Close, Heard::Close]);
    // ROLE-03
    stage.client("b", "target=any;").connect().expect("any role");
    stage.client("b", "target=primary;").connect().expect_err("an unknown role is no primary");
}

#[test]
fn qry_16_the_initial_connect_is_one_walk_whatever_failover_says() {
    for keys in ["failover=on;", "failover=off;"] {
        let stage = Stage::new();
        stage.host("a", |_| Answer::Refuse);
        stage.host("b", |_| Answer::Refuse);
        let mut client = stage.client("a,b", keys);
        assert_eq!(client.connect().expect_err("nobody").kind(), ErrorKind::Transport);
        assert_eq!(stage.visited(), ["a", "b"], "QFO-06");
        assert_eq!(kind(run(&mut client, "q").1), Some(ErrorKind::Transport));
        assert_eq!(stage.visited(), ["a", "b", "a", "b"]);
    }
}

#[test]
fn qry_10_a_kept_connection_that_ended_is_replaced_silently() {
    for end in [Act::End, Act::Reset, Act::Close { code: Some(1000), reason: String::new() }] {
        let stage = Stage::new();
        stage.server("a", move |nth| {
            let end = end.clone();
            answers(move |id| {
                let mut actions = one_two_three(id);
                if nth == 0 {
                    actions.push(end.clone().after(Duration::from_secs(300)));
                }
                actions
            })
        });
        let mut client = stage.client("a", "failover=off;");
        assert_eq!(run(&mut client, "q").0, [1, 2, 3]);
        stage.world.clock.advance(Duration::from_secs(301));
        assert_eq!(run(&mut client, "q").0, [1, 2, 3]);
        assert_eq!(stage.visited(), ["a", "a"]);
        assert_eq!(client.counters().restarts(), 0);
    }
}

#[test]
fn qry_10_the_next_request_leaves_only_after_the_terminator_of_the_one_before() {
    let stage = Stage::new();
    let over = Arc::new(Mutex::new(true));
    stage.server("a", move |_| {
        let over = over.clone();
        answers(move |id| {
            assert!(std::mem::replace(&mut *over.lock(), false), "the one before runs");
            let over = over.clone();
            *over.lock() = true;
            one_two_three(id)
        })
    });
    let mut client = stage.client("a", "");
    for id in 1..4 {
        assert_eq!(run(&mut client, "q").0, [1, 2, 3]);
        let ids =
            stage.heard().iter().filter(|h| matches!(h, Heard::Query { id: i, .. } if *i == id)).count();
        assert_eq!(ids, 1, "ids count from 1");
    }
}

#[test]
fn qry_07_credit_is_8_mib_by_default_and_topped_up_by_the_size_of_each_batch() {
    let stage = Stage::new();
    stage.server("a", |_| answers(one_two_three));
    let mut client = stage.client("a", "");
    // The second query takes along what the first one could not send before its end.
    (0..2).for_each(|_| assert_eq!(run(&mut client, "q").0, [1, 2, 3]));
    let sizes = [long_batch(1, 0, &[1, 2]).len() as u64, long_batch(1, 1, &[3]).len() as u64];
    let heard = stage.heard();
    let Heard::Query { credit, .. } = heard[0] else { panic!("a query first: {heard:?}") };
    assert_eq!(credit, 8 << 20);
    assert_eq!(heard[1..3], [Heard::Credit(1, sizes[0]), Heard::Credit(1, sizes[1])]);
}

#[test]
fn qry_07_a_server_that_waits_for_credit_gets_it_until_the_terminator() {
    let stage = Stage::new();
    stage.server("a", |_| {
        let mut next = 0;
        move |heard| match heard {
            Heard::Query { id, .. } | Heard::Credit(id, _) => {
                next += 1;
                match next {
                    1..=20 => send(&[long_batch(*id, next - 1, &[next as i64])]),
                    21 => send(&[result_end(*id, 19, 20)]),
                    _ => Vec::new(),
                }
            }
            _ => Vec::new(),
        }
    });
    let mut client = stage.client("a", "initial_credit=1;");
    assert_eq!(run(&mut client, "q").0, (1..=20).collect::<Vec<i64>>());
}

#[test]
fn qry_07_without_credit_none_is_sent_and_no_ping() {
    let stage = Stage::new();
    stage.server("a", |_| {
        answers(|id| {
            let mut actions = one_two_three(id);
            actions.iter_mut().for_each(|action| action.after = Duration::from_secs(30));
            actions
        })
    });
    assert_eq!(run(&mut stage.client("a", "initial_credit=0;"), "q").0, [1, 2, 3]);
    assert!(
        matches!(stage.heard()[..], [Heard::Query { credit: 0, .. }, Heard::Close]),
        "{:?}",
        stage.heard()
    );
}

#[test]
fn qry_07_a_second_of_silence_brings_one_ping_until_it_is_answered() {
    let stage = Stage::new();
    stage.server("a", |_| {
        let mut pings = 0;
        move |heard| {
            pings += u32::from(*heard == Heard::Ping);
            if pings == 3 { one_two_three(1) } else { Vec::new() }
        }
    });
    let mut client = stage.client("a", "");
    client.connect().expect("a");
    let began = stage.elapsed();
    assert_eq!(run(&mut client, "q").0, [1, 2, 3]);
    assert_eq!(stage.elapsed() - began, Duration::from_secs(3), "one a second");

    /// Answers no PING.
    struct Deaf(Log);
    impl SimPeer for Deaf {
        fn on_connect(&mut self, _: Instant) -> Vec<PeerAction> {
            send(&[server_info(0, 0, "b", None)])
        }
        fn on_message(&mut self, _: &[u8], _: Instant) -> Vec<PeerAction> {
            vec![Act::Message(result_end(1, 0, 0)).after(Duration::from_secs(60))]
        }
        fn on_ping(&mut self, _: Instant) -> Vec<PeerAction> {
            self.0.lock().push(Heard::Ping);
            Vec::new()
        }
    }
    let stage = Stage::new();
    let log = stage.log.clone();
    stage.host("b", move |_| Answer::Accept(Upgrade::default(), Box::new(Deaf(log.clone()))));
    assert_eq!(run(&mut stage.client("b", ""), "q").1.map(|e| e.to_string()), None);
    assert_eq!(stage.heard(), [Heard::Ping], "one unanswered at a time");
}

#[test]
fn qry_11_reset_dict_is_sent_where_it_is_announced_and_refused_where_not() {
    for (capabilities, sent) in [(QUERY_FLAGS, true), (0, false)] {
        let stage = Stage::new();
        stage.server_as("a", server_info(0, capabilities, "a", None), |_| answers(one_two_three));
        let mut client = stage.client("a", "");
        let result = client.query("q").reset_dict().run().map(|mut cursor| drain(&mut cursor).0);
        match result {
            Ok(rows) => assert!(sent && rows == [1, 2, 3], "nothing waits for a reset"),
            Err(error) => assert!(!sent && error.kind() == ErrorKind::InvalidCall, "{error}"),
        }
        let heard = stage.heard();
        assert_eq!(heard.iter().any(|h| matches!(h, Heard::Query { reset_dict: true, .. })), sent);
        assert_eq!(stage.queries() > 0, sent, "not sent without the flag");
        // The connection goes on working.
        assert_eq!(run(&mut client, "q").0, [1, 2, 3]);
        assert_eq!(stage.visited(), ["a"]);
    }
}

// Q07
#[test]
fn qry_11_query_timeout_ms_is_sent_where_announced_covers_reads_and_fails_the_call_elsewhere() {
    let stage = Stage::new();
    let info = server_info(0, QUERY_FLAGS | QUERY_TIMEOUT, "a", None);
    stage.server_as("a", info, |_| answers(|id| send(&[long_batch(id, 0, &[1])])));
    let mut client = stage.client("a", "query_timeout_ms=1000;query_close_timeout_ms=300;");
    let mut cursor = client.query("q").run().expect("connected");
    let began = stage.elapsed();
    let (rows, error) = drain(&mut cursor);
    assert_eq!((rows, kind(error)), (vec![1], Some(ErrorKind::Timeout)));
    let took = stage.elapsed() - began;
    assert!(took >= Duration::from_secs(1) && took <= Duration::from_secs(2), "{took:?}");
    assert!(matches!(stage.heard()[0], Heard::Query { timeout_ms: Some(1000), .. }));
    drop(cursor);
    drop(client.query("q").run().expect("another connection"));
    assert_eq!(stage.visited(), ["a", "a"], "the connection is not used again");

    let stage = Stage::new();
    stage.server("a", |_| answers(one_two_three));
    let mut client = stage.client("a", "query_timeout_ms=1000;");
    assert_eq!(kind(run(&mut client, "q").1), Some(ErrorKind::InvalidCall));
    assert_eq!(stage.queries(), 0);
}

#[test]
fn qry_03_a_value_that_cannot_be_bound_fails_the_run_and_names_its_place() {
    let stage = Stage::new();
    stage.server("a", |_| answers(one_two_three));
    let mut client = stage.client("a", "");
    let error = client.query("q").bind(1_i64).bind('\u{1f600}').bind("x").run().expect_err("no char");
    assert_eq!(error.kind(), ErrorKind::InvalidValue);
    assert!(error.to_string().contains("bind 2"), "{error}");
    let mut cursor = client.query("q").bind(1_i64).bind(None::<f64>).run().expect("two binds");
    assert_eq!(drain(&mut cursor).0, [1, 2, 3]);
    drop(cursor);
    assert!(matches!(stage.heard()[0], Heard::Query { binds: 2, .. }));
}

#[test]
fn lim_18_a_request_that_no_server_takes_is_refused_before_anything_is_sent() {
    let stage = Stage::new();
    stage.server("a", |_| answers(one_two_three));
    let mut client = stage.client("a", "");
    let long = "x".repeat((1 << 20) + 1);
    assert_eq!(kind(run(&mut client, &long).1), Some(ErrorKind::TooLarge));
    assert_eq!(stage.queries(), 0);
    assert!(stage.visited().is_empty());
    // Right below the limit it goes out, in as many pieces as the link takes.
    assert_eq!(run(&mut client, &long[1..]).0, [1, 2, 3]);
}
