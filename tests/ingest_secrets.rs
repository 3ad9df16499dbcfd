//! T04, CONF-10, OBS-05: what is said of a sender, and what never is. In a process of its own, since
//! it takes the process's logger.

#![allow(clippy::unwrap_used, reason = "test code: a panic is a failed test")]

mod kit;
mod support;

use std::sync::{LazyLock, Mutex};

use kit::*;
use log::{Level, LevelFilter, Log, Metadata, Record};
use qwp::{Config, Sender, SenderBuilder};
use support::http::base64;
use support::{Script, Server};

/// Keeps every line, down to trace level.
struct Lines(Mutex<Vec<(Level, String)>>);

impl Log for Lines {
    fn enabled(&self, _: &Metadata<'_>) -> bool {
        true
    }

    fn log(&self, record: &Record<'_>) {
        let line = format!("{} {}", record.target(), record.args());
        self.0.lock().unwrap().push((record.level(), line));
    }

    fn flush(&self) {}
}

static LINES: LazyLock<&Lines> = LazyLock::new(|| {
    let lines: &Lines = Box::leak(Box::new(Lines(Mutex::default())));
    log::set_logger(lines).expect("the first logger of this process");
    log::set_max_level(LevelFilter::Trace);
    lines
});

/// Lines of this crate at that level or above which contain that.
fn logged(level: Level, part: &str) -> Vec<String> {
    let lines = LINES.0.lock().unwrap();
    let own = lines.iter().filter(|(at, line)| *at <= level && line.starts_with("qwp"));
    own.filter(|(_, line)| line.contains(part)).map(|(_, line)| line.clone()).collect()
}

const SECRET: &str = "hunter2-hunter2";

/// Everything that a user sees of senders of this connect string, which may or may not connect.
fn shown(text: &str) -> Vec<String> {
    let mut out = Vec::new();
    let config = Config::parse(text).unwrap();
    out.extend([format!("{config:?}"), config.to_string()]);
    let builder = Sender::builder().conf(text).unwrap().set("client_id", "test").unwrap();
    out.push(format!("{builder:?}"));
    match builder.build() {
        Ok(mut sender) => {
            let wrong = sender.table("").at_now().unwrap_err();
            out.extend([format!("{sender:?} {:?}", sender.health()), format!("{wrong:?} {wrong}")]);
            row(&mut sender, 0);
            out.push(format!("{:?}", sender.drain(ms(300))));
            out.push(format!("{sender:?} {:?} {:?}", sender.health(), sender.close()));
        }
        Err(error) => out.push(format!("{error:?} {error}")),
    }
    out
}

#[test]
fn conf_10_no_error_event_or_line_shows_a_secret() {
    LazyLock::force(&LINES);
    let encoded = base64(format!("joe:{SECRET}").as_bytes());
    let quiet = "auto_flush=off;close_flush_timeout_millis=0;";
    let scripts =
        ["http 401", "http 403", "http 503", "role REPLICA", "up(version=9)", "rst", "up, read 1, nack 8 0"];
    for script in scripts.into_iter().chain(["serve"]) {
        for mode in ["off", "async"] {
            for credential in [format!("username=joe;password={SECRET};"), format!("token={SECRET};")] {
                let server = Server::start();
                server.always(Some(Script::new(script)));
                let text = conf(&server, &format!("{credential}initial_connect_retry={mode};{quiet}"));
                for shown in shown(&text) {
                    assert!(!shown.contains(SECRET) && !shown.contains(&encoded), "{script}: {shown}");
                }
            }
        }
    }
    for bad in [
        format!("ws::addr=h;token={SECRET}\u{e9};"),
        format!("ws::addr=h;token={SECRET};username=x;"),
        format!("ws::addr=h;password={SECRET};"),
        format!("ws::addr=h;token={SECRET};token={SECRET};"),
        format!("ws::addr=h;password={SECRET}\n;"),
        format!("ws::addr=h;tls_roots_password={SECRET};"),
        format!("wss::addr=h;tls_roots_password={SECRET};"),
    ] {
        let error = Sender::from_conf(&bad).unwrap_err();
        assert!(!format!("{error:?} {error}").contains(SECRET), "{error}");
    }
    for secret in [SECRET, &encoded] {
        assert_eq!(logged(Level::Trace, secret), Vec::<String>::new());
    }
    assert!(!logged(Level::Info, "connected to").is_empty(), "lines were captured at all");
}

/// H02, FLUSH-07: dropping says what `close` would return.
#[test]
fn flush_07_a_drop_that_loses_rows_is_logged_as_an_error() {
    LazyLock::force(&LINES);
    let server = Server::scripted(["up, silent"]);
    let mut sender = sender(&server, "close_flush_timeout_millis=50;");
    frames(&mut sender, 0..7);
    drop(sender);
    let lines = logged(Level::Error, "frames left 7");
    assert!(lines.len() == 1 && lines[0].contains("lost"), "{lines:?}");
}

/// ERRP-07: without a handler a rejection is logged: terminal as an error, retriable as a warning.
#[test]
fn errp_07_rejections_are_logged_by_the_default_handler() {
    LazyLock::force(&LINES);
    for (status, level, text) in [("5", Level::Error, "parse-5"), ("9", Level::Warn, "write-9")] {
        let server = Server::start();
        let status = u8::from_str_radix(status, 16).unwrap();
        server.script(Script::new("up, read 1").nack(status, 0, text));
        let mut sender = sender(&server, "");
        frames(&mut sender, 0..1);
        let ended = sender.drain(SOON);
        let lines = logged(level, text);
        assert_eq!((ended.is_err(), lines.len()), (level == Level::Error, 1), "{lines:?}");
        assert!(lines[0].contains("frame 0"), "{lines:?}");
    }
}

/// INIT-02: the promotion surprises people.
#[test]
fn init_02_a_promotion_to_sync_is_warned_about_once_a_build_and_seen_in_debug() {
    LazyLock::force(&LINES);
    let server = Server::start();
    let text = conf(&server, "reconnect_max_duration_millis=123456;");
    let shown = format!("{:?}", Config::parse(&text).unwrap());
    assert!(shown.contains("initial connect sync because of reconnect_max_duration_millis"), "{shown}");
    drop(SenderBuilder::from(Config::parse(&text).unwrap()).build().unwrap());
    let lines = logged(Level::Warn, "reconnect_max_duration_millis is set");
    assert_eq!(lines.len(), 1, "{lines:?}");
}

/// OBS-05: a sender that does nothing but its work is quiet.
#[test]
fn obs_05_rows_and_frames_are_not_logged() {
    LazyLock::force(&LINES);
    let server = Server::start();
    let mut sender = sender(&server, "");
    frames(&mut sender, 0..1);
    drain(&mut sender);
    let before = logged(Level::Trace, &server.addr()).len();
    frames(&mut sender, 1..5000);
    drain(&mut sender);
    assert_eq!(logged(Level::Trace, &server.addr()).len(), before);
    assert!(logged(Level::Trace, "").len() < 3000, "a line for each frame would be more");
}
