//! BLAKE2s compression (RFC 7693) for all vector widths. A macro, because functions with `target_feature` cannot be generic
//! over their instructions.

/// The initial state, before the parameters are applied.
pub(crate) const IV: [u32; 8] =
    [0x6A09_E667, 0xBB67_AE85, 0x3C6E_F372, 0xA54F_F53A, 0x510E_527F, 0x9B05_688C, 0x1F83_D9AB, 0x5BE0_CD19];

/// The message word of each half step in each round.
pub(crate) const SIGMA: [[usize; 16]; 10] = [
    [0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15],
    [14, 10, 4, 8, 9, 15, 13, 6, 1, 12, 0, 2, 11, 7, 5, 3],
    [11, 8, 12, 0, 5, 2, 15, 13, 10, 14, 3, 6, 7, 1, 9, 4],
    [7, 9, 3, 1, 13, 12, 11, 14, 2, 6, 5, 10, 4, 0, 15, 8],
    [9, 0, 5, 7, 2, 4, 10, 15, 14, 1, 11, 12, 6, 8, 3, 13],
    [2, 12, 6, 10, 0, 11, 8, 3, 4, 13, 7, 5, 15, 14, 1, 9],
    [12, 5, 1, 15, 14, 13, 4, 10, 0, 7, 6, 3, 9, 2, 8, 11],
    [13, 11, 7, 14, 12, 1, 3, 9, 5, 0, 15, 4, 8, 6, 2, 10],
    [6, 15, 14, 9, 11, 3, 0, 8, 12, 2, 13, 7, 1, 4, 10, 5],
    [10, 2, 8, 4, 7, 6, 1, 5, 15, 11, 9, 14, 3, 12, 13, 0],
];

/// The state after a block: `$h` is the state of eight words, `$m` the message of sixteen, `$t` and `$high` the halves of the
/// byte counter, `$f` all ones in the last block, `$iv` the eight words of [`IV`]. `$add`, `$xor` and the right rotations by
/// 16, 12, 8 and 7 are functions.
#[rustfmt::skip] // it indents the inner macro further each time
macro_rules! compress {
    (
        $h:ident, $m:ident, $t:expr, $high:expr, $f:expr, $iv:expr,
        $add:path, $xor:path, $r16:path, $r12:path, $r8:path, $r7:path
    ) => {{
        let [mut v0, mut v1, mut v2, mut v3, mut v4, mut v5, mut v6, mut v7] = $h;
        let [mut v8, mut v9, mut v10, mut v11, mut v12, mut v13, mut v14, mut v15] = $iv;
        v12 = $xor(v12, $t);
        v13 = $xor(v13, $high);
        v14 = $xor(v14, $f);
        macro_rules! mix {
            ($a:ident $b:ident $c:ident $d:ident, $round:literal, $step:literal) => {
                $a = $add($add($a, $b), $m[$crate::digest::rounds::SIGMA[$round][2 * $step]]);
                $d = $r16($xor($d, $a));
                $c = $add($c, $d);
                $b = $r12($xor($b, $c));
                $a = $add($add($a, $b), $m[$crate::digest::rounds::SIGMA[$round][2 * $step + 1]]);
                $d = $r8($xor($d, $a));
                $c = $add($c, $d);
                $b = $r7($xor($b, $c));
            };
        }
        macro_rules! round {
            ($round:literal) => {
                mix!(v0 v4 v8 v12, $round, 0);
                mix!(v1 v5 v9 v13, $round, 1);
                mix!(v2 v6 v10 v14, $round, 2);
                mix!(v3 v7 v11 v15, $round, 3);
                mix!(v0 v5 v10 v15, $round, 4);
                mix!(v1 v6 v11 v12, $round, 5);
                mix!(v2 v7 v8 v13, $round, 6);
                mix!(v3 v4 v9 v14, $round, 7);
            };
        }
        round!(0);
        round!(1);
        round!(2);
        round!(3);
        round!(4);
        round!(5);
        round!(6);
        round!(7);
        round!(8);
        round!(9);
        let [h0, h1, h2, h3, h4, h5, h6, h7] = $h;
        [
            $xor(h0, $xor(v0, v8)),
            $xor(h1, $xor(v1, v9)),
            $xor(h2, $xor(v2, v10)),
            $xor(h3, $xor(v3, v11)),
            $xor(h4, $xor(v4, v12)),
            $xor(h5, $xor(v5, v13)),
            $xor(h6, $xor(v6, v14)),
            $xor(h7, $xor(v7, v15)),
        ]
    }};
}
pub(crate) use compress;
