using System;
using System.Globalization;
using System.Text;

namespace Wharf.Reference
{
    /// <summary>Appends JSON in plain ASCII to a string builder.</summary>
    internal static class Json
    {
        /// <summary>
        /// A JSON string. Everything outside printable ASCII is escaped by UTF-16 code unit. Half a surrogate pair has
        /// no JSON form every parser takes, so it is shown as U+FFFD, which is also what UTF-8 makes of it.
        /// </summary>
        public static void Text(StringBuilder to, ReadOnlySpan<char> text)
        {
            to.Append('"');
            for (int i = 0; i < text.Length; i++)
            {
                char unit = text[i];
                if (char.IsHighSurrogate(unit) && i + 1 < text.Length && char.IsLowSurrogate(text[i + 1]))
                {
                    Escape(to, unit);
                    Escape(to, text[++i]);
                }
                else if (char.IsSurrogate(unit))
                {
                    Escape(to, '\ufffd');
                }
                else if (unit == '"' || unit == '\\')
                {
                    to.Append('\\').Append(unit);
                }
                else if (unit < ' ' || unit > '~')
                {
                    Escape(to, unit);
                }
                else
                {
                    to.Append(unit);
                }
            }
            to.Append('"');
        }

        public static void Text(StringBuilder to, string text)
        {
            Text(to, text.AsSpan());
        }

        public static void Bits(StringBuilder to, float value)
        {
            to.Append("\"0x").Append(BitConverter.SingleToInt32Bits(value).ToString("x8")).Append('"');
        }

        public static void Bits(StringBuilder to, double value)
        {
            to.Append("\"0x").Append(BitConverter.DoubleToInt64Bits(value).ToString("x16")).Append('"');
        }

        /// <summary>A number of seconds, to the microsecond.</summary>
        public static void Seconds(StringBuilder to, double seconds)
        {
            to.Append(seconds.ToString("0.000000", CultureInfo.InvariantCulture));
        }

        private static void Escape(StringBuilder to, char unit)
        {
            to.Append("\\u").Append(((int)unit).ToString("x4"));
        }
    }
}
