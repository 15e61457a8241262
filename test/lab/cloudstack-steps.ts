/** Steps that many of the simulator's tests take: deploying, stopping, looking one machine up. */
import assert from 'node:assert/strict'
import { wellKnown } from '../../lab/site.ts'
import type { LabClient, Params } from './cloudstack-client.ts'

export const DEPLOY = {
  zoneid: wellKnown.zone,
  templateid: wellKnown.templates['Debian 12'],
  serviceofferingid: wellKnown.service_offerings.small,
  networkids: wellKnown.networks['office-shared'],
}

export interface Steps {
  vm(id: string): Promise<Record<string, unknown>>
  /** Deploys into the shared network and takes the step that ends the job. */
  deploy(params?: Params): Promise<{ id: string; job: Record<string, unknown> }>
  stop(id: string): Promise<void>
  capacityUsed(type: number, params?: Params): Promise<number>
  /** A public address of the tenant's network without any use yet. */
  freeAddress(): Promise<string>
  /** A running machine of the network that has no address of its own. */
  machineIn(networkid: string): Promise<string>
}

/** The client is asked for at each step, because a test file starts its lab only when it runs. */
export function stepsOf(current: () => LabClient): Steps {
  return { vm, deploy, stop, capacityUsed, freeAddress, machineIn }

  async function vm(id: string): Promise<Record<string, unknown>> {
    const [found] = await current().rows('listVirtualMachines', { id })
    return found ?? {}
  }

  async function deploy(params: Params = {}): Promise<{ id: string; job: Record<string, unknown> }> {
    const answer = await current().ok('deployVirtualMachine', { ...DEPLOY, ...params })
    current().lab.step()
    return {
      id: String(answer['id']),
      job: await current().ok('queryAsyncJobResult', { jobid: String(answer['jobid']) }),
    }
  }

  async function stop(id: string): Promise<void> {
    await current().job('stopVirtualMachine', { id })
  }

  async function capacityUsed(type: number, params: Params = {}): Promise<number> {
    const [row] = await current().rows('listCapacity', { type, ...params })
    return Number(row?.['capacityused'])
  }

  async function freeAddress(): Promise<string> {
    const { id } = await current().ok('associateIpAddress', { networkid: wellKnown.networks['acme-net'] })
    current().lab.step()
    return String(id)
  }

  async function machineIn(networkid: string): Promise<string> {
    const rows = await current().rows('listVirtualMachines', { networkid, state: 'Running', listall: true })
    const found = rows.map((row) => String(row['id'])).at(-1)
    assert.ok(found !== undefined)
    return found
  }
}
