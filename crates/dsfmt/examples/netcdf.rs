//! Converts between NetCDF and ds: `netcdf IN.nc OUT.ds [scaled]`, `netcdf IN.ds OUT.nc [1|2|5|4]`.

use dsfmt::netcdf::{Converted, Kind, ReadOptions, Reader, WriteOptions, from_ds, to_ds};

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let [input, output, rest @ ..] = arguments.as_slice() else { return Err("IN and OUT are wanted".into()) };
    let converted: Converted = if output.ends_with(".ds") {
        let options = ReadOptions::default().with_scaled(rest.iter().any(|word| word == "scaled"));
        to_ds(&Reader::open(input)?, output, &options, dsfmt::OutputOptions::default())?
    } else {
        let kind = rest.first().and_then(|word| match word.as_str() {
            "1" => Some(Kind::Classic),
            "2" => Some(Kind::Offset64),
            "5" => Some(Kind::Data64),
            "4" => Some(Kind::Hdf5),
            _ => None,
        });
        from_ds(&dsfmt::Reader::open(input)?, output, &WriteOptions::default().with_kind(kind))?
    };
    println!("{} variables, {} bytes", converted.written.variables, converted.written.bytes);
    converted.losses.iter().for_each(|loss| println!("lost: {loss}"));
    Ok(())
}
