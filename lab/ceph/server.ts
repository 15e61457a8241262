/** The simulated distributed store as a program finds it: a configuration file that names its monitor, and a client `ceph`. */
import { chmodSync, mkdirSync, writeFileSync } from 'node:fs'
import { createServer } from 'node:http'
import { join } from 'node:path'
import { text } from 'node:stream/consumers'
import { closeServer, listenOn } from '../control.ts'
import { cephState, simulatedCeph, type SimulatedCeph } from './cluster.ts'

export interface CephLab extends SimulatedCeph {
  conf: string
  /** The client: it reads the configuration file, asks there, and prints what it is told. */
  tool: string
  close(): Promise<void>
}

export interface CephLabOptions {
  /** Where the configuration file and the client are put. */
  folder: string
  hosts: readonly string[]
  /** Program that runs the client. */
  node?: string
}

export async function startCephLab({ folder, hosts, node = process.execPath }: CephLabOptions): Promise<CephLab> {
  const cluster = simulatedCeph(cephState(hosts))
  const server = createServer((request, response) => {
    void (async () => {
      const { args, stdin } = JSON.parse(await text(request)) as { args: string[]; stdin: string }
      response.end(JSON.stringify(cluster.answer(args, stdin)))
    })().catch(() => response.writeHead(500).end())
  })
  const url = await listenOn(server, { host: '127.0.0.1', port: 0 })
  mkdirSync(folder, { recursive: true, mode: 0o700 })
  const [conf, tool] = [join(folder, 'ceph.conf'), join(folder, 'ceph')]
  writeFileSync(conf, `[global]\nmon_host = ${url}\n`)
  writeFileSync(join(folder, 'client.cjs'), CLIENT)
  writeFileSync(tool, `#!/bin/sh\nexec '${node}' '${join(folder, 'client.cjs')}' "$@"\n`)
  chmodSync(tool, 0o700)
  return { ...cluster, conf, tool, close: () => closeServer(server) }
}

/** It is started for every question, so it is no TypeScript, which takes five times as long to start. */
const CLIENT = `
const { readFileSync } = require('node:fs')
const args = process.argv.slice(2)
const conf = readFileSync(args[args.indexOf('--conf') + 1], 'utf8')
const [, url] = /^mon_host = (.*)$/m.exec(conf)
const request = require('node:http').request(url, { method: 'POST' }, async (response) => {
  let text = ''
  for await (const part of response) text += part
  const { stdout, stderr, exit_code } = JSON.parse(text)
  process.stderr.write(stderr)
  process.stdout.write(stdout)
  process.exitCode = exit_code
})
request.end(JSON.stringify({ args, stdin: readFileSync(0, 'utf8') }))
`
