//! NetCDF files with `wharf info` and other verbs.

use std::fs;
use std::path::Path;
use std::process::Stdio;

use serde_json::{Value, json};
use tempfile::TempDir;

use crate::common::{run, wharf};

#[path = "../../../dsfmt/tests/it/common/hdf5_file.rs"]
mod hdf5_file;

fn nc(name: &str) -> String {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../tests/golden/netcdf");
    folder.join(name).into_os_string().into_string().unwrap()
}

fn put(folder: &TempDir, name: &str, bytes: &[u8]) -> String {
    let path = folder.path().join(name).into_os_string().into_string().unwrap();
    fs::write(&path, bytes).unwrap();
    path
}

/// The description of a file, without its name.
fn info(name: &str) -> String {
    let path = nc(name);
    run(["info", &path]).ok().strip_prefix(&format!("{path}: ")).unwrap().to_owned()
}

#[test]
fn describes_each_kind() {
    for (kind, called, records, none) in [
        ("cdf1", "NetCDF classic (CDF-1)", "115 bytes", "152 bytes"),
        ("cdf2", "NetCDF 64-bit offset (CDF-2)", "119 bytes", "160 bytes"),
        ("cdf5", "NetCDF 64-bit data (CDF-5)", "175 bytes", "232 bytes"),
        ("nc4", "NetCDF-4 (HDF5)", "8.7 kB", "6.1 kB"),
    ] {
        let variable = "variables:\n    byte only(t, three)\n";
        let expected =
            format!("{called}, {records}\ndimensions:\n    t = UNLIMITED  // 5 currently\n    three = 3\n{variable}");
        assert_eq!(info(&format!("odd-records-{kind}.nc")), expected);
        let expected = format!(
            "{called}, {none}\ndimensions:\n    t = UNLIMITED  // 0 currently\n    zwölf = 2\nvariables:\n    short none(t)\n    double größe(zwölf)\n"
        );
        assert_eq!(info(&format!("no-records-{kind}.nc")), expected);
        let text = info(&format!("basic-{kind}.nc"));
        for expected in [
            "\n    short packed(time, y)\n        packed:_FillValue = -9999\n        packed:scale_factor = 0.01\n",
            "\n        only_scale:scale_factor = 2.5\n",
            "\n        marked:missing_value = -99.0\n",
            "\n        nan_fill:_FillValue = NaN\n",
            "\n    char text(y, len)\n    char letter\n",
            "\nglobal attributes:\n        :title = \"a small file\"\n        :empty = \"\"\n        :version = 3\n",
            "\n        :floats = [0.5, 1e+20, NaN]\n        :doubles = [0.1, -Infinity, Infinity]\n",
            "\n        :short_one = -7\n        :accent = \"Grüße, 世界\"\n",
        ] {
            assert!(text.contains(expected), "{kind} {expected}: {text}");
        }
        let large = ["cdf5", "nc4"].contains(&kind);
        assert_eq!(text.contains("\n    ubyte fixed_u1(y, x)\n"), large, "{text}");
        assert_eq!(text.contains("\n    uint64 fixed_u8(y, x)\n"), large, "{text}");
    }
}

#[test]
fn lists_what_only_netcdf4_can_store() {
    let text = info("rich.nc");
    let expected = "\
dimensions:
    t = UNLIMITED  // 9 currently
    u = UNLIMITED  // 2 currently
    x = 30
    inner/z = 2
variables:
    double chunked(t, x)
    int big_endian(x)
    float big_float(x)
    short two_unlimited(t, u)
    short shorter(t)
    float x(t)
    string texts(x)
    string one_text
    enum enum(x)  // of byte
        enum:_FillValue = 0
    compound compound(x)  // a: int, b: double
    other vlen(x)  // variable-length list
    int64 compact(x)
    float inner/deep(inner/z)
    int inner/innermost/deeper(x)
global attributes:
        :list_of_text = [\"one\", \"two\", \"drei ö\"]
        :big = 18446744073709551615
        :inner/note = \"in a group\"
cannot be converted to ds:
    names of the enumeration (0 none, 1 some, 7 all) of variable \"enum\" left out
    variable \"compound\" left out: unsupported type compound of 2 fields
    variable \"vlen\" left out: unsupported type variable-length list
";
    assert_eq!(text.split_once('\n').unwrap().1, expected);
}

#[test]
fn json_has_the_members_of_ds() {
    let ran = run(["info", &nc("odd-records-cdf2.nc"), "--json"]);
    let expected = r#"{"format":"netcdf","version":"2","kind":"CDF-2","bytes":119,"dimensions":{"t":5,"three":3},"unlimited":["t"],"attributes":{},"tables":[{"name":"t","rows":5,"columns":[{"name":"only","type":"int8[three=3]","nc_type":"byte","dimensions":["t","three"],"shape":[5,3]}]}]}"#;
    assert_eq!(ran.ok(), format!("{expected}\n"));
    let ran = run(["info", &nc("rich.nc"), &nc("basic-cdf5.nc"), "--json"]);
    assert_eq!(ran.ok().lines().count(), 2);
    let [rich, basic] = &ran.lines()[..] else { unreachable!("two lines") };
    assert_eq!(
        (&rich["file"], &rich["version"], &rich["kind"]),
        (&json!(nc("rich.nc")), &json!("4"), &json!("NetCDF-4"))
    );
    assert_eq!(rich["unlimited"], json!(["t", "u"]));
    assert_eq!(
        rich["attributes"],
        json!({"list_of_text": ["one", "two", "drei ö"], "big": u64::MAX, "inner/note": "in a group"})
    );
    assert_eq!(rich["not_in_ds"].as_array().unwrap().len(), 3);
    let tables: Vec<_> = rich["tables"].as_array().unwrap().iter().map(|table| &table["name"]).collect();
    assert_eq!(tables, ["t", "x", "inner/z", "scalars"]);
    let column = |of: &Value, name: &str| -> Value {
        let tables = of["tables"].as_array().unwrap().iter();
        let mut columns = tables.flat_map(|table| table["columns"].as_array().unwrap());
        columns.find(|column| column["name"] == name).unwrap().clone()
    };
    let chunked = json!({"name": "chunked", "type": "float64[x=30]", "nc_type": "double", "dimensions": ["t", "x"],
        "shape": [9, 30], "endian": "l", "chunks": [4, 7]});
    assert_eq!(column(rich, "chunked"), chunked);
    assert_eq!(column(rich, "big_endian")["endian"], "b");
    assert_eq!(column(rich, "enum")["members"], json!({"none": 0, "some": 1, "all": 7}));
    let compound = json!({"name": "compound", "type": "struct<a: int32, b: float64>", "nc_type": "compound of 2 fields",
        "dimensions": ["x"], "shape": [30]});
    assert_eq!(column(rich, "compound"), compound);
    assert_eq!(basic["attributes"]["floats"], json!([0.5, 1e20, "NaN"]));
    let packed = json!({"_FillValue": -9999, "scale_factor": 0.01, "add_offset": 20.0});
    assert_eq!(column(basic, "packed")["attributes"], packed);
    // The same members as for the converted ds file, except those that only one format has.
    let folder = tempfile::tempdir().unwrap();
    let ds = folder.path().join("basic.ds").into_os_string().into_string().unwrap();
    assert_eq!(run(["convert", &nc("basic-cdf5.nc"), &ds]).ok(), "");
    let of_ds = &run(["info", &ds, "--json"]).lines()[0];
    // The type is that of the values.
    assert!(column(basic, "packed")["type"].as_str().unwrap().starts_with("float64["), "{}", column(basic, "packed"));
    assert_eq!(column(basic, "packed")["nc_type"], "short");
    for name in ["text", "scalar_u8", "record_i2", "nan_fill"] {
        for member in ["name", "type", "dimensions", "shape", "attributes", "endian"] {
            let (ours, theirs) = (column(basic, name), column(of_ds, name));
            // Classic files are big-endian; strings have no byte order.
            if member != "endian" {
                assert_eq!(ours.get(member), theirs.get(member), "{name} {member}");
            }
        }
    }
    assert_eq!(basic["dimensions"]["time"], of_ds["dimensions"]["time"]);
}

#[test]
fn recognizes_content_without_extension() {
    let folder = tempfile::tempdir().unwrap();
    let file = nc("odd-records-cdf1.nc");
    let mut piped = wharf(["info", "-"]);
    piped.stdin(Stdio::from(fs::File::open(&file).unwrap()));
    let out = String::from_utf8(piped.output().unwrap().stdout).unwrap();
    assert_eq!(out, run(["info", &file]).ok().replace(&file, "<stdin>"));
    let named = put(&folder, "data.ds", &fs::read(&file).unwrap());
    assert_eq!(run(["info", &named]).ok(), run(["info", &file]).ok().replace(&file, &named));
    assert_eq!(run(["cat", &named, "--json"]).ok(), run(["cat", &file, "--json"]).ok());
}

#[test]
fn inapplicable_verbs_suggest_alternatives() {
    let folder = tempfile::tempdir().unwrap();
    let out = folder.path().join("out.ds").into_os_string().into_string().unwrap();
    for name in ["basic-cdf1.nc", "basic-cdf2.nc", "basic-cdf5.nc", "basic-nc4.nc"] {
        let file = &*nc(name);
        let several = r#"the input has several tables: "y", "time", "x", "scalars"; --table selects one"#;
        for (arguments, expected) in [
            (&["cat", file][..], several),
            (&["get", file, "--row", "1"], several),
            (&["get", file, "time", "--raw"], "--raw requires ds, found netcdf"),
            (&["merge", file, file, "-o", &out.replace(".ds", ".nc")], "--dim selects it"),
            (&["merge", file, file, "--dim", "time", "-o", &out], "`wharf convert` does that"),
            (&["merge", file, file, "--dim", "time", "-o", "-"], "not a stream: give a path"),
            (&["merge", file, file, "--columns", "time", "-o", &out], "--columns is an option of IDV"),
            (&["convert", file, file, &out], "`wharf merge` joins them"),
            (&["convert", file, &out, "--dim", "time"], "when all rows are selected"),
            (&["set", file, "@a=1", "-o", &out], "the input is NetCDF: convert it to ds first"),
            (&["rename", file, "time=t", "--in-place"], "the input is NetCDF: convert it to ds first"),
            (&["rm", file, "time", "-o", &out], "the input is NetCDF: convert it to ds first"),
        ] {
            let ran = run(arguments);
            assert_eq!(ran.code(), 2, "{arguments:?} {}", ran.err());
            assert!(ran.err().contains(expected), "{arguments:?} {}", ran.err());
        }
        let error = run(["cat", file, "--json"]).json_error(2);
        assert_eq!((&error["kind"], &error["file"]), (&json!("usage"), &json!(file)));
    }
    let mixed = [&nc("../ds/from-netcdf.ds"), &nc("basic-cdf1.nc")];
    let ran = run(["merge", mixed[0], mixed[1], "--dim", "time", "-o", &out]);
    assert!(ran.err().starts_with(&format!("error: {}: merge works on ds files", mixed[1])), "{}", ran.err());
    let ran = run(["merge", mixed[1], mixed[0], "--dim", "time", "-o", &out.replace(".ds", ".nc")]);
    let expected = format!("error: {}: found ds, expected netcdf like the first input", mixed[0]);
    assert!(ran.err().starts_with(&expected), "{}", ran.err());
    assert_eq!(fs::read_dir(folder.path()).unwrap().count(), 0);
}

/// Variables are the same as in the converted ds file.
#[test]
fn variables_match_the_ds_file() {
    let folder = tempfile::tempdir().unwrap();
    let mut seen = 0;
    for entry in fs::read_dir(Path::new(&nc("rich.nc")).parent().unwrap()).unwrap() {
        let file = entry.unwrap().path().into_os_string().into_string().unwrap();
        if !file.ends_with(".nc") {
            continue;
        }
        let ds = folder.path().join("whole.ds").into_os_string().into_string().unwrap();
        run(["convert", &file, &ds, "--force", "--scaled"]);
        let same = |arguments: &[&str]| {
            let [ours, theirs] = [&file, &ds].map(|file| {
                let arguments: Vec<&str> =
                    arguments.iter().map(|word| if *word == "@" { file.as_str() } else { *word }).collect();
                let ran = run(&arguments);
                // ds sorts variables by name, has an empty variable for a missing scalar, integers of enumerations, and no compounds.
                let other = ["\"hole\"", "\"enum\"", "\"compound."];
                let lines = ran.out().lines().filter(|line| !other.iter().any(|name| line.contains(name)));
                let mut lines: Vec<String> = lines.map(str::to_owned).collect();
                lines.sort_unstable();
                (ran.code(), lines)
            });
            assert!(ours.1 == theirs.1, "{file} {arguments:?}: {} {}", ours.0, theirs.0);
            ours
        };
        let stats = same(&["stats", "@", "--json"]);
        let info: Value = serde_json::from_str(run(["info", &ds, "--json"]).out()).unwrap();
        let columns = info["tables"].as_array().unwrap().iter().flat_map(|table| table["columns"].as_array().unwrap());
        for column in columns {
            let name = column["name"].as_str().unwrap();
            if name == "enum" {
                continue; // names
            }
            if name == "hole" {
                continue;
            }
            let (code, all) = same(&["get", "@", name, "--json"]);
            assert!(code == 0 && !all.is_empty(), "{file} {name}");
            for dimension in column["dimensions"].as_array().into_iter().flatten() {
                for range in ["::2", "-1"] {
                    same(&["get", "@", name, "--sel", &format!("{}={range}", dimension.as_str().unwrap()), "--json"]);
                }
            }
            seen += 1;
        }
        // Variables without a ds type are reported as unreadable.
        assert_eq!(stats.0, i32::from(file.ends_with("rich.nc")), "{file}");
    }
    assert!(seen > 50, "{seen}");
    // Packed, the stored numbers, as ds keeps them by default.
    let (file, ds) = (nc("basic-nc4.nc"), folder.path().join("packed.ds").into_os_string().into_string().unwrap());
    run(["convert", &file, &ds]);
    let stored = run(["get", &ds, "packed", "--json"]).ok().to_owned();
    assert_eq!(run(["get", &file, "packed", "--packed", "--json"]).ok(), stored);
    assert_ne!(run(["get", &file, "packed", "--json"]).ok(), stored);
    let rows = |arguments: &[&str]| {
        run(["cat", "--table", "time", "--columns", "packed", "--json"].iter().chain(arguments)).ok().to_owned()
    };
    assert_eq!(rows(&[&file, "--packed"]), rows(&[&ds]));
    assert_ne!(rows(&[&file]), rows(&[&ds]));
    assert_eq!(run(["get", &ds, "packed", "--packed"]).code(), 2);
    assert!(
        run(["cat", &ds, "--table", "time", "--packed"])
            .err()
            .contains("--packed is for inputs that are NetCDF, not ds")
    );
    let [at, shown] = ["basic-nc4.nc", "basic-cdf1.nc"]
        .map(|name| run(["get", &nc(name), "packed", "--at", "time=2000-01-01", "--json"]).out().to_owned());
    assert_eq!(at, shown);
}

#[test]
fn reports_damage_with_file_variable_and_byte() {
    let folder = tempfile::tempdir().unwrap();
    let out = folder.path().join("out.ds").into_os_string().into_string().unwrap();
    // Damage to the header of a classic file, at its only variable.
    let mut classic = fs::read(nc("odd-records-cdf1.nc")).unwrap();
    let at = classic.windows(4).position(|found| found == b"only").unwrap() + 24;
    classic[at + 3] = 9;
    let file = put(&folder, "type.nc", &classic);
    for arguments in [&["info", &file][..], &["convert", &file, &out]] {
        let ran = run(arguments);
        let expected =
            format!("error: netcdf: {file}: variable type: expected 1 to 6, found 9 (byte {at}, column \"only\")\n");
        assert_eq!((ran.code(), ran.out(), ran.err()), (1, "", &*expected));
    }
    // Missing values of a classic file: other variables can be read.
    let basic = fs::read(nc("basic-cdf1.nc")).unwrap();
    let file = put(&folder, "short.nc", &basic[..basic.len() - 40]);
    let text = run(["info", &file]).ok().to_owned();
    assert!(text.contains("  // cannot be read: its "), "{text}");
    let ran = run(["convert", &file, &out]);
    assert_eq!(ran.code(), 3);
    assert!(ran.err().lines().all(|line| line.starts_with(&format!("warning: {file}: variable \""))), "{}", ran.err());
    // NetCDF-4 values that cannot be decompressed, detected by conversion; `info` does not read them.
    let mut rich = fs::read(nc("rich.nc")).unwrap();
    let zlib = |bytes: &[u8]| matches!(bytes, [0x78, 0x5e, ..] | [0x78, 0x9c, ..]);
    let at = rich.windows(2).position(zlib).unwrap();
    rich[at + 2] ^= 0xff;
    let file = put(&folder, "values.nc", &rich);
    assert_eq!(run(["info", &file]).code(), 0);
    fs::remove_file(&out).unwrap();
    let ran = run(["convert", &file, &out]);
    assert_eq!((ran.code(), ran.out()), (1, ""));
    assert!(ran.err().starts_with(&format!("error: netcdf: {file}: ")), "{}", ran.err());
    assert!(
        ran.err().ends_with("(column \"chunked\")\n") || ran.err().ends_with("(column \"big_float\")\n"),
        "{}",
        ran.err()
    );
    let error = run(["convert", &file, &out, "--json"]).json_error(1);
    assert_eq!((&error["file"], &error["format"], error["column"].is_string()), (&json!(file), &json!("netcdf"), true));
    // The header of a NetCDF-4 variable, at a known address.
    let mut nc4 = fs::read(nc("basic-nc4.nc")).unwrap();
    let link = nc4.windows(8).position(|found| found == b"fixed_i1").unwrap() + 8;
    let header = usize::try_from(u64::from_le_bytes(nc4[link..link + 8].try_into().unwrap())).unwrap();
    nc4[header + 40] ^= 1;
    let file = put(&folder, "header.nc", &nc4);
    let error = run(["info", &file, "--json"]).json_error(1);
    assert_eq!((&error["file"], &error["column"], &error["byte"]), (&json!(file), &json!("fixed_i1"), &json!(header)));
    assert!(!Path::new(&out).exists());
}

/// Cyclic links, and two links to each of 24 groups: every verb ends quickly, with a result or an error.
#[test]
fn rejects_cyclic_groups() {
    let folder = TempDir::new().unwrap();
    for (name, bytes, group) in [
        ("self.nc", hdf5_file::linked_to_itself(), "group \"self\" left out: it is group \"/\" by another name"),
        ("two.nc", hdf5_file::nested(&["a", "b"], 24), "group \"b\" left out: it is group \"a\" by another name"),
    ] {
        let path = put(&folder, name, &bytes);
        assert!(run(["info", &path]).ok().ends_with(&format!("    {group}\n")), "{name}");
        run(["cat", &path]).ok();
        let ran = run(["verify", &path]);
        assert!(ran.code() == 0 && ran.out().contains(group), "{name}: {} {}", ran.out(), ran.err());
        let ran = run(["convert", &path, &path.replace(".nc", ".ds")]);
        assert!(ran.code() == 3 && ran.err().contains(group), "{name}: {} {}", ran.code(), ran.err());
    }
}
