"""The Python client against the stand-in: `client.py ADDR write|read|check|frame`."""

import datetime
import decimal
import ipaddress
import sys
import uuid

import numpy as np
import pandas as pd
import questdb
from questdb import Char, DateMillis, Geohash, Long256, ServerTimestamp, TimestampNanos

T0 = 1_700_000_000_000_000_000
LONG256 = 340282366920938463463374607431768211457


def ordinary():
    return {
        "b": True,
        "i64": 1 << 40,
        "f64": 0.1,
        "v": "na\u00efve \U0001f600",
        "us": micros(-1),
        "ns": TimestampNanos(T0 + 7),
        "d": DateMillis(1_700_000_000_000),
        "u": uuid.UUID("123e4567-e89b-12d3-a456-426614174000"),
        "l256": Long256(LONG256),
        "g20": Geohash(0x5A5A5, 20),
        "g8": Geohash(0xFF, 8),
        "dec": decimal.Decimal("123.45"),
        "a1": np.array([1.0, -2.5, 0.0]),
        "a2": np.array([[1.0, 2.0], [3.0, 4.0]]),
        "c": Char("\u00e9"),
        "bin": b"\x00\xff",
        "ip": ipaddress.IPv4Address("192.168.1.1"),
    }


def micros(n):
    return datetime.datetime(1970, 1, 1, tzinfo=datetime.timezone.utc) + datetime.timedelta(microseconds=n)


def edges():
    return {
        "b": False,
        "i64": -(2**63) + 1,
        "f64": float("-inf"),
        "v": "",
        "g8": Geohash(0, 8),
        "a1": np.array([], dtype=np.float64),
        "bin": b"",
        "dec": None,
    }


def write(db):
    with db.sender() as sender:
        sender.row("every", symbols={"s": "AAPL"}, columns=ordinary(), at=TimestampNanos(T0))
        sender.row("every", symbols={"s": ""}, columns=edges(), at=TimestampNanos(T0 + 1))
        sender.flush(wait=True)
        sender.row("every", symbols={"s": "MSFT"}, columns={}, at=ServerTimestamp)
        sender.flush(wait=True)


def check(db):
    with db.query("select * from every") as result:
        names = [name for name, _ in result.columns()]
        rows = [dict(zip(names, row)) for row in result.iter_rows()]
    assert len(rows) == 3, rows
    got = rows[0]
    wanted = {
        "s": "AAPL",
        "b": True,
        "i64": 1 << 40,
        "f64": 0.1,
        "v": "na\u00efve \U0001f600",
        "us": micros(-1),
        "d": micros(1_700_000_000_000_000),
        "u": uuid.UUID("123e4567-e89b-12d3-a456-426614174000"),
        "l256": LONG256,
        "g20": "c9e5",
        "g8": "11111111",
        "dec": decimal.Decimal("123.45"),
        "c": "\u00e9",
        "bin": b"\x00\xff",
        "ip": ipaddress.IPv4Address("192.168.1.1"),
    }
    for name, value in wanted.items():
        assert got[name] == value, (name, got[name], value)
    assert got["a2"].tolist() == [[1.0, 2.0], [3.0, 4.0]], got["a2"]
    assert rows[1]["s"] == "" and rows[1]["dec"] is None and rows[1]["a1"].shape == (0,), rows[1]
    assert rows[2]["i64"] is None and rows[2]["s"] == "MSFT", rows[2]


def read(db):
    write(db)
    check(db)
    binds = [True, 7, 1.5, "foo", decimal.Decimal("1.25"), ordinary()["u"], None]
    items = ", ".join(f"${i + 1} b{i + 1}" for i in range(len(binds)))
    with db.query(f"select {items}", binds) as result:
        assert [list(row) for row in result.iter_rows()] == [binds]
    done = db.execute("create table t (a long, ts timestamp) timestamp(ts)")
    assert done.op_type == 9, done
    assert db.execute("insert into t values ($1, 0)", [5]).rows_affected == 1
    try:
        db.execute("select nocol from t")
        raise AssertionError("no error")
    except questdb.QuestDBError as error:
        assert "[7] Invalid column: nocol" in str(error), error


def frame(db):
    count = 5_000
    df = pd.DataFrame(
        {
            "symbol": pd.Categorical([f"SYM{i % 97}" for i in range(count)]),
            "n": np.arange(count),
            "price": np.arange(count) / 4,
            "ts": pd.to_datetime(T0 + np.arange(count) * 1000),
        }
    )
    db.dataframe(df, table_name="frame", symbols=["symbol"], at="ts")
    with db.query("select n, symbol, price from frame") as result:
        rows = list(result.iter_rows())
    assert rows == [(i, f"SYM{i % 97}", i / 4) for i in range(count)], rows[:3]


def main():
    addr, part = sys.argv[1:]
    with questdb.connect(f"ws::addr={addr};auto_flush=off;") as db:
        {"write": write, "read": read, "check": check, "frame": frame}[part](db)


main()
