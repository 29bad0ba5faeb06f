"""Generated data with the schema of Expedia's files.

A search has a destination and shows hotels of it; hotels and destinations are
few that are seen often and many that are seen seldom. Each part is drawn from
a stream of its own, made from the seed, the table, and the part's number: the
same bytes, whoever generates it, and however many at once. Training and test
table share the hotels.

Shares of missing values and the ranges of columns are those commonly described
for the original; no row of it was used.
"""

import concurrent.futures
import functools
import multiprocessing
import os
from typing import NamedTuple

import numpy

from esched_workloads import expedia

#: The most hotels and the highest number of a destination of the original.
HOTELS = 140_821
LAST_DESTINATION = 28_416
#: Rows for each hotel, on average; the fewest and the most rows of a search.
ROWS_PER_HOTEL = 36
SHORTEST, LONGEST = 5, 38
#: Hotels of a destination on average, and at least.
HOTELS_PER_DESTINATION, FEWEST = 40, 15
#: Searches made from November 2012 to June 2013.
BEGIN, DAYS = numpy.datetime64("2012-11-01T00:00:00", "ms"), 242
#: Of each competitor, the share of rows without its rate, and without the
#: difference of its price.
NO_RATE = (0.976, 0.592, 0.690, 0.938, 0.552, 0.951, 0.936, 0.614)
NO_DIFFERENCE = (0.981, 0.888, 0.905, 0.974, 0.830, 0.981, 0.972, 0.876)
#: Share of the searches that end with a booking, and of the other rows clicked.
BOOKED, CLICKED = 0.65, 0.018
#: Below so many rows, starting further processes costs more than it gains.
ALONE = 100_000


class Hotels(NamedTuple):
    """All hotels, those of a destination next to one another."""

    columns: dict
    base: numpy.ndarray  # price of a usual night
    destination: numpy.ndarray  # number of each destination
    first: numpy.ndarray  # its first hotel
    size: numpy.ndarray  # how many it has
    weight: numpy.ndarray  # how likely it is searched


def stream(seed, *key):
    """Return the source of random numbers for one purpose."""
    return numpy.random.Generator(numpy.random.PCG64(numpy.random.SeedSequence(seed, spawn_key=key)))


@functools.lru_cache(maxsize=1)
def hotels(seed, rows):
    """Return the hotels of a data set with so many rows in a table."""
    draw = stream(seed, 0)
    count = max(200, min(HOTELS, rows // ROWS_PER_HOTEL))
    places = count // HOTELS_PER_DESTINATION
    popularity = 1 / (numpy.arange(places) + 8.0)
    size = FEWEST + draw.multinomial(count - FEWEST * places, popularity / popularity.sum())
    place = numpy.repeat(numpy.arange(places), size)
    base = 120 * numpy.exp(0.35 * draw.standard_normal(places)[place] + 0.45 * draw.standard_normal(count))
    score2 = numpy.round(numpy.minimum(draw.exponential(0.12, count), 1), 4)
    review = numpy.round(2 * numpy.clip(draw.normal(3.9, 0.8, count), 0, 5)) / 2
    history = numpy.round(numpy.log(base) + 0.2 * draw.standard_normal(count), 2)
    columns = {
        "prop_id": draw.permutation(HOTELS)[:count] + 1,
        "prop_country_id": draw.integers(1, 231, places)[place],
        "prop_starrating": draw.choice(6, count, p=(0.03, 0.02, 0.22, 0.39, 0.27, 0.07)),
        "prop_review_score": missing(draw, review, 0.002),
        "prop_brand_bool": (draw.random(count) < 0.63).astype("int64"),
        "prop_location_score1": numpy.round(numpy.clip(draw.normal(2.9, 1.5, count), 0, 6.98), 2),
        "prop_location_score2": missing(draw, score2, 0.22),
        "prop_log_historical_price": numpy.where(draw.random(count) < 0.14, 0.0, numpy.clip(history, 0, 6.21)),
    }
    weight = size * draw.exponential(1, places)
    return Hotels(
        columns=columns,
        base=base,
        destination=numpy.sort(draw.choice(LAST_DESTINATION - 1, places, replace=False)) + 2,
        first=numpy.cumsum(size) - size,
        size=size,
        weight=weight / weight.sum(),
    )


def missing(draw, values, share):
    """Return values of which a share is missing."""
    return numpy.where(draw.random(len(values)) < share, numpy.nan, values)


class Searches(NamedTuple):
    """The searches of a part; a row is a hotel that one of them showed."""

    place: numpy.ndarray  # of each search: its destination
    of: numpy.ndarray  # of each row: its search
    nth: numpy.ndarray  # of each row: its place among the rows of its search
    begin: numpy.ndarray  # of each search: its first row


def searches(draw, rows, known):
    """Return searches with so many rows altogether. The last one may be cut short."""
    most = rows // SHORTEST + 1
    place = draw.choice(len(known.size), most, p=known.weight)
    full = draw.random(most) < 0.35
    length = numpy.where(full, draw.integers(30, LONGEST + 1, most), draw.integers(SHORTEST, 33, most))
    length = numpy.minimum(length, known.size[place])
    ends = numpy.cumsum(length)
    used = int(numpy.searchsorted(ends, rows)) + 1
    length, place = length[:used], place[:used]
    length[-1] -= ends[used - 1] - rows
    of = numpy.repeat(numpy.arange(used), length)
    begin = numpy.cumsum(length) - length
    return Searches(place=place, of=of, nth=numpy.arange(rows) - begin[of], begin=begin)


def of_searches(draw, part, part_rows, found):
    """Return the columns that are the same in all rows of a search."""
    count = len(found.place)
    moment = BEGIN + draw.integers(0, DAYS * 86_400, count).astype("timedelta64[s]")
    again = draw.random(count) < 0.05
    stars = numpy.round(numpy.clip(draw.normal(3.4, 0.7, count), 1.41, 5), 2)
    spent = numpy.round(numpy.clip(draw.lognormal(5.0, 0.5, count), 0, 1958.7), 2)
    window = numpy.minimum(draw.exponential(38, count), 498).astype("int64")
    distance = numpy.round(numpy.minimum(draw.lognormal(6.4, 1.6, count), 11_600), 2)
    columns = {
        "srch_id": part * (part_rows // SHORTEST + 1) + 1 + numpy.arange(count),
        "date_time": moment,
        "site_id": numpy.where(draw.random(count) < 0.6, 5, draw.integers(1, 35, count)),
        "visitor_location_country_id": numpy.where(draw.random(count) < 0.58, 219, draw.integers(1, 232, count)),
        "visitor_hist_starrating": numpy.where(again, stars, numpy.nan),
        "visitor_hist_adr_usd": numpy.where(again, spent, numpy.nan),
        "srch_length_of_stay": numpy.minimum(draw.geometric(0.42, count), 59),
        "srch_booking_window": window,
        "srch_adults_count": draw.choice(9, count, p=(0.21, 0.64, 0.06, 0.06, 0.01, 0.01, 0.004, 0.004, 0.002)) + 1,
        "srch_children_count": draw.choice(10, count, p=(0.78, 0.11, 0.08, 0.02, 0.005, 0.001) + (0.001,) * 4),
        "srch_room_count": draw.choice(8, count, p=(0.91, 0.075, 0.01, 0.001, 0.001, 0.001, 0.001, 0.001)) + 1,
        "srch_saturday_night_bool": (draw.random(count) < 0.5).astype("int64"),
        "orig_destination_distance": missing(draw, distance, 0.324),
        "random_bool": (draw.random(count) < 0.296).astype("int64"),
    }
    return {name: values[found.of] for name, values in columns.items()}


def competitors(draw, rows):
    """Return the columns about the prices of eight competitors."""
    columns = {}
    for number, (no_rate, no_difference) in enumerate(zip(NO_RATE, NO_DIFFERENCE), 1):
        chance = draw.random(rows)
        rate = draw.choice((-1.0, 0.0, 1.0), rows, p=(0.11, 0.61, 0.28))
        sold_out = draw.choice((-1.0, 0.0, 1.0), rows, p=(0.01, 0.93, 0.06))
        difference = numpy.ceil(numpy.minimum(1 + draw.lognormal(2.3, 0.8, rows), 1e6))
        strange = draw.random(rows) < 5e-4
        difference[strange] = numpy.ceil(difference[strange] * draw.lognormal(5, 2, int(strange.sum())))
        columns[f"comp{number}_rate"] = numpy.where(chance < no_rate, numpy.nan, rate)
        columns[f"comp{number}_inv"] = numpy.where(chance < no_rate - 0.03, numpy.nan, sold_out)
        columns[f"comp{number}_rate_percent_diff"] = numpy.where(
            chance < no_difference, numpy.nan, numpy.minimum(difference, 1e6)
        )
    return columns


def outcome(draw, found, position, price, nights):
    """Return what people did with what they were shown: clicks, and at most one booking a search."""
    rows, count = len(found.of), len(found.place)
    length = numpy.diff(numpy.append(found.begin, rows))
    wanted = numpy.minimum(draw.geometric(0.13, count), length)
    wanted[draw.random(count) >= BOOKED] = 0  # a position that nothing has
    booking = position == wanted[found.of]
    click = booking | (draw.random(rows) < 2.5 * CLICKED * numpy.exp(-position / 14))
    paid = numpy.round(price * nights * draw.uniform(1.0, 1.3, rows), 2)
    return {
        "click_bool": click.astype("int64"),
        "gross_bookings_usd": numpy.where(booking, paid, numpy.nan),
        "booking_bool": booking.astype("int64"),
    }


def part(table, number, rows, seed, table_rows, part_rows):
    """Return one part with so many rows, as a pyarrow table."""
    known = hotels(seed, table_rows)
    draw = stream(seed, 1 + expedia.TABLES.index(table), number)
    found = searches(draw, rows, known)
    columns = of_searches(draw, number, part_rows, found)
    columns["srch_destination_id"] = known.destination[found.place][found.of]
    # Neighbours from a random one on, so that no search shows a hotel twice; the
    # square makes the first ones of a destination the popular ones.
    size = known.size[found.place]
    start = (size * draw.random(len(size)) ** 2).astype("int64")
    hotel = (known.first[found.place])[found.of] + (start[found.of] + found.nth) % size[found.of]
    columns |= {name: values[hotel] for name, values in known.columns.items()}
    price = known.base[hotel] * numpy.exp(0.25 * draw.standard_normal(rows))
    strange = draw.random(rows) < 2e-4
    price[strange] *= draw.lognormal(6, 2, int(strange.sum()))
    price = columns["price_usd"] = numpy.round(numpy.minimum(price, 1e7), 2)
    columns["promotion_flag"] = (draw.random(rows) < 0.215).astype("int64")
    affinity = numpy.round(-2.5 - draw.gamma(2.4, 9.0, rows), 4)
    columns["srch_query_affinity_score"] = missing(draw, numpy.maximum(affinity, -326.5), 0.936)
    columns |= competitors(draw, rows)
    if table == "train":
        shuffled = numpy.lexsort((draw.random(rows), found.of))
        position = columns["position"] = numpy.empty(rows, "int64")
        position[shuffled] = found.nth + 1
        columns |= outcome(draw, found, position, price, columns["srch_length_of_stay"])
    return expedia.table_of(columns, table)


def make(directory, table, number, rows, seed, table_rows, part_rows):
    """Write one part unless it is there; return its rows."""
    if expedia.count(directory, table, number) != rows:
        expedia.write(directory, table, number, part(table, number, rows, seed, table_rows, part_rows))
    return rows


def run(options):
    """Write all parts that are not there, and print after each how many rows there are."""
    parts = -(-options.rows // options.part_rows)
    work = [
        (options.directory, table, number, min(options.part_rows, options.rows - number * options.part_rows))
        + (options.seed, options.rows, options.part_rows)
        for table in expedia.TABLES
        for number in range(parts)
    ]
    done, total = 0, options.rows * len(expedia.TABLES)
    cores = len(os.sched_getaffinity(0)) if options.rows >= ALONE else 1
    for rows in executed(work, options.processes or cores):
        done += rows
        print(done, total, flush=True)
    expedia.seal(options.directory, dict.fromkeys(expedia.TABLES, parts))


def executed(work, processes):
    """Yield the result of each call of make, in any order."""
    if processes < 2:
        yield from (make(*arguments) for arguments in work)
        return
    # Not forked: pyarrow has threads.
    context = multiprocessing.get_context("spawn")
    with concurrent.futures.ProcessPoolExecutor(processes, mp_context=context) as pool:
        try:
            for future in concurrent.futures.as_completed([pool.submit(make, *arguments) for arguments in work]):
                yield future.result()
        except BaseException:
            pool.shutdown(cancel_futures=True)
            raise
