using System;
using System.IO;
using System.IO.Compression;
using System.Linq;
using System.Reflection;
using Microsoft.ML;
using Microsoft.ML.Data;

namespace Wharf.Reference
{
    /// <summary>
    /// Small model files of every kind that says something of the training data, each with the schema in it read by ML.NET
    /// (`NAME.expected.jsonl`). The values are the same every time; the ZIP entries carry the time of writing.
    /// </summary>
    internal sealed class Models
    {
        private readonly MLContext ml;
        private readonly string directory;

        public Models(MLContext ml, string directory)
        {
            this.ml = ml;
            this.directory = directory;
            Directory.CreateDirectory(directory);
        }

        public void WriteAll()
        {
            Table source = new Table(
                4,
                Column.Of("Label", BooleanDataViewType.Instance, new[] { true, false, false, true }),
                Column.Of("Colour", TextDataViewType.Instance, Values.Memory("red", "green", "red", "blue")),
                Column.Of("Width", NumberDataViewType.Single, new[] { 1f, 2f, 4f, 8f }),
                Column.Of("Height", NumberDataViewType.Single, new[] { 3f, -1f, 0f, 5f }));
            IEstimator<ITransformer> prepare = ml.Transforms.Conversion.MapValueToKey("ColourKey", "Colour")
                .Append(ml.Transforms.Conversion.MapKeyToVector("ColourOneHot", "ColourKey"))
                .Append(ml.Transforms.Concatenate("Features", "Width", "Height", "ColourOneHot"));
            IDataView prepared = prepare.Fit(source).Transform(source);
            ITransformer scale = ml.Transforms.NormalizeMinMax("Scaled", "Features").Fit(prepared);

            ml.Model.Save(scale, prepared.Schema, Path.Combine(directory, "schema.zip"));
            TakeOut("schema", "Schema");

            var options = new TextLoader.Options
            {
                Columns = new[]
                {
                    new TextLoader.Column("Label", DataKind.Boolean, 0),
                    new TextLoader.Column("Colour", DataKind.String, 1),
                    new TextLoader.Column("Width", DataKind.Single, 2),
                    new TextLoader.Column("Height", DataKind.Single, 3),
                },
            };
            TextLoader loader = ml.Data.CreateTextLoader(options);
            ml.Model.Save(prepare.Fit(source), loader, Path.Combine(directory, "text-loader.zip"));

            WithBinaryLoader(prepared);
            TakeOut("binary-loader", "Schema.idv");
        }

        /// <summary>
        /// The loader of a binary file, saved by the internal class that the command line of ML.NET saves models with.
        /// </summary>
        private void WithBinaryLoader(IDataView view)
        {
            string rows = Path.Combine(directory, "rows.idv");
            Saver.Save(ml, view, rows, new SaveOptions());
            IDataView loader = ml.Data.LoadFromBinary(rows);
            const BindingFlags Any = BindingFlags.Static | BindingFlags.Instance | BindingFlags.Public
                | BindingFlags.NonPublic;
            Type utilities = typeof(MLContext).Assembly.GetType("Microsoft.ML.Model.ModelFileUtils", true);
            MethodInfo begin = utilities.GetMethod("GetDataModelSavingContext", Any);
            Type repositoryType = begin.GetParameters()[0].ParameterType;
            using (FileStream stream = File.Create(Path.Combine(directory, "binary-loader.zip")))
            using (var repository = (IDisposable)repositoryType.GetMethod("CreateNew", Any)
                .Invoke(null, new object[] { stream, null, false }))
            using (var context = (IDisposable)begin.Invoke(null, new object[] { repository }))
            {
                loader.GetType().GetInterface("ICanSaveModel").GetMethod("Save", Any)
                    .Invoke(loader, new object[] { context });
                context.GetType().GetMethod("Done", Any).Invoke(context, null);
                repositoryType.GetMethod("Commit", Any).Invoke(repository, null);
            }
            (loader as IDisposable)?.Dispose();
            File.Delete(rows);
        }

        /// <summary>Takes the one entry of this name out of the model, in whichever folder it lies, and dumps it.</summary>
        private void TakeOut(string model, string entryName)
        {
            using (ZipArchive archive = ZipFile.OpenRead(Path.Combine(directory, model + ".zip")))
            {
                archive.Entries.Single(entry => entry.Name == entryName || entry.FullName.EndsWith("\\" + entryName))
                    .ExtractToFile(Path.Combine(directory, model + ".idv"), true);
            }
            Saver.DumpBeside(ml, directory, model);
            File.Delete(Path.Combine(directory, model + ".idv"));
        }
    }
}
