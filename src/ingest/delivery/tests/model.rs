//! A server that keeps the rules: takes messages in order, answers when it likes, ends connections
//! when it likes. Whatever it does, every frame is committed in order, none is skipped, and no
//! symbol is missing.

use super::*;
use proptest::prelude::*;

#[derive(Debug, Clone)]
enum Event {
    Publish { group: usize, symbols: u64 },
    Ok(prop::sample::Index),
    Nack(u8),
    Break,
    Close,
    NoHost,
    Pass(u64),
}

fn event() -> impl Strategy<Value = Event> {
    prop_oneof![
        4 => (1_usize..4, 0_u64..3).prop_map(|(group, symbols)| Event::Publish { group, symbols }),
        4 => any::<prop::sample::Index>().prop_map(Event::Ok),
        1 => prop::sample::select(vec![0x06, 0x09, 0x0c, 0x0d]).prop_map(Event::Nack),
        1 => Just(Event::Break),
        1 => Just(Event::Close),
        1 => Just(Event::NoHost),
        2 => (0_u64..20_000).prop_map(Event::Pass),
    ]
}

/// What the server makes of the lines that the scene wrote.
#[derive(Default)]
struct Server {
    /// Of this connection.
    messages: Vec<String>,
    symbols: u64,
    answered: usize,
}

impl Server {
    fn take(&mut self, scene: &mut Scene) -> bool {
        let mut dialling = false;
        for line in scene.said() {
            match line.as_bytes()[0] {
                b'f' => {
                    let index: usize = line[1..].parse().unwrap();
                    let facts = scene.store.frames[index].facts;
                    assert!(facts.delta_start <= self.symbols, "{line} leaves a hole");
                    self.symbols = self.symbols.max(facts.delta_end());
                    self.messages.push(line);
                }
                b's' => {
                    let (from, to) = line[1..].split_once('-').unwrap();
                    assert!(from.parse::<u64>().unwrap() <= self.symbols);
                    self.symbols = to.parse().unwrap();
                    let inside = self.messages.last().and_then(|line| line.strip_prefix('f'));
                    let inside = inside.map(|index| index.parse::<usize>().unwrap());
                    assert!(!inside.is_some_and(|index| scene.store.frames[index].facts.deferred));
                    self.messages.push(line);
                }
                b'd' => *self = Server::default(),
                b'c' => dialling = true,
                b'a' | b'r' | b'p' => {}
                _ => panic!("{line}"),
            }
        }
        dialling
    }
}

proptest! {
    #[test]
    fn reco_05_nothing_is_lost_or_reordered(events in prop::collection::vec(event(), 1..150)) {
        let rules = Rules { rejections_max: u32::MAX, ..Rules::default() };
        let mut scene = Scene::with(&rules);
        let mut server = Server::default();
        let mut acked = None;
        let mut dialling = scene.settle().log.contains(&"connect".to_owned());
        for event in events {
            match event {
                Event::Publish { group, symbols } => {
                    for index in 0..group {
                        let start = scene.store.symbols;
                        scene.frame(index + 1 < group, start, symbols, 10);
                    }
                }
                Event::NoHost if dialling => _ = scene.no_host(ErrorKind::Transport, false),
                Event::Pass(time) => _ = scene.pass(ms(time)),
                _ if dialling => _ = scene.up(),
                Event::Ok(index) => {
                    let open = server.messages.len() - server.answered;
                    if open > 0 {
                        server.answered += index.index(open) + 1;
                        scene.ok(server.answered as i64 - 1);
                    }
                }
                Event::Nack(status) if server.messages.len() > server.answered => {
                    scene.nack(status, server.answered as i64);
                }
                Event::Break => _ = scene.broken(),
                Event::Close => _ = scene.closed(1001),
                Event::Nack(_) | Event::NoHost => {}
            }
            scene.settle();
            dialling = server.take(&mut scene) || matches!(scene.delivery.state, State::Dialling);
            // In order and without a hole, behind what went before or behind what is settled.
            let sent: Vec<i64> = server.messages.iter().filter_map(|line| line.strip_prefix('f'))
                .map(|index| index.parse().unwrap()).collect();
            prop_assert!(sent.windows(2).all(|pair| pair[1] == pair[0] + 1), "{sent:?}");
            prop_assert!(scene.delivery.acked >= acked);
            acked = scene.delivery.acked;
            if let Some(fsn) = acked {
                let index = usize::try_from(fsn.as_i64()).unwrap();
                prop_assert!(!scene.store.frames[index].facts.deferred, "inside a group");
            }
        }
        // A good server at last: everything is delivered.
        for _ in 0..10 {
            if scene.delivery.acked.map_or(0, |fsn| fsn.as_i64() + 1) == scene.store.frames.len() as i64 {
                return Ok(());
            }
            if dialling {
                scene.up();
            } else if server.messages.len() > server.answered {
                server.answered = server.messages.len();
                scene.ok(server.answered as i64 - 1);
            } else {
                scene.jump();
            }
            dialling = server.take(&mut scene) || matches!(scene.delivery.state, State::Dialling);
        }
        prop_assert!(false, "{:?} of {}", scene.delivery.acked, scene.store.frames.len());
    }
}
