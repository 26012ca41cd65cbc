using System;
using System.IO;
using System.Linq;
using Microsoft.ML;
using Microsoft.ML.Data;

namespace Wharf.Reference
{
    /// <summary>
    /// Tables whose rows per block are decided by bytes: by a limit that stands in the file's name, or by the one that
    /// ML.NET has by itself.
    /// </summary>
    internal sealed class Layouts
    {
        private readonly MLContext ml;
        private readonly string directory;

        public Layouts(MLContext ml, string directory)
        {
            this.ml = ml;
            this.directory = directory;
        }

        /// <summary>`limit-NNNN-BYTES.idv`: random tables with a limit that some rows reach.</summary>
        public void Random(ulong seed, ulong count)
        {
            for (ulong i = 0; i < count; i++)
            {
                var rng = new Rng(seed, i);
                Table table = Generate.RandomTable(rng, rng.Between(1, 3000));
                long bytes = rng.OneIn(4) ? rng.Between(1, 300) : rng.Between(300, 60000);
                string name = "limit-" + i.ToString("0000") + "-" + bytes;
                var options = new SaveOptions { Compression = "None", BytesPerBlock = bytes };
                Saver.Save(ml, table, Path.Combine(directory, name + ".idv"), options);
            }
        }

        /// <summary>`default-WHAT.idv`: large rows, nothing asked for.</summary>
        public void Large()
        {
            Fill<VBuffer<float>> wide = (long row, ref VBuffer<float> value) => Fill(ref value, 30000, row);
            Save("wide", 3000, new Column<VBuffer<float>>("Wide", new VectorDataViewType(NumberDataViewType.Single,
                30000), wide));

            Fill<VBuffer<float>> some = (long row, ref VBuffer<float> value) => Fill(ref value, (int)(row % 20000), row);
            Fill<long> number = (long row, ref long value) => value = row;
            Save("varying", 4000, new Column<long>("Number", NumberDataViewType.Int64, number),
                new Column<VBuffer<float>>("Varying", new VectorDataViewType(NumberDataViewType.Single, 0), some));

            string ascii = new string('a', 20000);
            string other = new string('\u00e4', 20000);
            Fill<ReadOnlyMemory<char>> text = (long row, ref ReadOnlyMemory<char> value) =>
                value = (row % 3 == 0 ? other : ascii).AsMemory();
            Save("text", 6000, new Column<ReadOnlyMemory<char>>("Text", TextDataViewType.Instance, text));

            // Rows that are small at first: the first 8192 decide.
            Fill<VBuffer<float>> later = (long row, ref VBuffer<float> value) =>
                Fill(ref value, row < 8000 ? 1 : 200000, row);
            Save("later", 8200, new Column<VBuffer<float>>("Later", new VectorDataViewType(NumberDataViewType.Single,
                0), later));
        }

        private void Save(string name, long rows, params Column[] columns)
        {
            Saver.Save(ml, new Table(rows, columns), Path.Combine(directory, "default-" + name + ".idv"),
                new SaveOptions());
        }

        private static void Fill(ref VBuffer<float> value, int length, long row)
        {
            VBufferEditor<float> editor = VBufferEditor.Create(ref value, length);
            editor.Values.Fill(row);
            value = editor.Commit();
        }
    }
}
