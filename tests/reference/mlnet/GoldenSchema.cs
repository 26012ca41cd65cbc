using System;
using System.Collections.Generic;
using System.Linq;
using Microsoft.ML;
using Microsoft.ML.Data;

namespace Wharf.Reference
{
    internal sealed partial class Golden
    {
        private void Keys()
        {
            Table widest = new Table(
                4,
                Column.Of("Byte", new KeyDataViewType(typeof(byte), byte.MaxValue), new byte[] { 0, 1, 254, 255 }),
                Column.Of("UInt16", new KeyDataViewType(typeof(ushort), ushort.MaxValue),
                    new ushort[] { 0, 1, 256, 65535 }),
                Column.Of("UInt32", new KeyDataViewType(typeof(uint), uint.MaxValue),
                    new uint[] { 0, 1, 65536, uint.MaxValue }),
                Column.Of("UInt64", new KeyDataViewType(typeof(ulong), ulong.MaxValue),
                    new ulong[] { 0, 1, 1UL << 32, ulong.MaxValue }));
            Emit("key-widest", widest, "keys of all four widths with the largest count each allows, no KeyValues");

            Emit("key-values-text", KeysOf(3, Labels("red", "", "gr\u00fcn")),
                "keys of all four widths with KeyValues of text; row 0 is missing");
            Emit("key-values-single", KeysOf(3, Labels(0.5f, float.NaN, -3f)),
                "KeyValues of Single", None);
            Emit("key-values-int64", KeysOf(3, Labels(7L, -1L, long.MaxValue)),
                "KeyValues of Int64");
            Emit("key-values-sparse", KeysOf(3, SparseLabels()),
                "KeyValues as a sparse vector: the labels not stored are empty", None);

            Kind[] keys = Kind.Keys(3);
            var rng = new Rng(4);
            DataViewSchema.Annotations labels = Labels("x", "y", "z");
            IEnumerable<Column> fixedSize = Every(
                keys, k => k.Vectors(k.Name + "-fixed", 5, rng, Shape.Fixed(Form.Dense, 2), labels));
            IEnumerable<Column> varying = Every(
                keys, k => k.Vectors(k.Name + "-varying", 5, rng, Shape.Varying(Form.Mixed, 4), labels));
            Emit("key-vectors", new Table(5, fixedSize.Concat(varying).ToArray()),
                "vectors of keys, fixed and varying, with KeyValues");

            Table above = new Table(4, Column.Of("Key", new KeyDataViewType(typeof(uint), 3),
                new uint[] { 1, 4, 0, 4000000000 }, Labels("a", "b", "c")));
            Emit("key-above-count", above,
                "malformed data in a well-formed file: keys 4 and 4000000000 of a type with 3 values", None);
        }

        private void Annotations()
        {
            Kind[] kinds = Kind.All();
            var rng = new Rng(5);
            int most = kinds.Max(kind => kind.ExtremeCount);
            var scalars = new List<Column>();
            for (int i = 0; i < most; i++)
            {
                var builder = new DataViewSchema.Annotations.Builder();
                foreach (Kind kind in kinds.Where(kind => i < kind.ExtremeCount))
                {
                    kind.Annotate(builder, kind.Name, i);
                }
                scalars.Add(Column.Of("Column" + i, NumberDataViewType.Byte, new byte[] { (byte)i },
                    builder.ToAnnotations()));
            }
            Emit("annotation-scalars", new Table(1, scalars.ToArray()),
                "an annotation of every type and extreme value");

            var shapes = new Dictionary<string, Shape>
            {
                { "fixed", Shape.Fixed(Form.Dense, 3) }, { "sparse", Shape.Fixed(Form.Sparse, 9) },
                { "varying", Shape.Varying(Form.Mixed, 6) }, { "matrix", Shape.Fixed(Form.Dense, 2, 2) },
            };
            var vectors = new List<Column>();
            foreach (KeyValuePair<string, Shape> shape in shapes)
            {
                var builder = new DataViewSchema.Annotations.Builder();
                foreach (Kind kind in kinds)
                {
                    kind.AnnotateVector(builder, kind.Name, rng, shape.Value);
                }
                vectors.Add(Column.Of(shape.Key, NumberDataViewType.Byte, new byte[] { 1 }, builder.ToAnnotations()));
            }
            Emit("annotation-vectors", new Table(1, vectors.ToArray()),
                "annotations that are vectors of every item type");
            Emit("annotation-vectors-none", new Table(1, vectors.ToArray()), "the same in an uncompressed file", None);

            var both = new DataViewSchema.Annotations.Builder();
            AddVector(both, "Repetitive", TextDataViewType.Instance, Values.Memory(Repeat("slot", 300)));
            ulong[] noise = Enumerable.Range(0, 40).Select(_ => rng.Next()).ToArray();
            AddVector(both, "Noise", NumberDataViewType.UInt64, noise);
            both.Add("\u540d\u524d \ud83d\ude00", TextDataViewType.Instance, Getter("any kind name".AsMemory()));
            Column packed = Column.Of("Column", NumberDataViewType.Byte, new byte[] { 1 }, both.ToAnnotations());
            Emit("annotation-packing", new Table(1, packed),
                "one annotation stored with DEFLATE, one without, whichever is smaller; a non-ASCII kind");

            Column plain = Column.Of("Plain", NumberDataViewType.Byte, new byte[] { 1 });
            Column marked = Column.Of("Marked", NumberDataViewType.Byte, new byte[] { 2 }, Labels("only here"));
            Emit("annotation-some", new Table(1, plain, marked, plain),
                "columns with and without annotations side by side", None);
        }

        private void Names()
        {
            Emit("name-repeated", new Table(2, Byte("Same"), Byte("Other"), Byte("Same"), Byte("Same")),
                "three columns of one name: all are in the file, in order");
            Emit("name-unicode", new Table(2, Byte("\u0441\u0442\u043e\u043b\u0431\u0435\u0446"),
                    Byte("\ud83d\udea2 name, \"quoted\"\n"), Byte(" "), Byte("same"), Byte("Same"),
                    Byte(Long("long name ", 130)), Byte(Long("\u00fc", 130))),
                "names in other scripts, with quotes and line breaks, a blank, and longer than 127 bytes", None);
        }

        private void Blocks()
        {
            string[] names = { "Int32", "Text", "KeyByte" };
            Kind[] kinds = Kind.All().Where(kind => names.Contains(kind.Name)).ToArray();
            var rng = new Rng(6);
            var columns = new List<Column>(Every(kinds, k => k.Random(k.Name, 23, rng)));
            columns.Add(kinds[0].Vectors("Vector", 23, rng, Shape.Varying(Form.Mixed, 4)));
            Table small = new Table(23, columns.ToArray());
            foreach (int rows in new[] { 1, 7, 23, 24 })
            {
                Emit("block-rows-" + rows, small, "23 rows in blocks of at most " + rows,
                    new SaveOptions { RowsPerBlock = rows });
            }
            Emit("block-rows-7-none", small, "23 rows in blocks of 7, uncompressed",
                new SaveOptions { Compression = "None", RowsPerBlock = 7 });
            Emit("block-bytes-64", small, "the same cut by MaxBytesPerBlock = 64",
                new SaveOptions { BytesPerBlock = 64 });
            Emit("block-bytes-1", small, "the same with a limit below one row: a block still has one row",
                new SaveOptions { BytesPerBlock = 1 });

            // More rows than ML.NET puts in one block of its own accord.
            const int Many = 8200;
            Table many = new Table(Many, Column.Of("Thousand", NumberDataViewType.Byte,
                Enumerable.Range(0, Many).Select(i => (byte)(i / 1000)).ToArray()));
            Emit("block-default", many, "8,200 rows, nothing set: blocks of 8192 and of 8 rows");
            Emit("block-one", many, "8,200 rows in one block", new SaveOptions { RowsPerBlock = 100000 });
        }

        private void Empty()
        {
            Kind[] kinds = Kind.All();
            var rng = new Rng(7);
            Column[] every = Every(kinds, k => k.Extremes(k.Name, 0, Labels("kept")))
                .Concat(Every(kinds, k => k.Vectors(k.Name + "-fixed", 0, rng, Shape.Fixed(Form.Dense, 2))))
                .Concat(Every(kinds, k => k.Vectors(k.Name + "-varying", 0, rng, Shape.Varying(Form.Dense, 2))))
                .ToArray();
            Emit("empty-rows", new Table(0, every), "no rows, one column of every type, with annotations");
            Emit("empty-rows-none", new Table(0, Byte("Only")), "no rows, one column, uncompressed", None);
            Emit("empty-columns", new Table(0), "no columns, no rows");
            Emit("empty-columns-rows", new Table(5), "no columns, five rows");
        }

        private static Table KeysOf(int count, DataViewSchema.Annotations labels)
        {
            return new Table(4, Every(Kind.Keys(count), kind => kind.Extremes(kind.Name, 4, labels)));
        }

        private static Column Byte(string name)
        {
            return Column.Of(name, NumberDataViewType.Byte, new[] { (byte)name.Length, (byte)1 });
        }

        private static DataViewSchema.Annotations Labels(params string[] labels)
        {
            return Labels(TextDataViewType.Instance, Dense(Values.Memory(labels)));
        }

        private static DataViewSchema.Annotations Labels(params float[] labels)
        {
            return Labels(NumberDataViewType.Single, Dense(labels));
        }

        private static DataViewSchema.Annotations Labels(params long[] labels)
        {
            return Labels(NumberDataViewType.Int64, Dense(labels));
        }

        private static DataViewSchema.Annotations SparseLabels()
        {
            return Labels(TextDataViewType.Instance, Sparse(3, new[] { 1 }, Values.Memory("middle")));
        }

        private static DataViewSchema.Annotations Labels<T>(PrimitiveDataViewType type, VBuffer<T> labels)
        {
            var builder = new DataViewSchema.Annotations.Builder();
            builder.Add<VBuffer<T>>("KeyValues", new VectorDataViewType(type, labels.Length),
                (ref VBuffer<T> value) => labels.CopyTo(ref value));
            return builder.ToAnnotations();
        }

        private static void AddVector<T>(
            DataViewSchema.Annotations.Builder to, string kind, PrimitiveDataViewType type, T[] values)
        {
            VBuffer<T> vector = Dense(values);
            to.Add<VBuffer<T>>(kind, new VectorDataViewType(type, values.Length),
                (ref VBuffer<T> value) => vector.CopyTo(ref value));
        }

        private static ValueGetter<T> Getter<T>(T constant)
        {
            return (ref T value) => value = constant;
        }
    }
}
