// The firewall of isolated networks: what public addresses let in, and what networks let out (extension of Part 3, 4.8).
import { type Static, Type } from 'typebox'
import {
  ActionAccepted, Closed, DestructionPlan, Id, KnownText, ListOf, Nullable, NullableInteger, NullableText, OneOf, PageFields,
} from '../common.ts' // biome-ignore format: one import
import { defineArea } from '../route.ts'

const Cidrs = (description: string) =>
  Type.Optional(
    Type.Array(Type.String({ minLength: 3, maxLength: 49, description: 'CIDR' }), {
      minItems: 1,
      maxItems: 64,
      description,
    }),
  )
const Port = (description: string) => Type.Optional(Type.Integer({ minimum: 1, maximum: 65_535, description }))
const Icmp = (description: string) => Type.Optional(Type.Integer({ minimum: 0, maximum: 255, description }))

export const FirewallRule = Type.Object(
  {
    id: Type.String(),
    direction: OneOf(['ingress', 'egress'], { description: 'Into a public address, or out of a network.' }),
    action: Nullable(
      OneOf(['allow', 'deny'], {
        description:
          'What it does: ingress rules allow. Egress rules are exceptions from what the network does otherwise; null where that is not known.',
      }),
    ),
    protocol: KnownText(['tcp', 'udp', 'icmp', 'all'], 'Protocol; all in egress rules alone.'),
    start_port: NullableInteger('First port; null: all ports.'),
    end_port: NullableInteger('Last port.'),
    icmp_type: NullableInteger('Type of ICMP messages; null: all types.'),
    icmp_code: NullableInteger('Code of ICMP messages; null: all codes.'),
    source_cidrs: Type.Array(Type.String(), { description: 'Where packets come from.' }),
    destination_cidrs: Type.Array(Type.String(), {
      description: 'Where packets of an egress rule go to; empty: everywhere.',
    }),
    public_ip_id: NullableText('Address of an ingress rule.'),
    public_ip_address: NullableText(),
    network_id: NullableText('Network of the rule.'),
    state: KnownText(['Add', 'Active', 'Revoke', 'Staged'], 'Whether the router does it.'),
  },
  { title: 'FirewallRule' },
)
export type FirewallRule = Static<typeof FirewallRule>

const placed = {
  public_ip_id: Type.Optional(
    Type.String({ minLength: 1, maxLength: 128, description: 'Public address: the rule is an ingress rule.' }),
  ),
  network_id: Type.Optional(
    Type.String({ minLength: 1, maxLength: 128, description: 'Isolated network: the rule is an egress rule.' }),
  ),
}

export const FirewallRuleCreate = Closed(
  {
    ...placed,
    protocol: OneOf(['tcp', 'udp', 'icmp', 'all'], { description: 'Protocol; all needs network_id.' }),
    start_port: Port('First port of tcp and udp; all ports when left out.'),
    end_port: Port('Last port; the first when left out.'),
    icmp_type: Icmp('Type of ICMP messages; all when left out.'),
    icmp_code: Icmp('Code of ICMP messages; all when left out. Needs icmp_type.'),
    source_cidrs: Cidrs('Where packets come from: everywhere, or the whole network, when left out.'),
    destination_cidrs: Cidrs('Where packets go to: everywhere when left out. Needs network_id.'),
  },
  { title: 'FirewallRuleCreate' },
)
export type FirewallRuleCreate = Static<typeof FirewallRuleCreate>

const example: FirewallRule = {
  id: '2c1d3e4f-5a6b-4c7d-8e9f-0a1b2c3d4e5f', direction: 'ingress', action: 'allow', protocol: 'tcp', start_port: 443, end_port: 443,
  icmp_type: null, icmp_code: null, source_cidrs: ['198.51.100.0/24'], destination_cidrs: [],
  public_ip_id: '9a1b2c3d-4e5f-4a6b-8c7d-0e1f2a3b4c5d', public_ip_address: '203.0.113.20',
  network_id: '1e4b6d2a-90f3-4a36-b2c1-5d7e8f9a0b12', state: 'Active',
} // biome-ignore format: one record
const accepted = {
  job_id: '0193a3c1-7f3a-7d5e-9a52-0a4f5a0c1d10', correlation_id: '0193a3c1-7f3a-7d5e-9a52-0a4f5a0c1d10', status: 'IN_PROGRESS',
  resource_id: example.id, message: 'Opening tcp port 443 of 203.0.113.20.',
} // biome-ignore format: one record

const change = {
  access: 'operator', tenant: 'own', extension: true, event: { resource_type: 'FIREWALL_RULE' }, errors: [400, 500],
} as const // biome-ignore format: one record
const base = '/network/firewall-rules'

export const firewall = defineArea({
  name: 'firewall-rules',
  description: 'What public addresses let in, and what isolated networks let out.',
  routes: {
    firewallRuleList: {
      method: 'POST',
      path: `${base}/list`,
      summary: 'List firewall rules',
      description:
        'Give either `public_ip_id` for what an address lets in, or `network_id` for the egress rules of a network.',
      access: 'viewer',
      tenant: 'own',
      effect: 'read',
      extension: true,
      body: Closed({ ...placed, ...PageFields }),
      ok: { 200: ListOf('firewall_rules', FirewallRule, 'FirewallRulePage') },
      errors: [400, 500],
      example: {
        body: { public_ip_id: example.public_ip_id },
        answer: { firewall_rules: [example], count: 1, page: 1, page_size: 50 },
      },
    },
    firewallRuleCreate: {
      ...change,
      method: 'POST',
      path: base,
      summary: 'Create firewall rule',
      description:
        'Give either `public_ip_id`, to let packets in through an allocated address of an isolated network, or `network_id`, to make an exception from what an isolated network does with packets that leave it. Networks of a VPC have access lists instead. With `Prefer: wait=N` the rule is the answer.',
      body: FirewallRuleCreate,
      ok: { 201: Type.Union([ActionAccepted, FirewallRule]) },
      example: {
        body: {
          public_ip_id: example.public_ip_id,
          protocol: 'tcp',
          start_port: 443,
          source_cidrs: example.source_cidrs,
        },
        answer: accepted,
      },
    },
    firewallRuleDelete: {
      ...change,
      method: 'DELETE',
      path: `${base}/{id}`,
      summary: 'Delete firewall rule',
      description: 'An ingress or an egress rule. Connections that it let through may end.',
      params: Closed({ id: Id }),
      dry_run: true,
      ok: { 200: Type.Union([ActionAccepted, DestructionPlan]) },
      example: {
        params: { id: example.id },
        answer: { ...accepted, message: 'Deleting the ingress rule of tcp port 443 of 203.0.113.20.' },
      },
    },
  },
})
