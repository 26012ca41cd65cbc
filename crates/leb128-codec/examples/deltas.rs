//! Sorted numbers of standard input, one on each line, as differences in LEB128: how many bytes they take.

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let mut numbers = std::io::stdin()
        .lines()
        .map(|line| Ok(line?.trim().parse()?))
        .collect::<Result<Vec<u64>, Box<dyn std::error::Error>>>()?;
    numbers.sort_unstable();
    let mut bytes = Vec::new();
    let mut latest = 0;
    for number in &numbers {
        bytes.extend_from_slice(leb128_codec::encode(number - latest, &mut [0; 10]));
        latest = *number;
    }
    println!("{} numbers in {} bytes, {} before", numbers.len(), bytes.len(), numbers.len() * 8);
    Ok(())
}
