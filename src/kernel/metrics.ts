// Prometheus metrics: per route, per upstream, jobs, streams, database, process.
import { collectDefaultMetrics, Counter, Gauge, Histogram, Registry } from 'prom-client'

export interface Metrics {
  request(operation: string, status: number, seconds: number): void
  upstream(subsystem: string, operation: string, outcome: string, seconds: number): void
  job(type: string, outcome: string): void
  /** How often in a row a background task has failed; 0 when its last round went well. */
  background(task: string, failures: number): void
  /** How many nodes have this health, as the replica that checks them last found. */
  nodes(health: string, count: number): void
  /** A value read at every scrape. */
  gauge(name: string, help: string, read: () => number): void
  text(): Promise<string>
  readonly content_type: string
}

const SECONDS = [0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30, 120]

/** Figures of the process itself wake it every 10 ms: they are for a service whose metrics somebody reads. */
export function createMetrics({ with_process = false } = {}): Metrics {
  const registry = new Registry()
  if (with_process) collectDefaultMetrics({ register: registry })
  const registers = [registry]
  const requests = new Histogram({
    name: 'groundplane_request_seconds',
    help: 'Requests by operation and status.',
    labelNames: ['operation', 'status'] as const,
    buckets: SECONDS,
    registers,
  })
  const upstreams = new Histogram({
    name: 'groundplane_upstream_seconds',
    help: 'Calls to subsystems by operation and outcome.',
    labelNames: ['subsystem', 'operation', 'outcome'] as const,
    buckets: SECONDS,
    registers,
  })
  const jobs = new Counter({
    name: 'groundplane_jobs_total',
    help: 'Jobs that ended, by type and outcome.',
    labelNames: ['type', 'outcome'] as const,
    registers,
  })
  const background = new Gauge({
    name: 'groundplane_background_failures',
    help: 'Failed rounds in a row of each background task.',
    labelNames: ['task'] as const,
    registers,
  })
  const nodes = new Gauge({
    name: 'groundplane_nodes',
    help: 'Nodes by health; only the replica that checks them has it.',
    labelNames: ['health'] as const,
    registers,
  })
  // Looking a label set up costs more than observing: remember the child of each operation and status.
  const children = new Map<string, { observe(seconds: number): void }>()
  return {
    request(operation, status, seconds) {
      const key = `${operation} ${status}`
      let child = children.get(key)
      if (child === undefined) {
        child = requests.labels(operation, String(status))
        children.set(key, child)
      }
      child.observe(seconds)
    },
    upstream: (subsystem, operation, outcome, seconds) =>
      upstreams.labels(subsystem, operation, outcome).observe(seconds),
    job: (type, outcome) => jobs.labels(type, outcome).inc(),
    background: (task, failures) => background.labels(task).set(failures),
    nodes: (health, count) => nodes.labels(health).set(count),
    gauge(name, help, read) {
      new Gauge({
        name,
        help,
        registers,
        collect() {
          this.set(read())
        },
      })
    },
    text: () => registry.metrics(),
    content_type: registry.contentType,
  }
}
