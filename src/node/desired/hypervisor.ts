// The area `hypervisor`: packages and settings of libvirt.
import { HypervisorDocument } from '#src/contract/nodes/desired-documents.ts'
import { ApiError } from '#src/kernel/errors.ts'
import type { DesiredArea } from './area.ts'
import { serviceRuns } from './commands.ts'
import type { ManagedFile, Place } from './managed-files.ts'
import { type AreaPlan, createPlannedArea } from './planned-area.ts'

const UNIT = 'libvirtd'
const LIBVIRTD = '/etc/libvirt/libvirtd.conf'
const QEMU = '/etc/libvirt/qemu.conf'

export function createHypervisorArea(place: Place, state_dir: string): DesiredArea {
  return createPlannedArea({
    name: 'hypervisor',
    schema: HypervisorDocument,
    place,
    state_dir,
    plan: (document) => planHypervisor(document, place),
    before_removal: [
      ['systemctl', 'stop', UNIT],
      ['systemctl', 'disable', UNIT],
    ],
  })
}

async function planHypervisor(document: HypervisorDocument, { host }: Place): Promise<AreaPlan> {
  const processor = await host.read('/proc/cpuinfo')
  if (processor !== null && !/^flags\s*:.*\b(?:vmx|svm)\b/m.test(processor)) {
    throw new ApiError(
      'DESIRED_CONFLICT',
      'The processor offers no virtualisation: enable VT-x (Intel) or SVM (AMD) in the BIOS settings.',
    )
  }
  const files = libvirtFiles(document)
  const capabilities = async (): Promise<string | null> => {
    const run = await host.run('virsh', ['-c', 'qemu:///system', 'capabilities'], { timeout_ms: 30_000 })
    return run.outcome === 'exited' && run.exit_code === 0 ? null : 'libvirt does not answer'
  }
  return {
    packages: document.packages,
    files,
    effects: [
      ...serviceRuns(
        host,
        UNIT,
        files.map(({ path }) => path),
      ),
      { differs: capabilities, commands: [] },
    ],
  }
}

/** Exported for its test. */
export function libvirtFiles({ libvirt }: HypervisorDocument): ManagedFile[] {
  const { listen_tls, listen_tcp, tcp_port, vnc_listen } = libvirt
  const flag = (value: boolean): string => (value ? '1' : '0')
  const daemon = {
    ...(listen_tls === undefined ? {} : { listen_tls: flag(listen_tls) }),
    ...(listen_tcp === undefined ? {} : { listen_tcp: flag(listen_tcp) }),
    ...(tcp_port === undefined ? {} : { tcp_port: `"${tcp_port}"` }),
  }
  const machines = vnc_listen === undefined ? {} : { vnc_listen: `"${vnc_listen}"` }
  const files = [
    { path: LIBVIRTD, values: daemon },
    { path: QEMU, values: machines },
  ]
  return files
    .filter(({ values }) => Object.keys(values).length > 0)
    .map((file) => ({ ...file, kind: 'keys', separator: ' = ' }))
}
