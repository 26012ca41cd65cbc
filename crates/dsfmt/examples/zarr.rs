//! Converts between Zarr, NetCDF and ds: `zarr IN OUT [CHUNKS [SHARDS]]`, sizes along dimensions as `time=10,lat=5`.

use dsfmt::netcdf::{Converted, ReadOptions, Reader, ds_view, to_ds};
use dsfmt::zarr;

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let [input, output, sizes @ ..] = arguments.as_slice() else { return Err("expected IN and OUT".into()) };
    let reading = ReadOptions::default();
    let arrays = || -> dsfmt::Result<Reader> {
        if input.ends_with(".zarr") { zarr::open(input, Default::default()) } else { Reader::open(input) }
    };
    let (converted, losses): (Converted, _) = if output.ends_with(".ds") {
        (to_ds(&arrays()?, output, &reading, dsfmt::OutputOptions::default())?, Vec::new())
    } else {
        let (reader, losses) = match input.ends_with(".ds") {
            true => (dsfmt::Reader::open(input)?, Vec::new()),
            false => ds_view(arrays()?, &reading, input.clone())?,
        };
        let sizes = |at: usize| sizes.get(at).into_iter().flat_map(|all| all.split(',')).filter_map(size);
        let options = zarr::WriteOptions::default().with_chunks(sizes(0)).with_shards(sizes(1));
        (zarr::from_ds(&reader, output, &options)?, losses)
    };
    println!("{} variables, {} bytes", converted.written.variables, converted.written.bytes);
    losses.iter().chain(&converted.losses).for_each(|loss| println!("lost: {loss}"));
    Ok(())
}

fn size(part: &str) -> Option<(String, u64)> {
    let (name, size) = part.split_once('=')?;
    Some((name.to_owned(), size.parse().ok()?))
}
