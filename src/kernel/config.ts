// The one configuration schema: a YAML file, then environment variables over it, checked once at start with every
// problem reported at once. `docs/reference/config.md` is generated from it.
import { readFileSync } from 'node:fs'
import { type Static, type TProperties, type TSchema, Type } from 'typebox'
import Value from 'typebox/value'
import { parse } from 'yaml'
import { bmcSettings } from './bmc-settings.ts'
import { cephSettings } from './ceph-settings.ts'
import { haSettings, replicationSettings } from './ha-settings.ts'
import { installerSettings } from './installer-settings.ts'
import { setupSettings } from './setup-settings.ts'

/** A group of settings: every member has a default or is optional, unknown members are refused. */
function Group<P extends TProperties>(properties: P, description: string) {
  return Type.Object(properties, { additionalProperties: false, default: {}, description })
}

const Secret = (description: string) => Type.String({ description, 'x-secret': true, minLength: 1 })

/** Two days at least: a repeated request is recognised for one (store/idempotency.ts). */
const Days = (days: number, description: string) =>
  Type.Integer({ default: days, minimum: 2, maximum: 36_500, description })

export const ConfigSchema = Type.Object(
  {
    listen: Group(
      {
        host: Type.String({ default: '127.0.0.1', description: 'Address to listen on.' }),
        port: Type.Integer({ default: 8080, minimum: 0, maximum: 65535, description: 'Port; 0 takes a free one.' }),
        trust_proxy: Type.Boolean({
          default: false,
          description: 'Believe X-Forwarded-For of the proxy in front: only when nothing else can reach this port.',
        }),
        drain_seconds: Type.Number({
          default: 0,
          minimum: 0,
          maximum: 40,
          description:
            'How long a replica that is asked to stop goes on serving while it says that it is not ready: so long a load balancer may take to notice.',
        }),
        proxies: Type.Integer({
          default: 1,
          minimum: 1,
          maximum: 10,
          description:
            'How many proxies a request passes, with trust_proxy: so many entries of X-Forwarded-For are believed, from the right; the rest is what callers say of themselves.',
        }),
      },
      'Where the service listens.',
    ),
    public_url: Type.Optional(
      Type.String({ description: 'Base URL as callers see it; needed for OIDC sign-in and for the platform webhook.' }),
    ),
    data_dir: Type.String({
      default: '/var/lib/groundplane/control',
      description: 'Folder of the key file and of the first admin token.',
    }),
    database: Group(
      {
        url: Type.Optional(Secret('PostgreSQL 14 or later: postgres://user:password@host/database.')),
        pool_size: Type.Integer({ default: 10, minimum: 2, maximum: 100, description: 'Connections a process opens.' }),
        replication: replicationSettings,
      },
      'The database that all replicas share.',
    ),
    compute: Group(
      {
        url: Type.Optional(
          Type.String({ description: 'API of the compute platform: http(s)://host:8080/client/api.' }),
        ),
        api_key: Type.Optional(Secret('API key of a root admin account.')),
        secret_key: Type.Optional(Secret('Secret key of that account.')),
        algorithm: Type.Enum(['auto', 'hmac-sha1', 'hmac-sha512'], {
          default: 'auto',
          description: 'Signature; auto probes SHA-512, then SHA-1, with a read-only call.',
        }),
        timeout_ms: Type.Integer({
          default: 130_000,
          minimum: 100,
          description: 'Longest wait for one answer of the platform; some of its calls take two minutes.',
        }),
        read_timeout_ms: Type.Integer({ default: 20_000, minimum: 100, description: 'The same for calls that read.' }),
        events_poll_ms: Type.Integer({
          default: 3000,
          minimum: 100,
          description: 'How often events are polled; once a minute while the webhook delivers.',
        }),
        states_poll_ms: Type.Integer({
          default: 15_000,
          minimum: 100,
          description: 'How often VM states are read; every 90 seconds while the webhook delivers.',
        }),
        tenants_poll_ms: Type.Integer({
          default: 60_000,
          minimum: 100,
          description: 'How often tenants are compared with the platform.',
        }),
        hook_secret: Type.Optional(Secret('Shared secret of the platform webhook at POST /hooks/compute.')),
      },
      'The compute platform (Apache CloudStack).',
    ),
    dhcp: Group(
      {
        server: Type.Optional(
          Type.Enum(['kea', 'technitium'], { description: 'DHCP server in use; without one its routes answer 500.' }),
        ),
        timeout_ms: Type.Integer({ default: 10_000, minimum: 100, description: 'Longest wait for one answer.' }),
        poll_ms: Type.Integer({
          default: 30_000,
          minimum: 100,
          description: 'How often leases are read for their history; shorter ones may be missed.',
        }),
        compare_ms: Type.Integer({
          default: 300_000,
          minimum: 100,
          description: 'How often DHCP and DNS are compared with what was ordered (GET /ddi/drift).',
        }),
        kea: Group(
          {
            socket: Type.Optional(
              Type.String({ description: 'Unix socket of kea-dhcp4, when it is on this machine.' }),
            ),
            url: Type.Optional(Type.String({ description: 'Its control agent instead: http(s)://host:8000.' })),
            username: Type.Optional(Type.String({ description: 'User of the control agent.' })),
            password: Type.Optional(Secret('Password of that user.')),
            peers: Type.Array(Type.String(), {
              default: [],
              description:
                'Control agents of the other servers of its failover, with the same user: they get the same scopes.',
            }),
            hosts_database: Type.Optional(
              Secret('PostgreSQL of its hosts backend, where reservations are kept instead of in its configuration.'),
            ),
          },
          'ISC Kea.',
        ),
      },
      'The DHCP server of address management.',
    ),
    dns: Group(
      {
        server: Type.Optional(
          Type.Enum(['powerdns', 'technitium'], {
            description: 'Authoritative name server in use; without one its routes answer 500.',
          }),
        ),
        timeout_ms: Type.Integer({ default: 10_000, minimum: 100, description: 'Longest wait for one answer.' }),
        powerdns: Group(
          {
            url: Type.Optional(Type.String({ description: 'Its API: http(s)://host:8081.' })),
            api_key: Type.Optional(Secret('Key of its API.')),
          },
          'PowerDNS Authoritative.',
        ),
        name_servers: Type.Array(Type.String(), {
          default: [],
          description: 'Full names of the name servers that new zones get.',
        }),
        hostmaster: Type.String({
          default: 'hostmaster.invalid',
          description: 'Mail address of new zones, with a dot for the @: hostmaster.example.net.',
        }),
        transfer_networks: Type.Array(Type.String(), {
          default: [],
          description: 'Networks that may copy zones whose transfer is on.',
        }),
        also_notify: Type.Array(Type.String(), {
          default: [],
          description: 'Secondaries that are told of changes besides the name servers of a zone: addresses.',
        }),
      },
      'The name server of address management.',
    ),
    technitium: Group(
      {
        url: Type.Optional(Type.String({ description: 'Its web service: http(s)://host:5380.' })),
        token: Type.Optional(Secret('Permanent API token of a user who manages DHCP and DNS there.')),
      },
      'Technitium DNS Server, for dhcp.server and dns.server.',
    ),
    cam: Group(
      {
        nvr_port: Type.Integer({
          default: 8971,
          minimum: 1,
          maximum: 65535,
          description: 'Port of the NVR on the address of its virtual machine.',
        }),
        camera_networks: Type.Array(Type.String(), {
          default: ['10.0.0.0/8', '172.16.0.0/12', '192.168.0.0/16', 'fc00::/7'],
          description: 'Networks that cameras may have addresses of; loopback and link-local ones only where listed.',
        }),
        template_name: Type.String({
          default: 'groundplane-nvr',
          minLength: 1,
          description: 'Template of the virtual machine: cloud-init, Docker and the image of nvr_image.',
        }),
        template_url: Type.Optional(
          Type.String({ description: 'Where the platform downloads that template from; for POST /cam/template.' }),
        ),
        template_os: Type.String({
          default: 'Debian GNU/Linux 12 (64-bit)',
          description: 'Its operating system, as the platform calls it.',
        }),
        nvr_image: Type.String({
          default: 'ghcr.io/blakeblackshear/frigate:0.17.2',
          description: 'Image of the container that the virtual machine starts.',
        }),
        nvr_release: Type.Enum(['0.16', '0.17'], {
          default: '0.17',
          description: 'Release of that image: they differ in the form of their configuration.',
        }),
        zone_id: Type.Optional(Type.String({ description: 'Zone of the template; the first one when left out.' })),
        service_offering_id: Type.Optional(
          Type.String({ description: 'Offering of the virtual machine; chosen by its size when left out.' }),
        ),
        disk_offering_id: Type.Optional(
          Type.String({ description: 'Offering of custom size for recordings; the first shared one when left out.' }),
        ),
        boot_minutes: Type.Number({
          default: 20,
          minimum: 0.01,
          description: 'How long the first boot of the NVR may take.',
        }),
        watch_ms: Type.Integer({ default: 5000, minimum: 50, description: 'How often the state of the NVR is read.' }),
      },
      'Cameras and their NVR.',
    ),
    ipam: Group(
      {
        timeout_ms: Type.Integer({ default: 10_000, minimum: 100, description: 'Longest wait for one answer.' }),
        netbox: Group(
          {
            url: Type.Optional(
              Type.String({ description: 'NetBox: http(s)://host. Without it addresses are kept in our own tables.' }),
            ),
            token: Type.Optional(Secret('API token, of either version.')),
            role_slugs: Type.Record(Type.String(), Type.String(), {
              default: {},
              description: 'Slugs of its roles by our words for them: management, storage, guest, public.',
            }),
            ca: Type.Optional(
              Type.String({ description: 'File with the certificate of the CA that signed its own, as PEM.' }),
            ),
          },
          'NetBox.',
        ),
      },
      'The store of sites, VLANs, prefixes and addresses.',
    ),
    ceph: Group(cephSettings, 'The distributed store (Ceph), which nodes leave when they are decommissioned.'),
    auth: Group(
      {
        session_hours: Type.Number({ default: 12, minimum: 0.1, description: 'Life of a console session.' }),
        cluster_secret: Type.Optional(
          Secret('Shared secret of the nodes of one cluster, where mutual TLS is not used.'),
        ),
        oidc: Type.Optional(
          Type.Object(
            {
              issuer: Type.String({ description: 'Issuer URL; its discovery document is read.' }),
              audience: Type.String({ description: 'Audience that access tokens must carry.' }),
              client_id: Type.String({ description: 'Client of the console sign-in.' }),
              client_secret: Type.Optional(Secret('Secret of that client.')),
              role_claim: Type.String({ default: 'groups', description: 'Claim that holds the caller’s groups.' }),
              roles: Type.Record(Type.String(), Type.Enum(['viewer', 'operator', 'admin']), {
                default: {},
                description: 'Group to role; the highest counts, none means no access.',
              }),
              tenant_claim: Type.Optional(
                Type.String({
                  description:
                    'Claim with the id of the tenant that a caller is limited to. With it, a caller without a tenant is refused; see roles_without_tenant.',
                }),
              ),
              roles_without_tenant: Type.Array(Type.Enum(['viewer', 'operator', 'admin']), {
                default: [],
                description:
                  'With tenant_claim: roles whose callers may come without that claim. They reach the things of all tenants.',
              }),
              allow_http: Type.Boolean({ default: false, description: 'Accept a plain-HTTP issuer (tests only).' }),
            },
            { additionalProperties: false },
          ),
        ),
      },
      'Who may call.',
    ),
    rate_limit: Group(
      {
        per_second: Type.Number({ default: 200, minimum: 0.1, description: 'Requests a second a caller, on average.' }),
        burst: Type.Integer({ default: 400, minimum: 1, description: 'Requests a caller may send at once.' }),
        login_per_minute: Type.Number({
          default: 10,
          minimum: 0.1,
          description: 'Sign-in attempts a minute an address.',
        }),
      },
      'Limits a caller.',
    ),
    events: Group(
      {
        replay_hours: Type.Number({ default: 48, minimum: 0.1, description: 'How long a stream can be resumed.' }),
        archive_after_days: Type.Integer({
          default: 90,
          minimum: 1,
          description: 'Default age for POST /events/archive.',
        }),
      },
      'Application events and live streams.',
    ),
    retention: Group(
      {
        audit_days: Days(730, 'How long the audit keeps who asked for what.'),
        app_event_days: Days(1825, 'How long application events are kept, archived or not.'),
        job_days: Days(365, 'How long jobs that have ended are kept, with their steps and lines.'),
        platform_event_days: Days(90, 'How long copies of the compute platform’s own events are kept.'),
        dhcp_lease_days: Days(365, 'How long leases that have ended stay in the history of an address.'),
      },
      'When old rows are deleted. Streams have events.replay_hours.',
    ),
    nodes: Group(
      {
        heartbeat_interval_ms: Type.Integer({
          default: 10_000,
          minimum: 100,
          description: 'How often agents send heartbeats.',
        }),
        offline_after_ms: Type.Integer({
          default: 30_000,
          minimum: 200,
          description: 'Silence after which a node counts as offline.',
        }),
        health_poll_ms: Type.Integer({
          default: 30_000,
          minimum: 200,
          description: 'How often the health of every node is checked.',
        }),
        agent_timeout_ms: Type.Integer({
          default: 4000,
          minimum: 100,
          description: 'How long views over all nodes wait for one of them.',
        }),
        agent_retry_ms: Type.Integer({
          default: 15_000,
          minimum: 100,
          description: 'How long such a view leaves a node alone that did not answer.',
        }),
      },
      'The nodes of the cloud and the agents on them.',
    ),
    bmc: Group(bmcSettings, 'BMCs of machines, spoken to over Redfish, and remote KVMs.'),
    installer: Group(installerSettings, 'Unattended installation of nodes through remote KVMs.'),
    setup: Group(setupSettings, 'How nodes are set up.'),
    node: Group(
      {
        enabled: Type.Boolean({
          default: true,
          description: 'Answer node-local routes for the machine that this replica runs on.',
        }),
        settings: Type.Record(Type.String(), Type.Unknown(), {
          default: {},
          description:
            'About that machine, as under `node` in the configuration of an agent: net, frr, tools and so on.',
        }),
      },
      'The machine that this replica runs on.',
    ),
    ha: Group(haSettings, 'Failover between the management nodes.'),
    log: Group(
      {
        level: Type.Enum(['debug', 'info', 'warn', 'error'], { default: 'info', description: 'Least level written.' }),
      },
      'Logs go to standard output, one JSON object a line.',
    ),
    telemetry: Group(
      { otlp_url: Type.Optional(Type.String({ description: 'OTLP/HTTP collector; traces are sent only when set.' })) },
      'OpenTelemetry, off unless a collector is named.',
    ),
  },
  { additionalProperties: false },
)
export type Config = Static<typeof ConfigSchema>

/** Thrown when the configuration cannot be used; the message lists every problem. */
export class ConfigError extends Error {
  constructor(problems: readonly string[]) {
    super(`the configuration cannot be used:\n${problems.map((line) => `  - ${line}`).join('\n')}`)
    this.name = 'ConfigError'
  }
}

/** Reads the file (if any), lays environment variables over it, and checks the whole. */
export function loadConfig(file: string | undefined, env: Record<string, string | undefined>): Config {
  const raw = file === undefined ? {} : readYaml(file)
  return checkConfig(withEnvironment(raw, env))
}

export function checkConfig(raw: unknown): Config {
  const filled = Value.Convert(ConfigSchema, Value.Default(ConfigSchema, structuredClone(raw)))
  const problems = [...Value.Errors(ConfigSchema, filled)].map(
    ({ instancePath, message }) => `${instancePath.slice(1).replaceAll('/', '.') || '(top)'}: ${message}`,
  )
  if (problems.length > 0) throw new ConfigError([...new Set(problems)])
  return filled as Config
}

function readYaml(file: string): unknown {
  try {
    return parse(readFileSync(file, 'utf8')) ?? {}
  } catch (cause) {
    throw new ConfigError([`${file}: ${cause instanceof Error ? cause.message : 'cannot be read'}`])
  }
}

/**
 * `GROUNDPLANE_LISTEN_PORT=8080` sets `listen.port`; the path is found in the schema, so names with underscores work.
 * `DATABASE_URL` sets `database.url`.
 */
function withEnvironment(raw: unknown, env: Record<string, string | undefined>): unknown {
  if (typeof raw !== 'object' || raw === null || Array.isArray(raw)) return raw
  const out = structuredClone(raw) as Record<string, unknown>
  for (const path of leafPaths(ConfigSchema, [])) {
    const value = env[variableOf(path)]
    if (value !== undefined) assign(out, path, value)
  }
  if (env.DATABASE_URL !== undefined) assign(out, ['database', 'url'], env.DATABASE_URL)
  return out
}

export function leafPaths(schema: TSchema, path: string[]): string[][] {
  const properties = (schema as { properties?: Record<string, TSchema> }).properties
  if (properties === undefined) return [path]
  return Object.entries(properties).flatMap(([name, member]) => leafPaths(member, [...path, name]))
}

/** Every secret of this configuration: what no log may show. */
export function secretValues(config: Config): string[] {
  return secretLeaves(config).map(({ value }) => value)
}

function secretLeaves(config: Config): { path: string[]; value: string }[] {
  return leafPaths(ConfigSchema, []).flatMap((path) => {
    const schema = path.reduce<unknown>(
      (at, name) => (at as { properties: Record<string, unknown> }).properties[name],
      ConfigSchema,
    )
    const value = path.reduce<unknown>((at, name) => (at as Record<string, unknown> | undefined)?.[name], config)
    const is_secret = (schema as { 'x-secret'?: true })['x-secret'] === true && typeof value === 'string'
    return is_secret ? [{ path, value }] : []
  })
}

export interface MemberConfig {
  /** Text of the file, without secrets. JSON is YAML. */
  control_config: string
  environment: Record<string, string>
}

/** The same configuration for another management node: where this one names itself, it names the other. */
export function configOfMember(config: Config, address: string): MemberConfig {
  const own = config.ha.address
  const secrets = secretLeaves(config)
  const plain = structuredClone(config) as Record<string, unknown>
  for (const { path } of secrets) assign(plain, path, undefined)
  return {
    control_config: `${JSON.stringify(plain, (_name, value: unknown) => (value === own ? address : value), 2)}\n`,
    environment: Object.fromEntries(secrets.map(({ path, value }) => [variableOf(path), value])),
  }
}

const variableOf = (path: readonly string[]): string => `GROUNDPLANE_${path.join('_').toUpperCase()}`

function assign(target: Record<string, unknown>, path: readonly string[], value: string | undefined): void {
  const [name, ...rest] = path
  if (name === undefined) return
  if (rest.length === 0) {
    target[name] = value
    return
  }
  const inner = target[name]
  const next: Record<string, unknown> =
    typeof inner === 'object' && inner !== null ? (inner as Record<string, unknown>) : {}
  target[name] = next
  assign(next, rest, value)
}
