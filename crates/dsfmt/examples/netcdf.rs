//! Converts between NetCDF and ds: `netcdf IN.nc OUT.ds [scaled]`, `netcdf IN.ds OUT.nc [1|2|5|4]`.
//! Prints a row of bytes: `netcdf IN.nc VARIABLE ROW`.

use dsfmt::netcdf::{Converted, Kind, ReadOptions, Reader, WriteOptions, from_ds, to_ds};

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let [input, output, rest @ ..] = arguments.as_slice() else { return Err("IN and OUT are wanted".into()) };
    if let (false, Some(Ok(row))) = (output.contains('.'), rest.first().map(|word| word.parse::<u64>())) {
        let reader = Reader::open(input)?;
        let array = reader.read(reader.variable(output)?, row..row + 1, &ReadOptions::default())?;
        let bytes = array.values().as_slice::<i8>().ok_or("the values are no bytes")?;
        println!("{}", bytes.iter().map(ToString::to_string).collect::<Vec<_>>().join(" "));
        return Ok(());
    }
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
