// Prints the columns and the number of rows of a file of ML.NET, and writes it as Parquet: csharp FILE.idv FILE.parquet

using System;
using System.Runtime.InteropServices;
using Apache.Arrow;
using Apache.Arrow.C;
using Apache.Arrow.Ipc;

public static unsafe class Program
{
    public static int Main(string[] arguments)
    {
        if (arguments.Length != 2)
        {
            Console.Error.WriteLine("usage: csharp FILE.idv FILE.parquet");
            return 2;
        }
        using (var file = new WharfFile(arguments[0]))
        {
            CArrowArrayStream* stream = file.OpenStream();
            try
            {
                using (IArrowArrayStream batches = CArrowArrayStreamImporter.ImportArrayStream(stream))
                {
                    foreach (Field field in batches.Schema.FieldsList)
                    {
                        Console.WriteLine($"{field.Name}: {field.DataType.Name}");
                    }
                    long rows = 0;
                    while (batches.ReadNextRecordBatchAsync().AsTask().Result is RecordBatch batch)
                    {
                        using (batch)
                        {
                            rows += batch.Length; // batch.Column(0) is a FloatArray, a StringArray, ...
                        }
                    }
                    Console.WriteLine($"{rows} rows");
                }
            }
            finally
            {
                CArrowArrayStream.Free(stream);
            }

            // A stream is read once; the next one goes from the library to the library.
            stream = file.OpenStream();
            int status = Wharf.wharf_write(stream, arguments[1], null, null, 1, out IntPtr report);
            CArrowArrayStream.Free(stream);
            Wharf.Check(status);
            Console.WriteLine(Wharf.TakeText(report));
        }
        return 0;
    }
}

/// <summary>An open file.</summary>
public sealed unsafe class WharfFile : IDisposable
{
    private IntPtr _container;

    public WharfFile(string path)
    {
        Wharf.Check(Wharf.wharf_open(path, null, out _container));
    }

    /// <summary>All rows of the only table. The caller frees the structure.</summary>
    public CArrowArrayStream* OpenStream()
    {
        // Times in ticks of 100 ns, as ML.NET has them.
        Wharf.Check(Wharf.wharf_reader_open(_container, IntPtr.Zero, new[] { "times=ticks", null }, out IntPtr reader));
        CArrowArrayStream* stream = CArrowArrayStream.Create();
        int status = Wharf.wharf_reader_stream(reader, stream);
        Wharf.wharf_reader_close(reader);
        if (status != 0)
        {
            CArrowArrayStream.Free(stream);
        }
        Wharf.Check(status);
        return stream;
    }

    public void Dispose()
    {
        Wharf.wharf_close(_container);
        _container = IntPtr.Zero;
    }
}

/// <summary>The functions of wharf.h that this program uses. An array of options, which are ASCII here, ends with null.</summary>
internal static unsafe class Wharf
{
    private const string Library = "wharf_capi";

    /// <summary>The beginning of wharf_error.</summary>
    [StructLayout(LayoutKind.Sequential)]
    private struct Error
    {
        public int Status;
        public IntPtr Kind;
        public IntPtr Message;
    }

    [DllImport(Library)]
    private static extern Error* wharf_last_error();

    [DllImport(Library)]
    private static extern int wharf_text_free(IntPtr text);

    [DllImport(Library)]
    internal static extern int wharf_open(
        [MarshalAs(UnmanagedType.LPUTF8Str)] string path,
        [MarshalAs(UnmanagedType.LPArray, ArraySubType = UnmanagedType.LPStr)] string[] options,
        out IntPtr container);

    [DllImport(Library)]
    internal static extern int wharf_close(IntPtr container);

    [DllImport(Library)]
    internal static extern int wharf_reader_open(
        IntPtr container,
        IntPtr selection,
        [MarshalAs(UnmanagedType.LPArray, ArraySubType = UnmanagedType.LPStr)] string[] options,
        out IntPtr reader);

    [DllImport(Library)]
    internal static extern int wharf_reader_stream(IntPtr reader, CArrowArrayStream* stream);

    [DllImport(Library)]
    internal static extern int wharf_reader_close(IntPtr reader);

    [DllImport(Library)]
    internal static extern int wharf_write(
        CArrowArrayStream* stream,
        [MarshalAs(UnmanagedType.LPUTF8Str)] string path,
        [MarshalAs(UnmanagedType.LPUTF8Str)] string format,
        [MarshalAs(UnmanagedType.LPArray, ArraySubType = UnmanagedType.LPStr)] string[] options,
        int overwrite,
        out IntPtr report);

    internal static void Check(int status)
    {
        if (status != 0)
        {
            throw new InvalidOperationException(Marshal.PtrToStringUTF8(wharf_last_error()->Message));
        }
    }

    internal static string TakeText(IntPtr text)
    {
        string copy = Marshal.PtrToStringUTF8(text);
        wharf_text_free(text);
        return copy;
    }
}
