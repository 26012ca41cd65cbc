use blake2::Blake2sVarCore;
use blake2::digest::core_api::{Buffer, UpdateCore, VariableOutputCore};

use super::*;
use crate::kernels;

/// The blake2 crate's.
fn theirs(key: &[u8], salt: Salt) -> Digest {
    let mut core = Blake2sVarCore::new_with_params(&salt.0, &[], 0, 32);
    let mut buffer = Buffer::<Blake2sVarCore>::default();
    buffer.digest_blocks(key, |blocks| core.update_blocks(blocks));
    let mut out = Default::default();
    core.finalize_variable_core(&mut buffer, &mut out);
    let at = |begin: usize| u64::from_be_bytes(out[begin..begin + 8].try_into().unwrap());
    [at(0), at(8)]
}

fn key(length: usize, seed: usize) -> Vec<u8> {
    (0..length).map(|at| u8::try_from((at * 31 + seed * 17 + at * at / 7) % 251).unwrap()).collect()
}

const SALTS: [Salt; 3] = [Salt::NONE, Salt::new(*b"\x01\x02\x03\x04\x05\x06\x07\x08"), Salt::new([0xFF; 8])];

#[test]
fn one_key_of_every_length() {
    for salt in SALTS {
        for length in 0..=300 {
            let key = key(length, length);
            assert_eq!(digest(&key, salt), theirs(&key, salt), "{length}");
        }
    }
}

#[test]
fn every_kernel_every_length() {
    for (name, kernel) in kernels::all() {
        for salt in SALTS {
            // All of one length, and of lengths around it; each in another lane each time.
            for length in 0..=200 {
                let keys: Vec<_> = (0..LANES).map(|lane| key(length, lane)).collect();
                check(name, &kernel, &keys, salt);
                let keys: Vec<_> = (0..LANES).map(|lane| key((length + lane * 13) % 201, lane)).collect();
                check(name, &kernel, &keys, salt);
            }
        }
    }
    assert!(kernels::all().len() >= 2);
}

fn check(name: &str, kernel: &kernels::Kernel, keys: &[Vec<u8>], salt: Salt) {
    let lanes: [&[u8]; LANES] = core::array::from_fn(|lane| &keys[lane][..]);
    for (lane, (found, key)) in kernel(lanes, salt).into_iter().zip(keys).enumerate() {
        assert_eq!(found, theirs(key, salt), "{name}, lane {lane}, {} bytes", key.len());
    }
}

#[test]
fn many_keys_of_any_number_and_length() {
    for salt in SALTS {
        for count in (0..70).chain([1000]) {
            for spread in [1, 65, 200, 5000] {
                let keys: Vec<_> = (0..count).map(|at| key((at * 7919) % spread, at)).collect();
                let mut digests = vec![[0; 2]; count];
                digest_many(&keys, salt, &mut digests).unwrap();
                for (found, key) in digests.iter().zip(&keys) {
                    assert_eq!(*found, theirs(key, salt), "{count} keys, spread {spread}, {} bytes", key.len());
                }
            }
        }
    }
}

#[test]
fn a_salt_of_zeros_is_none() {
    assert_eq!(Salt::from([0; 8]), Salt::NONE);
    assert_ne!(digest(b"a", Salt::NONE), digest(b"a", Salt::new([0, 0, 0, 0, 0, 0, 0, 1])));
}

#[test]
fn room_for_every_digest() {
    let error = digest_many(&["a", "b"], Salt::NONE, &mut [[7; 2]; 3]).unwrap_err();
    assert_eq!(error.to_string(), "simplebloom: 2 keys are to be hashed into 3 digests");
}
