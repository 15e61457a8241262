// Loaded into every test file by scripts/run-tests: ends a file that does not end by itself, and says what keeps it. The
// runner's own time-out is for a test; it waits for ever for a file that left a connection or a timer open.
/** Longer than the storms of test/peers may take together. */
const LIMIT_MS = 500_000

if (process.env['NODE_TEST_CONTEXT'] !== undefined && process.argv[1]?.endsWith('.test.ts')) {
  // Without a claim of its own on the process.
  setTimeout(end, LIMIT_MS, process.argv[1]).unref()
}

function end(file: string): void {
  const open = Map.groupBy(process.getActiveResourcesInfo(), (name) => name)
  const named = [...open].map(([name, all]) => `${name} ${all.length}`).join(', ')
  console.error(`${file} has not ended after ${LIMIT_MS / 1000} s; still open: ${named}`)
  process.exit(1)
}
