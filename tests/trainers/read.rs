// read FOLDER ROWS COLUMNS: reads every batch of a rank in order, as a trainer in Rust would. Standard library only.
use std::{env, fs, io};

fn main() -> io::Result<()> {
    let arguments: Vec<String> = env::args().collect();
    let (rows, columns): (usize, usize) = (arguments[2].parse().unwrap(), arguments[3].parse().unwrap());
    let mut paths: Vec<_> = fs::read_dir(&arguments[1])?.map(|e| e.map(|e| e.path())).collect::<Result<_, _>>()?;
    paths.sort();
    let mut sum = 0u64;
    for path in &paths {
        let bytes = fs::read(path)?;
        assert_eq!(bytes.len(), 2 * rows * columns, "{}", path.display());
        sum += bytes.chunks_exact(2).map(|b| u64::from(u16::from_le_bytes([b[0], b[1]]))).sum::<u64>();
    }
    println!("{} batches of {} x {}, sum {}", paths.len(), rows, columns, sum);
    Ok(())
}
