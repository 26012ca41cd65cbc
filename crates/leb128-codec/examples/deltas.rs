//! Reads numbers from standard input, one per line, and prints the size of their sorted differences in LEB128.

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let mut numbers = std::io::stdin()
        .lines()
        .map(|line| Ok(line?.trim().parse()?))
        .collect::<Result<Vec<u64>, Box<dyn std::error::Error>>>()?;
    numbers.sort_unstable();
    let mut bytes = Vec::new();
    let mut previous = 0;
    for number in &numbers {
        bytes.extend_from_slice(leb128_codec::encode(number - previous, &mut [0; 10]));
        previous = *number;
    }
    println!("{} numbers in {} bytes, {} before", numbers.len(), bytes.len(), numbers.len() * 8);
    Ok(())
}
