"""Facts about an Expedia data set, and CSV files as the original has them."""

import hashlib
import itertools
import json
import sys
from pathlib import Path

import pandas

from esched_workloads import expedia


def table(directory, name):
    """Return a whole table; refuse one in which a part cuts a search."""
    parts = [expedia.read(directory, name, part) for part in range(len(expedia.manifest(directory)[name]))]
    for one, next_one in itertools.pairwise(parts):
        if one["srch_id"].iloc[-1] >= next_one["srch_id"].iloc[0]:
            raise AssertionError(f"{name}: a search is in two parts")
    return pandas.concat(parts, ignore_index=True)


def digest(frame):
    """Return a hash of a table's values, in order."""
    return hashlib.sha256(pandas.util.hash_pandas_object(frame).to_numpy().tobytes()).hexdigest()[:12]


def facts(directory):
    """Print what the tables are like."""
    train, test = (table(directory, name) for name in expedia.TABLES)
    searches, hotels = train.groupby("srch_id"), train.groupby("prop_id").size()
    found = {f"missing {name}": share for name, share in train.isna().mean().items() if share}
    found |= {
        "columns train": train.shape[1],
        "columns test": test.shape[1],
        "rows train": len(train),
        "rows test": len(test),
        "digest train": digest(train),
        "digest test": digest(test),
        "clicks": train["click_bool"].mean(),
        "bookings": train["booking_bool"].mean(),
        "bookings without click": int((train["booking_bool"] > train["click_bool"]).sum()),
        "most bookings of a search": int(searches["booking_bool"].sum().max()),
        "paid without booking": int((train["gross_bookings_usd"].notna() != (train["booking_bool"] == 1)).sum()),
        "hotels twice in a search": int(train.duplicated(["srch_id", "prop_id"]).sum()),
        "wrong positions": int((searches["position"].max() != searches.size()).sum()),
        "rows of a search": searches.size().mean(),
        "most rows of a search": int(searches.size().max()),
        "rows of the most frequent tenth": hotels.nlargest(len(hotels) // 10).sum() / len(train),
        "known hotels in test": test["prop_id"].isin(train["prop_id"]).mean(),
        "usual price": train["price_usd"].median(),
        "highest price": train["price_usd"].max(),
        "first day": str(train["date_time"].min().date()),
        "last day": str(train["date_time"].max().date()),
    }
    print(json.dumps(found))


def export(directory, target):
    """Write both tables as CSV files of the original's kind, and a list of their checksums."""
    lines = []
    for name in expedia.TABLES:
        path = Path(target, f"{name}.csv")
        table(directory, name).to_csv(path, index=False, na_rep="NULL", date_format="%Y-%m-%d %H:%M:%S")
        lines.append(f"{hashlib.sha256(path.read_bytes()).hexdigest()}  {path.name}\n")
    Path(target, "SHA256SUMS").write_text("".join(lines))


if __name__ == "__main__":
    {"facts": facts, "export": export}[sys.argv[1]](*sys.argv[2:])
