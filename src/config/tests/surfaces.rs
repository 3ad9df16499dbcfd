//! The ways into a `Config`: string, environment, calls.

use super::*;
use crate::config::keys::Kind;

#[test]
fn conf_08_the_variable_has_to_be_set_and_utf_8() {
    let read = |value: Option<&str>| Config::from_variable(value.map(OsString::from));
    for value in [None, Some("")] {
        let e = read(value).unwrap_err();
        assert_eq!(e.kind(), ErrorKind::Config);
        assert!(e.to_string().contains("unset or empty") && e.to_string().contains("QDB_CLIENT_CONF"), "{e}");
    }
    assert_eq!(read(Some("ws::addr=h;")).unwrap().to_string(), "ws::addr=h;");
    assert!(read(Some("nonsense")).is_err());
}

#[cfg(unix)]
#[test]
fn conf_08_a_variable_that_is_not_utf_8_is_another_error() {
    use std::os::unix::ffi::OsStringExt;
    let e = Config::from_variable(Some(OsString::from_vec(vec![b'w', 0xff]))).unwrap_err();
    assert!(e.to_string().contains("not UTF-8") && e.to_string().contains("QDB_CLIENT_CONF"), "{e}");
}

/// CONF-09: every key and alias can be set by a call, to the same effect as in the string.
#[test]
fn conf_09_calls_reach_the_keys_of_the_string() {
    for key in Key::ALL {
        let spec = key.spec();
        for name in std::iter::once(&spec.name).chain(spec.aliases) {
            let mut called = Config::default();
            called.set(name, "some;text").unwrap();
            let parsed = Config::parse(&format!("ws::{name}=some;;text;")).unwrap();
            assert_eq!(called.to_string(), parsed.to_string());
            assert_eq!(called.settings[0].text, parsed.settings[0].text);
            assert_eq!(called.settings[0].key, *key);
        }
    }
}

#[test]
fn conf_09_a_call_wins_over_the_string_whichever_comes_first() {
    let text = "ws::addr=a;addr=b;token=t;max_name_len=20";
    let mut after = Config::parse(text).unwrap();
    after.set("addr", "c,d").unwrap().set("max_name_len", 30).unwrap();
    let mut before = Config::default();
    before.set("max_name_len", 10).unwrap().set("max_name_len", 30).unwrap().set("addr", "c,d").unwrap();
    before.load(text).unwrap();
    for config in [after, before] {
        let view = config.ingest().unwrap();
        assert_eq!(view.max_name_len, 30);
        assert_eq!(
            view.common.endpoints.iter().map(Endpoint::to_string).collect::<Vec<_>>(),
            ["c:9000", "d:9000"]
        );
        assert!(matches!(view.common.credential, Credential::Bearer(_)));
    }
    let mut config = Config::default();
    config.load("wss::addr=h").unwrap();
    assert_eq!(config.to_string(), "wss::addr=h;");
    assert!(config.load("ws::zone=z").unwrap_err().to_string().contains("a second connect string"));
}

/// CONF-09, CONF-14: an alias set by a call takes the place of its key.
#[test]
fn conf_09_an_alias_is_the_key() {
    let mut config = Config::parse("ws::addr=h;username=a;password=p").unwrap();
    config.set("user", "b").unwrap();
    let view = config.query().unwrap();
    assert!(matches!(&view.common.credential, Credential::Basic { username, .. } if username == "b"));
}

/// CONF-14: calls are checked like the string.
#[test]
fn conf_14_calls_are_checked_like_the_string() {
    for (key, value, why) in [
        ("token", "", "empty value: key token"),
        ("token", "hunter2\n", "control character in a value: key token, at byte 7"),
        ("zone", "a\u{85}", "control character"),
        ("addr", "h:0", "a port is"),
        ("compression_level", "23", "at most 22"),
        ("auth_timeout_ms", "1s", "key auth_timeout_ms, value 1s"),
    ] {
        let mut config = Config::parse("ws::addr=h").unwrap();
        config.set(key, value).unwrap();
        let e = config.query().unwrap_err().to_string();
        assert!(e.contains(why) && !e.contains("hunter2"), "{e}");
    }
    let mut config = Config::default();
    let e = config.set("adr", "h").unwrap_err().to_string();
    assert_eq!(e, "unknown key: key adr: did you mean addr?");
    assert!(config.set("request_timeout", 5).is_err());
}

#[test]
fn conf_09_typed_values_are_what_their_text_is() {
    let mut config = Config::parse("ws::addr=h").unwrap();
    config.set("auth_timeout_ms", Duration::from_micros(1_500)).unwrap();
    config.set("initial_connect_retry", ConnectMode::Async).unwrap();
    config.set("transaction", true).unwrap();
    config.set("auto_flush_bytes", 1_u64 << 40).unwrap();
    config.put(Key::SfAppendDeadlineMillis, Duration::ZERO);
    let view = config.ingest().unwrap();
    assert_eq!(view.common.auth_timeout, Duration::from_millis(2));
    assert_eq!(view.connect.mode, ConnectMode::Async);
    assert!(view.transaction && view.store.append_deadline.is_zero());
    assert_eq!(view.auto_flush.bytes, Some(1 << 40));
    // CONF-16: beyond what the key takes, not wrapped.
    config.set("auth_timeout_ms", Duration::MAX).unwrap();
    assert!(config.ingest().unwrap_err().to_string().contains("at most 9223372036854775807"));
}

#[test]
fn conf_09_a_duration_is_refused_by_keys_that_are_none() {
    for key in Key::ALL {
        let spec = key.spec();
        let takes = matches!(spec.kind, Kind::Millis { .. } | Kind::MillisOrOff | Kind::SignedMillis);
        let set = Config::default().set(spec.name, Duration::from_secs(1)).map(|_| ());
        assert_eq!(set.is_ok(), takes, "{}", spec.name);
    }
}
