"""What cftime makes of numbers: tables of units, value, date and Julian date, one for each calendar.

    python ds_time.py FOLDER [all]

Prints the rows of the table in PROVENANCE.md. With `all` every epoch in every unit, which is three times as much as the golden files have.

Values are given by their shortest digits, dates to the microsecond, Julian dates as ds-format has them: of real calendars the day number of
cftime, of the others the number of the Gregorian day of the same name (empty where there is none).
"""

import csv
import pathlib
import random
import sys
import warnings

import cftime

CALENDARS = ["standard", "proleptic_gregorian", "julian", "noleap", "all_leap", "360_day"]
REAL = CALENDARS[:3]
UNITS = {"microseconds": 1, "milliseconds": 10**3, "seconds": 10**6, "minutes": 6 * 10**7, "hours": 36 * 10**8, "days": 864 * 10**8}
EPOCHS = [
    "1970-01-01", "2000-02-28 12:00:00", "1900-01-01 00:00:0.0", "0001-01-01 00:00:00", "1582-10-15 00:00:00", "1582-10-04 23:59:59.999999",
    "1858-11-17 00:00:00 UTC", "-4713-01-01 12:00:00", "-0001-12-30 06:30", "2001-03-01T00:00:00Z", "1850-1-1 00:00:00 +05:30", "9999-12-30",
]
LEAPS = ["2000-02-29", "1900-02-29", "1500-02-29", "0004-02-29", "0000-01-01", "0000-02-29", "2001-02-30", "1582-10-10", "-0001-02-29", "-0004-02-29"]


def moment(date):
    """A date as ISO 8601 with as many digits of the second as it takes."""
    sign = "-" if date.year < 0 else ""
    text = f"{sign}{abs(date.year):04}-{date.month:02}-{date.day:02}T{date.hour:02}:{date.minute:02}:{date.second:02}"
    return text + (f".{date.microsecond:06}".rstrip("0") if date.microsecond else "")


def julian(date, calendar):
    """The Julian date, if there is one."""
    if calendar not in REAL:
        try:
            fields = (date.year, date.month, date.day, date.hour, date.minute, date.second, date.microsecond)
            date = cftime.datetime(*fields, calendar="proleptic_gregorian")
        except ValueError:
            return ""
    return repr(float(date.toordinal(fractional=True)))


def rows(calendar, whole):
    random.seed(calendar)
    epochs = EPOCHS + LEAPS
    for epoch in epochs:
        for name in UNITS if whole else random.sample(list(UNITS), 2):
            micros = UNITS[name]
            units = f"{name} since {epoch}"
            days = [0, 1, -1, 59.5, -366, random.uniform(-1000, 1000), random.uniform(-800_000, 800_000), random.choice([-146_097, 577_736, -730_000])]
            for value in days:
                value = float(value * 864 * 10**8 / micros)
                try:
                    date = cftime.num2date(value, units, calendar)
                except ValueError:
                    # The day is not in the calendar: no value is a date then.
                    yield units, "", "", ""
                    break
                yield units, repr(value), moment(date), julian(date, calendar)


def main(folder, whole=""):
    warnings.simplefilter("ignore")
    folder = pathlib.Path(folder)
    folder.mkdir(parents=True, exist_ok=True)
    for calendar in CALENDARS:
        with open(folder / f"{calendar}.csv", "w", newline="") as file:
            writer = csv.writer(file, lineterminator="\n")
            writer.writerow(["units", "value", "date", "julian"])
            written = list(rows(calendar, whole == "all"))
            writer.writerows(written)
        refused = sum(not date for _, _, date, _ in written)
        print(f"| `{calendar}` | {len(written) - refused} | {refused} |")


if __name__ == "__main__":
    main(*sys.argv[1:])
