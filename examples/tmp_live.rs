use std::time::{Duration, Instant};
fn main() -> qwp::Result<()> {
    let addr = std::env::args().nth(1).unwrap_or("127.0.0.1:19000".into());
    let mut s = qwp::Sender::from_conf(&format!("ws::addr={addr};auto_flush=off;"))?;
    for i in 0..1000 {
        s.table("tmp_trades")
            .symbol("symbol", "ETH-USD")
            .symbol("side", if i % 2 == 0 { "buy" } else { "sell" })
            .column_f64("price", 2615.54 + i as f64)
            .at(qwp::TimestampNanos::now())?;
    }
    let t = Instant::now();
    let fsn = s.flush()?;
    println!("flushed {fsn:?} in {:?}", t.elapsed());
    s.wait_acked(fsn, Duration::from_secs(5))?;
    println!("acked in {:?}", t.elapsed());
    println!("{:?}\n{:?}", s.health(), s.counters());
    let t = Instant::now();
    s.close()?;
    println!("closed in {:?}", t.elapsed());
    Ok(())
}
