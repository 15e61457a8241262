// NICs of a node during its configuration (Part 2, 4.4): listed and made to blink by the agent on that node.
import { type Static, Type } from 'typebox'
import { Closed, IpAddress, KnownText, Nullable, Unavailable } from '../common.ts'
import { defineArea } from '../route.ts'

/** Device names of the kernel: 15 characters at most, neither slash nor blank. */
export const InterfaceName = Type.String({
  minLength: 1,
  maxLength: 15,
  pattern: '^[A-Za-z0-9_][A-Za-z0-9_.:@-]*$',
  description: 'Name of the network device.',
})

export const NodeNic = Type.Object(
  {
    interfaceName: Type.String(),
    macAddress: Nullable(Type.String({ description: 'Permanent hardware address.' })),
    ipAddress: Nullable(Type.String({ description: 'First global IPv4 address, without prefix length.' })),
    linkStatus: KnownText(['up', 'down'], 'Whether the link has a signal.'),
    driver: Nullable(Type.String({ description: 'Kernel driver.' })),
    pciAddress: Nullable(Type.String({ description: 'Address on the PCI bus.' })),
    speed: Type.String({ description: 'Text such as 10000 Mb/s, or unknown.' }),
    isPhysical: Type.Boolean({ description: 'Hardware stands behind the device.' }),
    isBondMaster: Type.Boolean({ description: 'The device is a bond; never a candidate to be enslaved.' }),
    isBondSlave: Type.Boolean({ description: 'The device is enslaved to a bond already.' }),
    bondMaster: Nullable(Type.String({ description: 'Bond that owns it when isBondSlave.' })),
    isManagementNIC: Type.Boolean({
      description: 'Carries the address the agent was called on; must not be enslaved.',
    }),
    unavailable: Type.Array(Unavailable, { 'x-extension': true, description: 'Why fields of this NIC are null.' }),
  },
  { title: 'NodeNic' },
)
export type NodeNic = Static<typeof NodeNic>

export const NodeNicList = Type.Object({ nics: Type.Array(NodeNic) }, { title: 'NodeNicList' })

const LinkStatus = Type.Optional(KnownText(['up', 'down'], 'Only NICs whose link has this status.'))

export const BlinkRequest = Closed(
  {
    interfaceName: InterfaceName,
    duration: Type.Optional(
      Type.Integer({
        minimum: 1,
        maximum: 60,
        default: 10,
        description: 'Seconds the LED blinks.',
        'x-documented-default': true,
      }),
    ),
  },
  { title: 'BlinkRequest' },
)

export const BlinkStarted = Type.Object(
  {
    message: Type.String(),
    interfaceName: Type.String(),
    duration: Type.Integer({ minimum: 1, description: 'Seconds the LED blinks.' }),
  },
  { title: 'BlinkStarted' },
)

const exampleNic: NodeNic = {
  interfaceName: 'eth2',
  macAddress: '52:54:00:00:00:01',
  ipAddress: null,
  linkStatus: 'up',
  driver: 'e1000e',
  pciAddress: '0000:00:06.0',
  speed: '1000 Mb/s',
  isPhysical: true,
  isBondMaster: false,
  isBondSlave: false,
  bondMaster: null,
  isManagementNIC: false,
  unavailable: [{ field: 'ipAddress', reason: 'the device has no global IPv4 address' }],
}

export const nodeNics = defineArea({
  name: 'node-nics',
  description: 'NICs of a node that is being configured.',
  routes: {
    nodeNicsList: {
      method: 'GET',
      path: '/configure/nodes/{bmcIP}/nics',
      summary: 'List NICs of node',
      description:
        'Asks the agent on the node; of the machine that answers, itself. The path names the node by the address of its BMC.',
      access: 'viewer',
      params: Type.Object({ bmcIP: IpAddress }),
      query: Type.Object({ status: LinkStatus }),
      ok: { 200: NodeNicList },
      errors: [404, 500],
      example: { params: { bmcIP: '10.1.0.11' }, query: { status: 'up' }, answer: { nics: [exampleNic] } },
    },
    nodeNicBlink: {
      method: 'POST',
      path: '/configure/nodes/{nodeIP}/nics/blink',
      summary: 'Blink LED of NIC',
      description:
        'Answers as soon as the LED blinks. A second request for the same NIC ends the first. The path names the node by the address of its BMC.',
      access: 'operator',
      params: Type.Object({ nodeIP: IpAddress }),
      body: BlinkRequest,
      ok: { 200: BlinkStarted },
      errors: [400, 500],
      event: { resource_type: 'NODE' },
      example: {
        params: { nodeIP: '10.1.0.11' },
        body: { interfaceName: 'eth2', duration: 10 },
        answer: { message: 'The LED of eth2 blinks for 10 seconds.', interfaceName: 'eth2', duration: 10 },
      },
    },
  },
})
