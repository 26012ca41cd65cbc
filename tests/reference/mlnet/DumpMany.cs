using System;
using System.Collections.Concurrent;
using System.IO;
using System.Linq;
using System.Text;
using System.Threading.Tasks;
using Microsoft.ML;

namespace Wharf.Reference
{
    /// <summary>Dumps of several files by one process: starting it costs more than most dumps.</summary>
    internal static class DumpMany
    {
        /// <summary>
        /// Writes `directory/NAME.jsonl` for each `NAME.idv`. What cannot be read has no dump but a line in `output`:
        /// the file's name, a tab, what ML.NET says.
        /// </summary>
        public static void Files(string directory, string[] files, TextWriter output)
        {
            var refused = new ConcurrentDictionary<string, string>();
            Parallel.ForEach(files, file =>
            {
                string name = Path.GetFileNameWithoutExtension(file);
                string target = Path.Combine(directory, name + ".jsonl");
                try
                {
                    using (var dump = new StreamWriter(target, false, new UTF8Encoding(false)))
                    {
                        Dump.File(new MLContext(1), file, dump);
                    }
                }
                catch (Exception error)
                {
                    Exception cause = error.GetBaseException();
                    string said = cause.GetType().Name + ": " + cause.Message.Replace('\n', ' ');
                    // Two files of one name would write over each other.
                    if (!refused.TryAdd(name, said))
                    {
                        throw;
                    }
                    File.Delete(target);
                }
            });
            foreach (string name in refused.Keys.OrderBy(name => name, StringComparer.Ordinal))
            {
                output.Write(name + "\t" + refused[name] + "\n");
            }
        }
    }
}
