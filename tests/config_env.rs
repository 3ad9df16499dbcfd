//! CONF-08: the environment variable, read by a process that has it.

use qwp::Config;
use std::process::Command;

/// What a child process says that finds this in the variable.
fn child_says(value: Option<&str>) -> String {
    let mut child = Command::new(std::env::current_exe().expect("a test is a file"));
    child
        .args(["--exact", "child_prints_what_it_reads", "--ignored", "--nocapture"])
        .env_remove("QDB_CLIENT_CONF");
    if let Some(value) = value {
        child.env("QDB_CLIENT_CONF", value);
    }
    String::from_utf8(child.output().expect("the test starts itself").stdout).expect("it prints text")
}

#[test]
fn conf_08_from_env_reads_qdb_client_conf() {
    assert!(child_says(Some("ws::addr=h;token=hunter2;")).contains("read ws::addr=h;token=***;"));
    for value in [None, Some("")] {
        assert!(
            child_says(value)
                .contains("failed unset or empty environment variable: variable QDB_CLIENT_CONF")
        );
    }
    assert!(child_says(Some("http::addr=h")).contains("failed unknown schema: http"));
}

#[test]
#[ignore = "run by conf_08_from_env_reads_qdb_client_conf in a process of its own"]
fn child_prints_what_it_reads() {
    match Config::from_env() {
        Ok(config) => println!("read {config}"),
        Err(e) => println!("failed {e}"),
    }
}
