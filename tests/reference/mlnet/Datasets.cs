using System.IO;
using Microsoft.ML;
using Microsoft.ML.Data;

namespace Wharf.Reference
{
    /// <summary>The real tables of the nimbusml package, as ML.NET's text loader reads them.</summary>
    internal sealed class Datasets
    {
        /// <summary>Columns of UCI Adult that hold one of a few words, and those that hold a number.</summary>
        public static readonly string[] AdultWords =
        {
            "workclass", "education", "marital-status", "occupation", "relationship", "ethnicity", "sex",
            "native-country-region",
        };

        public static readonly string[] AdultNumbers =
        {
            "age", "fnlwgt", "education-num", "capital-gain", "capital-loss", "hours-per-week",
        };

        private readonly MLContext ml;
        private readonly string folder;

        public Datasets(MLContext ml, string folder)
        {
            this.ml = ml;
            this.folder = folder;
        }

        /// <summary>UCI Adult, 500 rows: `Label`, then the columns of the two lists above.</summary>
        public IDataView Adult()
        {
            var columns = new TextLoader.Column[1 + AdultWords.Length + AdultNumbers.Length];
            columns[0] = new TextLoader.Column("Label", DataKind.Boolean, 0);
            for (int i = 0; i < AdultWords.Length; i++)
            {
                columns[1 + i] = new TextLoader.Column(AdultWords[i], DataKind.String, 1 + i);
            }
            for (int i = 0; i < AdultNumbers.Length; i++)
            {
                int at = 1 + AdultWords.Length + i;
                columns[at] = new TextLoader.Column(AdultNumbers[i], DataKind.Single, at);
            }
            return Load("train-500.uciadult.sample.csv", ',', columns);
        }

        /// <summary>Comments from Wikipedia talk pages, and whether each was judged an attack (1) or not (0).</summary>
        public IDataView Talk()
        {
            return Load(
                "train-250.wikipedia.sample.tsv", '\t',
                new TextLoader.Column("Attack", DataKind.Single, 0),
                new TextLoader.Column("Text", DataKind.String, 1));
        }

        /// <summary>Daily air quality in New York, May to September 1973. Missing measurements are NaN.</summary>
        public IDataView AirQuality()
        {
            return Load(
                Path.Combine("gplv2", "airquality.csv"), ',',
                new TextLoader.Column("Ozone", DataKind.Single, 1),
                new TextLoader.Column("SolarRadiation", DataKind.Single, 2),
                new TextLoader.Column("Wind", DataKind.Double, 3),
                new TextLoader.Column("Temperature", DataKind.Int16, 4),
                new TextLoader.Column("Month", DataKind.Byte, 5),
                new TextLoader.Column("Day", DataKind.Byte, 6));
        }

        /// <summary>Ten thousand flights: month, day, departure as hhmm, distance, carrier, from, to, delay.</summary>
        public IDataView Flights()
        {
            return Load(
                "train_fs.csv", ',',
                new TextLoader.Column("Month", DataKind.Int32, 0),
                new TextLoader.Column("Day", DataKind.Int32, 1),
                new TextLoader.Column("Departure", DataKind.Int32, 3),
                new TextLoader.Column("Distance", DataKind.UInt16, 4),
                new TextLoader.Column("Carrier", DataKind.String, 5),
                new TextLoader.Column("Origin", DataKind.String, 6),
                new TextLoader.Column("Destination", DataKind.String, 7),
                new TextLoader.Column("Delay", DataKind.Int32, 8));
        }

        /// <summary>Web search results for ranking: relevance, group, and 136 features in one dense vector.</summary>
        public IDataView Ranking()
        {
            return Load(
                "train-msltr.sample.csv", ',',
                new TextLoader.Column("Label", DataKind.Single, 0),
                new TextLoader.Column("Group", DataKind.UInt64, 1),
                new TextLoader.Column("Features", DataKind.Single, 2, 137));
        }

        private IDataView Load(string name, char separator, params TextLoader.Column[] columns)
        {
            var options = new TextLoader.Options
            {
                Columns = columns,
                Separators = new[] { separator },
                HasHeader = true,
                AllowQuoting = true,
                UseThreads = false,
            };
            return ml.Data.CreateTextLoader(options).Load(new MultiFileSource(Path.Combine(folder, name)));
        }
    }
}
