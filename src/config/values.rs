//! The values of the keys that one side reads, in range each; what they mean together is not looked at
//! here.

use super::endpoints::{self, Endpoint};
use super::keys::{Key, Kind, Side, Support};
use super::value::{self, Value};
use super::words::Word;
use super::{Config, Schema};
use crate::error::{Error, ErrorKind, Result};
use std::time::Duration;

/// The value of every key of some sides: what was set, else the default.
#[derive(Debug)]
pub(super) struct Values {
    pub(super) schema: Schema,
    pub(super) endpoints: Vec<Endpoint>,
    /// One for each key, in the order of `Key::ALL`; `Unset` for keys of other sides.
    entries: Vec<Entry>,
}

#[derive(Debug)]
struct Entry {
    value: Value,
    /// The name by which the user called the key, if it was set.
    written: Option<&'static str>,
    /// As it was given, or the default.
    text: String,
}

impl Values {
    /// Reads the keys of `sides`. The first mistake in the order of the string is the one reported.
    pub(super) fn read(config: &Config, sides: &[Side]) -> Result<Values> {
        let mut values = Values::defaults(config.schema.unwrap_or_default(), sides)?;
        for setting in config.settings.iter().filter(|s| sides.contains(&s.key.spec().side)) {
            let spec = setting.key.spec();
            let value = value::read(spec, setting.written, &setting.text)?;
            if spec.kind == Kind::Endpoints {
                endpoints::append(&mut values.endpoints, &setting.text)?;
            }
            if let Some(entry) = values.entries.get_mut(setting.key as usize) {
                *entry = Entry { value, written: Some(setting.written), text: setting.text.clone() };
            }
        }
        Ok(values)
    }

    fn defaults(schema: Schema, sides: &[Side]) -> Result<Values> {
        let mut entries = Vec::with_capacity(Key::ALL.len());
        for key in Key::ALL {
            let spec = key.spec();
            let unread = spec.default.is_empty() || !sides.contains(&spec.side);
            let value = if unread { Value::Unset } else { value::read(spec, spec.name, spec.default)? };
            entries.push(Entry { value, written: None, text: spec.default.to_owned() });
        }
        Ok(Values { schema, endpoints: Vec::new(), entries })
    }

    /// Refuses what this version does not do yet, rather than ignoring it.
    pub(super) fn refuse_unsupported(&self) -> Result<()> {
        for key in Key::ALL.iter().filter(|key| key.spec().support == Support::DefaultOnly) {
            let Some(written) = self.written(*key) else { continue };
            let spec = key.spec();
            let default = match spec.default {
                "" => Value::Unset,
                default => value::read(spec, spec.name, default)?,
            };
            if self.value(*key) != Some(&default) {
                let why = match default {
                    Value::Unset => "leave it out".to_owned(),
                    _ => format!("leave it out, or set it to {}", spec.default),
                };
                let what = format!("{written} is not supported yet");
                return Err(Error::new(ErrorKind::Config, what)
                    .with("value", self.text_of(*key))
                    .because(why));
            }
        }
        Ok(())
    }

    fn entry(&self, key: Key) -> Option<&Entry> {
        self.entries.get(key as usize)
    }

    fn value(&self, key: Key) -> Option<&Value> {
        self.entry(key).map(|entry| &entry.value)
    }

    /// The name by which the user called the key; `None` if it was not set by string or builder.
    pub(super) fn written(&self, key: Key) -> Option<&'static str> {
        self.entry(key).and_then(|entry| entry.written)
    }

    pub(super) fn is_set(&self, key: Key) -> bool {
        self.written(key).is_some()
    }

    /// As it was given or as the registry has it, for messages; never for a secret.
    pub(super) fn text_of(&self, key: Key) -> &str {
        self.entry(key).map_or("", |entry| &entry.text)
    }

    pub(super) fn flag(&self, key: Key) -> bool {
        matches!(self.value(key), Some(Value::Flag(true)))
    }

    pub(super) fn text(&self, key: Key) -> Option<&str> {
        match self.value(key) {
            Some(Value::Text(text)) => Some(text),
            _ => None,
        }
    }

    pub(super) fn word<W: Word>(&self, key: Key) -> W {
        match self.value(key) {
            Some(Value::Word(word)) => W::from_word(word).unwrap_or_default(),
            _ => W::default(),
        }
    }

    /// The number, 0 for one below; `None` if unset or off.
    pub(super) fn number(&self, key: Key) -> Option<u64> {
        match self.value(key) {
            Some(Value::Number(number)) => Some(u64::try_from(*number).unwrap_or(0)),
            _ => None,
        }
    }

    /// The number of a key that always has one.
    pub(super) fn count(&self, key: Key) -> u64 {
        self.number(key).unwrap_or(0)
    }

    /// The number of a key that always has one, as a size in memory.
    pub(super) fn size(&self, key: Key) -> usize {
        usize::try_from(self.count(key)).unwrap_or(usize::MAX)
    }

    /// The duration of a key that always has one.
    pub(super) fn millis(&self, key: Key) -> Duration {
        Duration::from_millis(self.count(key))
    }

    /// The duration; `None` if unset, off, 0 or below.
    pub(super) fn millis_unless_zero(&self, key: Key) -> Option<Duration> {
        self.number(key).filter(|millis| *millis > 0).map(Duration::from_millis)
    }

    /// The error of two keys that do not go together, with both values.
    #[cold]
    pub(super) fn conflict(&self, a: Key, b: Key, why: &'static str) -> Error {
        let mut e = Error::new(ErrorKind::Config, "keys do not go together");
        for key in [a, b] {
            let name = self.written(key).unwrap_or(key.spec().name);
            let text = if key.spec().is_secret() { super::secret::REDACTED } else { self.text_of(key) };
            let text = if text.is_empty() { "unset" } else { text };
            e = e.with("", format_args!("{name} {}", crate::error::printable(text)));
        }
        e.because(why)
    }
}
