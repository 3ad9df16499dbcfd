//! Basic authentication, against a server that has it.

use crate::world::{PATIENCE, SERVER_WITH_AUTH, say, server};
use qwp::{Error, ErrorKind, Phase, QueryClient, Sender, TimestampNanos};

/// What the variable says: address, user, password.
fn named() -> Option<(String, String, String)> {
    let Some(value) = server(SERVER_WITH_AUTH) else {
        say(&format!("not run: Basic authentication, as {SERVER_WITH_AUTH} names no server"));
        return None;
    };
    let parts: Vec<&str> = value.splitn(4, ':').collect();
    let [host, port, user, password] = parts[..] else { panic!("wanted host:port:user:password") };
    Some((format!("{host}:{port}"), user.to_owned(), password.to_owned()))
}

fn check_refused(error: &Error, addr: &str) {
    assert_eq!(error.kind(), ErrorKind::Auth, "{error}");
    let [failure] = error.endpoints() else { panic!("{error}") };
    assert_eq!(
        (failure.endpoint.as_str(), failure.phase, failure.kind),
        (addr, Phase::Upgrade, ErrorKind::Auth)
    );
}

#[test]
#[ignore = "needs a server: QWP_TEST_SERVER_AUTH"]
fn auth_01_a_user_is_accepted_by_both_clients() {
    let Some((addr, user, password)) = named() else { return };
    let conf = format!("ws::addr={addr};username={user};password={};", password.replace(';', ";;"));
    let table = format!("qwplive{:08x}xauth", fastrand::u32(..));
    let mut sender = Sender::from_conf(&conf).unwrap();
    sender.table(&table).column_i64("x", 7).at(TimestampNanos::new(1)).unwrap();
    sender.drain(PATIENCE).unwrap();
    let mut client = QueryClient::from_conf(&conf).unwrap();
    client.execute(&format!("drop table {table}")).unwrap();
}

#[test]
#[ignore = "needs a server: QWP_TEST_SERVER_AUTH"]
fn auth_05_others_are_refused_by_kind_auth() {
    let Some((addr, user, password)) = named() else { return };
    for credentials in [
        String::new(),
        format!("username={user};password={password}x;"),
        format!("username={user}x;password={password};"),
    ] {
        let conf = format!("ws::addr={addr};{credentials}");
        check_refused(&Sender::from_conf(&conf).unwrap_err(), &addr);
        let error = QueryClient::from_conf(&conf).unwrap_err();
        check_refused(&error, &addr);
        assert!(!error.to_string().contains(&password), "no error shows a password");
    }
}
