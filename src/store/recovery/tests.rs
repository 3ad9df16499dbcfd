#![cfg(not(miri))] // reads fixtures, and takes minutes

mod damage;
mod matrix;
mod mutated;
mod samples;
mod steps;
mod sweep;

use super::decide::Kept;
use super::symbols::Epoch;
use super::*;
use crate::sim::SimDisk;
use crate::store::Fsn;
use crate::store::disk::read_whole;
use crate::store::disk::{Access, FileKind};
use crate::wire::ingress::decode::{self, Cell};
use std::time::Duration;

fn now() -> SystemTime {
    SystemTime::UNIX_EPOCH + Duration::from_secs(1_700_000_000)
}

/// The group root on the simulated disk.
const ROOT: &str = "/sf";

/// A copy of a sample on a disk, and its slot.
fn sample(name: &str, slot: &str) -> (SimDisk, PathBuf) {
    let disk = SimDisk::new();
    let from = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/fixtures/slots").join(name);
    disk.import(&from, Path::new(ROOT));
    (disk, Path::new(ROOT).join(slot))
}

/// A row of the table that most samples hold.
#[derive(Debug, PartialEq, Eq)]
struct Trade {
    sym: String,
    side: String,
    v: i64,
    at: i64,
}

fn trade(i: i64, card: i64) -> Trade {
    let side = if i % 2 == 0 { "buy" } else { "sell" };
    let at = 1_700_000_000_000_000_000 + 1000 * i;
    Trade { sym: format!("S{:03}", i % card), side: side.to_owned(), v: i, at }
}

/// The payload of every frame that is to be sent.
fn to_send(disk: &SimDisk, slot: &Path, opened: &Opened) -> Vec<(Fsn, Vec<u8>)> {
    let mut frames = Vec::new();
    for kept in &opened.segments {
        let file = disk.open(&slot.join(&kept.file), Access::Read).unwrap();
        let bytes = read_whole(&*file, u64::MAX).unwrap();
        for (offset, number) in kept.offsets.iter().zip(0..) {
            let fsn = kept.base.plus(number);
            if Some(fsn) > opened.acked {
                let at = usize::try_from(*offset).unwrap();
                let (payload, _) = crate::store::layout::checked_frame(&bytes, at).expect("a whole frame");
                frames.push((fsn, payload.to_vec()));
            }
        }
    }
    frames
}

/// The rows of a frame, its symbols looked up in its epoch.
fn trades(fsn: Fsn, payload: &[u8], epochs: &[Epoch]) -> Vec<Trade> {
    let texts = &epochs.iter().rev().find(|epoch| epoch.first <= fsn).expect("an epoch").texts;
    let message = decode::message(payload).unwrap();
    let [block] = &message.blocks[..] else { panic!("one table") };
    assert_eq!(block.name, "trades");
    let cells = |name: &str| {
        let column = block.columns.iter().find(|column| column.name == name);
        column.map_or(vec![None; block.row_count], |column| column.cells().collect())
    };
    let text = |cell: Option<Cell<'_>>| match cell {
        Some(Cell::Unsigned(id)) => texts.get(usize::try_from(id).unwrap()).expect("a known id").to_owned(),
        None => String::new(),
        other => panic!("{other:?}"),
    };
    let integer = |cell: Option<Cell<'_>>| match cell {
        Some(Cell::Integer(value)) => value,
        other => panic!("{other:?}"),
    };
    let (syms, sides, vs, ats) = (cells("sym"), cells("side"), cells("v"), cells(""));
    (0..block.row_count)
        .map(|row| Trade {
            sym: text(syms[row]),
            side: text(sides[row]),
            v: integer(vs[row]),
            at: integer(ats[row]),
        })
        .collect()
}

fn opened(recovered: &Recovered) -> &Opened {
    match &recovered.verdict {
        Verdict::Open(opened) => opened,
        Verdict::SetAside(reason) => panic!("set aside: {reason}"),
    }
}

/// Recovers a slot and checks what holds behind every recovery: a second one finds nothing to do.
fn recover_twice(disk: &SimDisk, slot: &Path) -> Recovered {
    let first = recover(disk, slot, now()).unwrap();
    check_invariants(&first);
    if matches!(first.verdict, Verdict::Open(_)) {
        let second = recover(disk, slot, now()).unwrap();
        assert_eq!(essence(opened(&second)), essence(opened(&first)), "recovery of the recovered slot");
        let news: Vec<_> = second.events.iter().filter(|event| !event.information).collect();
        assert!(news.iter().all(|event| event.kind == EventKind::MarkedFailed), "{news:?}");
    }
    first
}

/// What has to stay from one recovery to the next: all but where the next segment goes.
fn essence(opened: &Opened) -> impl PartialEq + std::fmt::Debug + use<> {
    let segments = chain_of(opened);
    let numbers = (opened.start, opened.acked, opened.next);
    // Without frames there is nothing that symbols could be needed for.
    let epochs = if segments.is_empty() { Vec::new() } else { opened.epochs.clone() };
    (segments, numbers, epochs, opened.dense)
}

fn chain_of(opened: &Opened) -> Vec<Kept> {
    opened.segments.iter().filter(|kept| !kept.offsets.is_empty()).cloned().collect()
}

fn check_invariants(recovered: &Recovered) {
    let Verdict::Open(opened) = &recovered.verdict else { return };
    assert!(recovered.pending.is_empty());
    let mut next = opened.start;
    for kept in &opened.segments {
        assert_eq!(kept.base, next, "FMT-22: numbers follow one another");
        next = next.plus(kept.offsets.len() as u64);
    }
    assert_eq!(next, opened.next);
    assert!(opened.acked < Some(opened.next), "acked is below published");
    assert!(!opened.epochs.is_empty());
    if let Some(manifest) = opened.manifest {
        assert_eq!(manifest.first, opened.start.as_i64());
    }
}

fn words(events: &[Event]) -> Vec<&'static str> {
    events.iter().filter(|event| !event.information).map(|event| event.kind.word()).collect()
}

/// Names beside or in a folder, sorted.
fn names_in(disk: &SimDisk, folder: &Path) -> Vec<String> {
    let entries = disk.list(folder).unwrap().into_iter();
    entries.filter(|entry| entry.kind != FileKind::Link).map(|entry| entry.name).collect()
}
