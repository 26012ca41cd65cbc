using System;
using System.IO;
using System.Linq;
using System.Reflection;
using System.Text;
using Microsoft.ML;
using Microsoft.ML.Runtime;

namespace Wharf.Reference
{
    /// <summary>How a file is to be written. What is left null stays as ML.NET has it.</summary>
    internal sealed class SaveOptions
    {
        /// <summary>`Deflate` or `None`: the names of ML.NET's own enumeration.</summary>
        public string Compression = "Deflate";
        public int? RowsPerBlock;
        public long? BytesPerBlock;

        /// <summary>Blocks stand in the file in row order, so that the same view gives the same bytes.</summary>
        public bool Ordered = true;
    }

    /// <summary>
    /// ML.NET's binary saver. Its public face, `SaveAsBinary`, has no options, so the internal class behind it is
    /// reached by reflection.
    /// </summary>
    internal static class Saver
    {
        public static void Save(MLContext ml, IDataView view, string path, SaveOptions options)
        {
            using (FileStream stream = File.Create(path))
            {
                Save(ml, view, stream, options);
            }
        }

        public static void Save(MLContext ml, IDataView view, Stream stream, SaveOptions options)
        {
            Assembly data = typeof(MLContext).Assembly;
            Type saverType = data.GetType("Microsoft.ML.Data.IO.BinarySaver", true);
            Type argumentsType = saverType.GetNestedType("Arguments", BindingFlags.Public | BindingFlags.NonPublic);
            object arguments = Activator.CreateInstance(argumentsType, true);
            FieldInfo compression = Field(argumentsType, "Compression");
            compression.SetValue(arguments, Enum.Parse(compression.FieldType, options.Compression));
            if (options.RowsPerBlock.HasValue)
            {
                Field(argumentsType, "MaxRowsPerBlock").SetValue(arguments, options.RowsPerBlock);
            }
            if (options.BytesPerBlock.HasValue)
            {
                Field(argumentsType, "MaxBytesPerBlock").SetValue(arguments, options.BytesPerBlock);
            }
            Field(argumentsType, "DeterministicBlockOrder").SetValue(arguments, options.Ordered);
            Field(argumentsType, "Silent").SetValue(arguments, true);

            const BindingFlags Instance = BindingFlags.Instance | BindingFlags.Public | BindingFlags.NonPublic;
            ConstructorInfo create = saverType.GetConstructor(
                Instance, null, new[] { typeof(IHostEnvironment), argumentsType }, null);
            MethodInfo save = saverType.GetMethod(
                "SaveData", Instance, null, new[] { typeof(Stream), typeof(IDataView), typeof(int[]) }, null);
            object saver = create.Invoke(new object[] { ml, arguments });
            save.Invoke(saver, new object[] { stream, view, Enumerable.Range(0, view.Schema.Count).ToArray() });
        }

        /// <summary>
        /// Writes `directory/name.idv`, and beside it `name.expected.jsonl`: what ML.NET reads out of that file.
        /// </summary>
        public static void SaveWithDump(
            MLContext ml, IDataView view, string directory, string name, SaveOptions options)
        {
            Save(ml, view, Path.Combine(directory, name + ".idv"), options);
            DumpBeside(ml, directory, name);
        }

        /// <summary>Dumps `directory/name.idv` into `directory/name.expected.jsonl`.</summary>
        public static void DumpBeside(MLContext ml, string directory, string name)
        {
            string expected = Path.Combine(directory, name + ".expected.jsonl");
            using (var output = new StreamWriter(expected, false, new UTF8Encoding(false)))
            {
                Dump.File(ml, Path.Combine(directory, name + ".idv"), output);
            }
        }

        private static FieldInfo Field(Type owner, string name)
        {
            FieldInfo field = owner.GetField(name,
                BindingFlags.Instance | BindingFlags.Public | BindingFlags.NonPublic);
            if (field == null)
            {
                throw new MissingFieldException(owner.FullName, name);
            }
            return field;
        }
    }
}
