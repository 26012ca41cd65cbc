using System;
using System.Collections.Generic;
using System.IO;
using System.Reflection;
using System.Text;
using Microsoft.ML;
using Microsoft.ML.Data;

namespace Wharf.Reference
{
    /// <summary>Appends one value in the canonical form of the dump.</summary>
    internal delegate void Format<T>(StringBuilder to, T value);

    /// <summary>
    /// The canonical dump: what ML.NET itself sees in a file, as JSON lines. The form is described in README.md beside
    /// this source.
    /// </summary>
    internal static class Dump
    {
        /// <summary>Dumps the file at `path` to `output`; returns the number of rows.</summary>
        public static long File(MLContext ml, string path, TextWriter output)
        {
            IDataView view = ml.Data.LoadFromBinary(path);
            using (view as IDisposable)
            {
                return View(view, output);
            }
        }

        public static long View(IDataView view, TextWriter output)
        {
            long? count = view.GetRowCount();
            if (count == null)
            {
                throw new InvalidOperationException("a loaded binary file knows its number of rows");
            }
            var line = new StringBuilder();
            Header(line, view.Schema, count.Value);
            Line(output, line);

            long rows = 0;
            using (DataViewRowCursor cursor = view.GetRowCursor(view.Schema))
            {
                var cells = new List<Cell>();
                foreach (DataViewSchema.Column column in view.Schema)
                {
                    cells.Add(Cell.Create(cursor, column));
                }
                while (cursor.MoveNext())
                {
                    line.Append('[');
                    for (int i = 0; i < cells.Count; i++)
                    {
                        if (i > 0)
                        {
                            line.Append(',');
                        }
                        cells[i].Append(line);
                    }
                    line.Append(']');
                    Line(output, line);
                    rows++;
                }
            }
            if (rows != count.Value)
            {
                throw new InvalidOperationException("the cursor gave " + rows + " rows, the file says " + count.Value);
            }
            return rows;
        }

        private static void Line(TextWriter output, StringBuilder line)
        {
            output.Write(line);
            output.Write('\n');
            line.Clear();
        }

        private static void Header(StringBuilder to, DataViewSchema schema, long rows)
        {
            to.Append("{\"rows\":").Append(rows).Append(",\"columns\":[");
            for (int i = 0; i < schema.Count; i++)
            {
                DataViewSchema.Column column = schema[i];
                to.Append(i > 0 ? ",{\"name\":" : "{\"name\":");
                Json.Text(to, column.Name);
                to.Append(",\"type\":");
                Json.Text(to, TypeName(column.Type));
                to.Append(",\"annotations\":{");
                for (int j = 0; j < column.Annotations.Schema.Count; j++)
                {
                    DataViewSchema.Column annotation = column.Annotations.Schema[j];
                    if (j > 0)
                    {
                        to.Append(',');
                    }
                    Json.Text(to, annotation.Name);
                    to.Append(":{\"type\":");
                    Json.Text(to, TypeName(annotation.Type));
                    to.Append(",\"value\":");
                    Cell.Create(column.Annotations, annotation).Append(to);
                    to.Append('}');
                }
                to.Append("}}");
            }
            to.Append("]}");
        }

        public static string TypeName(DataViewType type)
        {
            var vector = type as VectorDataViewType;
            if (vector != null)
            {
                return "Vector<" + TypeName(vector.ItemType) + "," + string.Join(",", vector.Dimensions) + ">";
            }
            var key = type as KeyDataViewType;
            if (key != null)
            {
                return "Key<" + key.RawType.Name + "," + key.Count + ">";
            }
            if (type is TextDataViewType)
            {
                return "Text";
            }
            if (type is RowIdDataViewType)
            {
                return "RowId";
            }
            // Numbers, truth values and times carry the name of the .NET type that holds them.
            return type.RawType.Name;
        }
    }

    /// <summary>One column of a row, or one annotation, that can show its present value.</summary>
    internal abstract class Cell
    {
        public abstract void Append(StringBuilder to);

        public static Cell Create(DataViewRow row, DataViewSchema.Column column)
        {
            return (Cell)Activator.CreateInstance(typeof(RowCell<>).MakeGenericType(column.Type.RawType), row, column);
        }

        public static Cell Create(DataViewSchema.Annotations owner, DataViewSchema.Column annotation)
        {
            Type cell = typeof(AnnotationCell<>).MakeGenericType(annotation.Type.RawType);
            return (Cell)Activator.CreateInstance(cell, owner, annotation);
        }
    }

    internal sealed class RowCell<T> : Cell
    {
        private readonly ValueGetter<T> getter;
        private readonly Format<T> format = (Format<T>)Formats.Of(typeof(T));
        private T value;

        public RowCell(DataViewRow row, DataViewSchema.Column column)
        {
            getter = row.GetGetter<T>(column);
        }

        public override void Append(StringBuilder to)
        {
            getter(ref value);
            format(to, value);
        }
    }

    internal sealed class AnnotationCell<T> : Cell
    {
        private readonly DataViewSchema.Annotations owner;
        private readonly DataViewSchema.Column annotation;

        public AnnotationCell(DataViewSchema.Annotations owner, DataViewSchema.Column annotation)
        {
            this.owner = owner;
            this.annotation = annotation;
        }

        public override void Append(StringBuilder to)
        {
            T value = default(T);
            owner.GetGetter<T>(annotation)(ref value);
            ((Format<T>)Formats.Of(typeof(T)))(to, value);
        }
    }

    /// <summary>The form of every type a file can hold, by the .NET type that carries it.</summary>
    internal static class Formats
    {
        private static readonly Dictionary<Type, Delegate> Simple = new Dictionary<Type, Delegate>
        {
            { typeof(sbyte), (Format<sbyte>)((to, v) => to.Append(v)) },
            { typeof(byte), (Format<byte>)((to, v) => to.Append(v)) },
            { typeof(short), (Format<short>)((to, v) => to.Append(v)) },
            { typeof(ushort), (Format<ushort>)((to, v) => to.Append(v)) },
            { typeof(int), (Format<int>)((to, v) => to.Append(v)) },
            { typeof(uint), (Format<uint>)((to, v) => to.Append(v)) },
            { typeof(long), (Format<long>)((to, v) => to.Append(v)) },
            { typeof(ulong), (Format<ulong>)((to, v) => to.Append(v)) },
            { typeof(float), (Format<float>)((to, v) => Json.Bits(to, v)) },
            { typeof(double), (Format<double>)((to, v) => Json.Bits(to, v)) },
            { typeof(bool), (Format<bool>)((to, v) => to.Append(v ? "true" : "false")) },
            { typeof(ReadOnlyMemory<char>), (Format<ReadOnlyMemory<char>>)((to, v) => Json.Text(to, v.Span)) },
            { typeof(TimeSpan), (Format<TimeSpan>)((to, v) => to.Append(v.Ticks)) },
            { typeof(DateTime), (Format<DateTime>)((to, v) => to.Append(v.Ticks)) },
            { typeof(DateTimeOffset), (Format<DateTimeOffset>)Zoned },
            { typeof(DataViewRowId), (Format<DataViewRowId>)RowId },
        };

        public static Delegate Of(Type raw)
        {
            Delegate format;
            if (Simple.TryGetValue(raw, out format))
            {
                return format;
            }
            if (raw.IsGenericType && raw.GetGenericTypeDefinition() == typeof(VBuffer<>))
            {
                MethodInfo vector = typeof(Formats).GetMethod("Vector", BindingFlags.NonPublic | BindingFlags.Static);
                return (Delegate)vector.MakeGenericMethod(raw.GetGenericArguments()[0]).Invoke(null, null);
            }
            throw new NotSupportedException("no canonical form for " + raw);
        }

        private static void Zoned(StringBuilder to, DateTimeOffset value)
        {
            to.Append('[').Append(value.DateTime.Ticks).Append(',');
            to.Append(value.Offset.Ticks / TimeSpan.TicksPerMinute).Append(']');
        }

        private static void RowId(StringBuilder to, DataViewRowId value)
        {
            to.Append('"').Append(value.High.ToString("x16")).Append(value.Low.ToString("x16")).Append('"');
        }

        /// <summary>A vector just as the getter delivered it: dense or sparse, nothing filled in.</summary>
        private static Format<VBuffer<T>> Vector<T>()
        {
            var item = (Format<T>)Of(typeof(T));
            return (to, vector) =>
            {
                to.Append("{\"length\":").Append(vector.Length);
                if (!vector.IsDense)
                {
                    to.Append(",\"indices\":[").Append(string.Join(",", vector.GetIndices().ToArray())).Append(']');
                }
                to.Append(vector.IsDense ? ",\"dense\":[" : ",\"values\":[");
                ReadOnlySpan<T> values = vector.GetValues();
                for (int i = 0; i < values.Length; i++)
                {
                    if (i > 0)
                    {
                        to.Append(',');
                    }
                    item(to, values[i]);
                }
                to.Append("]}");
            };
        }
    }
}
