//! AUTH, T05: credentials reach the server exactly, or nobody.

#![allow(clippy::unwrap_used, reason = "test code: a panic is a failed test")]

mod kit;
mod support;

use kit::*;
use qwp::{Config, ErrorKind, Sender};
use support::Server;
use support::http::base64;

/// `Authorization` of every upgrade that a server has seen.
fn authorizations(server: &Server) -> Vec<Option<String>> {
    let header = |request: &support::http::Request| request.header("Authorization").map(str::to_owned);
    server.connections().iter().flat_map(|connection| connection.requests.iter().map(header)).collect()
}

#[test]
fn auth_01_basic_is_base64_of_utf_8_exactly() {
    let passwords = [
        "secret",
        "a;b",
        "a=b",
        "=",
        ";;",
        "with: colon",
        " spaces ",
        "\u{1f600}\u{e9}",
        "%41",
        &"p".repeat(5000),
    ];
    for password in passwords {
        let wanted = format!("Basic {}", base64(format!("j\u{f6}rg:{password}").as_bytes()));
        let server = Server::with(|config| config.authorization = Some(wanted.clone()));
        let escaped = password.replace(';', ";;");
        let text = conf(&server, &format!("username=j\u{f6}rg;password={escaped};auto_flush=off;"));
        let mut sender = Sender::from_conf(&text).unwrap();
        row(&mut sender, 0);
        drain(&mut sender);
        assert_eq!(authorizations(&server), [Some(wanted)], "{password}");
    }
}

#[test]
fn auth_01_a_token_goes_out_as_it_is() {
    for token in ["abc.def-_~+/=", "a;;b", "!#$%&'()*", "tok en", &"t".repeat(16 << 10)] {
        let wanted = format!("Bearer {}", token.replace(";;", ";"));
        let server = Server::with(|config| config.authorization = Some(wanted.clone()));
        let mut sender =
            Sender::from_conf(&conf(&server, &format!("token={token};auto_flush=off;"))).unwrap();
        row(&mut sender, 0);
        drain(&mut sender);
        assert_eq!(authorizations(&server).len(), 1);
    }
}

/// AUTH-01: on every upgrade, and nowhere else.
#[test]
fn auth_01_credentials_go_along_on_every_reconnect() {
    let server = Server::with(|config| config.authorization = Some("Bearer abc".into()));
    let mut sender = sender(&server, "token=abc;");
    row(&mut sender, 0);
    drain(&mut sender);
    server.cut();
    row(&mut sender, 1);
    drain(&mut sender);
    assert_eq!(authorizations(&server), [Some("Bearer abc".to_owned()), Some("Bearer abc".to_owned())]);
    let none = Server::start();
    drop(kit::sender(&none, ""));
    assert_eq!(authorizations(&none), [None]);
}

/// T05, AUTH-03, CONF-14: nothing that could end a header, and nothing that Basic cannot carry.
#[test]
fn auth_03_credentials_that_no_header_can_carry_are_refused_before_anything_is_sent() {
    let server = Server::start();
    for (key, value, beside) in [
        ("token", "a\r\nX-Evil: 1", None),
        ("token", "a\nb", None),
        ("token", "t\u{f6}ken", None),
        ("token", "\u{7f}", None),
        ("token", "", None),
        ("token", "   ", None),
        ("username", "us:er", Some("password")),
        ("username", "us\r\ner", Some("password")),
        ("password", "se\r\ncret", Some("username")),
        ("password", "se\0cret", Some("username")),
        ("username", "", Some("password")),
        ("password", "", Some("username")),
        ("username", "alone", None),
        ("password", "alone", None),
    ] {
        let mut config = Config::parse(&conf(&server, "")).unwrap();
        config.set(key, value).unwrap();
        if let Some(beside) = beside {
            config.set(beside, "x").unwrap();
        }
        let error = Sender::builder().conf(&conf(&server, "")).unwrap().set(key, value);
        let error = beside.map_or(error.clone(), |beside| error.and_then(|builder| builder.set(beside, "x")));
        let error = error.and_then(qwp::SenderBuilder::build).unwrap_err();
        assert_eq!(error.kind(), ErrorKind::Config, "{key}={value:?}");
        assert!(error.to_string().contains(key), "{key}={value:?}: {error}");
        assert_eq!(kind(qwp::SenderBuilder::from(config).build()), ErrorKind::Config);
    }
    assert_eq!(server.connections().len(), 0);
}
