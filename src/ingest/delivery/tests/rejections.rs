//! Rejections, strikes, and the pace of reconnects.

use super::*;
use std::io;
use std::sync::Arc;

#[test]
fn errp_01_r05_the_stop_class_is_terminal_at_once_and_says_all_it_knows() {
    for status in [0x03, 0x05, 0x08] {
        let mut scene = Scene::sent(3);
        scene.ok(0).nack(status, 2);
        assert_eq!(scene.said(), ["acked 0", "terminal", "drop kept 1000"]);
        let error = &scene.errors[0];
        assert_eq!(error.kind(), ErrorKind::Rejected);
        let answer = error.server_status().unwrap();
        // ERRP-05: without control characters.
        assert_eq!((answer.status, answer.message.as_str()), (status, "not this"));
        for fact in ["a:9000", "frame 2", "wire sequence 2"] {
            assert!(error.to_string().contains(fact), "{error}");
        }
        assert!(scene.delivery.is_ended());
        scene.pass(secs(1000));
        assert_eq!(scene.said(), [""; 0]);
    }
}

#[test]
fn errp_02_r04_r05_the_retry_class_reconnects_after_a_pause_and_replays() {
    for status in [0x06, 0x09, 0x0a, 0x0d, 0x0e, 0x77, 0xff] {
        let mut scene = Scene::sent(3);
        scene.ok(0).nack(status, 1);
        let said = scene.said();
        assert_eq!(said[0], "acked 0");
        assert!(said[1].starts_with("report"), "{said:?}");
        assert_eq!(said[2..], ["drop kept 1000"]);
        let pause = scene.jump();
        assert!((ms(100)..ms(200)).contains(&pause), "{pause:?}");
        scene.up();
        assert_eq!(scene.said(), ["connect", "f1", "f2"]);
        scene.ok(1);
        assert_eq!(scene.said(), ["acked 2"]);
    }
}

#[test]
fn errp_01_r05_not_writable_moves_on_at_once_and_never_becomes_terminal() {
    let mut scene = Scene::sent(2);
    scene.nack(0x0c, 0);
    assert_eq!(scene.said(), ["report not writable", "drop broke 1000", "connect"]);
    for _ in 0..100 {
        scene.up().nack(0x0c, 0);
        // ERRP-10
        assert!(scene.jump() >= ms(100));
    }
    scene.said();
    scene.up().ok(1);
    assert_eq!(scene.said(), ["f0", "f1", "acked 1"]);
}

#[test]
fn errp_02_after_a_dictionary_gap_everything_is_registered_first() {
    let mut scene = Scene::new();
    scene.frame(false, 0, 3, 10).settle().up().said();
    scene.nack(0x0d, 0).said();
    scene.jump();
    scene.up().broken();
    assert_eq!(scene.said(), ["connect", "s0-3", "f0", "drop broke"]);
    // Not forgotten by a connection that came to nothing.
    scene.jump();
    scene.up().ok(1);
    assert_eq!(scene.said(), ["connect", "s0-3", "f0", "acked 0"]);
    scene.frame(false, 3, 1, 10).settle().broken().up();
    assert_eq!(scene.said(), ["f1", "drop broke", "connect", "s0-3", "f1"]);
}

#[test]
fn errp_04_a_frame_rejected_4_times_over_5_s_is_poison() {
    let mut scene = Scene::sent(2);
    let (start, mut nacks) = (scene.now, 0);
    while !scene.delivery.is_ended() {
        nacks += 1;
        scene.nack(0x09, 0);
        if !scene.delivery.is_ended() {
            scene.jump();
            scene.up();
        }
    }
    assert!(nacks >= 4 && scene.now - start >= secs(5), "{nacks}");
    assert!(scene.now - start < secs(16));
    let error = scene.errors.last().unwrap();
    assert_eq!(error.kind(), ErrorKind::ProtocolViolation);
    assert!(error.to_string().contains("frame 0"), "{error}");
}

#[test]
fn errp_04_breaks_alone_take_a_minute() {
    let mut scene = Scene::sent(1);
    let start = scene.now;
    while !scene.delivery.is_ended() {
        scene.broken();
        if !scene.delivery.is_ended() {
            scene.jump();
            scene.up();
        }
    }
    let time = scene.now - start;
    assert!(time >= secs(60) && time < secs(75), "{time:?}");
    assert!(scene.errors[0].to_string().contains("the connection ended"));
}

#[test]
fn errp_03_orderly_closes_never_make_a_frame_poison() {
    let rules = Rules { rejections_max: 1, poison_window: Some(Duration::ZERO), ..Rules::default() };
    for (code, orderly) in [(1000, true), (1001, true), (1002, false), (1009, false), (1011, false)] {
        let mut scene = Scene::with(&rules);
        scene.publish(1).settle().up();
        scene.closed(code);
        assert_eq!(scene.errors.is_empty(), orderly, "{code}");
    }
}

#[test]
fn errp_04_a_frame_that_was_only_begun_is_a_suspect_and_an_unsent_one_is_not() {
    let rules = Rules { rejections_max: 1, poison_window: Some(Duration::ZERO), ..Rules::default() };
    for begun in [true, false] {
        let mut scene = Scene::with(&rules);
        scene.blocked = true;
        scene.settle().up();
        if begun {
            scene.publish(1).settle();
        }
        scene.broken();
        assert_eq!(scene.delivery.is_ended(), begun);
    }
}

#[test]
fn errp_09_a_rejected_catch_up_becomes_terminal_without_a_frame() {
    let rules = Rules { rejections_max: 2, poison_window: Some(Duration::ZERO), ..Rules::default() };
    let mut scene = Scene::with(&rules);
    scene.store.symbols = 3;
    scene.frame(false, 3, 0, 10).settle().up().nack(0x06, 0);
    scene.jump();
    // Any OK clears the strikes.
    scene.up().ok(0).nack(0x06, 1);
    scene.jump();
    scene.up().nack(0x06, 0);
    assert!(!scene.delivery.is_ended());
    scene.jump();
    scene.up().nack(0x06, 0);
    assert!(scene.delivery.is_ended());
    let error = scene.errors.last().unwrap().to_string();
    assert!(error.contains("symbols registered"), "{error}");
}

#[test]
fn errp_02_the_pause_grows_with_strikes_on_one_frame_although_symbols_are_taken() {
    let mut scene = Scene::new();
    scene.store.symbols = 3;
    scene.frame(false, 3, 0, 10).settle().up();
    for base in [100, 200, 400, 800] {
        scene.ok(0).nack(0x09, 1);
        let pause = scene.jump();
        assert!((ms(base)..ms(2 * base)).contains(&pause), "{pause:?} for {base}");
        scene.up();
    }
    scene.ok(1).broken();
    assert_eq!(scene.jump(), Duration::ZERO);
}

/// R01, BACK-03, ERRP-10.
#[test]
fn r01_servers_that_accept_and_drop_see_few_connections() {
    let ends: [fn(&mut Scene); 5] = [
        |scene| _ = scene.broken(),
        |scene| _ = scene.closed(1000),
        |scene| _ = scene.nack(0x0c, 0),
        |scene| {
            let why = LinkError::Io(Arc::new(io::Error::from(io::ErrorKind::ConnectionReset)));
            scene.delivery.on_link_error(why, scene.now);
            scene.settle();
        },
        |scene| _ = scene.message(b"garbage"),
    ];
    for (index, end) in ends.into_iter().enumerate() {
        for frames in [0, 1, 3] {
            if frames == 0 && index == 2 {
                continue;
            }
            let mut scene = Scene::new();
            scene.publish(frames).settle();
            let start = scene.now;
            let mut connections = 0;
            while scene.now - start < secs(10) {
                connections += 1;
                scene.up();
                end(&mut scene);
                scene.jump();
            }
            assert!((5..=15).contains(&connections), "{index} {frames}: {connections}");
        }
    }
}

#[test]
fn errp_10_an_ok_starts_the_pacing_over() {
    let mut scene = Scene::sent(3);
    for round in 0..3 {
        scene.broken();
        assert_eq!(scene.jump(), Duration::ZERO);
        scene.up().broken();
        assert!(scene.jump() >= ms(100));
        scene.up().ok(0);
        assert_eq!(scene.delivery.acked, Fsn::new(round));
    }
}

#[test]
fn errp_10_an_ok_for_symbols_alone_does_not_start_the_pacing_over() {
    let mut scene = Scene::new();
    scene.store.symbols = 3;
    scene.frame(false, 3, 0, 10).settle();
    for round in 0..5 {
        scene.up().ok(0).nack(0x0c, 1);
        assert_eq!(scene.jump() >= ms(100), round > 0, "round {round}");
    }
}
