using System;
using System.Linq;
using System.Text;
using Microsoft.ML.Data;

namespace Wharf.Reference
{
    /// <summary>The values at the edges of every type, and random ones in between.</summary>
    internal static class Values
    {
        public static readonly sbyte[] SBytes = { 0, 1, -1, sbyte.MaxValue, sbyte.MinValue };
        public static readonly byte[] Bytes = { 0, 1, 127, 128, byte.MaxValue };
        public static readonly short[] Int16s = { 0, 1, -1, short.MaxValue, short.MinValue };
        public static readonly ushort[] UInt16s = { 0, 1, 0x7fff, 0x8000, ushort.MaxValue };
        public static readonly int[] Int32s = { 0, 1, -1, int.MaxValue, int.MinValue };
        public static readonly uint[] UInt32s = { 0, 1, 0x7fffffff, 0x80000000, uint.MaxValue };
        public static readonly long[] Int64s = { 0, 1, -1, 1L << 53, (1L << 53) + 1, long.MaxValue, long.MinValue };
        public static readonly ulong[] UInt64s = { 0, 1, (1UL << 53) + 1, 1UL << 63, ulong.MaxValue };
        public static readonly bool[] Booleans = { true, false, false, true, true };

        /// <summary>
        /// Zeros, the smallest and largest of both signs and of both normal and subnormal numbers, infinities, the NaN
        /// .NET makes, and quiet NaNs with sign and payload.
        /// </summary>
        public static readonly float[] Singles =
        {
            0f, Single(0x80000000), 1f, -1.5f, 0.1f, 16777217f, float.Epsilon, -float.Epsilon, Single(0x00800000),
            float.MaxValue, float.MinValue, float.PositiveInfinity, float.NegativeInfinity,
            float.NaN, Single(0x7fc00000), Single(0x7fc12345), Single(0xffffffff),
        };

        public static readonly double[] Doubles =
        {
            0d, Double(0x8000000000000000), 1d, -1.5d, 0.1d, 9007199254740993d, double.Epsilon, -double.Epsilon,
            Double(0x0010000000000000), double.MaxValue, double.MinValue, double.PositiveInfinity,
            double.NegativeInfinity, double.NaN, Double(0x7ff8000000000000), Double(0x7ff8000012345678),
            Double(0xffffffffffffffff),
        };

        /// <summary>
        /// Empty text, what JSON and CSV must quote, every length of UTF-8 sequence, text outside the first Unicode
        /// plane, text whose characters combine, and text that begins with a byte order mark.
        /// </summary>
        public static readonly ReadOnlyMemory<char>[] Texts = Memory(
            "", "a", "plain words", "say \"no\", then; leave\\", "tab\tand\nline\r\nend", "\0\u0001\u001f\u007f",
            "\u00e9\u00df\u0100", "\u4e2d\u6587", "\ud83d\ude00", "e\u0301 \ud83d\udc69\u200d\ud83d\udd2c", "\ufffd",
            "\ufeffbom", " ", "\ud800\udc00\udbff\udfff\uffff", "NaN", "null");

        /// <summary>
        /// Without the least span of all: ML.NET writes it, but reads it back as zero (golden `scalar-least-span`).
        /// </summary>
        public static readonly TimeSpan[] Spans =
        {
            TimeSpan.Zero, new TimeSpan(1), new TimeSpan(-1), TimeSpan.FromHours(25), TimeSpan.FromSeconds(12.3456789),
            TimeSpan.MaxValue, new TimeSpan(long.MinValue + 1),
        };

        public static readonly DateTime[] Dates =
        {
            DateTime.MinValue, new DateTime(1), new DateTime(1600, 2, 29), new DateTime(1969, 12, 31, 23, 59, 59, 999),
            new DateTime(1970, 1, 1), new DateTime(2020, 1, 1, 1, 0, 0).AddTicks(1),
            new DateTime(2024, 2, 29, 12, 30, 0, DateTimeKind.Utc), DateTime.MaxValue,
        };

        public static readonly DateTimeOffset[] ZonedDates =
        {
            DateTimeOffset.MinValue, DateTimeOffset.MaxValue,
            Zoned(new DateTime(2020, 1, 1, 1, 0, 0).AddTicks(1), 0), Zoned(new DateTime(2020, 1, 1, 1, 0, 0), 30),
            Zoned(new DateTime(2020, 1, 1, 1, 0, 0), -1), Zoned(new DateTime(2020, 1, 1, 1, 0, 0), 14 * 60),
            Zoned(new DateTime(2020, 1, 1, 1, 0, 0), -14 * 60), Zoned(new DateTime(1969, 7, 20, 20, 17, 40), -5 * 60),
            // Local clocks whose UTC time is the very first or the very last one.
            Zoned(DateTime.MinValue.AddMinutes(14 * 60), 14 * 60),
            Zoned(DateTime.MaxValue.AddMinutes(-14 * 60), -14 * 60),
        };

        public static readonly DataViewRowId[] RowIds =
        {
            new DataViewRowId(0, 0), new DataViewRowId(1, 0), new DataViewRowId(0, 1),
            new DataViewRowId(0x0123456789abcdef, 0xfedcba9876543210),
            new DataViewRowId(ulong.MaxValue, 0), new DataViewRowId(ulong.MaxValue, ulong.MaxValue),
        };

        // Characters of one to four UTF-8 bytes; the first fifteen are ASCII.
        private static readonly string[] Letters =
        {
            "a", "b", "c", "d", "e", "o", "s", "t", "0", "7", " ", " ", "-", "\"", ",", "\u00e4", "\u00f1", "\u03c0",
            "\u0416", "\u05d0", "\u20ac", "\u65e5", "\u672c", "\uac00", "\ud83d\ude80", "\ud834\udd1e",
        };

        public static float Single(uint bits)
        {
            // A signalling NaN may turn quiet on its way through a register: it is made quiet here.
            bool signalling = (bits & 0x7f800000) == 0x7f800000 && (bits & 0x007fffff) != 0;
            return BitConverter.Int32BitsToSingle((int)(signalling ? bits | 0x00400000 : bits));
        }

        public static double Double(ulong bits)
        {
            bool signalling = (bits & 0x7ff0000000000000) == 0x7ff0000000000000 && (bits & 0x000fffffffffffff) != 0;
            return BitConverter.Int64BitsToDouble((long)(signalling ? bits | 0x0008000000000000 : bits));
        }

        /// <summary>
        /// Letters of mixed scripts, often plain ASCII, now and then long, and never half a surrogate pair.
        /// </summary>
        public static ReadOnlyMemory<char> Text(Rng rng)
        {
            int length = rng.OneIn(20) ? rng.Below(120) : rng.Below(12);
            int alphabet = rng.OneIn(2) ? 15 : Letters.Length;
            var text = new StringBuilder();
            for (int i = 0; i < length; i++)
            {
                text.Append(Letters[rng.Below(alphabet)]);
            }
            return text.ToString().AsMemory();
        }

        public static DateTime Date(Rng rng)
        {
            return new DateTime((long)(rng.Next() % (ulong)(DateTime.MaxValue.Ticks + 1)));
        }

        public static DateTimeOffset ZonedDate(Rng rng)
        {
            // A day away from both ends, no offset can push the time out of what .NET allows.
            var span = (ulong)(DateTime.MaxValue.Ticks - 2 * TimeSpan.TicksPerDay);
            long local = TimeSpan.TicksPerDay + (long)(rng.Next() % span);
            return Zoned(new DateTime(local), rng.Between(-14 * 60, 14 * 60));
        }

        public static ReadOnlyMemory<char>[] Memory(params string[] texts)
        {
            return texts.Select(text => text.AsMemory()).ToArray();
        }

        private static DateTimeOffset Zoned(DateTime local, int minutes)
        {
            DateTime plain = DateTime.SpecifyKind(local, DateTimeKind.Unspecified);
            return new DateTimeOffset(plain, TimeSpan.FromMinutes(minutes));
        }
    }
}
