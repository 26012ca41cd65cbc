using System;
using System.Collections.Generic;
using System.Diagnostics;
using System.Globalization;
using System.IO;
using System.Linq;
using System.Text;
using Microsoft.ML;
using Microsoft.ML.Data;

namespace Wharf.Reference
{
    /// <summary>
    /// The benchmark table and what ML.NET needs to read and to save it. Every repetition is one line of JSON; the
    /// first one includes the warming up of the runtime.
    /// </summary>
    internal sealed class Bench
    {
        private const ulong Seed = 20240229;
        private const int Floats = 28;

        private static readonly string[] Prefixes =
        {
            "customer-", "order-", "invoice-", "item-", "supplier-", "ship-", "berth-", "crane-",
        };

        private readonly MLContext ml;
        private readonly TextWriter output;

        public Bench(MLContext ml, TextWriter output)
        {
            this.ml = ml;
            this.output = output;
        }

        /// <summary>Writes `bench-deflate.idv` and `bench-none.idv`, or the wanted one, with ML.NET's own block
        /// sizes.</summary>
        public void Write(string directory, long rows, string wanted)
        {
            foreach (string compression in wanted == null ? new[] { "Deflate", "None" } : new[] { wanted })
            {
                string path = Path.Combine(directory, "bench-" + compression.ToLowerInvariant() + ".idv");
                Stopwatch watch = Stopwatch.StartNew();
                Saver.Save(ml, Data(rows), path, new SaveOptions { Compression = compression });
                Report(watch.Elapsed.TotalSeconds, "rows", (ulong)rows, "bytes", (ulong)new FileInfo(path).Length);
            }
        }

        /// <summary>A price, a name, a number that counts on with a little noise, and 28 random features.</summary>
        private static Table Data(long rows)
        {
            Fill<float> price = (long row, ref float value) => value = new Rng(Seed, (ulong)row).Below(100000) / 100f;
            Fill<ReadOnlyMemory<char>> name = (long row, ref ReadOnlyMemory<char> value) =>
            {
                var rng = new Rng(Seed + 1, (ulong)row);
                value = (rng.Pick(Prefixes) + rng.Below(100000)).AsMemory();
            };
            Fill<long> number = (long row, ref long value) => value = row * 10 + new Rng(Seed + 2,
                (ulong)row).Below(10);
            Fill<VBuffer<float>> features = (long row, ref VBuffer<float> value) =>
            {
                var rng = new Rng(Seed + 3, (ulong)row);
                VBufferEditor<float> editor = VBufferEditor.Create(ref value, Floats);
                Span<float> slots = editor.Values;
                for (int i = 0; i < Floats; i++)
                {
                    slots[i] = rng.Unit();
                }
                value = editor.Commit();
            };
            return new Table(
                rows,
                new Column<float>("Price", NumberDataViewType.Single, price),
                new Column<ReadOnlyMemory<char>>("Name", TextDataViewType.Instance, name),
                new Column<long>("Number", NumberDataViewType.Int64, number),
                new Column<VBuffer<float>>("Features", new VectorDataViewType(NumberDataViewType.Single, Floats),
                    features));
        }

        /// <summary>Reads the named columns, or all, through the row cursor and typed getters.</summary>
        public void Read(string path, string names, ulong repeat)
        {
            for (ulong i = 0; i < repeat; i++)
            {
                Stopwatch watch = Stopwatch.StartNew();
                IDataView view = ml.Data.LoadFromBinary(path);
                using (view as IDisposable)
                {
                    ulong rows;
                    ulong checksum = Checksum(view, Chosen(view.Schema, names), out rows);
                    Report(watch.Elapsed.TotalSeconds, "rows", rows, "checksum", checksum, "peak_kb", Peak());
                }
            }
        }

        /// <summary>Saves a view that is already in memory: the file loaded into ML.NET's cache, all of it.</summary>
        public void Save(string path, string target, string compression, ulong repeat)
        {
            IDataView loaded = ml.Data.LoadFromBinary(path);
            using (loaded as IDisposable)
            {
                string[] names =
                    loaded.Schema.Where(column => !column.IsHidden).Select(column => column.Name).ToArray();
                IDataView view = ml.Data.Cache(loaded, names);
                ulong rows;
                ulong checksum = Checksum(view, view.Schema.ToList(), out rows);
                for (ulong i = 0; i < repeat; i++)
                {
                    Stopwatch watch = Stopwatch.StartNew();
                    Saver.Save(ml, view, target, new SaveOptions { Compression = compression, Ordered = false });
                    double seconds = watch.Elapsed.TotalSeconds;
                    ulong bytes = (ulong)new FileInfo(target).Length;
                    Report(seconds, "rows", rows, "checksum", checksum, "bytes", bytes, "peak_kb", Peak());
                }
            }
        }

        private static List<DataViewSchema.Column> Chosen(DataViewSchema schema, string names)
        {
            if (names == null)
            {
                return schema.ToList();
            }
            var chosen = new List<DataViewSchema.Column>();
            foreach (string name in names.Split(','))
            {
                DataViewSchema.Column? column = schema.GetColumnOrNull(name);
                if (column == null)
                {
                    throw new UsageException("no column " + name);
                }
                chosen.Add(column.Value);
            }
            return chosen;
        }

        /// <summary>
        /// The sum over all rows of (the sum of the row's values) times (twice the row number plus one), modulo 2^64.
        /// What one value counts for stands in <see cref="Folds"/>.
        /// </summary>
        private static ulong Checksum(IDataView view, List<DataViewSchema.Column> columns, out ulong rows)
        {
            ulong sum = 0;
            rows = 0;
            using (DataViewRowCursor cursor = view.GetRowCursor(columns))
            {
                Func<ulong>[] folds = columns.Select(column => Folds.Of(cursor, column)).ToArray();
                while (cursor.MoveNext())
                {
                    ulong row = 0;
                    for (int i = 0; i < folds.Length; i++)
                    {
                        row = unchecked(row + folds[i]());
                    }
                    sum = unchecked(sum + row * (2 * rows + 1));
                    rows++;
                }
            }
            return sum;
        }

        /// <summary>The most memory this process has held so far, in KiB, as the kernel counts it.</summary>
        private static ulong Peak()
        {
            string line = File.ReadLines("/proc/self/status").First(l => l.StartsWith("VmHWM:"));
            return ulong.Parse(line.Split(new[] { ' ', '\t' }, StringSplitOptions.RemoveEmptyEntries)[1]);
        }

        private void Report(double seconds, params object[] fields)
        {
            var line = new StringBuilder("{\"seconds\":");
            Json.Seconds(line, seconds);
            for (int i = 0; i < fields.Length; i += 2)
            {
                line.Append(",\"").Append(fields[i]).Append("\":");
                line.Append(((ulong)fields[i + 1]).ToString(CultureInfo.InvariantCulture));
            }
            output.WriteLine(line.Append('}'));
            output.Flush();
        }
    }
}
