// The platform's sentences about exceeded limits: which limit, how much of it is used, and how much was asked for.
import type { ErrorMeaning } from '#src/kernel/errors.ts'

const NUMBER = String.raw`(?:\([^)]*\) )?(-?\d+)`
const OF_ACCOUNT = new RegExp(
  String.raw`Maximum amount of resources of Type = '(\w+)'.* for Account Name = (\S+) .*Account Resource Limit = ${NUMBER}, Current Account Resource Amount = ${NUMBER}.*Requested Resource Amount = ${NUMBER}`,
)
const OF_TENANT = new RegExp(
  String.raw`Maximum domain resource limits of Type '(\w+)' for Domain Id = (\S+) is exceeded: Domain Resource Limit = ${NUMBER}, Current Domain Resource Amount = ${NUMBER}.*Requested Resource Amount = ${NUMBER}`,
)
const OF_ADDRESSES = /Maximum number of public IP addresses for account: (\S+) has been exceeded/

const KINDS: Readonly<Record<string, string>> = {
  user_vm: 'virtual machines',
  public_ip: 'public IP addresses',
  volume: 'volumes',
  snapshot: 'snapshots',
  template: 'templates',
  project: 'projects',
  network: 'networks',
  vpc: 'VPCs',
  cpu: 'CPU cores',
  memory: 'MiB of memory',
  primary_storage: 'of primary storage',
  secondary_storage: 'of secondary storage',
  backup: 'backups',
  backup_storage: 'of backup storage',
  gpu: 'GPUs',
}

/** `tenant_id`: whose callers will read it. What a tenant above theirs uses is not theirs to know. */
export function limitMeaning(text: string, tenant_id: string | null): ErrorMeaning | undefined {
  const account = OF_ACCOUNT.exec(text)
  if (account !== null) return reached(`Account ${account[2]}`, account)
  const tenant = OF_TENANT.exec(text)
  if (tenant !== null) {
    if (tenant_id === null || tenant_id === tenant[2]) return reached(`Tenant ${tenant[2]}`, tenant)
    return exceeded(`A tenant above yours has no ${kindOf(tenant)} left; ask its operators to raise the limit.`)
  }
  const addresses = OF_ADDRESSES.exec(text)
  if (addresses === null) return undefined
  return exceeded(
    `Account ${addresses[1]} has as many public IP addresses as it may have; raise the limit or release one.`,
  )
}

function reached(owner: string, found: RegExpExecArray): ErrorMeaning {
  const [, kind, , max = '', used = '', more = ''] = found
  const amount = (text: string) => (/storage/.test(kind ?? '') ? `${gigabytes(text)} GiB` : text)
  const what = `${amount(used)} of ${amount(max)} ${kindOf(found)}`
  return exceeded(`${owner} has ${what}, and this needs ${amount(more)} more; raise the limit or delete something.`)
}

function gigabytes(bytes: string): number {
  return Math.round((Number(bytes) / 1024 ** 3) * 100) / 100
}

function kindOf(found: RegExpExecArray): string {
  const [, kind = ''] = found
  return KINDS[kind] ?? kind.replaceAll('_', ' ')
}

function exceeded(message: string): ErrorMeaning {
  return { code: 'QUOTA_EXCEEDED', message }
}
