// Texts of the platform about networks, NICs, addresses, forwarding and network services.
import type { TextRow } from './text-row.ts'

const DOMAIN_RULE =
  '`network_domain` must be at most 190 characters of labels with 1 to 63 letters, digits and hyphens each, separated by dots.'

export const NETWORK_TEXTS: readonly TextRow[] = [
  [/NIC already exists for VM/i, 'NIC_EXISTS', 'The virtual machine[ {sent.vm}] has a NIC in this network already.'],
  [/Mac address is not valid: (?<value>\S+)/, 'COMPUTE_REJECTED', '`mac_address` {value} is not a MAC address.'],
  [
    /Unable to remove nic from .*nic is default/,
    'COMPUTE_REJECTED',
    'The default NIC[ {sent.nic}] cannot be removed; make another NIC the default one first.',
  ],
  [/is not a nic on/, 'NIC_NOT_FOUND', 'NIC[ {sent.nicid}] not found at this virtual machine.'],
  [/already the default/, 'NIC_IS_DEFAULT', 'The NIC[ {sent.nic}] is the default one already.'],
  [
    /Failed to assign secondary ip|please choose another ip/,
    'COMPUTE_CONFLICT',
    'The address[ {sent.ipaddress}] is in use, or outside the network of the NIC; choose another one.',
  ],
  [
    /max(imum)? number of ips per nic/i,
    'COMPUTE_REJECTED',
    'The NIC[ {sent.nic}] has as many addresses as it may have; remove one first.',
  ],
  [
    /VM ip (?<value>\S+) address not belongs to the vm/,
    'COMPUTE_REJECTED',
    '{value} is not an address of the virtual machine.',
  ],

  [
    /The range specified, (?<ports>[\d-]+), conflicts with rule/,
    'COMPUTE_CONFLICT',
    'Ports {ports} conflict with a rule that exists; choose other ports or remove that rule.',
  ],
  [
    /already a firewall rule specified|New rule conflicts with existing rule/,
    'COMPUTE_CONFLICT',
    'A firewall rule for the same packets[ of {sent.protocol}][ from port {sent.startport}] exists already; delete it first, or give other ports or ranges.',
  ],
  [
    /is already mapped to load balancer/,
    'COMPUTE_CONFLICT',
    'The virtual machine[ {sent.vm}] serves this load-balancer rule already.',
  ],
  [
    /Private port start should be equal to public port start/,
    'COMPUTE_REJECTED',
    'The first private port must equal the first public port.',
  ],
  [
    /not consistent with the port range|ranges should be of equal sizes/,
    'COMPUTE_REJECTED',
    'The private ports must be as many as the public ones.',
  ],
  [/Start port can't be bigger than end port/, 'COMPUTE_REJECTED', 'The first port is above the last one.'],
  [
    /(?<side>public|private)Port is an invalid value: (?<value>\d+)/,
    'COMPUTE_REJECTED',
    '`{side}_port` must be between 1 and 65535, not {value}.',
  ],
  [/Protocol (?<value>\w+) is not supported/, 'COMPUTE_REJECTED', '`protocol` must be tcp or udp, not {value}.'],
  [
    /source CIDR \[(?<value>[^\]]*)\] is invalid/,
    'COMPUTE_REJECTED',
    '`cidrlist`: {value} is not a CIDR, such as 192.0.2.0/24.',
  ],
  [
    /vm doesn'?t belong to (the )?network/i,
    'COMPUTE_REJECTED',
    'The virtual machine[ {sent.vm}] has no NIC in the network of the address.',
  ],
  [/openfirewall=true/i, 'COMPUTE_REJECTED', '`open_firewall` must be false for an address of a VPC.'],
  [
    /Unable to create port forwarding rule.*has static nat enabled|has static nat enabled/,
    'COMPUTE_REJECTED',
    'The address[ {sent.address}] has static NAT, so no port of it can be forwarded; disassociate it first.',
  ],
  [
    /is already associated with another public ip/,
    'PUBLIC_IP_STATE',
    'The virtual machine[ {sent.vm}] has a public IP by static NAT already; disassociate that one first.',
  ],
  [
    /is a sourceNat ip address|used for source nat purposes/,
    'PUBLIC_IP_STATE',
    'The address[ {sent.address}] is the source NAT of its network; it can neither be associated nor released.',
  ],
  [
    /already has \w+ rules assigned/,
    'COMPUTE_CONFLICT',
    'The address[ {sent.address}] has forwarding or firewall rules; remove them first.',
  ],
  [
    /is not assigned to the network|is not associated with any network|column 'account_id'/,
    'PUBLIC_IP_STATE',
    'The address[ {sent.address}] is not allocated to this network; acquire it first.',
  ],
  [
    /is not associated with any vm/,
    'PUBLIC_IP_NOT_ASSOCIATED',
    'The address[ {sent.address}] leads to no virtual machine.',
  ],
  [
    /more than one isolated network/,
    'COMPUTE_REJECTED',
    'The account[ {sent.account}] has several isolated networks; give `network_id`.',
  ],
  [
    /Unable to figure out zone to assign IP/,
    'COMPUTE_REJECTED',
    'Give `network_id`, `vpc_id` or `zone_id` for the address.',
  ],
  [
    /Insufficient address capacity|quarantine/i,
    'PUBLIC_IP_UNAVAILABLE',
    'The address[ {sent.ipaddress}] is in use, or no public address is free.',
  ],

  [
    /subset of network CIDR : (?<cidr>\S+)/,
    'COMPUTE_REJECTED',
    '`guest_vm_cidr`[ {sent.guestvmcidr}] must lie inside the range of the network, {cidr}.',
  ],
  [
    /Active IPs like (?<ip>\S+) exist outside the Guest VM CIDR/,
    'COMPUTE_REJECTED',
    '`guest_vm_cidr` must hold every address in use; {ip} is outside of it.',
  ],
  [
    /Invalid format of Guest VM CIDR/,
    'COMPUTE_REJECTED',
    '`guest_vm_cidr`[ {sent.guestvmcidr}] is not a CIDR, such as 192.0.2.0/24.',
  ],
  [
    /Guest VM CIDR can't be specified for zone with (?<kind>\w+) networking/,
    'COMPUTE_REJECTED',
    'The network[ {sent.network}] is in a zone with {kind} networking, which has no `guest_vm_cidr`; leave out[ {sent.guestvmcidr}].',
  ],
  [/Invalid network domain/, 'COMPUTE_REJECTED', DOMAIN_RULE],
  [
    /remove the following services(?: \[(?<services>[^\]]*)\])?/,
    'COMPUTE_REJECTED',
    'The network offering[ {sent.networkofferingid}] takes services away that network[ {sent.network}] uses[: {services}]; give `forced` true to go on nevertheless.',
  ],
  [
    /Can't upgrade from network offering/,
    'COMPUTE_REJECTED',
    'The network[ {sent.network}] cannot change to this network offering[ ({sent.networkofferingid})]: its services or its type differ too much.',
  ],
  [/Invalid IPv4 for DNS(?<which>\d)/, 'COMPUTE_REJECTED', '`dns{which}` is not an IPv4 address.'],
  [
    /Can't update system networks/,
    'COMPUTE_REJECTED',
    'The network[ {sent.network}] belongs to the compute platform itself and cannot be changed.',
  ],
  [
    /Invalid gateway IP provided|Gateway parameter is invalid/,
    'COMPUTE_REJECTED',
    '`gateway`[ {sent.gateway}] is not an address that a host of the network can have.',
  ],
  [
    /Can't specify vlan;/,
    'COMPUTE_REJECTED',
    'The network offering[ {sent.networkofferingid}] chooses the VLAN itself; leave `vlan` out.',
  ],
  [/Vlan has to be specified;/, 'COMPUTE_REJECTED', 'The network offering[ {sent.networkofferingid}] needs `vlan`.'],
  [
    /^Failed to delete network|as its used by \d+ networks/,
    'COMPUTE_CONFLICT',
    'Something still uses the network[ {sent.network}]; remove it first.',
  ],

  [
    /Invalid Network Service Provider=(?<name>\w+)/,
    'COMPUTE_REJECTED',
    'The compute platform has no network service provider named {name}.',
  ],
  [
    /The '(?<name>\w+)' provider already exists on physical network/,
    'PROVIDER_EXISTS',
    'The physical network has network service provider {name} already.',
  ],
  [
    /subset of services|update set of services/i,
    'COMPUTE_REJECTED',
    'The services of the provider[ {sent.id}] cannot be chosen one by one.',
  ],
  [
    /provider is not ready/i,
    'COMPUTE_REJECTED',
    'The provider is not ready: its element must exist and be enabled first.',
  ],
  [
    /failed to add (virtual router|internal load balancer)/i,
    'COMPUTE_CONFLICT',
    'The provider has its element already, or is of another kind.',
  ],
  [
    /failed to configure the (virtual router|internal load balancer|ovs)|InternalLoadBalancerElementService/i,
    'COMPUTE_REJECTED',
    'The element belongs to a provider of another kind.',
  ],
  [
    /Unable to resolve state '(?<value>\w+)'|Updating the provider state to '(?<other>\w+)' is not supported/,
    'COMPUTE_REJECTED',
    '`state` must be Enabled or Disabled, not [{value}][{other}].',
  ],
]
