use super::{Pool, fold_chunks, for_each_chunk, map, map_with, threads};
use crate::Error;

#[test]
fn results_match_a_single_thread() {
    for count in [0, 1, 3] {
        let pool = Pool::new(count).unwrap();
        assert_eq!(pool.threads(), pool.install(threads));
        assert!(!cfg!(feature = "parallel") || count == 0 || pool.threads() == count);
        pool.install(|| {
            let numbers: Vec<u64> = (0..1000).collect();
            let doubled: Vec<u64> = (0..1000).map(|number| 2 * number).collect();
            assert_eq!(map(numbers.clone(), |number| 2 * number), doubled);
            let with_state = map_with(numbers, |calls: &mut u64, number| {
                *calls += 1;
                assert!((1..=1000).contains(calls));
                2 * number
            });
            assert_eq!(with_state, doubled);
        });
    }
}

#[test]
fn chunks_are_numbered_and_in_order() {
    let pool = Pool::new(3).unwrap();
    // 0, 1, 7 and 101 chunks, the last one incomplete.
    for (len, grain) in [(0, 1), (9, 1), (69, 4), (1009, 1), (1009, 4), (1009, usize::MAX)] {
        let mut values = vec![0; len];
        let put = |_: &mut (), number: usize, chunk: &mut [usize]| {
            chunk.iter_mut().zip(number * 10..).for_each(|(value, number)| *value = number);
            Ok(())
        };
        pool.install(|| for_each_chunk(&mut values, 10, grain, put)).unwrap();
        assert_eq!(values, (0..len).collect::<Vec<_>>());
        let mut actual = vec![(usize::MAX, 0)];
        let work = |actual: &mut Vec<_>, number, chunk: &[usize]| actual.push((number, chunk.len()));
        pool.install(|| {
            fold_chunks(&values, [10, grain], &mut actual, Vec::new, work, |actual, more| actual.extend(more))
        });
        let chunks = values.chunks(10).map(<[_]>::len).enumerate();
        assert_eq!(actual, [(usize::MAX, 0)].into_iter().chain(chunks).collect::<Vec<_>>());
    }
}

#[test]
fn returns_error_of_a_chunk() {
    for grain in [1, usize::MAX] {
        let refuse = |_: &mut (), number, _: &mut [u8]| match number {
            70 => Err(Error::usage("chunk 70")),
            _ => Ok(()),
        };
        assert_eq!(for_each_chunk(&mut [0; 1000], 10, grain, refuse).unwrap_err().to_string(), "chunk 70");
    }
}
