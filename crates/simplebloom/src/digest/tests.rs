use blake2::Blake2sVarCore;
use blake2::digest::core_api::{Buffer, UpdateCore, VariableOutputCore};

use super::*;
use crate::kernels;

/// The digest by the crate blake2.
fn expected_digest(key: &[u8], salt: Salt) -> Digest {
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
fn hashes_single_keys_of_every_length() {
    for salt in SALTS {
        for length in (0..=300).step_by(if cfg!(miri) { 50 } else { 1 }) {
            let key = key(length, length);
            assert_eq!(digest(&key, salt), expected_digest(&key, salt), "{length}");
        }
    }
}

/// What the other tests cover depends on the machine: print it, and require what the machine has.
#[test]
fn tests_each_kernel_of_this_machine() {
    let names: Vec<_> = kernels::all().iter().map(|(name, _)| *name).collect();
    let mut expected = vec!["one by one", "portable"];
    #[cfg(target_arch = "x86_64")]
    {
        let (avx2, avx512) = if cfg!(feature = "std") {
            (std::arch::is_x86_feature_detected!("avx2"), std::arch::is_x86_feature_detected!("avx512dq"))
        } else {
            (cfg!(target_feature = "avx2"), cfg!(target_feature = "avx512dq"))
        };
        expected.extend(avx2.then_some("avx2"));
        expected.extend(avx512.then_some("avx512"));
    }
    if cfg!(all(target_arch = "aarch64", target_endian = "little")) {
        expected.push("neon");
    }
    println!("kernels tested on {}: {}", std::env::consts::ARCH, names.join(", "));
    assert_eq!(names, expected);
}

#[test]
fn kernels_hash_keys_of_every_length() {
    // Under Miri, which needs minutes for all, lengths of one, two and three blocks.
    let lengths = || (0..=200).filter(|length| !cfg!(miri) || matches!(length, 1 | 64 | 129));
    for (name, kernel) in kernels::all() {
        for salt in SALTS.into_iter().take(if cfg!(miri) { 1 } else { SALTS.len() }) {
            // All of one length, then mixed lengths in changing lanes.
            for length in lengths() {
                let keys: Vec<_> = (0..LANES).map(|lane| key(length, lane)).collect();
                check(name, &kernel, &keys, salt);
                let keys: Vec<_> = (0..LANES).map(|lane| key((length + lane * 13) % 201, lane)).collect();
                check(name, &kernel, &keys, salt);
            }
        }
    }
}

fn check(name: &str, kernel: &kernels::Kernel, keys: &[Vec<u8>], salt: Salt) {
    let lanes: [&[u8]; LANES] = core::array::from_fn(|lane| &keys[lane][..]);
    for (lane, (actual, key)) in kernel(lanes, salt).into_iter().zip(keys).enumerate() {
        assert_eq!(actual, expected_digest(key, salt), "{name}, lane {lane}, {} bytes", key.len());
    }
}

#[test]
#[cfg_attr(miri, ignore = "60,000 keys")]
fn hashes_any_number_of_keys_of_any_length() {
    for salt in SALTS {
        for count in (0..70).chain([1000]) {
            for spread in [1, 65, 200, 5000] {
                let keys: Vec<_> = (0..count).map(|at| key((at * 7919) % spread, at)).collect();
                let mut digests = vec![[0; 2]; count];
                digest_many(&keys, salt, &mut digests).unwrap();
                for (digest, key) in digests.iter().zip(&keys) {
                    assert_eq!(
                        *digest,
                        expected_digest(key, salt),
                        "{count} keys, spread {spread}, {} bytes",
                        key.len()
                    );
                }
            }
        }
    }
}

#[test]
fn zero_salt_is_no_salt() {
    assert_eq!(Salt::from([0; 8]), Salt::NONE);
    assert_ne!(digest(b"a", Salt::NONE), digest(b"a", Salt::new([0, 0, 0, 0, 0, 0, 0, 1])));
}

#[test]
fn rejects_digests_of_another_length() {
    let error = digest_many(&["a", "b"], Salt::NONE, &mut [[7; 2]; 3]).unwrap_err();
    assert_eq!(error.to_string(), "simplebloom: digests: expected length 2, found 3");
}
