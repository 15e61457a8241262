// Shows how far something is: a bar that redraws itself on a terminal, a line for each change elsewhere.
import { oneLine, type Terminal } from './terminal.ts'

export interface Progress {
  show(percent: number, sentence: string): void
  /** Takes the bar away, so that what follows starts on a clean line. */
  end(): void
}

const BAR_CELLS = 24
/** Smaller steps are not worth a line of a log. */
const LINE_STEP_PERCENT = 10

export function createProgress(terminal: Terminal, quiet: boolean): Progress {
  if (quiet) return { show: () => {}, end: () => {} }
  return terminal.stderr.isTTY === true ? bar(terminal) : lines(terminal)
}

function bar(terminal: Terminal): Progress {
  let drawn = false
  return {
    show(percent, sentence) {
      const full = Math.round((clamped(percent) / 100) * BAR_CELLS)
      const head = `[${'#'.repeat(full)}${'.'.repeat(BAR_CELLS - full)}] ${String(clamped(percent)).padStart(3)} % `
      const room = Math.max(0, (terminal.stderr.columns ?? 80) - head.length - 1)
      terminal.stderr.write(`\r\u001b[K${head}${oneLine(sentence).slice(0, room)}`)
      drawn = true
    },
    end() {
      if (drawn) terminal.stderr.write('\r\u001b[K')
      drawn = false
    },
  }
}

function lines(terminal: Terminal): Progress {
  let last = { percent: -LINE_STEP_PERCENT, sentence: '' }
  return {
    show(percent, sentence) {
      if (sentence === last.sentence && percent < last.percent + LINE_STEP_PERCENT) return
      last = { percent, sentence }
      terminal.stderr.write(`${String(clamped(percent)).padStart(3)} % ${oneLine(sentence)}\n`)
    },
    end: () => {},
  }
}

function clamped(percent: number): number {
  return Math.min(100, Math.max(0, Math.round(percent)))
}
