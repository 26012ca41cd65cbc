using System;
using System.Collections.Generic;
using System.Reflection;
using Microsoft.ML;
using Microsoft.ML.Data;

namespace Wharf.Reference
{
    /// <summary>
    /// What a value adds to a benchmark's checksum, modulo 2^64: an integer or key itself, a truth value 1 or 0, a
    /// float
    /// its bits, a time its ticks (with an offset: and the offset's minutes), a row id both halves, a text its UTF-16
    /// units and their number, a vector its length and its stored values.
    /// </summary>
    internal static class Folds
    {
        private static readonly Dictionary<Type, Delegate> Items = new Dictionary<Type, Delegate>
        {
            { typeof(sbyte), (Func<sbyte, ulong>)(v => unchecked((ulong)v)) },
            { typeof(byte), (Func<byte, ulong>)(v => v) },
            { typeof(short), (Func<short, ulong>)(v => unchecked((ulong)v)) },
            { typeof(ushort), (Func<ushort, ulong>)(v => v) },
            { typeof(int), (Func<int, ulong>)(v => unchecked((ulong)v)) },
            { typeof(uint), (Func<uint, ulong>)(v => v) },
            { typeof(long), (Func<long, ulong>)(v => unchecked((ulong)v)) },
            { typeof(ulong), (Func<ulong, ulong>)(v => v) },
            { typeof(float), (Func<float, ulong>)Single },
            { typeof(double), (Func<double, ulong>)(v => unchecked((ulong)BitConverter.DoubleToInt64Bits(v))) },
            { typeof(bool), (Func<bool, ulong>)(v => v ? 1UL : 0UL) },
            { typeof(TimeSpan), (Func<TimeSpan, ulong>)(v => unchecked((ulong)v.Ticks)) },
            { typeof(DateTime), (Func<DateTime, ulong>)(v => unchecked((ulong)v.Ticks)) },
            { typeof(DateTimeOffset), (Func<DateTimeOffset, ulong>)Zoned },
            { typeof(DataViewRowId), (Func<DataViewRowId, ulong>)(v => unchecked(v.Low + v.High)) },
            { typeof(ReadOnlyMemory<char>), (Func<ReadOnlyMemory<char>, ulong>)Text },
        };

        /// <summary>A function that fetches the column's value in the cursor's present row and folds it.</summary>
        public static Func<ulong> Of(DataViewRowCursor cursor, DataViewSchema.Column column)
        {
            Type type = column.Type.RawType;
            if (type == typeof(VBuffer<float>))
            {
                return Floats(cursor, column);
            }
            bool vector = type.IsGenericType && type.GetGenericTypeDefinition() == typeof(VBuffer<>);
            MethodInfo fold = typeof(Folds).GetMethod(
                vector ? "Vector" : "Item", BindingFlags.NonPublic | BindingFlags.Static);
            Type item = vector ? type.GetGenericArguments()[0] : type;
            return (Func<ulong>)fold.MakeGenericMethod(item).Invoke(null, new object[] { cursor, column });
        }

        private static Func<ulong> Item<T>(DataViewRowCursor cursor, DataViewSchema.Column column)
        {
            ValueGetter<T> getter = cursor.GetGetter<T>(column);
            var fold = (Func<T, ulong>)Items[typeof(T)];
            T value = default(T);
            return () =>
            {
                getter(ref value);
                return fold(value);
            };
        }

        private static Func<ulong> Vector<T>(DataViewRowCursor cursor, DataViewSchema.Column column)
        {
            ValueGetter<VBuffer<T>> getter = cursor.GetGetter<VBuffer<T>>(column);
            var fold = (Func<T, ulong>)Items[typeof(T)];
            VBuffer<T> vector = default(VBuffer<T>);
            return () =>
            {
                getter(ref vector);
                ReadOnlySpan<T> values = vector.GetValues();
                ulong sum = (ulong)vector.Length;
                for (int i = 0; i < values.Length; i++)
                {
                    sum = unchecked(sum + fold(values[i]));
                }
                return sum;
            };
        }

        /// <summary>The same for the item type of the benchmark's wide column, without a call for every
        /// value.</summary>
        private static Func<ulong> Floats(DataViewRowCursor cursor, DataViewSchema.Column column)
        {
            ValueGetter<VBuffer<float>> getter = cursor.GetGetter<VBuffer<float>>(column);
            VBuffer<float> vector = default(VBuffer<float>);
            return () =>
            {
                getter(ref vector);
                ReadOnlySpan<float> values = vector.GetValues();
                ulong sum = (ulong)vector.Length;
                for (int i = 0; i < values.Length; i++)
                {
                    sum = unchecked(sum + Single(values[i]));
                }
                return sum;
            };
        }

        private static ulong Single(float value)
        {
            return unchecked((uint)BitConverter.SingleToInt32Bits(value));
        }

        private static ulong Zoned(DateTimeOffset value)
        {
            return unchecked((ulong)(value.DateTime.Ticks + value.Offset.Ticks / TimeSpan.TicksPerMinute));
        }

        private static ulong Text(ReadOnlyMemory<char> value)
        {
            ReadOnlySpan<char> units = value.Span;
            ulong sum = (ulong)units.Length;
            for (int i = 0; i < units.Length; i++)
            {
                sum += units[i];
            }
            return sum;
        }
    }
}
