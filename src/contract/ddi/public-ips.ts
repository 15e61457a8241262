// Public IPs: addresses of the outside world, and the static NAT that ties one to a virtual machine (Part 2, 4.3).
import { type Static, Type } from 'typebox'
import { Closed, DestructionPlan, Flag, Id, Nullable, NullableTime, OneOf, PageFields, SortFields } from '../common.ts'
import { defineArea } from '../route.ts'
import { PlainEnvelope } from './envelope.ts'

const Text = (description?: string) => Nullable(Type.String(description === undefined ? {} : { description }))
const OptionalId = (description: string) => Type.Optional(Type.String({ minLength: 1, maxLength: 128, description }))
const Ipv4 = (description: string) => Type.Optional(Type.String({ format: 'ipv4', description }))

const LABEL = '[A-Za-z0-9_]([A-Za-z0-9_-]{0,61}[A-Za-z0-9])?'
const DnsName = (description: string) =>
  Type.String({ minLength: 1, maxLength: 253, pattern: `^${LABEL}(\\.${LABEL})*\\.?$`, description })
const Ttl = { minimum: 1, maximum: 2_147_483_647, description: 'Life of the record in seconds.' }

export const PUBLIC_IP_STATES = ['Allocated', 'Associated', 'Released'] as const

export const PublicIp = Type.Object(
  {
    account: Text('Owner.'),
    allocated_at: NullableTime,
    dns_name: Text('Null while not asked for (`include_dns`), not known, or none.'),
    domain_id: Text('Tenant of the owner.'),
    id: Type.String(),
    ip_address: Type.String(),
    network_id: Text('Guest network it is associated with.'),
    network_name: Text(),
    vm_display_name: Text(),
    vm_id: Text('Virtual machine that static NAT leads to.'),
    vm_name: Text(),
    vpc_id: Text(),
    vpc_name: Text(),
    zone_id: Text(),
    zone_name: Text(),
    associated: Type.Boolean({ description: 'Whether static NAT leads to a virtual machine.' }),
    dns_created: Nullable(Type.Boolean({ description: 'Whether it has a name in DNS; null while that is not known.' })),
    state: OneOf([...PUBLIC_IP_STATES], {
      description: 'Released: free. Associated: tied to a network, static NAT or rules. Allocated: owned only.',
    }),
    source_nat: Nullable(Type.Boolean({ description: 'The outgoing address of its network; cannot be released.' })),
    has_rules: Nullable(Type.Boolean({ description: 'Whether forwarding or firewall rules stand on it.' })),
    vm_guest_ip: Text('Address of the machine that static NAT leads to.'),
    project_id: Text(),
  },
  { title: 'PublicIp' },
)
export type PublicIp = Static<typeof PublicIp>

const DnsQuery = {
  include_dns: Flag('Look names up in DNS.'),
  dns_zone: Type.Optional(DnsName('Zone that names are looked up in.')),
}

export const PublicIpAcquire = Closed(
  {
    zone_id: Id,
    network_id: OptionalId('Guest network; needed unless vpc_id is given or the owner has one isolated network alone.'),
    vpc_id: OptionalId('VPC the address is for.'),
    ip_address: Ipv4('This very address.'),
    account: OptionalId('Owner; needs domain_id.'),
    domain_id: OptionalId('Tenant of the owner.'),
    project_id: OptionalId('Project that owns it; excludes account.'),
    associate_to_vm: Flag('Tie it to vm_id by static NAT; when that fails the address is released.'),
    vm_id: OptionalId('Needed with associate_to_vm.'),
    create_dns: Flag('Publish `hostname` in DNS.'),
    create_ptr: Flag('Publish the reverse record, too.'),
    dns_zone: Type.Optional(DnsName('Zone of the record.')),
    hostname: Type.Optional(DnsName('Name of the record; needed with create_dns.')),
    ttl: Type.Optional(Type.Integer({ default: 3600, 'x-documented-default': true, ...Ttl })),
  },
  { title: 'PublicIpAcquire' },
)
export type PublicIpAcquire = Static<typeof PublicIpAcquire>

export const PublicIpDnsChange = Closed(
  {
    action: OneOf(['create', 'update', 'delete']),
    create_ptr: Flag('Publish the reverse record, too.'),
    dns_zone: Type.Optional(DnsName('Zone of the record.')),
    hostname: Type.Optional(DnsName('Needed for create and update.')),
    public_ip_id: OptionalId('Taken from the path; a different value is refused.'),
    record_id: OptionalId('The record, for update and delete; the one of this address when left out.'),
    ttl: Type.Optional(Type.Integer(Ttl)),
  },
  { title: 'PublicIpDnsChange' },
)
export type PublicIpDnsChange = Static<typeof PublicIpDnsChange>

const message = Type.String()
const success = Type.Boolean()
const One = Type.Object({ data: PublicIp, message, success }, { title: 'PublicIpAnswer' })
const Params = Closed({ ip_id: Type.String({ minLength: 1, maxLength: 128, description: 'Id of the address.' }) })

const example: PublicIp = {
  account: 'acme', allocated_at: '2026-11-20T03:12:45.000Z', dns_name: null, domain_id: '2b8f6d4c-51c5-4a1f-8a57-6f0d1f2e3c44',
  id: '9f1b7c52-0d1e-4a51-b7f0-0c9a2e5d7b10', ip_address: '203.0.113.20', network_id: '6a3f1f6e-7c11-4d0e-9c55-2f4b8e1d7a33',
  network_name: 'acme-net', vm_display_name: 'Web server 1', vm_id: '1c3a9e7d-5b2f-4f80-a6d1-8e4c2b7f9d55', vm_name: 'web-01',
  vpc_id: null, vpc_name: null, zone_id: 'a8f1c5de-30fb-4f0e-92f5-3c4b8f1d2e07', zone_name: 'Frankfurt-1', associated: true,
  dns_created: null, state: 'Associated', source_nat: false, has_rules: false, vm_guest_ip: '10.1.1.21', project_id: null,
} // biome-ignore format: one record
const ip_id = example.id

const change = { access: 'operator', tenant: 'own', event: { resource_type: 'PUBLIC_IP' }, errors: [400, 500] } as const
const base = '/ddi/public-ips'

const PUBLIC_IP_COLUMNS = ['ip_address', 'account', 'network_name', 'vm_name', 'allocated_at'] as const

export const publicIps = defineArea({
  name: 'public-ips',
  description: 'Public addresses: acquiring, static NAT to virtual machines, names in DNS.',
  errors: 'envelope',
  routes: {
    publicIpList: {
      method: 'GET',
      path: base,
      summary: 'List public IPs',
      description:
        'Addresses that somebody owns; `state` Released lists the free ones instead. `network_id` is the guest network.',
      access: 'viewer',
      tenant: 'own',
      query: Type.Object({
        zone_id: OptionalId('Zone.'),
        network_id: OptionalId('Guest network it is associated with.'),
        vpc_id: OptionalId('VPC.'),
        vm_id: OptionalId('Virtual machine that static NAT leads to.'),
        state: Type.Optional(OneOf([...PUBLIC_IP_STATES])),
        ip_address: Type.Optional(Type.String({ minLength: 2, maxLength: 45, description: 'Exact address.' })),
        ...DnsQuery,
        ...SortFields(
          [...PUBLIC_IP_COLUMNS],
          'as the platform lists them; of 5000 at most, and not with `state` Released',
        ),
        page: Type.Optional(Type.Integer({ ...PageFields.page, 'x-extension': true })),
        page_size: Type.Optional(
          Type.Integer({ minimum: 1, maximum: 500, default: 50, description: 'Rows a page.', 'x-extension': true }),
        ),
      }),
      ok: {
        200: Type.Object(
          {
            count: Type.Integer({ minimum: 0, description: 'Rows that match, over all pages.' }),
            data: Type.Array(PublicIp),
            message,
            success,
            page: Type.Integer({ minimum: 1 }),
            page_size: Type.Integer({ minimum: 1 }),
          },
          { title: 'PublicIpPage' },
        ),
      },
      errors: [400, 500],
      example: {
        query: { state: 'Associated' },
        answer: { count: 1, data: [example], message: '1 public IP.', success: true, page: 1, page_size: 50 },
      },
    },
    publicIpAcquire: {
      ...change,
      method: 'POST',
      path: base,
      summary: 'Acquire public IP',
      description:
        'Waits until the address is there. With `associate_to_vm` static NAT is set up, and the address released when that fails. `vpc_id` and `network_id` exclude each other unless the network is a tier of the VPC. Without DNS configured `dns_created` is false and the message says so.',
      body: PublicIpAcquire,
      ok: { 200: One },
      example: {
        body: { zone_id: example.zone_id, network_id: example.network_id, associate_to_vm: true, vm_id: example.vm_id },
        answer: { data: example, message: 'Public IP 203.0.113.20 is acquired.', success: true },
      },
    },
    publicIpGet: {
      method: 'GET',
      path: `${base}/{ip_id}`,
      summary: 'Get public IP',
      access: 'viewer',
      tenant: 'own',
      params: Params,
      query: Type.Object(DnsQuery),
      ok: { 200: One },
      errors: [400, 404, 500],
      example: { params: { ip_id }, answer: { data: example, message: 'Public IP 203.0.113.20.', success: true } },
    },
    publicIpAssociate: {
      ...change,
      method: 'POST',
      path: `${base}/{ip_id}/associate`,
      summary: 'Associate public IP with virtual machine',
      description:
        'By static NAT. The address must be owned, free of rules, and not the source NAT of its network. The same machine again changes nothing; an address that leads to another machine must be disassociated first.',
      params: Params,
      body: Closed(
        {
          network_id: OptionalId('Guest network of the machine; needed for an address of a VPC when several fit.'),
          vm_id: OptionalId('Virtual machine.'),
          vm_guest_ip: Type.Optional(
            Type.String({ format: 'ipv4', description: 'Which address of the machine.', 'x-extension': true }),
          ),
        },
        { title: 'PublicIpAssociation' },
      ),
      ok: { 200: PlainEnvelope },
      example: {
        params: { ip_id },
        body: { vm_id: example.vm_id },
        answer: { success: true, message: 'Public IP 203.0.113.20 leads to web-01.' },
      },
    },
    publicIpDisassociate: {
      ...change,
      method: 'POST',
      path: `${base}/{ip_id}/disassociate`,
      summary: 'Disassociate public IP from virtual machine',
      description: 'Switches static NAT off; the address stays with its owner.',
      params: Params,
      ok: { 200: PlainEnvelope },
      example: {
        params: { ip_id },
        answer: { success: true, message: 'Public IP 203.0.113.20 leads to no virtual machine any more.' },
      },
    },
    publicIpRelease: {
      ...change,
      method: 'DELETE',
      path: `${base}/{ip_id}`,
      summary: 'Release public IP',
      description:
        'Releases the address, with its rules, static NAT and names in DNS. A source NAT address is refused: it goes with its network.',
      extension: true,
      params: Params,
      errors: [400, 404, 500],
      dry_run: true,
      ok: { 200: Type.Union([PlainEnvelope, DestructionPlan]) },
      example: { params: { ip_id }, answer: { success: true, message: 'Public IP 203.0.113.20 is released.' } },
    },
    publicIpDnsSet: {
      ...change,
      method: 'PUT',
      path: `${base}/{ip_id}/dns`,
      summary: 'Change DNS record of public IP',
      params: Params,
      body: PublicIpDnsChange,
      ok: {
        200: Type.Object(
          {
            fqdn: Text('The name, of a deleted record the former one.'),
            ip_address: Type.String(),
            message,
            ptr_created: Type.Boolean(),
            success,
            record_id: Text('Id of the record.'),
          },
          { title: 'PublicIpDns' },
        ),
      },
      example: {
        params: { ip_id },
        body: { action: 'create', hostname: 'www', dns_zone: 'acme.example' },
        answer: {
          fqdn: 'www.acme.example', ip_address: '203.0.113.20', message: 'www.acme.example leads to 203.0.113.20.',
          ptr_created: false, success: true, record_id: 'www.acme.example/A/203.0.113.20',
        }, // biome-ignore format: one record
      },
    },
  },
})
