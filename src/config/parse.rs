//! The grammar of the connect string: `schema::key=value;key=value;` (CONF-01, CONF-02, CONF-11).
//!
//! What a value means is not looked at here. Positions count bytes from 0. No error shows text that
//! may belong to a secret, such as what follows a `;` that was not doubled in a password.

use super::Schema;
use super::hints;
use super::keys::Key;
use super::setting::Setting;
use super::value::control_character;
use crate::error::{Error, ErrorKind, Result};

const DOUBLED: &str = "a `;` inside a value is written `;;`";

/// Schema and settings of a connect string, in its order.
pub(super) fn connect_string(text: &str) -> Result<(Schema, Vec<Setting>)> {
    if text.is_empty() {
        return Err(
            Error::new(ErrorKind::Config, "empty connect string").because("wanted ws::addr=host:port;")
        );
    }
    let Some((schema_text, _)) = text.split_once("::") else {
        return Err(no_schema());
    };
    let schema = schema(schema_text)?;
    let mut settings = Vec::new();
    let mut position = schema_text.len() + 2;
    while let Some(rest) = text.get(position..).filter(|rest| !rest.is_empty()) {
        let (setting, taken) = pair(rest, position, settings.last())?;
        refuse_duplicate(&settings, &setting, position)?;
        settings.push(setting);
        position += taken;
    }
    Ok((schema, settings))
}

#[cold]
fn no_schema() -> Error {
    Error::new(ErrorKind::Config, "connect string without a schema")
        .because("wanted ws:: or wss:: in front, as in ws::addr=host:port;")
}

fn schema(text: &str) -> Result<Schema> {
    match text {
        "ws" => Ok(Schema::Ws),
        "wss" => Ok(Schema::Wss),
        _ if !is_word(text) => Err(no_schema()),
        _ => Err(Error::new(ErrorKind::Config, "unknown schema").with("", text).because("wanted ws or wss")),
    }
}

/// The pair at the start of `rest`, and how many bytes it takes, its `;` included.
fn pair(rest: &str, position: usize, before: Option<&Setting>) -> Result<(Setting, usize)> {
    let key_len = rest.find(['=', ';']).unwrap_or(rest.len());
    let (name, after) = rest.split_at(key_len);
    let Some(value) = after.strip_prefix('=') else {
        return Err(malformed("a key without `=`", position).because(DOUBLED));
    };
    let (key, written) = key(name, position, before)?;
    let value_at = position + key_len + 1;
    let value_len = value_len(value);
    let raw = &value[..value_len];
    if let Some(offset) = control_character(raw) {
        let e = malformed("control character in a value", value_at + offset);
        return Err(e.with("key", written));
    }
    let setting = Setting { key, written, text: raw.replace(";;", ";") };
    let terminator = usize::from(value_len < value.len());
    Ok((setting, key_len + 1 + value_len + terminator))
}

/// The length of a value up to the first `;` that is not doubled.
fn value_len(value: &str) -> usize {
    let mut bytes = value.bytes().enumerate().peekable();
    while let Some((index, byte)) = bytes.next() {
        if byte == b';' && bytes.next_if(|(_, next)| *next == b';').is_none() {
            return index;
        }
    }
    value.len()
}

fn key(name: &str, position: usize, before: Option<&Setting>) -> Result<(Key, &'static str)> {
    if name.is_empty() {
        return Err(malformed("an empty key", position));
    }
    if !is_word(name) {
        let e = malformed("a key that is not made of letters, digits and `_`", position);
        return Err(e.because(DOUBLED));
    }
    if let Some(found) = Key::find(name) {
        return Ok(found);
    }
    let after_secret = before.is_some_and(|setting| setting.key.spec().is_secret());
    if after_secret && hints::nearest(name).is_none() {
        let e = Error::new(ErrorKind::Config, "unknown key").with("at byte", position);
        return Err(e.because(
            "not shown, as it may belong to the secret before it: a `;` inside a value is written `;;`",
        ));
    }
    Err(unknown(name).with("at byte", position).because(hints::advice(name)))
}

/// The error of a key that the registry does not have, without its position and advice.
#[cold]
pub(super) fn unknown(name: &str) -> Error {
    Error::new(ErrorKind::Config, "unknown key").with("key", name)
}

#[cold]
fn malformed(what: &'static str, position: usize) -> Error {
    Error::new(ErrorKind::Config, "malformed connect string").with("", what).with("at byte", position)
}

fn refuse_duplicate(settings: &[Setting], new: &Setting, position: usize) -> Result<()> {
    let earlier = settings.iter().find(|setting| setting.key == new.key && new.key != Key::Addr);
    let Some(earlier) = earlier else { return Ok(()) };
    let e = Error::new(ErrorKind::Config, "duplicate key").with("key", new.written).with("at byte", position);
    Err(if earlier.written == new.written {
        e.because("only addr may come more than once")
    } else {
        e.because(format!("{} is another name of it", earlier.written))
    })
}

fn is_word(text: &str) -> bool {
    !text.is_empty() && text.bytes().all(|b| b.is_ascii_alphanumeric() || b == b'_')
}

#[cfg(test)]
mod tests;
