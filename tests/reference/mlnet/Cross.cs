using System;
using System.Collections.Generic;
using System.IO;
using System.Linq;
using System.Text.Json;
using Microsoft.ML;
using Microsoft.ML.Data;

namespace Wharf.Reference
{
    /// <summary>
    /// The tables of tests/golden/cross: read as JSON, which the script cross_golden.py writes, with a kind for each column and its values.
    /// </summary>
    internal sealed class Cross
    {
        private static readonly DateTime Epoch = new DateTime(1970, 1, 1);

        private readonly MLContext ml;
        private readonly string folder;

        public Cross(MLContext ml, string folder)
        {
            this.ml = ml;
            this.folder = folder;
        }

        /// <summary>`NAME.idv` for each `NAME.json` of a folder, and its dump. Not compressed: the bytes are the same wherever it runs.</summary>
        public void WriteAll(string tables)
        {
            foreach (string path in Directory.GetFiles(tables, "*.json").OrderBy(path => path, StringComparer.Ordinal))
            {
                using (JsonDocument document = JsonDocument.Parse(File.ReadAllText(path), new JsonDocumentOptions()))
                {
                    JsonElement root = document.RootElement;
                    Column[] columns = root.GetProperty("columns").EnumerateArray().Select(Read).ToArray();
                    var table = new Table(root.GetProperty("rows").GetInt64(), columns);
                    var options = new SaveOptions { Compression = "None" };
                    Saver.SaveWithDump(ml, table, folder, Path.GetFileNameWithoutExtension(path), options);
                }
            }
        }

        private static Column Read(JsonElement column)
        {
            string name = column.GetProperty("name").GetString();
            string kind = column.GetProperty("kind").GetString();
            JsonElement[] values = column.GetProperty("values").EnumerateArray().ToArray();
            if (kind == "labels")
            {
                return Labels(name, values);
            }
            int bracket = kind.IndexOf('<');
            if (bracket < 0)
            {
                return Plain(name, kind, values);
            }
            string[] parts = kind.Substring(bracket + 1, kind.Length - bracket - 2).Split(',');
            int[] dimensions = parts.Skip(1).Select(int.Parse).ToArray();
            return Vectors(name, parts[0], dimensions.Length == 0 ? new[] { 0 } : dimensions, values);
        }

        private static Column Plain(string name, string kind, JsonElement[] values)
        {
            switch (kind)
            {
                case "bool":
                    return Of(name, BooleanDataViewType.Instance, values, Bool);
                case "i8":
                    return Of(name, NumberDataViewType.SByte, values, I8);
                case "i16":
                    return Of(name, NumberDataViewType.Int16, values, I16);
                case "i32":
                    return Of(name, NumberDataViewType.Int32, values, I32);
                case "i64":
                    return Of(name, NumberDataViewType.Int64, values, I64);
                case "u8":
                    return Of(name, NumberDataViewType.Byte, values, U8);
                case "u16":
                    return Of(name, NumberDataViewType.UInt16, values, U16);
                case "u32":
                    return Of(name, NumberDataViewType.UInt32, values, U32);
                case "u64":
                    return Of(name, NumberDataViewType.UInt64, values, U64);
                case "f32":
                    return Of(name, NumberDataViewType.Single, values, F32);
                case "f64":
                    return Of(name, NumberDataViewType.Double, values, F64);
                case "text":
                    return Of(name, TextDataViewType.Instance, values, Text);
                case "timestamp":
                    return Of(name, DateTimeDataViewType.Instance, values, Time);
                case "duration":
                    return Of(name, TimeSpanDataViewType.Instance, values, Span);
                default:
                    throw new UsageException("no column of kind " + kind);
            }
        }

        private static Column Vectors(string name, string kind, int[] dimensions, JsonElement[] values)
        {
            switch (kind)
            {
                case "i16":
                    return Of(name, NumberDataViewType.Int16, dimensions, values, I16);
                case "i32":
                    return Of(name, NumberDataViewType.Int32, dimensions, values, I32);
                case "u8":
                    return Of(name, NumberDataViewType.Byte, dimensions, values, U8);
                case "f32":
                    return Of(name, NumberDataViewType.Single, dimensions, values, F32);
                case "f64":
                    return Of(name, NumberDataViewType.Double, dimensions, values, F64);
                case "text":
                    return Of(name, TextDataViewType.Instance, dimensions, values, Text);
                default:
                    throw new UsageException("no vector of kind " + kind);
            }
        }

        /// <summary>Keys with labels, in the order in which they come first. A null is the missing key.</summary>
        private static Column Labels(string name, JsonElement[] values)
        {
            var places = new Dictionary<string, uint>();
            var labels = new List<string>();
            var keys = new uint[values.Length];
            for (int row = 0; row < values.Length; row++)
            {
                if (values[row].ValueKind == JsonValueKind.Null)
                {
                    continue;
                }
                string label = values[row].GetString();
                if (!places.TryGetValue(label, out uint place))
                {
                    labels.Add(label);
                    place = (uint)labels.Count;
                    places[label] = place;
                }
                keys[row] = place;
            }
            // A key has one label at least: of a table without rows that is an empty one.
            if (labels.Count == 0)
            {
                labels.Add("");
            }
            ReadOnlyMemory<char>[] memory = Values.Memory(labels.ToArray());
            var builder = new DataViewSchema.Annotations.Builder();
            ValueGetter<VBuffer<ReadOnlyMemory<char>>> getter =
                (ref VBuffer<ReadOnlyMemory<char>> to) => to = new VBuffer<ReadOnlyMemory<char>>(memory.Length, memory);
            builder.Add("KeyValues", new VectorDataViewType(TextDataViewType.Instance, memory.Length), getter);
            return Column.Of(name, new KeyDataViewType(typeof(uint), labels.Count), keys, builder.ToAnnotations());
        }

        private static Column Of<T>(string name, DataViewType type, JsonElement[] values, Func<JsonElement, T> value)
        {
            return Column.Of(name, type, values.Select(value).ToArray());
        }

        private static Column Of<T>(
            string name, PrimitiveDataViewType item, int[] dimensions, JsonElement[] values, Func<JsonElement, T> value)
        {
            var vectors = new VBuffer<T>[values.Length];
            for (int row = 0; row < values.Length; row++)
            {
                T[] items = values[row].EnumerateArray().Select(value).ToArray();
                vectors[row] = new VBuffer<T>(items.Length, items);
            }
            return Column.Of(name, new VectorDataViewType(item, dimensions), vectors);
        }

        private static bool Bool(JsonElement value)
        {
            return value.GetBoolean();
        }

        private static sbyte I8(JsonElement value)
        {
            return checked((sbyte)value.GetInt64());
        }

        private static short I16(JsonElement value)
        {
            return checked((short)value.GetInt64());
        }

        private static int I32(JsonElement value)
        {
            return value.GetInt32();
        }

        private static long I64(JsonElement value)
        {
            return value.GetInt64();
        }

        private static byte U8(JsonElement value)
        {
            return checked((byte)value.GetInt64());
        }

        private static ushort U16(JsonElement value)
        {
            return checked((ushort)value.GetInt64());
        }

        private static uint U32(JsonElement value)
        {
            return value.GetUInt32();
        }

        private static ulong U64(JsonElement value)
        {
            return value.GetUInt64();
        }

        /// <summary>Floats are told by their bits.</summary>
        private static float F32(JsonElement value)
        {
            return BitConverter.Int32BitsToSingle(Convert.ToInt32(value.GetString().Substring(2), 16));
        }

        private static double F64(JsonElement value)
        {
            return BitConverter.Int64BitsToDouble(Convert.ToInt64(value.GetString().Substring(2), 16));
        }

        private static ReadOnlyMemory<char> Text(JsonElement value)
        {
            return value.GetString().AsMemory();
        }

        /// <summary>Microseconds since 1970.</summary>
        private static DateTime Time(JsonElement value)
        {
            return Epoch.AddTicks(checked(value.GetInt64() * 10));
        }

        private static TimeSpan Span(JsonElement value)
        {
            return new TimeSpan(checked(value.GetInt64() * 10));
        }
    }
}
