// An agent that does one disk run and nothing else: killed by the benchmark tests.
import { linuxHost } from '#src/kernel/host.ts'
import { createFileHistory } from '#src/node/benchmark/history.ts'
import { createBenchmarks } from '#src/node/benchmark/index.ts'

const [, , history = '', folder = ''] = process.argv
const store = await createFileHistory(history)
const { handlers } = createBenchmarks({
  host: linuxHost(),
  store,
  temp_folder: folder,
  publish: ({ percent, result }) => {
    if (result.read.iops !== null) process.stdout.write(`measuring ${percent}\n`)
  },
})
await handlers.benchmarkDiskRun(
  {
    params: undefined,
    query: undefined,
    body: { profile_id: 'rand-read-4k', custom_profile: { test_size: '16M' }, duration_sec: 60, target: folder },
  },
  { signal: new AbortController().signal, prefer_async: false },
)
