using System;
using System.Collections.Generic;
using System.Linq;
using Microsoft.ML;
using Microsoft.ML.Data;

namespace Wharf.Reference
{
    /// <summary>How the vectors of a column are to be stored.</summary>
    internal enum Form
    {
        Dense,
        Sparse,
        Mixed,
    }

    /// <summary>The shape of a vector column.</summary>
    internal sealed class Shape
    {
        /// <summary>Dimensions as the type has them; a 0 among them means that lengths vary.</summary>
        public readonly int[] Dimensions;
        public readonly Form Form;

        /// <summary>The longest vector where lengths vary.</summary>
        public readonly int Longest;

        public Shape(Form form, int longest, params int[] dimensions)
        {
            Form = form;
            Longest = longest;
            Dimensions = dimensions;
        }

        public static Shape Fixed(Form form, params int[] dimensions)
        {
            return new Shape(form, 0, dimensions);
        }

        public static Shape Varying(Form form, int longest)
        {
            return new Shape(form, longest, 0);
        }

        public int Length(Rng rng)
        {
            if (Dimensions.All(d => d > 0))
            {
                return Dimensions.Aggregate(1, (product, d) => product * d);
            }
            // Where some dimensions are known, lengths are multiples of their product.
            int step = Dimensions.Where(d => d > 0).Aggregate(1, (product, d) => product * d);
            return rng.OneIn(4) ? 0 : step * rng.Between(0, Math.Max(1, Longest / step));
        }
    }

    /// <summary>A kind of single value, with its extremes and a source of random ones.</summary>
    internal abstract class Kind
    {
        public readonly string Name;
        public readonly PrimitiveDataViewType Type;

        protected Kind(string name, PrimitiveDataViewType type)
        {
            Name = name;
            Type = type;
        }

        public abstract int ExtremeCount { get; }

        /// <summary>A column of `rows` values: the extremes one after another, and again from the first.</summary>
        public abstract Column Extremes(string name, int rows, DataViewSchema.Annotations annotations = null);

        public abstract Column Random(string name, int rows, Rng rng, DataViewSchema.Annotations annotations = null);

        public abstract Column Vectors(
            string name, int rows, Rng rng, Shape shape, DataViewSchema.Annotations annotations = null);

        /// <summary>Adds an annotation that holds extreme number `index`.</summary>
        public abstract void Annotate(DataViewSchema.Annotations.Builder to, string kind, int index);

        public abstract void AnnotateVector(DataViewSchema.Annotations.Builder to, string kind, Rng rng, Shape shape);

        public static Kind[] All()
        {
            return Scalars().Concat(Keys(5)).ToArray();
        }

        /// <summary>Every kind but keys.</summary>
        public static Kind[] Scalars()
        {
            return new Kind[]
            {
                new Kind<sbyte>("SByte", NumberDataViewType.SByte, Values.SBytes, r => (sbyte)r.Next()),
                new Kind<byte>("Byte", NumberDataViewType.Byte, Values.Bytes, r => (byte)r.Next()),
                new Kind<short>("Int16", NumberDataViewType.Int16, Values.Int16s, r => (short)r.Next()),
                new Kind<ushort>("UInt16", NumberDataViewType.UInt16, Values.UInt16s, r => (ushort)r.Next()),
                new Kind<int>("Int32", NumberDataViewType.Int32, Values.Int32s, r => (int)r.Next()),
                new Kind<uint>("UInt32", NumberDataViewType.UInt32, Values.UInt32s, r => (uint)r.Next()),
                new Kind<long>("Int64", NumberDataViewType.Int64, Values.Int64s, r => (long)r.Next()),
                new Kind<ulong>("UInt64", NumberDataViewType.UInt64, Values.UInt64s, r => r.Next()),
                new Kind<float>("Single", NumberDataViewType.Single, Values.Singles,
                    r => Values.Single((uint)r.Next())),
                new Kind<double>("Double", NumberDataViewType.Double, Values.Doubles, r => Values.Double(r.Next())),
                new Kind<bool>("Boolean", BooleanDataViewType.Instance, Values.Booleans, r => r.OneIn(2)),
                new Kind<ReadOnlyMemory<char>>("Text", TextDataViewType.Instance, Values.Texts, Values.Text),
                new Kind<TimeSpan>("TimeSpan", TimeSpanDataViewType.Instance, Values.Spans,
                    r => new TimeSpan((long)r.Next())),
                new Kind<DateTime>("DateTime", DateTimeDataViewType.Instance, Values.Dates, Values.Date),
                new Kind<DateTimeOffset>(
                    "DateTimeOffset", DateTimeOffsetDataViewType.Instance, Values.ZonedDates, Values.ZonedDate),
                new Kind<DataViewRowId>(
                    "RowId", RowIdDataViewType.Instance, Values.RowIds, r => new DataViewRowId(r.Next(), r.Next())),
            };
        }

        /// <summary>Keys of all four widths with `count` values each; their first extreme is the missing key.</summary>
        public static Kind[] Keys(int count)
        {
            return new Kind[]
            {
                new Kind<byte>("KeyByte", new KeyDataViewType(typeof(byte), count),
                    new byte[] { 0, 1, (byte)count }, r => (byte)r.Between(0, count)),
                new Kind<ushort>("KeyUInt16", new KeyDataViewType(typeof(ushort), count),
                    new ushort[] { 0, 1, (ushort)count }, r => (ushort)r.Between(0, count)),
                new Kind<uint>("KeyUInt32", new KeyDataViewType(typeof(uint), count),
                    new uint[] { 0, 1, (uint)count }, r => (uint)r.Between(0, count)),
                new Kind<ulong>("KeyUInt64", new KeyDataViewType(typeof(ulong), count),
                    new ulong[] { 0, 1, (ulong)count }, r => (ulong)r.Between(0, count)),
            };
        }
    }

    internal sealed class Kind<T> : Kind
    {
        private readonly T[] extremes;
        private readonly Func<Rng, T> random;

        public Kind(string name, PrimitiveDataViewType type, T[] extremes, Func<Rng, T> random)
            : base(name, type)
        {
            this.extremes = extremes;
            this.random = random;
        }

        public override int ExtremeCount
        {
            get { return extremes.Length; }
        }

        public override Column Extremes(string name, int rows, DataViewSchema.Annotations annotations)
        {
            T[] values = Enumerable.Range(0, rows).Select(i => extremes[i % extremes.Length]).ToArray();
            return Column.Of(name, Type, values, annotations);
        }

        public override Column Random(string name, int rows, Rng rng, DataViewSchema.Annotations annotations)
        {
            return Column.Of(name, Type, Several(rows, rng), annotations);
        }

        public override Column Vectors(
            string name, int rows, Rng rng, Shape shape, DataViewSchema.Annotations annotations)
        {
            var values = new VBuffer<T>[rows];
            for (int i = 0; i < rows; i++)
            {
                values[i] = Vector(rng, shape);
            }
            return Column.Of(name, new VectorDataViewType(Type, shape.Dimensions), values, annotations);
        }

        public override void Annotate(DataViewSchema.Annotations.Builder to, string kind, int index)
        {
            to.Add<T>(kind, Type, (ref T value) => value = extremes[index % extremes.Length]);
        }

        public override void AnnotateVector(
            DataViewSchema.Annotations.Builder to, string kind, Rng rng, Shape shape)
        {
            VBuffer<T> vector = Vector(rng, shape);
            var type = new VectorDataViewType(Type, shape.Dimensions);
            to.Add<VBuffer<T>>(kind, type, (ref VBuffer<T> value) => vector.CopyTo(ref value));
        }

        private T[] Several(int count, Rng rng)
        {
            var values = new T[count];
            for (int i = 0; i < count; i++)
            {
                values[i] = rng.OneIn(3) ? rng.Pick(extremes) : random(rng);
            }
            return values;
        }

        private VBuffer<T> Vector(Rng rng, Shape shape)
        {
            int length = shape.Length(rng);
            bool sparse = shape.Form == Form.Sparse || (shape.Form == Form.Mixed && rng.OneIn(2));
            if (!sparse || length == 0)
            {
                return new VBuffer<T>(length, Several(length, rng));
            }
            int[] indices = Indices(rng, length);
            return new VBuffer<T>(length, indices.Length, Several(indices.Length, rng), indices);
        }

        /// <summary>Rising slot numbers below `length`, fewer than `length`, often few and sometimes none.</summary>
        private static int[] Indices(Rng rng, int length)
        {
            int count = rng.OneIn(4) ? rng.Below(length) : Math.Min(length - 1, rng.Below(6));
            var chosen = new SortedSet<int>();
            while (chosen.Count < count)
            {
                chosen.Add(rng.Below(length));
            }
            return chosen.ToArray();
        }
    }
}
