using System;
using System.Collections.Generic;
using System.IO;
using System.Linq;
using Microsoft.ML;
using Microsoft.ML.Data;

namespace Wharf.Reference
{
    /// <summary>
    /// Files with random schemas and values. The seed decides everything but the order in which blocks stand in those
    /// files that leave it to ML.NET's threads, and so the offsets in their lookup tables.
    /// </summary>
    internal sealed class Generate
    {
        /// <summary>About how many single values one file may hold: its dump stays readable in size.</summary>
        private const int MostValues = 120000;

        private static readonly int[] RowCounts = { 0, 1, 2, 3, 7, 8, 9, 50, 300, 1000, 5000, 8191, 8192, 8193, 12000,
            20000 };

        private readonly MLContext ml;
        private readonly ulong seed;

        public Generate(MLContext ml, ulong seed)
        {
            this.ml = ml;
            this.seed = seed;
        }

        public void Write(ulong index, string directory)
        {
            var rng = new Rng(seed, index);
            int rows = rng.OneIn(3) ? rng.Below(20001) : rng.Pick(RowCounts);
            Table table = RandomTable(rng, rows);
            SaveOptions options = Options(rng, rows);
            string name = "random-" + seed + "-" + index.ToString("0000");
            Saver.SaveWithDump(ml, table, directory, name, options);
        }

        /// <summary>Columns of random types, with random values; now and then none.</summary>
        public static Table RandomTable(Rng rng, int rows)
        {
            var columns = new List<Column>();
            int wanted = rng.OneIn(30) ? 0 : rng.Between(1, 8);
            for (int left = MostValues; columns.Count < wanted && left >= rows; )
            {
                int cost;
                columns.Add(RandomColumn(rng, rows, columns, left, out cost));
                left -= cost;
            }
            return new Table(rows, columns.ToArray());
        }

        private static SaveOptions Options(Rng rng, int rows)
        {
            var options = new SaveOptions { Compression = rng.OneIn(3) ? "None" : "Deflate", Ordered = rng.OneIn(2) };
            switch (rng.Below(6))
            {
                case 0:
                    options.RowsPerBlock = rows <= 1000 ? 1 : 13;
                    break;
                case 1:
                    options.RowsPerBlock = rng.Between(1, 64) + rows / 200;
                    break;
                case 2:
                    options.RowsPerBlock = 1000000;
                    break;
                case 3:
                    options.BytesPerBlock = rng.Between(1, 4000) + rows;
                    break;
            }
            return options;
        }

        private static Column RandomColumn(Rng rng, int rows, List<Column> before, int left, out int cost)
        {
            string name = before.Count > 0 && rng.OneIn(12) ? rng.Pick(before.ToArray()).Name : Name(rng);
            Kind kind = rng.OneIn(4) ? rng.Pick(Kind.Keys(rng.Between(1, 255))) : rng.Pick(Kind.Scalars());
            cost = rows;
            if (rng.OneIn(2))
            {
                DataViewSchema.Annotations annotations = Annotations(rng, kind, null);
                return rng.OneIn(5) ? kind.Extremes(name, rows, annotations) : kind.Random(name, rows, rng,
                    annotations);
            }
            // As long as the file's budget allows, counting a sparse vector like a dense one of a fifth of its length.
            var form = (Form)rng.Below(3);
            int longest = Math.Min(form == Form.Dense ? 40 : 200, left / Math.Max(1, rows));
            Shape shape = RandomShape(rng, form, Math.Max(1, longest));
            cost = rows * Math.Max(1, shape.Dimensions.All(d => d > 0) ? longest : longest / 2);
            return kind.Vectors(name, rows, rng, shape, Annotations(rng, kind, shape));
        }

        private static Shape RandomShape(Rng rng, Form form, int longest)
        {
            switch (rng.Below(6))
            {
                case 0:
                case 1:
                    return Shape.Fixed(form, rng.Between(1, longest));
                case 2:
                    int width = rng.Between(1, Math.Max(1, longest / 2));
                    return Shape.Fixed(form, width, rng.Between(1, Math.Max(1, longest / width)));
                case 3:
                    return new Shape(form, longest, 0, rng.Between(1, longest));
                default:
                    return Shape.Varying(form, longest);
            }
        }

        /// <summary>Names from the same alphabet as texts, and never empty: ML.NET refuses an empty name.</summary>
        private static string Name(Rng rng)
        {
            return "c" + Values.Text(rng);
        }

        private static DataViewSchema.Annotations Annotations(Rng rng, Kind kind, Shape shape)
        {
            var builder = new DataViewSchema.Annotations.Builder();
            var key = kind.Type as KeyDataViewType;
            if (key != null && rng.OneIn(2))
            {
                Kind labels = rng.OneIn(2) ? Kind.Scalars().Single(k => k.Name == "Text") : rng.Pick(Kind.Scalars());
                labels.AnnotateVector(builder, "KeyValues", rng, Shape.Fixed((Form)rng.Below(3), (int)key.Count));
            }
            if (shape != null && shape.Dimensions.All(d => d > 0) && rng.OneIn(2))
            {
                int slots = shape.Dimensions.Aggregate(1, (product, d) => product * d);
                Kind.Scalars().Single(k => k.Name == "Text")
                    .AnnotateVector(builder, "SlotNames", rng, Shape.Fixed((Form)rng.Below(3), slots));
            }
            for (int i = rng.OneIn(2) ? 0 : rng.Below(4); i > 0; i--)
            {
                Kind any = rng.Pick(Kind.All());
                string name = "extra " + i + Values.Text(rng);
                if (rng.OneIn(2))
                {
                    any.Annotate(builder, name, rng.Below(any.ExtremeCount));
                }
                else
                {
                    any.AnnotateVector(builder, name, rng, RandomShape(rng, (Form)rng.Below(3), 300));
                }
            }
            return builder.ToAnnotations();
        }
    }
}
