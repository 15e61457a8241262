/** Writes bits, the most significant first, and the numbers of variable length that H.264 is made of. */
export class BitWriter {
  readonly #bytes: Buffer
  #length = 0
  #partial = 0
  #partialBits = 0

  constructor(capacity: number) {
    this.#bytes = Buffer.allocUnsafe(capacity)
  }

  bit(value: number): void {
    this.#partial = (this.#partial << 1) | value
    if (++this.#partialBits < 8) return
    this.#bytes[this.#length++] = this.#partial
    this.#partial = 0
    this.#partialBits = 0
  }

  /** A number in a fixed count of bits. */
  bits(count: number, value: number): void {
    for (let shift = count - 1; shift >= 0; shift--) this.bit((value >>> shift) & 1)
  }

  /** ue(v): as many zeros as the number (plus one) has digits after its first, then the number. Small numbers are short. */
  unsigned(value: number): void {
    const zeros = 31 - Math.clz32(value + 1)
    this.bits(zeros, 0)
    this.bits(zeros + 1, value + 1)
  }

  /** se(v): 0, 1, -1, 2, -2 … counted through as ue(v). */
  signed(value: number): void {
    this.unsigned(value > 0 ? 2 * value - 1 : -2 * value)
  }

  /** Zeros up to the next whole byte. */
  align(): void {
    while (this.#partialBits > 0) this.bit(0)
  }

  /** Whole bytes as they are; only at a byte's border. */
  raw(bytes: Uint8Array): void {
    this.#bytes.set(bytes, this.#length)
    this.#length += bytes.length
  }

  /** What was written; the next use starts at the beginning again, over the same memory. */
  finish(): Buffer {
    this.bit(1)
    this.align()
    const written = this.#bytes.subarray(0, this.#length)
    this.#length = 0
    return written
  }
}
