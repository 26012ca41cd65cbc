using System;
using System.Collections.Generic;
using System.IO;
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
                Console.Error.WriteLine("error: " + error.GetBaseException().GetType().Name + ": " + error.GetBaseException().Message);
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
                case "golden":
                    { var data = new Datasets(ml, rest.Required("--data")); new Golden(ml, rest.LastFolder("OUTDIR"), data).WriteAll(output); }
                    break;
                default:
                    throw new UsageException("unknown command " + command);
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

        public ulong Number(string name, ulong otherwise)
        {
            string value = Option(name, null);
            ulong number = otherwise;
            if (value != null && !ulong.TryParse(value, out number))
            {
                throw new UsageException(name + " wants a number, not " + value);
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

        /// <summary>The last word as a folder, made when it is not there.</summary>
        public string LastFolder(string what)
        {
            string folder = Last(what);
            Directory.CreateDirectory(folder);
            return folder;
        }
    }
}
