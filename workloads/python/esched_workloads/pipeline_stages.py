"""The stages of the preparation of Expedia's data, as pure functions of pandas frames.

Training data become features of hotels; both tables get these features joined.
No stage changes its arguments: a stage that is executed again, because a worker
was lost, gives the same. The index of a frame numbers the rows of its table; it
stays with them, through every join, so that the result does not depend on their
order, nor on how a table is cut.

A stage that sums over groups sees the rows of a group in the order of the table.
So sums of floating-point numbers are equal in every bit however the table is cut,
provided that no group is.
"""

import numpy
import pandas

from esched_workloads import expedia

#: Columns whose extreme values are taken for mistakes.
SUSPECT = ["price_usd", *(f"comp{competitor}_rate_percent_diff" for competitor in range(1, 9))]
#: Interquartile ranges beyond the quartiles that are still believed.
BELIEVED = 3
#: Share of the training rows that is kept: those with the fewest missing values.
KEPT = 0.75
#: Columns of which each hotel gets mean and standard deviation.
FEATURES = [
    "visitor_hist_starrating",
    "visitor_hist_adr_usd",
    "prop_starrating",
    "prop_review_score",
    "prop_location_score1",
    "prop_location_score2",
    "prop_log_historical_price",
    "price_usd",
    "orig_destination_distance",
    "srch_query_affinity_score",
    "srch_length_of_stay",
    "srch_booking_window",
    "srch_adults_count",
    "srch_children_count",
    "srch_room_count",
]
PLACE = ["prop_id", "srch_destination_id"]


def span(part, parts, rows):
    """Return the first row of a part of a table that is cut evenly, and the one after its last."""
    return part * rows // parts, (part + 1) * rows // parts


def read(directory, table, first, last, parts, rows, stream):
    """Return the rows of some parts of one pipeline's table.

    A pipeline draws its rows from those of the data set, part by part and with
    replacement, by the random numbers that stream (seed and pipeline) begins.
    """
    seed, pipeline = stream
    frames = []
    for part in range(first, last):
        there = expedia.read(directory, table, part)
        begin, end = span(part, parts, rows)
        key = (pipeline, expedia.TABLES.index(table), part)
        draw = numpy.random.Generator(numpy.random.PCG64(numpy.random.SeedSequence(seed, spawn_key=key)))
        chosen = there.take(draw.integers(0, len(there), end - begin))
        frames.append(chosen.set_axis(pandas.RangeIndex(begin, end)))
    return frames[0] if len(frames) == 1 else pandas.concat(frames)


def create_relevance(train):
    """Grade each row: 2 for a booking, 1 for a click, else 0."""
    booked, clicked = train["booking_bool"], train["click_bool"]
    return train.assign(relevance=2 * booked + clicked * (1 - booked))


def handle_datetime(frame):
    """Replace the time of a search by year, month, and day."""
    moment = frame["date_time"].dt
    parts = {name: getattr(moment, name).astype("int64") for name in ("year", "month", "day")}
    return frame.drop(columns="date_time").assign(**parts)


def fences(train):
    """Return the least and the largest value to believe of each suspect column."""
    quartiles = train[SUSPECT].quantile([0.25, 0.75])
    low, high = quartiles.loc[0.25], quartiles.loc[0.75]
    reach = BELIEVED * (high - low)
    return pandas.DataFrame({"low": low - reach, "high": high + reach})


def within(train, limits):
    """Take for missing what is beyond the fences."""
    return train.assign(
        **{
            name: train[name].where(train[name].between(limits.at[name, "low"], limits.at[name, "high"]))
            for name in SUSPECT
        }
    )


def count_missing(train):
    """Count the missing values of each row."""
    return train.assign(missing_count=train.isna().sum(axis=1))


def bar(missing):
    """Return the last row to keep, as one row: by missing values first, then by row.

    missing has the number of missing values of all rows, in the order of the table.
    """
    counts = missing["missing_count"]
    last = numpy.argsort(counts.to_numpy(), kind="stable")[int(len(counts) * KEPT) - 1]
    return pandas.DataFrame({"missing_count": [counts.iloc[last]], "row": [counts.index[last]]})


def up_to(train, last):
    """Keep the rows up to the last one to keep."""
    most, row = last["missing_count"].iloc[0], last["row"].iloc[0]
    counted = train["missing_count"]
    return train[(counted < most) | (counted == most) & (train.index <= row)]


def remove_outliers(train):
    """Take for missing what is far from the rest of its column."""
    return within(train, fences(train))


def select_subset(train):
    """Keep the rows with the fewest missing values."""
    counted = count_missing(train)
    return up_to(counted, bar(counted))


def compute_mean_positions(train):
    """Return each hotel's mean position, where results were in no random order."""
    ranked = train[train["random_bool"] == 0]
    return ranked.groupby("prop_id")["position"].mean().rename("mean_train_position")


def merge_mean_positions(frame, positions):
    """Give each row the mean position of its hotel."""
    return frame.join(positions, on="prop_id")


def compute_prior(train, column):
    """Return how often the other rows of a row's hotel have a one in the column."""
    groups = train.groupby("prop_id")[column]
    return (groups.transform("sum") - train[column]) / (groups.transform("count") - 1)


def combine_priors(train, clicks, bookings):
    """Add both priors to the rows."""
    return train.assign(click_prior=clicks, booking_prior=bookings)


def averages(train):
    """Return how often rows were clicked and booked, over all hotels, as one row."""
    return train[["click_bool", "booking_bool"]].mean().to_frame().T


def fill_priors(frame, overall):
    """Give rows of which their hotel tells nothing the prior of all hotels."""
    known = {"click_prior": overall["click_bool"].iloc[0], "booking_prior": overall["booking_bool"].iloc[0]}
    return frame.assign(**{name: frame[name].fillna(value) for name, value in known.items()})


def handle_single_records(train):
    """Fill the priors of hotels with a single row."""
    return fill_priors(train, averages(train))


def prior_means(train):
    """Return how often each hotel was clicked and booked."""
    means = train.groupby("prop_id")[["click_bool", "booking_bool"]].mean()
    return means.rename(columns={"click_bool": "click_prior", "booking_bool": "booking_prior"})


def handle_priors_test(test, train):
    """Give each row of the test table the priors of its hotel."""
    return fill_priors(test.join(prior_means(train), on="prop_id"), averages(train))


def previous_searches_train(train):
    """Count the other rows of each row's hotel."""
    return train.assign(previous_searches=train.groupby("prop_id")["prop_id"].transform("count") - 1)


def previous_searches(train):
    """Return the number of rows of each hotel, but one."""
    return train.groupby("prop_id").size().sub(1).rename("previous_searches")


def fill_searches(test):
    """Count no search for hotels that are not in the training table."""
    return test.assign(previous_searches=test["previous_searches"].fillna(0))


def previous_searches_test(test, train):
    """Count the rows of the training table of each row's hotel, but one."""
    return fill_searches(test.join(previous_searches(train), on="prop_id"))


def booking_counts(train):
    """Return how often each hotel was booked by people who looked for each destination."""
    return train.groupby(PLACE)["booking_bool"].sum().rename("booking_count")


def merge_booking_count(frame, counts):
    """Give each row the bookings of its hotel and destination."""
    return frame.join(counts, on=PLACE)


def distance_spread(train):
    """Return for each row how much the distances in its search differ."""
    distances = train.groupby("srch_id")["orig_destination_distance"]
    return distances.transform("max") - distances.transform("min")


def mean_spread(spread, hotels):
    """Return each hotel's mean of the spreads of its rows."""
    return spread.groupby(hotels).mean().rename("mean_max_distance_diff")


def mean_distances(train):
    """Return for each hotel how much distances differ in the searches that showed it."""
    return mean_spread(distance_spread(train), train["prop_id"])


def merge_mean_distances(frame, distances):
    """Give each row the mean difference of distances of its hotel."""
    return frame.join(distances, on="prop_id")


def stats(train, feature):
    """Return mean and standard deviation of a feature for each hotel."""
    summed = train.groupby("prop_id")[feature].agg(["mean", "std"])
    return summed.rename(columns={"mean": f"{feature}_mean", "std": f"{feature}_std"})


def merge_stats(frame, summed):
    """Give each row the mean and standard deviation of its hotel."""
    return frame.join(summed, on="prop_id")
