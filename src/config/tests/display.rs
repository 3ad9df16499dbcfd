//! CONF-10, trial T04: what is shown, and what never is.

use super::*;

const SECRET: &str = "hunter2";

#[test]
fn conf_10_neither_debug_nor_display_shows_a_secret() {
    for settings in [
        "token=hunter2",
        "user=u;password=hunter2",
        "user=u;pass=hunter2",
        "tls_roots_password=hunter2",
        "token=hunter2;;hunter2;zone=a",
    ] {
        let config = Config::parse(&format!("ws::addr=h;{settings};")).unwrap();
        let shown = format!("{config} {config:?} {config:#?} {:?} {:?}", config.ingest(), config.pool());
        assert!(!shown.contains(SECRET) && shown.contains("***"), "{shown}");
    }
    assert!(!format!("{:?}", ConfigValue::from(SECRET)).contains(SECRET));
}

#[test]
fn conf_10_everything_else_is_shown_as_it_was_given() {
    let config = Config::parse("wss::addr=a,b:1;zone=x;;y;user=u;pass=p;sf_max_bytes=4M").unwrap();
    assert_eq!(config.to_string(), "wss::addr=a,b:1;zone=x;;y;user=u;pass=***;sf_max_bytes=4M;");
    assert_eq!(format!("{config:?}"), format!("Config(\"{config}\", initial connect off)"));
    assert_eq!(config.to_string().parse::<Config>().unwrap().to_string(), config.to_string());
    // A value that is no value does not stop the rest from being shown.
    let config = Config::parse("ws::addr=h;auto_flush=maybe").unwrap();
    assert_eq!(format!("{config:?}"), "Config(\"ws::addr=h;auto_flush=maybe;\")");
}

/// CONF-02, CONF-10: no error of any view holds a secret, whatever else is wrong.
#[test]
fn conf_10_no_error_shows_a_secret() {
    for settings in [
        "token=hunter2\u{e9}",
        "token=hunter2;user=u;pass=hunter2",
        "pass=hunter2",
        "user=a:b;pass=hunter2",
        "tls_roots_password=hunter2",
        "token=hunter2;tls_verify=on",
        "token=hunter2;auth_timeout_ms=0",
        "token=hunter2;addr=h",
    ] {
        for view in VIEWS {
            let e = refused(view, &format!("ws::addr=h;{settings}"));
            assert!(!e.contains(SECRET), "{e}");
        }
    }
}
