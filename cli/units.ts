// Numbers as people read them: sizes and durations by the unit in the name of their field, moments by their size.

const STEPS = ['B', 'KiB', 'MiB', 'GiB', 'TiB', 'PiB', 'EiB'] as const

/** What the suffix of a name is a multiple of, in powers of 1,024 bytes. */
const SIZES: readonly [RegExp, number][] = [
  [/(^|_)bytes$/, 0],
  [/^memory_\w*kbs$/, 1],
  [/(?<!per)_(mb|mib)$/, 2],
  [/_(gb|gib)$/, 3],
]
const DURATION = /_(s|secs|seconds)$/
const MOMENT = /(_at|^timestamp)$/

/** Undefined: the number is one that needs no unit. */
export function numberText(name: string, value: number): string | undefined {
  const size = SIZES.find(([pattern]) => pattern.test(name))
  if (size !== undefined) return sizeText(value, size[1])
  return DURATION.test(name) && value >= 0 ? durationText(value) : undefined
}

/** `SIZE` of `size_bytes`, since its values carry their units; `--columns` takes either. */
export function headingOf(name: string): string {
  const unit = [...SIZES.map(([pattern]) => pattern), DURATION].some((pattern) => pattern.test(name))
  return unit ? name.replace(/_[a-z]+$/, '') : name
}

/** Some moments are milliseconds since 1970. */
export function momentOf(name: string, value: number): string | undefined {
  return MOMENT.test(name) && value > 1e11 && value < 1e14 ? new Date(value).toISOString() : undefined
}

function sizeText(value: number, power: number): string {
  let [amount, step] = [value, power]
  while (Math.abs(amount) >= 1024 && step < STEPS.length - 1) {
    amount /= 1024
    step += 1
  }
  return `${Number(amount.toFixed(amount < 10 ? 2 : 1))} ${STEPS[step] ?? ''}`
}

function durationText(seconds: number): string {
  if (seconds < 60) return `${Number(seconds.toFixed(seconds < 10 ? 1 : 0))} s`
  const whole = Math.round(seconds)
  const parts = [
    [Math.floor(whole / 86_400), 'd'],
    [Math.floor(whole / 3600) % 24, 'h'],
    [Math.floor(whole / 60) % 60, 'min'],
    [whole % 60, 's'],
  ] as const
  const first = parts.findIndex(([count]) => count > 0)
  // Two parts say enough: nobody needs the seconds of three days.
  const shown = parts.slice(first, first + 2).filter(([count]) => count > 0)
  return shown.map(([count, unit]) => `${count} ${unit}`).join(' ')
}
