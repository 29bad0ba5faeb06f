"""Made-up taxi trips: a row group at a time, from a stream of random numbers."""

import datetime

import numpy
import pyarrow

CENTS = pyarrow.float64()
SECONDS = pyarrow.timestamp("us")
COUNT = pyarrow.int64()
TEXT = pyarrow.string()

#: Columns and types as published. Charges that did not exist in 2014 have the
#: type of a column without any value.
SCHEMAS = {
    "current": pyarrow.schema(
        [
            ("VendorID", COUNT),
            ("tpep_pickup_datetime", SECONDS),
            ("tpep_dropoff_datetime", SECONDS),
            ("passenger_count", COUNT),
            ("trip_distance", CENTS),
            ("RatecodeID", COUNT),
            ("store_and_fwd_flag", TEXT),
            ("PULocationID", COUNT),
            ("DOLocationID", COUNT),
            ("payment_type", COUNT),
            ("fare_amount", CENTS),
            ("extra", CENTS),
            ("mta_tax", CENTS),
            ("tip_amount", CENTS),
            ("tolls_amount", CENTS),
            ("improvement_surcharge", CENTS),
            ("total_amount", CENTS),
            ("congestion_surcharge", pyarrow.null()),
            ("airport_fee", pyarrow.null()),
        ]
    ),
    "2014": pyarrow.schema(
        [
            ("vendor_id", TEXT),
            ("pickup_datetime", SECONDS),
            ("dropoff_datetime", SECONDS),
            ("passenger_count", COUNT),
            ("trip_distance", CENTS),
            ("pickup_longitude", pyarrow.float64()),
            ("pickup_latitude", pyarrow.float64()),
            ("rate_code", COUNT),
            ("store_and_fwd_flag", TEXT),
            ("dropoff_longitude", pyarrow.float64()),
            ("dropoff_latitude", pyarrow.float64()),
            ("payment_type", TEXT),
            ("fare_amount", CENTS),
            ("surcharge", CENTS),
            ("mta_tax", CENTS),
            ("tip_amount", CENTS),
            ("tolls_amount", CENTS),
            ("total_amount", CENTS),
        ]
    ),
}

#: How many of a thousand have which value.
PASSENGERS = {0: 1, 1: 705, 2: 140, 3: 42, 4: 20, 5: 56, 6: 36}
RATES = {1: 976, 2: 18, 3: 2, 4: 1, 5: 3}
PAYMENTS = {1: 580, 2: 412, 3: 4, 4: 2, 5: 2}
#: Trips that begin in each hour of a day, relative to one another.
HOURS = (40, 29, 21, 16, 12, 10, 23, 38, 47, 48, 46, 48, 51, 50, 52, 48, 41, 50, 62, 64, 59, 58, 56, 50)
PAYMENT_NAMES = ("CRD", "CSH", "NOC", "DIS", "UNK")
VENDOR_NAMES = ("CMT", "VTS")
ZONES = 263
JFK = 2


def stream(seed, file, group):
    """Return the random numbers of one row group."""
    return numpy.random.Generator(
        numpy.random.PCG64(numpy.random.SeedSequence(seed, spawn_key=(file, group)))
    )


def drawn(source, shares, rows):
    """Draw values that have shares of a thousand."""
    table = numpy.repeat(list(shares), list(shares.values()))
    return table[source.integers(0, len(table), rows, dtype="int32")].astype("int64")


def pickups(source, rows, days):
    """Return seconds of the epoch between two days, in order, more of them in the evening."""
    first, after = ((day - datetime.date(1970, 1, 1)).days for day in days)
    hours = numpy.repeat(numpy.arange(24), HOURS)
    seconds = source.integers(first, after, rows) * 86_400
    seconds += hours[source.integers(0, len(hours), rows)] * 3600 + source.integers(0, 3600, rows)
    seconds.sort()
    return seconds


def charges(source, rows, seconds):
    """Return distances and charges in hundredths, and what they depend on."""
    hour, weekday = seconds // 3600 % 24, (seconds // 86_400 + 3) % 7
    rate = drawn(source, RATES, rows)
    payment = drawn(source, PAYMENTS, rows)
    distance = numpy.exp(source.normal(0.55, 0.85, rows))
    distance[rate == JFK] += 15
    distance = (distance.clip(0.01, 80) * 100).astype("int64")
    duration = (distance / 100 / source.lognormal(2.4, 0.35, rows) * 3600).astype("int64") + 30
    fare = (250 + (distance * 2 + duration // 2) // 50 * 50).clip(250, 50_000)
    fare[rate == JFK] = 5200
    evening = (hour >= 16) & (hour < 20) & (weekday < 5)
    extra = numpy.where(evening, 100, numpy.where((hour >= 20) | (hour < 6), 50, 0))
    tax = numpy.where(rate < 5, 50, 0)
    tip = numpy.where(payment == 1, ((fare + extra) * source.choice([0.0, 0.15, 0.2, 0.2, 0.25], rows)).astype("int64"), 0)
    tolls = numpy.where((source.random(rows) < 0.03) | (rate == JFK) & (source.random(rows) < 0.6), 533, 0)
    return {
        "rate": rate,
        "payment": payment,
        "trip_distance": distance,
        "duration": duration,
        "fare_amount": fare,
        "extra": extra,
        "mta_tax": tax,
        "tip_amount": tip,
        "tolls_amount": tolls,
        "total_amount": fare + extra + tax + tip + tolls,
    }


def places(source, rows):
    """Return zones, a few of which have most trips."""
    return (ZONES * source.beta(0.7, 2.6, rows)).astype("int64") * 101 % ZONES + 1


def position(source, rows, middle):
    """Return longitudes or latitudes; one of fifty is unknown, which is 0."""
    degrees = source.normal(middle, 0.03, rows).round(6)
    degrees[source.random(rows) < 0.02] = 0
    return degrees


def trips(source, rows, days, schema):
    """Return a table of trips that begin between two days, in order."""
    seconds = pickups(source, rows, days)
    vendor = source.integers(1, 3, rows)
    passengers = drawn(source, PASSENGERS, rows)
    charge = charges(source, rows, seconds)
    stored = source.random(rows) < 0.015
    columns = {name: values / 100 for name, values in charge.items()}
    columns["passenger_count"] = passengers
    # The meters of one vendor do not tell whether they had to store a trip.
    columns["store_and_fwd_flag"] = pyarrow.array(numpy.where(stored, "Y", "N"), TEXT, mask=vendor == 2)
    start, end = seconds * 1_000_000, (seconds + charge["duration"]) * 1_000_000
    if schema == "current":
        columns |= {
            "VendorID": vendor,
            "tpep_pickup_datetime": start,
            "tpep_dropoff_datetime": end,
            "RatecodeID": charge["rate"],
            "PULocationID": places(source, rows),
            "DOLocationID": places(source, rows),
            "payment_type": charge["payment"],
            "improvement_surcharge": numpy.zeros(rows),
        }
    else:
        columns |= {
            "vendor_id": numpy.array(VENDOR_NAMES)[vendor - 1],
            "pickup_datetime": start,
            "dropoff_datetime": end,
            "rate_code": charge["rate"],
            "payment_type": numpy.array(PAYMENT_NAMES)[charge["payment"] - 1],
            "surcharge": columns["extra"],
        }
        for end_of_trip in ("pickup", "dropoff"):
            columns[end_of_trip + "_longitude"] = position(source, rows, -73.98)
            columns[end_of_trip + "_latitude"] = position(source, rows, 40.75)
    return pyarrow.table(
        [
            pyarrow.nulls(rows) if field.type == pyarrow.null() else pyarrow.array(columns[field.name], field.type)
            for field in SCHEMAS[schema]
        ],
        schema=SCHEMAS[schema],
    )
