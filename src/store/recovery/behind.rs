//! What is done about frames behind a hole (REC-11): they become slots of their own, and the files
//! that they come from are kept. Pure.

use super::decide::Decider;
use super::event::{Event, EventKind};
use super::plan::{Action, Piece, PieceSegment};
use super::scan::{Frame, Residue, Segment};
use super::symbols::Symbols;
use crate::store::fsn::Fsn;
use crate::store::layout::HEADER_BYTES;

/// Frames without a hole among them.
#[derive(Debug, Clone)]
struct Run {
    base: Fsn,
    parts: Vec<Part>,
}

/// Frames that stand one behind the other in a file.
#[derive(Debug, Clone)]
struct Part {
    file: usize,
    frames: u64,
    from: u64,
    to: u64,
}

impl Run {
    fn end(&self) -> Fsn {
        self.base.plus(self.parts.iter().map(|part| part.frames).sum())
    }
}

/// Plans pieces for what is behind a hole, if there is one, and removes unfinished ones.
pub(super) fn keep(decider: &mut Decider<'_>, end: Fsn, symbols: Option<&Symbols>) {
    let found = decider.found;
    let unfinished = found.pieces.iter().filter(|piece| !piece.complete);
    decider.first.extend(unfinished.map(|piece| Action::RemovePiece(piece.name.clone())));
    decider.pieces = found.pieces.iter().filter(|p| p.complete).map(|p| p.name.clone()).collect();
    if !decider.broken {
        return;
    }
    let runs = runs(decider, end);
    // Complete pieces hold all of it already: only the files are left to be renamed.
    if decider.pieces.is_empty() {
        for run in &runs {
            let piece = piece(decider, run, symbols);
            decider.pieces.push(piece.folder.clone());
            decider.first.push(Action::MakePiece(piece));
        }
    }
    report(decider, end, &runs);
    for file in decider.chain.behind.clone().into_iter().rev() {
        let from = found.name(file).to_owned();
        let to = decider.corrupt(&from);
        decider.first.push(Action::Rename { from, to });
    }
}

/// Lets everybody adopt the pieces, behind everything else.
pub(super) fn release(decider: &Decider<'_>, plan: &mut Vec<Action>) {
    if !decider.pieces.is_empty() {
        plan.push(Action::SyncNames);
    }
    plan.extend(decider.pieces.iter().cloned().map(Action::ReleasePiece));
}

fn report(decider: &mut Decider<'_>, end: Fsn, runs: &[Run]) {
    let frames = runs.iter().flat_map(|run| &run.parts).map(|part| part.frames).sum();
    let next = runs.first().map(|run| run.base.as_i64()).filter(|&next| next > end.as_i64());
    let event = Event::new(EventKind::ChainBroken).from(end.as_i64(), next).frames(frames);
    let folders = decider.pieces.join(", ");
    let mut detail = "the first transaction behind it may have lost its beginning".to_owned();
    if decider.pieces.len() > 1 {
        detail = format!("in {folders}; {detail}");
    }
    let event = match decider.pieces.first() {
        Some(folder) => event.kept(std::path::Path::new("..").join(folder)),
        None => event,
    };
    decider.events.push(event.detail(detail));
}

fn piece(decider: &Decider<'_>, run: &Run, symbols: Option<&Symbols>) -> Piece {
    let found = decider.found;
    let below = run.base.as_i64() - 1;
    // An acknowledged frame beyond everything is no statement about these frames.
    let known = found.acked().filter(|&acked| decider.last_end().is_some_and(|end| acked < end.as_i64()));
    let mut base = run.base;
    let segments = run.parts.iter().map(|part| {
        let header = HEADER_BYTES as u64;
        let bytes = found.segment(part.file).map_or(0, |segment| segment.bytes);
        let segment = PieceSegment {
            base,
            frames: part.frames,
            bytes: bytes.max(header + (part.to - part.from)),
            source: found.name(part.file).to_owned(),
            from: part.from,
            to: part.to,
        };
        base = base.plus(part.frames);
        segment
    });
    Piece {
        segments: segments.collect(),
        folder: free_folder(decider),
        acked: below.max(known.unwrap_or(-1).min(run.end().as_i64() - 1)),
        texts: symbols
            .and_then(|symbols| symbols.epoch(run.base))
            .map(|epoch| epoch.texts.clone())
            .unwrap_or_default(),
    }
}

/// The first free name: never that of an unfinished piece, which is removed only when it is our turn.
fn free_folder(decider: &Decider<'_>) -> String {
    let taken = |name: &String| {
        let unfinished = decider.found.pieces.iter().any(|piece| piece.name == *name && !piece.complete);
        decider.pieces.contains(name) || decider.found.siblings.contains(name) && !unfinished
    };
    let mut folders = (0_u64..).map(|number| format!("{}-recovered-{number}", decider.found.slot));
    folders.find(|name| !taken(name)).unwrap_or_default()
}

/// The frames behind the hole, in the order of the files.
fn runs(decider: &Decider<'_>, end: Fsn) -> Vec<Run> {
    let found = decider.found;
    let mut runs = Vec::new();
    let behind = &decider.chain.behind;
    if let Some(last) = decider.chain.members.last()
        && let Some(segment) = found.segment(last.file)
    {
        let taken = usize::try_from(last.frames).unwrap_or(usize::MAX);
        let rest = segment.frames.get(taken..).unwrap_or_default();
        add(&mut runs, last.file, rest, Some(end), end);
        let next = behind.first().and_then(|&next| found.segment(next));
        add_interior(&mut runs, last.file, segment, next, end);
    }
    for (index, &file) in behind.iter().enumerate() {
        let Some(segment) = found.segment(file) else { continue };
        add(&mut runs, file, &segment.frames, Some(segment.header.base), end);
        let next = behind.get(index + 1).and_then(|&next| found.segment(next));
        add_interior(&mut runs, file, segment, next, end);
    }
    runs
}

/// Adds the frames behind damage in a file. Their numbers are lost, but for a run that reaches the end
/// of the data: the next segment tells those.
fn add_interior(runs: &mut Vec<Run>, file: usize, segment: &Segment, next: Option<&Segment>, end: Fsn) {
    let Residue::Interior { end: used, runs: interior } = &segment.residue else { return };
    for (index, frames) in interior.iter().enumerate() {
        let reaches = index + 1 == interior.len() && frames.last().is_some_and(|last| last.end() >= *used);
        let base = next.filter(|_| reaches).and_then(|next| {
            let base = next.header.base.as_i64().checked_sub(i64::try_from(frames.len()).ok()?)?;
            Fsn::new(base).filter(|&base| base > super::chain::end(segment))
        });
        add(runs, file, frames, base, end);
    }
}

fn add(runs: &mut Vec<Run>, file: usize, frames: &[Frame], base: Option<Fsn>, end: Fsn) {
    if let (Some(first), Some(last)) = (frames.first(), frames.last()) {
        let part = Part { file, frames: frames.len() as u64, from: first.offset, to: last.end() };
        add_part(runs, part, base, end);
    }
}

fn add_part(runs: &mut Vec<Run>, part: Part, base: Option<Fsn>, end: Fsn) {
    match runs.last_mut() {
        Some(run) if Some(run.end()) == base => run.parts.push(part),
        _ => runs.push(Run { base: base.unwrap_or(end.plus(1)), parts: vec![part] }),
    }
}
