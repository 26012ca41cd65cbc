using System;
using System.Collections.Generic;
using System.Linq;
using Microsoft.ML;
using Microsoft.ML.Data;

namespace Wharf.Reference
{
    /// <summary>Sets `value` to the value of one row. The caller owns `value` and may change what it holds.</summary>
    internal delegate void Fill<T>(long row, ref T value);

    /// <summary>A column of a <see cref="Table"/>: a name, a type, annotations, and a value for every row.</summary>
    internal abstract class Column
    {
        public readonly string Name;
        public readonly DataViewType Type;
        public readonly DataViewSchema.Annotations Annotations;

        protected Column(string name, DataViewType type, DataViewSchema.Annotations annotations)
        {
            Name = name;
            Type = type;
            Annotations = annotations;
        }

        /// <summary>A `ValueGetter` of the column's raw type that follows `row`.</summary>
        public abstract Delegate Getter(Func<long> row);

        public static Column Of<T>(
            string name, DataViewType type, T[] values, DataViewSchema.Annotations annotations = null)
        {
            return new Column<T>(name, type, (long row, ref T value) => value = values[row], annotations);
        }

        /// <summary>Vectors are copied out: a reader may reuse the arrays it was handed.</summary>
        public static Column Of<T>(
            string name, VectorDataViewType type, VBuffer<T>[] values, DataViewSchema.Annotations annotations = null)
        {
            Fill<VBuffer<T>> fill = (long row, ref VBuffer<T> value) => values[row].CopyTo(ref value);
            return new Column<VBuffer<T>>(name, type, fill, annotations);
        }
    }

    internal sealed class Column<T> : Column
    {
        private readonly Fill<T> fill;

        public Column(string name, DataViewType type, Fill<T> fill, DataViewSchema.Annotations annotations = null)
            : base(name, type, annotations)
        {
            if (type.RawType != typeof(T))
            {
                throw new ArgumentException(name + " holds " + typeof(T) + ", its type wants " + type.RawType);
            }
            this.fill = fill;
        }

        public override Delegate Getter(Func<long> row)
        {
            ValueGetter<T> getter = (ref T value) => fill(row(), ref value);
            return getter;
        }
    }

    /// <summary>
    /// A data view over columns given as functions of the row number: nothing stands between a value of ours and
    /// ML.NET's saver, so every type, vector form and annotation can be written.
    /// </summary>
    internal sealed class Table : IDataView
    {
        private readonly long rows;
        private readonly Column[] columns;
        private readonly DataViewSchema schema;

        public Table(long rows, params Column[] columns)
        {
            this.rows = rows;
            this.columns = columns;
            var builder = new DataViewSchema.Builder();
            foreach (Column column in columns)
            {
                builder.AddColumn(column.Name, column.Type, column.Annotations);
            }
            schema = builder.ToSchema();
        }

        public DataViewSchema Schema
        {
            get { return schema; }
        }

        public bool CanShuffle
        {
            get { return false; }
        }

        public long? GetRowCount()
        {
            return rows;
        }

        public DataViewRowCursor GetRowCursor(IEnumerable<DataViewSchema.Column> needed, Random random = null)
        {
            return new Cursor(this, needed);
        }

        public DataViewRowCursor[] GetRowCursorSet(
            IEnumerable<DataViewSchema.Column> needed, int count, Random random = null)
        {
            return new[] { GetRowCursor(needed, random) };
        }

        private sealed class Cursor : DataViewRowCursor
        {
            private readonly Table table;
            private readonly bool[] active;
            private long row = -1;

            public Cursor(Table table, IEnumerable<DataViewSchema.Column> needed)
            {
                this.table = table;
                active = new bool[table.columns.Length];
                foreach (DataViewSchema.Column column in needed ?? Enumerable.Empty<DataViewSchema.Column>())
                {
                    active[column.Index] = true;
                }
            }

            public override long Position
            {
                get { return row; }
            }

            public override long Batch
            {
                get { return 0; }
            }

            public override DataViewSchema Schema
            {
                get { return table.schema; }
            }

            public override bool IsColumnActive(DataViewSchema.Column column)
            {
                return active[column.Index];
            }

            public override ValueGetter<T> GetGetter<T>(DataViewSchema.Column column)
            {
                if (!active[column.Index])
                {
                    throw new InvalidOperationException("column " + column.Name + " is not active");
                }
                return (ValueGetter<T>)table.columns[column.Index].Getter(() => row);
            }

            public override ValueGetter<DataViewRowId> GetIdGetter()
            {
                return (ref DataViewRowId value) => value = new DataViewRowId((ulong)row, 0);
            }

            public override bool MoveNext()
            {
                if (row >= table.rows)
                {
                    return false;
                }
                return ++row < table.rows;
            }
        }
    }
}
