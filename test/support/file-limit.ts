// Loaded into every test file by scripts/run-tests: ends a file that does not end by itself, and says what keeps it. The
// runner's own time-out is for a test; it waits for ever for a file that left a connection or a timer open.
const file = process.argv[1] ?? ''
/** Longer than the storms of test/peers may take together; a group of files (process-groups.ts) has more to do. */
const LIMIT_MS = file.endsWith('.mjs') ? 1_500_000 : 500_000

if (process.env['NODE_TEST_CONTEXT'] !== undefined && /\.test\.(ts|mjs)$/.test(file)) {
  // Without a claim of its own on the process.
  setTimeout(end, LIMIT_MS).unref()
}

function end(): void {
  const open = Map.groupBy(process.getActiveResourcesInfo(), (name) => name)
  const named = [...open].map(([name, all]) => `${name} ${all.length}`).join(', ')
  console.error(`${file} has not ended after ${LIMIT_MS / 1000} s; still open: ${named}`)
  process.exit(1)
}
