// The image and the Kubernetes manifests: what the Dockerfile copies is enough to serve, and two replicas that are configured,
// probed and given their secrets as the manifests say work as one.
import assert from 'node:assert/strict'
import { randomBytes } from 'node:crypto'
import { chmodSync, cpSync, mkdirSync, readFileSync, symlinkSync, writeFileSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { after, before, test } from 'node:test'
import { Type } from 'typebox'
import { Value } from 'typebox/value'
import { parse, parseAllDocuments } from 'yaml'
import { checkConfig } from '#src/kernel/config.ts'
import { createChildren } from '../support/children.ts'
import { callerFor } from '../support/http.ts'
import { tempFolder } from '../support/temp-folder.ts'
import { createTestDatabase, type TestDatabase } from '../support/test-database.ts'
import { until } from '../support/until.ts'

const ROOT = join(import.meta.dirname, '../..')
const read = (path: string) => readFileSync(join(ROOT, path), 'utf8')

const Probe = Type.Object({ httpGet: Type.Object({ path: Type.String(), port: Type.String() }) })
const Container = Type.Object({
  args: Type.Array(Type.String()),
  envFrom: Type.Array(Type.Object({ secretRef: Type.Object({ name: Type.String() }) })),
  ports: Type.Array(Type.Object({ name: Type.String(), containerPort: Type.Integer() })),
  livenessProbe: Probe,
  readinessProbe: Probe,
  startupProbe: Probe,
  volumeMounts: Type.Array(
    Type.Object({ name: Type.String(), mountPath: Type.String(), subPath: Type.Optional(Type.String()) }),
  ),
})
const Deployment = Type.Object({
  spec: Type.Object({
    replicas: Type.Integer(),
    template: Type.Object({
      metadata: Type.Object({ labels: Type.Record(Type.String(), Type.String()) }),
      spec: Type.Object({
        terminationGracePeriodSeconds: Type.Integer(),
        securityContext: Type.Object({ runAsUser: Type.Integer(), runAsGroup: Type.Integer() }),
        containers: Type.Tuple([Container]),
        volumes: Type.Array(Type.Object({ name: Type.String() })),
      }),
    }),
  }),
})
const ConfigMap = Type.Object({ data: Type.Record(Type.String(), Type.String()) })
const Selecting = Type.Object({ spec: Type.Object({ selector: Type.Unknown(), ports: Type.Optional(Type.Unknown()) }) })

const manifests = parseAllDocuments(read('deploy/kubernetes/control.yaml')).map((one): unknown => one.toJS())
const { spec } = Value.Parse(Deployment, ofKind('Deployment'))
const pod = spec.template.spec
const [container] = pod.containers
const config_text = Value.Parse(ConfigMap, ofKind('ConfigMap')).data['control.yaml'] ?? ''
const config = checkConfig(parse(config_text))
const dockerfile = read('Dockerfile')

function ofKind(kind: string): unknown {
  return manifests.find((one) => Value.Check(Type.Object({ kind: Type.Literal(kind) }), one))
}

const children = createChildren()
let database: TestDatabase
before(async () => {
  database = await createTestDatabase()
})
after(async () => {
  await children.close()
  await database.drop()
})

test('ports, probes, users, mounts and selectors of the manifests agree with configuration, contract and image', () => {
  assert.deepEqual([config.listen.host, config.listen.port, config.node.enabled], ['0.0.0.0', 8080, false])
  assert.deepEqual(container.ports, [{ name: 'http', containerPort: config.listen.port }])
  for (const { httpGet } of [container.livenessProbe, container.readinessProbe, container.startupProbe])
    assert.equal(httpGet.port, 'http')
  assert.ok(pod.terminationGracePeriodSeconds >= config.listen.drain_seconds + 15 + 10)
  const { runAsUser, runAsGroup } = pod.securityContext
  assert.ok(dockerfile.includes(`USER ${runAsUser}:${runAsGroup}\n`))
  const [, command] = /^CMD (.+)$/m.exec(dockerfile) ?? []
  assert.deepEqual(JSON.parse(command ?? ''), container.args)
  assert.deepEqual(
    [...new Set(container.volumeMounts.map(({ name }) => name))].toSorted(),
    pod.volumes.map(({ name }) => name).toSorted(),
  )
  const { labels } = spec.template.metadata
  assert.deepEqual(Value.Parse(Selecting, ofKind('Service')).spec.selector, labels)
  assert.deepEqual(Value.Parse(Selecting, ofKind('PodDisruptionBudget')).spec.selector, { matchLabels: labels })
})

/** What the last stage of the Dockerfile copies from the checkout, in a folder of its own. */
function image(): string {
  const folder = tempFolder('gp-image-')
  const stage = dockerfile.split(/^FROM /m).at(-1) ?? ''
  const copied = [...stage.matchAll(/^COPY (?!--from)(\S+) \S+$/gm)].map(([, path = '']) => path)
  for (const path of copied) cpSync(join(ROOT, path), join(folder, path), { recursive: true })
  symlinkSync(join(ROOT, 'node_modules'), join(folder, 'node_modules'))
  return folder
}

/** A pod as the manifest says, but at a loopback port of its own and with folders of its own. */
function startPod(folder: string, keys: string) {
  const volumes = tempFolder('gp-pod-')
  const at = (path: string) => join(volumes, path)
  for (const { mountPath, subPath } of container.volumeMounts)
    if (subPath === undefined) mkdirSync(at(mountPath), { recursive: true })
  const mount = container.volumeMounts.find(({ subPath }) => subPath === 'keys')
  assert.equal(mount?.mountPath, `${config.data_dir}/keys`, 'the file of keys stands where the service reads it')
  writeFileSync(at(`${config.data_dir}/keys`), keys)
  chmodSync(at(`${config.data_dir}/keys`), 0o440)
  const config_file = at(container.args.at(-1) ?? '')
  assert.ok(container.volumeMounts.some(({ mountPath }) => at(mountPath) === dirname(config_file)))
  writeFileSync(config_file, config_text)
  const { user, host, port, database: name } = database.connection
  const secret = {
    DATABASE_URL: `postgres://${user}@localhost:${port}/${name}?host=${encodeURIComponent(host)}`,
    GROUNDPLANE_COMPUTE_API_KEY: 'key',
    GROUNDPLANE_COMPUTE_SECRET_KEY: 'secret',
  }
  const child = children.start(
    process.execPath,
    [join(folder, 'bin/cli.ts'), ...container.args.slice(0, -1), config_file],
    {
      cwd: folder,
      env: {
        PATH: process.env.PATH,
        ...secret,
        GROUNDPLANE_LISTEN_HOST: '127.0.0.1',
        GROUNDPLANE_LISTEN_PORT: '0',
        GROUNDPLANE_LISTEN_DRAIN_SECONDS: '0',
        GROUNDPLANE_DATA_DIR: at(config.data_dir),
      },
    },
  )
  const url = () =>
    until('the pod listens', () => {
      if (child.ended()) throw new Error(`it ended: ${child.errors()}${child.output()}`)
      const line = child.output().split('\n').find((one) => one.includes('"control plane listens"')) // biome-ignore format: short
      return line === undefined ? undefined : Value.Parse(Type.Object({ url: Type.String() }), JSON.parse(line)).url
    })
  return { child, url, first_token: () => readFileSync(at(`${config.data_dir}/admin-token`), 'utf8').trim() }
}

test('two pods with one Secret of keys and one database become ready by their probes and believe the same tokens', async () => {
  const folder = image()
  const keys = `${randomBytes(32).toString('base64')}\n`
  const first = startPod(folder, keys)
  const url = await first.url()
  const probe = async (at: string, path: string) => (await fetch(`${at}${path}`)).status
  await until('it is ready', async () => (await probe(url, container.readinessProbe.httpGet.path)) === 200)
  const second = startPod(folder, keys)
  const other = await second.url()
  await until('the other is ready', async () => (await probe(other, container.readinessProbe.httpGet.path)) === 200)
  for (const at of [url, other]) {
    assert.equal(await probe(at, container.livenessProbe.httpGet.path), 200)
    const call = callerFor(at, first.first_token())
    assert.equal((await call('GET', '/version')).status, 200)
    // Everything that browsers get is made from what is in the image, too.
    assert.equal((await call('GET', '/console/')).status, 200)
  }
  for (const { child } of [first, second]) assert.equal(await child.end('SIGTERM'), 0, child.errors())
})
