//! Shows what is in the slots of a store on disk.
//!
//! ```sh
//! cargo run --example slot -- ls /var/lib/app/qdb              # every slot below sf_dir
//! cargo run --example slot -- verify /var/lib/app/qdb/writer-1 # events; exit code 1 on damage
//! cargo run --example slot -- dump /var/lib/app/qdb/writer-1   # frames decoded to rows
//! ```
//!
//! Nothing is changed, and no lock is taken. `verify` and `ls` tell what a sender that opens the slot
//! would find and do.

use qwp::TimestampMicros;
use qwp::slot::{self, Event, SlotReport};
use std::io::{self, Write};
use std::path::Path;
use std::process::ExitCode;
use std::time::SystemTime;

const USAGE: &str = "usage: slot ls SF_DIR | verify SLOT | dump SLOT | drain SLOT";

fn main() -> ExitCode {
    let arguments: Vec<_> = std::env::args().skip(1).collect();
    let arguments: Vec<_> = arguments.iter().map(String::as_str).collect();
    match run(&arguments, &mut io::stdout().lock()) {
        Ok(true) => ExitCode::SUCCESS,
        Ok(false) => ExitCode::FAILURE,
        Err(error) => {
            eprintln!("{error}");
            ExitCode::from(2)
        }
    }
}

/// Does what the arguments say; `false` if damage was found.
pub fn run(arguments: &[&str], out: &mut dyn Write) -> Result<bool, Box<dyn std::error::Error>> {
    match arguments {
        ["ls", root] => ls(Path::new(root), out),
        ["verify", slot] => verify(Path::new(slot), out),
        ["dump", slot] => {
            slot::dump(slot, out)?;
            Ok(true)
        }
        ["drain", _] => Err("drain is not there yet: open the slot with a sender and close it".into()),
        _ => Err(USAGE.into()),
    }
}

fn ls(root: &Path, out: &mut dyn Write) -> Result<bool, Box<dyn std::error::Error>> {
    let mut sound = true;
    for slot in slot::list(root)? {
        let name = slot.path.file_name().unwrap_or_default().display().to_string();
        match slot.report {
            Ok(report) => {
                sound &= !report.is_damaged();
                line(&name, &report, out)?;
            }
            Err(error) => {
                sound = false;
                writeln!(out, "{name}: {error}")?;
            }
        }
    }
    Ok(sound)
}

/// One slot in one line: how much is in it and unsent, from when, how far it got, what is wrong, whose.
fn line(name: &str, report: &SlotReport, out: &mut dyn Write) -> io::Result<()> {
    write!(
        out,
        "{name}: {} frames, {} unsent ({} bytes)",
        report.frames, report.unsent_frames, report.unsent_bytes
    )?;
    write!(out, ", {:.0} % acked", 100.0 * report.acked_share())?;
    write!(out, ", {} segments ({} bytes)", report.segments, report.bytes)?;
    if let (Some(oldest), Some(newest)) = (report.oldest, report.newest) {
        write!(out, ", {} to {}", time(oldest), time(newest))?;
    }
    let damages = report.events.iter().filter(|event| !event.information).map(|event| event.kind.word());
    let damages: Vec<_> = damages.collect();
    match &damages[..] {
        [] => write!(out, ", sound")?,
        words => write!(out, ", {}", words.join(" "))?,
    }
    match &report.holder {
        Some(holder) => writeln!(out, ", in use by {holder}"),
        None => writeln!(out, ", free"),
    }
}

fn verify(dir: &Path, out: &mut dyn Write) -> Result<bool, Box<dyn std::error::Error>> {
    let report = slot::inspect(dir)?;
    for event in &report.events {
        event_line(event, out)?;
    }
    if let Some(holder) = &report.holder {
        writeln!(out, "note: in use by {holder}, so its last frame may be half written")?;
    }
    let range = match report.first {
        Some(first) => format!("FSN {first} to {}", report.next - 1),
        None => "none".to_owned(),
    };
    let acked = report.acked.map_or("none".to_owned(), |acked| format!("up to {acked}"));
    writeln!(out, "frames: {} ({range})", report.frames)?;
    writeln!(out, "acknowledged: {acked}")?;
    writeln!(out, "unsent: {} frames, {} bytes", report.unsent_frames, report.unsent_bytes)?;
    writeln!(out, "symbols: {}", report.symbols)?;
    writeln!(out, "{}", if report.is_damaged() { "DAMAGED" } else { "sound" })?;
    Ok(!report.is_damaged())
}

fn event_line(event: &Event, out: &mut dyn Write) -> io::Result<()> {
    let level = if event.information { "info" } else { "damage" };
    writeln!(out, "{level}: {event}")
}

fn time(time: SystemTime) -> String {
    TimestampMicros::try_from(time).map_or("-".to_owned(), |time| time.to_string())
}
