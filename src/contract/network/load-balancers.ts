// Load-balancer rules: a port of a public address that several virtual machines serve (extension of Part 3, 4.8).
import { type Static, Type } from 'typebox'
import {
  ActionAccepted, Closed, DestructionPlan, Id, KnownText, ListOf, NullableInteger, NullableText, OneOf, OptionalId, PageFields, Words,
} from '../common.ts' // biome-ignore format: one import
import { vmExample } from '../compute/virtual-machine.ts'
import { defineArea } from '../route.ts'

const ALGORITHMS = ['roundrobin', 'leastconn', 'source'] as const
const Algorithm = (description: string) => OneOf([...ALGORITHMS], { description })
const Port = (description: string) => Type.Integer({ minimum: 1, maximum: 65_535, description })

const ruleFields = {
  id: Type.String(),
  name: Type.String(),
  description: NullableText(),
  algorithm: KnownText(ALGORITHMS, 'In turns, to the machine with the fewest connections, or by the source address.'),
  protocol: KnownText(['tcp', 'udp', 'tcp-proxy', 'ssl'], 'tcp-proxy tells machines the address of the client.'),
  public_port: NullableInteger('Port of the public address.'),
  private_port: NullableInteger('Port of the machines.'),
  public_ip_id: NullableText(),
  public_ip_address: NullableText(),
  network_id: NullableText('Network of the machines.'),
  source_cidrs: Type.Array(Type.String(), {
    description: 'Sources that are served; empty is everybody whom the firewall lets in.',
  }),
  state: KnownText(['Add', 'Active', 'Revoke'], 'Active as soon as machines serve it; without any it stays Add.'),
  tenant_id: NullableText('Tenant that owns it.'),
  tenant_name: NullableText(),
  account: NullableText('Account within the tenant.'),
  project_id: NullableText(),
}
export const LoadBalancer = Type.Object(ruleFields, { title: 'LoadBalancer' })
export type LoadBalancer = Static<typeof LoadBalancer>

const BalancedMachine = Type.Object(
  {
    virtual_machine_id: Type.String(),
    virtual_machine_name: Type.String(),
    ip_address: NullableText('Address in the network of the rule.'),
    state: Type.String({ description: 'Of the machine; one that does not run serves nobody.' }),
    service_state: NullableText('What the health check of the load balancer says; null without one.'),
  },
  { title: 'BalancedMachine' },
)

const LoadBalancerWithMachines = Type.Object(
  { ...ruleFields, machines: Type.Array(BalancedMachine, { description: 'Those that serve it.' }) },
  { title: 'LoadBalancerWithMachines' },
)
export type LoadBalancerWithMachines = Static<typeof LoadBalancerWithMachines>

export const LoadBalancerCreate = Closed(
  {
    name: Type.String({ minLength: 1, maxLength: 255 }),
    description: Words('One line for people.'),
    public_ip_id: Id,
    public_port: Port('Port of the public address.'),
    private_port: Port('Port of the machines.'),
    algorithm: Algorithm('In turns, to the machine with the fewest connections, or by the source address.'),
    protocol: Type.Optional(OneOf(['tcp', 'udp', 'tcp-proxy'], { description: 'tcp when left out.' })),
    network_id: Type.Optional(
      Type.String({
        minLength: 1,
        maxLength: 128,
        description: 'Network of the machines; required while an address of a VPC belongs to none.',
      }),
    ),
    source_cidrs: Type.Optional(
      Type.Array(Type.String({ minLength: 3, maxLength: 49, description: 'CIDR' }), {
        minItems: 1,
        maxItems: 64,
        description: 'Sources to serve; everybody when left out.',
      }),
    ),
    open_firewall: Type.Optional(
      Type.Boolean({
        description: 'Open the port in the firewall for everybody too. False when left out; refused inside a VPC.',
      }),
    ),
  },
  { title: 'LoadBalancerCreate' },
)
export type LoadBalancerCreate = Static<typeof LoadBalancerCreate>

const example: LoadBalancer = {
  id: '3d2e4f50-6b7c-4d8e-9f0a-1b2c3d4e5f60', name: 'web', description: null, algorithm: 'roundrobin', protocol: 'tcp',
  public_port: 443, private_port: 8443, public_ip_id: '9a1b2c3d-4e5f-4a6b-8c7d-0e1f2a3b4c5d', public_ip_address: '203.0.113.20',
  network_id: '1e4b6d2a-90f3-4a36-b2c1-5d7e8f9a0b12', source_cidrs: [], state: 'Active', tenant_id: vmExample.tenant_id,
  tenant_name: 'acme', account: 'acme', project_id: null,
} // biome-ignore format: one record
const machines = [
  { virtual_machine_id: vmExample.id, virtual_machine_name: vmExample.name, ip_address: '10.10.0.11', state: 'Running', service_state: null },
] // biome-ignore format: one record
const accepted = {
  job_id: '0193a3c1-7f3a-7d5e-9a52-0a4f5a0c1d10', correlation_id: '0193a3c1-7f3a-7d5e-9a52-0a4f5a0c1d10', status: 'IN_PROGRESS',
  resource_id: example.id, message: 'Creating load-balancer rule web.',
} // biome-ignore format: one record

const read = { access: 'viewer', tenant: 'own', effect: 'read', extension: true, errors: [400, 500] } as const
const change = {
  access: 'operator', tenant: 'own', extension: true, event: { resource_type: 'LOAD_BALANCER' }, errors: [400, 500],
} as const // biome-ignore format: one record
const base = '/network/load-balancers'
const params = Closed({ id: Id })
const RuleOrAccepted = Type.Union([ActionAccepted, LoadBalancerWithMachines])

export const loadBalancers = defineArea({
  name: 'load-balancers',
  description: 'Ports of public addresses that several virtual machines serve.',
  routes: {
    loadBalancerList: {
      ...read,
      method: 'POST',
      path: `${base}/list`,
      summary: 'List load-balancer rules',
      description: 'Every filter narrows.',
      body: Closed({
        id: OptionalId,
        name: Words('Exact name.'),
        public_ip_id: OptionalId,
        network_id: OptionalId,
        virtual_machine_id: Type.Optional(
          Type.String({ minLength: 1, maxLength: 128, description: 'Rules that this machine serves.' }),
        ),
        keyword: Words('Part of a name.'),
        ...PageFields,
      }),
      body_optional: true,
      ok: { 200: ListOf('load_balancers', LoadBalancer, 'LoadBalancerPage') },
      example: { body: {}, answer: { load_balancers: [example], count: 1, page: 1, page_size: 50 } },
    },
    loadBalancerGet: {
      ...read,
      method: 'GET',
      path: `${base}/{id}`,
      summary: 'Get load-balancer rule',
      description: 'With the machines that serve it, and their state.',
      params,
      ok: { 200: LoadBalancerWithMachines },
      example: { params: { id: example.id }, answer: { ...example, machines } },
    },
    loadBalancerCreate: {
      ...change,
      method: 'POST',
      path: base,
      summary: 'Create load-balancer rule',
      description:
        'The address must be allocated, without static NAT, and its port neither balanced nor forwarded already; its network must offer load balancing. Machines are assigned afterwards. With `Prefer: wait=N` the rule is the answer.',
      body: LoadBalancerCreate,
      ok: { 201: RuleOrAccepted },
      example: {
        body: {
          name: 'web', public_ip_id: example.public_ip_id, public_port: 443, private_port: 8443, algorithm: 'roundrobin',
        }, // biome-ignore format: one record
        answer: accepted,
      },
    },
    loadBalancerUpdate: {
      ...change,
      method: 'PUT',
      path: base,
      summary: 'Update load-balancer rule',
      description: 'Name, description and algorithm. Connections stay as they are; new ones follow the new algorithm.',
      body: Closed(
        {
          id: Id,
          name: Words('New name.'),
          description: Words('One line for people.'),
          algorithm: Type.Optional(Algorithm('How machines are chosen from now on.')),
        },
        { title: 'LoadBalancerUpdate' },
      ),
      ok: { 200: RuleOrAccepted },
      example: {
        body: { id: example.id, algorithm: 'leastconn' },
        answer: { ...accepted, message: 'Updating load-balancer rule web.' },
      },
    },
    loadBalancerDelete: {
      ...change,
      method: 'DELETE',
      path: `${base}/{id}`,
      summary: 'Delete load-balancer rule',
      description:
        'The port is served no more; the machines stay. A port that the rule opened in the firewall is closed with it.',
      params,
      dry_run: true,
      ok: { 200: Type.Union([ActionAccepted, DestructionPlan]) },
      example: {
        params: { id: example.id },
        answer: { ...accepted, message: 'Deleting load-balancer rule web, which 1 virtual machine serves.' },
      },
    },
    loadBalancerMachineAssign: {
      ...change,
      method: 'POST',
      path: `${base}/{id}/machines`,
      summary: 'Assign virtual machine to load-balancer rule',
      description:
        'The machine must have a NIC in the network of the rule. One that serves the rule already stays, and nothing is sent.',
      params,
      body: Closed({ virtual_machine_id: Id }, { title: 'LoadBalancerMachine' }),
      ok: { 200: RuleOrAccepted },
      example: {
        params: { id: example.id },
        body: { virtual_machine_id: vmExample.id },
        answer: { ...accepted, message: 'Assigning virtual machine web-01 to load-balancer rule web.' },
      },
    },
    loadBalancerMachineRemove: {
      ...change,
      method: 'DELETE',
      path: `${base}/{id}/machines/{virtual_machine_id}`,
      summary: 'Remove virtual machine from load-balancer rule',
      description: 'Its connections end. Where it does not serve the rule, nothing is sent.',
      params: Closed({ id: Id, virtual_machine_id: Id }),
      dry_run: true,
      ok: { 200: Type.Union([...RuleOrAccepted.anyOf, DestructionPlan]) },
      example: {
        params: { id: example.id, virtual_machine_id: vmExample.id },
        answer: { ...accepted, message: 'Removing virtual machine web-01 from load-balancer rule web.' },
      },
    },
  },
})
