using System;
using System.Collections.Generic;
using System.IO;
using System.Linq;
using Microsoft.ML;
using Microsoft.ML.Data;

namespace Wharf.Reference
{
    /// <summary>
    /// The golden files: small, one idea each, the same bytes in every run. This part writes single values and
    /// vectors; GoldenSchema.cs what a schema can hold and how blocks are cut; GoldenReal.cs what ML.NET's own
    /// transforms and models leave in a file.
    /// </summary>
    internal sealed partial class Golden
    {
        private readonly MLContext ml;
        private readonly string directory;
        private readonly Datasets datasets;
        private TextWriter listing;

        public Golden(MLContext ml, string directory, Datasets datasets)
        {
            this.ml = ml;
            this.directory = directory;
            this.datasets = datasets;
        }

        /// <summary>Writes every file, and lists them in the form of the table in PROVENANCE.md.</summary>
        public void WriteAll(TextWriter output)
        {
            listing = output;
            Scalars();
            Texts();
            Vectors();
            SparseVectors();
            Keys();
            Annotations();
            Names();
            Blocks();
            Empty();
            Transforms();
            Scores();
            Adult();
        }

        private void Emit(string name, IDataView view, string what)
        {
            Emit(name, view, what, new SaveOptions());
        }

        private void Emit(string name, IDataView view, string what, SaveOptions options)
        {
            Saver.SaveWithDump(ml, view, directory, name, options);
            listing.WriteLine("| `" + name + "` | " + options.Compression + " | " + what + " |");
        }

        private static SaveOptions None
        {
            get { return new SaveOptions { Compression = "None" }; }
        }

        /// <summary>Every kind of `kinds` whose name is among `names`, one column of all its extremes each.</summary>
        private static Table ExtremesOf(Kind[] kinds, params string[] names)
        {
            Kind[] chosen = names.Select(name => kinds.Single(kind => kind.Name == name)).ToArray();
            int rows = chosen.Max(kind => kind.ExtremeCount);
            return new Table(rows, chosen.Select(kind => kind.Extremes(kind.Name, rows)).ToArray());
        }

        private void Scalars()
        {
            Kind[] kinds = Kind.Scalars();
            Table integers = ExtremesOf(
                kinds, "SByte", "Byte", "Int16", "UInt16", "Int32", "UInt32", "Int64", "UInt64");
            Emit("scalar-integers", integers, "the eight integer types: 0, 1, -1, smallest, largest, beyond 2^53");
            Emit("scalar-integers-none", integers, "the same, uncompressed", None);
            Emit("scalar-floats", ExtremesOf(kinds, "Single", "Double"),
                "Single and Double: both zeros, subnormals, largest, infinities, NaNs of several bit patterns");
            Emit("scalar-times", ExtremesOf(kinds, "TimeSpan", "DateTime", "DateTimeOffset"),
                "first and last instants, leap days, single ticks, negative spans, offsets from -14 to 14 hours");
            Emit("scalar-least-span", new Table(2, Column.Of("TimeSpan", TimeSpanDataViewType.Instance,
                    new[] { TimeSpan.MinValue, new TimeSpan(1) })),
                "the least span, stored as -2^63: ML.NET reads it back as 0, its older sign for a missing one", None);
            Emit("scalar-rowids", ExtremesOf(kinds, "RowId"), "128-bit row ids: halves apart, all bits set");
            Emit("scalar-mixed-none", ExtremesOf(kinds, kinds.Select(kind => kind.Name).ToArray()),
                "one column of every type but keys, uncompressed", None);

            // Nineteen rows in blocks of 7, 7 and 5: bits of the last byte stay unused in each block.
            var rng = new Rng(1);
            Kind bits = kinds.Single(kind => kind.Name == "Boolean");
            Emit("scalar-booleans", new Table(19, bits.Random("Boolean", 19, rng)),
                "19 truth values in blocks of 7 rows: the last byte of a block is not full",
                new SaveOptions { Compression = "None", RowsPerBlock = 7 });
            Table full = new Table(16, Column.Of("AllTrue", BooleanDataViewType.Instance, Repeat(true, 16)),
                Column.Of("AllFalse", BooleanDataViewType.Instance, Repeat(false, 16)));
            Emit("scalar-booleans-full", full, "16 truth values: exactly two bytes", None);
        }

        private void Texts()
        {
            Kind text = Kind.Scalars().Single(kind => kind.Name == "Text");
            int count = text.ExtremeCount;
            Emit("text-unicode", new Table(count, text.Extremes("Text", count)),
                "empty text, quotes, control characters, one to four bytes of UTF-8, combined emoji, U+FEFF, U+FFFF");
            Emit("text-ascii", Texts("Text", "one", "", "three", "", "", "six"),
                "ASCII alone: boundaries are byte offsets", None);
            Emit("text-empty", Texts("Text", "", "", ""), "empty texts alone: the joined string has no bytes", None);
            Emit("text-one-empty", Texts("Text", ""), "one row, one empty text", None);

            // More than 256 bytes: .NET's writer takes another way there. More than 127 and more than 16383 bytes: the
            // length in front of the joined string grows to two and to three bytes.
            string ascii = Long("harbour ", 160);
            string mixed = Long("H\u00e4fen \u65e5\u672c \ud83d\udea2 ", 160);
            Emit("text-long-ascii", Texts("Text", "before", ascii, "", "after"),
                "ASCII, joined string of more than 127 bytes");
            Emit("text-long-unicode", Texts("Text", "before", mixed, "", "\u00fcber"),
                "the same with characters of 1, 2, 3 and 4 bytes: boundaries count UTF-16 units");
            Emit("text-very-long", Texts("Text", Long(ascii, 16000), Long(mixed, 300), "end"),
                "joined string of more than 16383 bytes, with non-ASCII: a length of three bytes in front");

            Emit("text-split-pair", Texts("Text", "left\ud83d", "\ude00right", "\ud83d\ude00"),
                "a boundary between the halves of a surrogate pair: each half reads as U+FFFD", None);
            Emit("text-lone-surrogate", Texts("Text", "a\ud800b", "\udc00", "plain"),
                "lone surrogates, which .NET's UTF-8 encoder has written as U+FFFD", None);
        }

        private void Vectors()
        {
            Kind[] kinds = Kind.All();
            var rng = new Rng(2);
            Emit("vector-fixed", VectorsOf(kinds, 4, rng, Shape.Fixed(Form.Dense, 3)),
                "dense vectors of three, one column for every item type");
            Emit("vector-fixed-one", VectorsOf(kinds, 3, rng, Shape.Fixed(Form.Dense, 1)),
                "dense vectors of one item", None);
            Emit("vector-varying", VectorsOf(kinds, 6, rng, Shape.Varying(Form.Dense, 5)),
                "dense vectors of varying length, some empty, every item type");

            var unknown = new VectorDataViewType(NumberDataViewType.Single, 0);
            var unknownText = new VectorDataViewType(TextDataViewType.Instance, 0);
            Table equal = new Table(
                3,
                Column.Of("Single", unknown, new[] { Dense(1f, 2f), Dense(3f, 4f), Dense(5f, 6f) }),
                Column.Of("Text", unknownText, Values.Memory("a", "", "c").Select(t => Dense(t)).ToArray()));
            Emit("vector-varying-equal", equal,
                "type of unknown size, all vectors of one length: the block holds that length and no lengths array",
                None);
            Table empty = new Table(
                3,
                Column.Of("Single", unknown, Repeat(Dense<float>(), 3)),
                Column.Of("Text", unknownText, Repeat(Dense<ReadOnlyMemory<char>>(), 3)));
            Emit("vector-varying-empty", empty,
                "type of unknown size, all vectors empty: length 0 and an array of zeros", None);
            Table uneven = new Table(
                6, Column.Of("Single", unknown, new[]
                {
                    Dense(1f, 2f), Dense(3f, 4f), Dense<float>(), Dense<float>(), Dense(5f), Dense(6f, 7f, 8f),
                }));
            Emit("vector-varying-blocks", uneven,
                "blocks of two rows: one length, all empty, two lengths",
                new SaveOptions { Compression = "None", RowsPerBlock = 2 });

            Kind[] some = kinds.Where(k => k.Name == "Single" || k.Name == "Text" || k.Name == "KeyUInt32").ToArray();
            var shapes = new[]
            {
                Shape.Fixed(Form.Mixed, 2, 3), Shape.Fixed(Form.Dense, 2, 1, 2), new Shape(Form.Mixed, 9, 0, 3),
                new Shape(Form.Dense, 6, 0, 0), new Shape(Form.Dense, 6, 2, 0),
            };
            var several = new List<Column>();
            foreach (Shape shape in shapes)
            {
                string suffix = "-" + string.Join("x", shape.Dimensions);
                several.AddRange(Every(some, k => k.Vectors(k.Name + suffix, 4, rng, shape)));
            }
            Emit("vector-dimensions", new Table(4, several.ToArray()), "several dimensions, known, unknown and mixed");
        }

        private void SparseVectors()
        {
            Kind[] kinds = Kind.All();
            var rng = new Rng(3);
            Emit("sparse-fixed", VectorsOf(kinds, 5, rng, Shape.Fixed(Form.Sparse, 12)),
                "sparse vectors of length 12, every item type");
            Emit("sparse-fixed-none", VectorsOf(kinds, 5, rng, Shape.Fixed(Form.Mixed, 12)),
                "sparse and dense rows in one block, every item type, uncompressed", None);
            Emit("sparse-varying", VectorsOf(kinds, 8, rng, Shape.Varying(Form.Mixed, 9)),
                "sparse and dense rows of varying length, some empty, every item type");

            var type = new VectorDataViewType(NumberDataViewType.Single, 40730);
            var wide = new[]
            {
                Sparse(40730, new[] { 0, 1, 40729 }, 1f, -0f, float.NaN),
                Sparse(40730, new int[0], new float[0]),
                Sparse(40730, Enumerable.Range(0, 100).Select(i => i * 400).ToArray(),
                    Enumerable.Range(0, 100).Select(i => i / 8f).ToArray()),
            };
            Emit("sparse-wide", new Table(3, Column.Of("Features", type, wide)),
                "vectors 40,730 slots wide, 3, 0 and 100 stored");
            Table zeros = new Table(2, Column.Of("Features", new VectorDataViewType(NumberDataViewType.Double, 4),
                Repeat(Sparse(4, new int[0], new double[0]), 2)));
            Emit("sparse-nothing-stored", zeros, "sparse vectors without a single stored value", None);
        }

        private static Table VectorsOf(Kind[] kinds, int rows, Rng rng, Shape shape)
        {
            return new Table(rows, Every(kinds, kind => kind.Vectors(kind.Name, rows, rng, shape)));
        }

        private static Column[] Every(IEnumerable<Kind> kinds, Func<Kind, Column> column)
        {
            return kinds.Select(column).ToArray();
        }

        private static Table Texts(string name, params string[] texts)
        {
            return new Table(texts.Length, Column.Of(name, TextDataViewType.Instance, Values.Memory(texts)));
        }

        private static string Long(string piece, int units)
        {
            return string.Concat(Enumerable.Repeat(piece, units / piece.Length + 1));
        }

        private static T[] Repeat<T>(T value, int count)
        {
            return Enumerable.Repeat(value, count).ToArray();
        }

        private static VBuffer<T> Dense<T>(params T[] values)
        {
            return new VBuffer<T>(values.Length, values);
        }

        private static VBuffer<T> Sparse<T>(int length, int[] indices, params T[] values)
        {
            return new VBuffer<T>(length, values.Length, values, indices);
        }
    }
}
