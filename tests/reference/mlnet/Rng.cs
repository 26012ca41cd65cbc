using System;

namespace Wharf.Reference
{
    /// <summary>
    /// SplitMix64: a small generator whose numbers depend on the seed alone, in any version of .NET.
    /// </summary>
    internal sealed class Rng
    {
        private const ulong Step = 0x9e3779b97f4a7c15;
        private ulong state;

        public Rng(ulong seed)
        {
            state = seed;
        }

        /// <summary>A generator of its own for item `index` of the stream named `seed`.</summary>
        public Rng(ulong seed, ulong index)
        {
            state = Mix(seed + Step) ^ Mix(index * Step + 1);
        }

        public ulong Next()
        {
            state += Step;
            return Mix(state);
        }

        /// <summary>A number in 0..limit, `limit` itself excluded.</summary>
        public int Below(int limit)
        {
            return (int)((Next() >> 33) % (ulong)limit);
        }

        /// <summary>A number in low..=high.</summary>
        public int Between(int low, int high)
        {
            return low + Below(high - low + 1);
        }

        /// <summary>True once in `times` calls, on average.</summary>
        public bool OneIn(int times)
        {
            return Below(times) == 0;
        }

        /// <summary>A number in [0, 1) with all 24 bits an f32 can hold there.</summary>
        public float Unit()
        {
            return (Next() >> 40) / (float)(1 << 24);
        }

        public T Pick<T>(T[] from)
        {
            return from[Below(from.Length)];
        }

        private static ulong Mix(ulong z)
        {
            z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9;
            z = (z ^ (z >> 27)) * 0x94d049bb133111eb;
            return z ^ (z >> 31);
        }
    }
}
