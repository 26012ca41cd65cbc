using System;
using System.Collections.Generic;
using System.IO;
using System.Linq;
using System.Text;
using Microsoft.ML;

namespace Wharf.Reference
{
    /// <summary>The command line: one command a word, see README.md beside this source.</summary>
    internal static class Driver
    {
        private static int Main(string[] arguments)
        {
            try
            {
                var rest = new Arguments(arguments);
                using (var output = new StreamWriter(Console.OpenStandardOutput(), new UTF8Encoding(false), 1 << 16))
                {
                    Run(rest, output);
                }
                return 0;
            }
            catch (UsageException error)
            {
                Console.Error.WriteLine("usage: " + error.Message);
                return 2;
            }
            catch (Exception error)
            {
                // Reflection wraps what went wrong: the innermost message is the one that says it.
                Exception cause = error.GetBaseException();
                Console.Error.WriteLine("error: " + cause.GetType().Name + ": " + cause.Message);
                if (Environment.GetEnvironmentVariable("DRIVER_TRACE") != null)
                {
                    Console.Error.WriteLine(error);
                }
                return 1;
            }
        }

        private static void Run(Arguments rest, TextWriter output)
        {
            var ml = new MLContext(1);
            string command = rest.Word("COMMAND");
            switch (command)
            {
                case "dump":
                    Dump.File(ml, rest.Last("FILE"), output);
                    break;
                case "dump-many":
                    string dumps = rest.Word("OUTDIR");
                    Directory.CreateDirectory(dumps);
                    DumpMany.Files(dumps, rest.All("FILE"), output);
                    break;
                case "golden":
                    var sources = new Datasets(ml, rest.Required("--data"));
                    new Golden(ml, rest.LastFolder("OUTDIR"), sources).WriteAll(output);
                    break;
                case "generate":
                    var generate = new Generate(ml, rest.Number("--seed", null));
                    ulong count = rest.Number("--count", null);
                    string folder = rest.LastFolder("OUTDIR");
                    for (ulong i = 0; i < count; i++)
                    {
                        generate.Write(i, folder);
                    }
                    break;
                case "real":
                    var tables = new Datasets(ml, rest.Word("DATADIR"));
                    new Real(ml, tables, rest.LastFolder("OUTDIR")).WriteAll();
                    break;
                case "models":
                    new Models(ml, rest.LastFolder("OUTDIR")).WriteAll();
                    break;
                case "cross":
                    string given = rest.Word("TABLES");
                    new Cross(ml, rest.LastFolder("OUTDIR")).WriteAll(given);
                    break;
                case "layouts":
                    ulong seed = rest.Number("--seed", null);
                    ulong limits = rest.Number("--count", null);
                    var layouts = new Layouts(ml, rest.LastFolder("OUTDIR"));
                    layouts.Random(seed, limits);
                    layouts.Large();
                    break;
                case "bench-write":
                    string target = rest.Word("OUTDIR");
                    string wanted = rest.Option("--compression", null);
                    ulong rows = Arguments.Parse("ROWS", rest.Last("ROWS"));
                    Directory.CreateDirectory(target);
                    new Bench(ml, output).Write(target, (long)rows, wanted == null ? null : Compression(wanted));
                    break;
                case "bench-read":
                    string columns = rest.Option("--columns", null);
                    ulong reads = rest.Number("--repeat", 1);
                    new Bench(ml, output).Read(rest.Last("FILE"), columns, reads);
                    break;
                case "bench-save":
                    string compression = Compression(rest.Option("--compression", "deflate"));
                    ulong saves = rest.Number("--repeat", 1);
                    string source = rest.Word("FILE");
                    new Bench(ml, output).Save(source, rest.Last("OUT"), compression, saves);
                    break;
                default:
                    throw new UsageException("unknown command " + command);
            }
        }

        private static string Compression(string name)
        {
            switch (name)
            {
                case "deflate":
                    return "Deflate";
                case "none":
                    return "None";
                default:
                    throw new UsageException("--compression is deflate or none, not " + name);
            }
        }
    }

    internal sealed class UsageException : Exception
    {
        public UsageException(string message)
            : base(message)
        {
        }
    }

    /// <summary>The words of a command line: options by name, the others in their order.</summary>
    internal sealed class Arguments
    {
        private readonly List<string> words = new List<string>();
        private readonly Dictionary<string, string> options = new Dictionary<string, string>();

        public Arguments(string[] arguments)
        {
            for (int i = 0; i < arguments.Length; i++)
            {
                if (!arguments[i].StartsWith("--"))
                {
                    words.Add(arguments[i]);
                }
                else if (i + 1 < arguments.Length)
                {
                    options[arguments[i]] = arguments[++i];
                }
                else
                {
                    throw new UsageException(arguments[i] + " wants a value");
                }
            }
        }

        public string Word(string what)
        {
            if (words.Count == 0)
            {
                throw new UsageException("missing " + what);
            }
            string word = words[0];
            words.RemoveAt(0);
            return word;
        }

        public string Option(string name, string otherwise)
        {
            string value;
            if (!options.TryGetValue(name, out value))
            {
                return otherwise;
            }
            options.Remove(name);
            return value;
        }

        public string Required(string name)
        {
            string value = Option(name, null);
            if (value == null)
            {
                throw new UsageException("missing " + name);
            }
            return value;
        }

        /// <summary>A number; without `otherwise` the option has to be there.</summary>
        public ulong Number(string name, ulong? otherwise)
        {
            string value = otherwise == null ? Required(name) : Option(name, null);
            return value == null ? otherwise.Value : Parse(name, value);
        }

        public static ulong Parse(string what, string value)
        {
            ulong number;
            if (!ulong.TryParse(value, out number))
            {
                throw new UsageException(what + " is a number, not " + value);
            }
            return number;
        }

        /// <summary>The last word. Ask for the options first: whatever is left then is an error.</summary>
        public string Last(string what)
        {
            string word = Word(what);
            foreach (string option in options.Keys)
            {
                throw new UsageException("unknown option " + option);
            }
            if (words.Count > 0)
            {
                throw new UsageException("one word too many: " + words[0]);
            }
            return word;
        }

        /// <summary>All words that are left, at least one. Ask for the options first.</summary>
        public string[] All(string what)
        {
            string[] others = words.Skip(1).ToArray();
            words.RemoveRange(Math.Min(1, words.Count), others.Length);
            return new[] { Last(what) }.Concat(others).ToArray();
        }

        /// <summary>The last word as a folder, made when it is not there.</summary>
        public string LastFolder(string what)
        {
            string folder = Last(what);
            Directory.CreateDirectory(folder);
            return folder;
        }
    }
}
