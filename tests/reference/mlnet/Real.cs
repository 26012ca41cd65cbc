using System;
using System.Collections.Generic;
using System.IO;
using System.IO.Compression;
using System.Linq;
using Microsoft.ML;
using Microsoft.ML.Data;
using Microsoft.ML.Transforms.Text;

namespace Wharf.Reference
{
    /// <summary>Whole real tables, prepared the way people prepare them, each with and without compression.</summary>
    internal sealed class Real
    {
        private readonly MLContext ml;
        private readonly Datasets datasets;
        private readonly string directory;

        public Real(MLContext ml, Datasets datasets, string directory)
        {
            this.ml = ml;
            this.datasets = datasets;
            this.directory = directory;
        }

        public void WriteAll()
        {
            Both("adult", Adult());
            Both("talk", Talk());
            Both("air-quality", AirQuality());
            Both("flights", Flights());
            Both("ranking", datasets.Ranking());
            Model();
        }

        /// <summary>
        /// `model.zip`, a model file, and `model-schema.idv`, the schema of its training data taken out of it: an IDV file
        /// without rows. Models saved with a schema call the entry `Schema`, those with a binary loader `Schema.idv`.
        /// </summary>
        private void Model()
        {
            IDataView adult = datasets.Adult();
            IEstimator<ITransformer> steps = ml.Transforms.Concatenate("Features", Datasets.AdultNumbers)
                .Append(ml.Transforms.Conversion.MapValueToKey("sex-key", "sex"));
            string path = Path.Combine(directory, "model.zip");
            ml.Model.Save(steps.Fit(adult), adult.Schema, path);

            string schema = Path.Combine(directory, "model-schema.idv");
            using (ZipArchive archive = ZipFile.OpenRead(path))
            {
                archive.Entries.Single(entry => entry.FullName == "Schema").ExtractToFile(schema, true);
            }
            Saver.DumpBeside(ml, directory, "model-schema");
        }

        private void Both(string name, IDataView view)
        {
            foreach (string compression in new[] { "Deflate", "None" })
            {
                var options = new SaveOptions { Compression = compression, Ordered = false, RowsPerBlock = 1000 };
                Saver.SaveWithDump(ml, view, directory, name + "-" + compression.ToLowerInvariant(), options);
            }
        }

        /// <summary>Everything kept: texts, keys, one-hot vectors, scaled numbers, and all of them in one
        /// vector.</summary>
        private IDataView Adult()
        {
            IEstimator<ITransformer> steps = ml.Transforms.NormalizeMeanVariance(
                Datasets.AdultNumbers.Select(name => new InputOutputColumnPair(name + "-scaled", name)).ToArray());
            var parts = new List<string>(Datasets.AdultNumbers.Select(name => name + "-scaled"));
            foreach (string word in Datasets.AdultWords)
            {
                steps = steps.Append(ml.Transforms.Conversion.MapValueToKey(word + "-key", word))
                    .Append(ml.Transforms.Conversion.MapKeyToVector(word + "-one-hot", word + "-key"));
                parts.Add(word + "-one-hot");
            }
            steps = steps.Append(ml.Transforms.Conversion.Hash("hashed", "occupation", 10, -1))
                .Append(ml.Transforms.Concatenate("Numbers", Datasets.AdultNumbers))
                .Append(ml.Transforms.Concatenate("Words", Datasets.AdultWords))
                .Append(ml.Transforms.Concatenate("Features", parts.ToArray()));
            return steps.Fit(datasets.Adult()).Transform(datasets.Adult());
        }

        /// <summary>Words and character n-grams of all comments: sparse vectors thousands of slots wide.</summary>
        private IDataView Talk()
        {
            var options = new TextFeaturizingEstimator.Options { OutputTokensColumnName = "Tokens" };
            IDataView talk = datasets.Talk();
            return ml.Transforms.Text.FeaturizeText("Features", options, "Text").Fit(talk).Transform(talk);
        }

        /// <summary>Measurements with missing values, and the day each was taken as a date.</summary>
        private IDataView AirQuality()
        {
            IDataView air = datasets.AirQuality();
            byte[] months = Values<byte>(air, "Month");
            byte[] days = Values<byte>(air, "Day");
            float[] ozone = Values<float>(air, "Ozone");
            float[] radiation = Values<float>(air, "SolarRadiation");
            DateTime[] dates = months.Zip(days, (month, day) => new DateTime(1973, month, day)).ToArray();
            return new Table(
                dates.Length,
                Column.Of("Date", DateTimeDataViewType.Instance, dates),
                Column.Of("Ozone", NumberDataViewType.Single, ozone),
                Column.Of("SolarRadiation", NumberDataViewType.Single, radiation),
                Column.Of("Wind", NumberDataViewType.Double, Values<double>(air, "Wind")),
                Column.Of("Temperature", NumberDataViewType.Int16, Values<short>(air, "Temperature")),
                Column.Of("OzoneMissing", BooleanDataViewType.Instance, ozone.Select(float.IsNaN).ToArray()));
        }

        /// <summary>
        /// Flights with the date, the departure with its offset from UTC, and the delay as a span. The table has no
        /// year
        /// and no zone: 1987 and Eastern time, by season, are put in their place.
        /// </summary>
        private IDataView Flights()
        {
            IDataView flights = datasets.Flights();
            int[] months = Values<int>(flights, "Month");
            int[] days = Values<int>(flights, "Day");
            int[] departures = Values<int>(flights, "Departure");
            int[] delays = Values<int>(flights, "Delay");
            int rows = months.Length;
            var dates = new DateTime[rows];
            var zoned = new DateTimeOffset[rows];
            var ids = new DataViewRowId[rows];
            for (int i = 0; i < rows; i++)
            {
                dates[i] = new DateTime(1987, months[i], Math.Min(days[i], DateTime.DaysInMonth(1987, months[i])));
                DateTime leaves = dates[i].AddHours(departures[i] / 100).AddMinutes(departures[i] % 100);
                zoned[i] = new DateTimeOffset(leaves, TimeSpan.FromHours(months[i] >= 4 && months[i] <= 10 ? -4 : -5));
                ids[i] = new DataViewRowId((ulong)i, (ulong)leaves.Ticks);
            }
            var table = new Table(
                rows,
                Column.Of("Id", RowIdDataViewType.Instance, ids),
                Column.Of("Date", DateTimeDataViewType.Instance, dates),
                Column.Of("Departure", DateTimeOffsetDataViewType.Instance, zoned),
                Column.Of("Delay", TimeSpanDataViewType.Instance,
                    delays.Select(d => TimeSpan.FromMinutes(d)).ToArray()),
                Column.Of("Distance", NumberDataViewType.UInt16, Values<ushort>(flights, "Distance")),
                Column.Of("Carrier", TextDataViewType.Instance, Values<ReadOnlyMemory<char>>(flights, "Carrier")),
                Column.Of("Origin", TextDataViewType.Instance, Values<ReadOnlyMemory<char>>(flights, "Origin")),
                Column.Of("Destination", TextDataViewType.Instance, Values<ReadOnlyMemory<char>>(flights,
                    "Destination")));
            return ml.Transforms.Conversion.MapValueToKey("OriginKey", "Origin")
                .Append(ml.Transforms.Conversion.MapValueToKey("CarrierKey", "Carrier"))
                .Fit(table).Transform(table);
        }

        /// <summary>All values of one column. Text is copied: the loader reuses its memory.</summary>
        private static T[] Values<T>(IDataView view, string name)
        {
            DataViewSchema.Column column = view.Schema[name];
            var values = new List<T>();
            using (DataViewRowCursor cursor = view.GetRowCursor(new[] { column }))
            {
                ValueGetter<T> getter = cursor.GetGetter<T>(column);
                while (cursor.MoveNext())
                {
                    T value = default(T);
                    getter(ref value);
                    object text = value as ReadOnlyMemory<char>?;
                    values.Add(text == null ? value : (T)(object)text.ToString().AsMemory());
                }
            }
            return values.ToArray();
        }
    }
}
